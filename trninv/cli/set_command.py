"""Set the state of parts."""

import getpass

import click

from trninv.cli.database_connection import write_connection
from trninv.cli.messages import print_wrapped
from trninv.cli.output import format_option, print_value
from trninv.cli.shell_completion import ADDRESS
from trninv.database.tables import STATES
from trninv.errors import UsageError
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import overridden_by_server, set_state


def current_user() -> str:
    """Return the name of the user who runs the command.

    Raises
    ------
    UsageError
        The user has no name.

    """
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        raise UsageError("the current user has no name; add --who NAME") from None


@click.command("set")
@click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS…", type=ADDRESS)
@click.argument("state", type=click.Choice(STATES))
@click.option("--why", required=True, help="The reason, recorded with the change.")
@click.option("--factor", type=float, metavar="F", help="For degraded: the fraction that still works, such as 0.5.")
@click.option("--who", default=current_user, show_default="you", help="Who makes the change.")
@format_option
@click.pass_obj
def set_(  # one parameter per option
    database: str, addresses: tuple[str, ...], state: str, why: str, factor: float | None, who: str, style: str
) -> None:
    """Set the state of parts: up, degraded, down or maintenance.

    ADDRESS is a server, chip, switch, NIC, network node or link (A--B). A server's state cascades to its chips and
    NICs, which get their own state back later. Either all addresses are set or none.

    \b
    trninv set u-trn2x64/d0/s1/c5 down --why "HBM errors, ticket 4711"
    trninv set u-trn2x64/d0/s0/c0--u-trn2x64/d0/s1/c0 degraded \\
        --factor 0.5 --why "half of its lanes"
    trninv set u-trn2x64/d0/s1/c5 up --why "replaced"
    """
    condition = Condition.from_user(state, factor)
    with write_connection(database) as connection:
        changes = set_state(connection, addresses, condition, why=why, who=who)
        kept_states = dict(overridden_by_server(connection, addresses))

    def table() -> None:
        for change in changes:
            print_wrapped(f"{change.address}: {change.before} → {change.after}")
        if not changes:
            print_wrapped(f"{'it is' if len(addresses) == 1 else 'all are'} already {condition}")
        for address, kept_state in kept_states.items():
            print_wrapped(f"{address} stays {kept_state} as long as its server does")

    print_value(
        style,
        [{"address": entry.address, "before": str(entry.before), "after": str(entry.after)} for entry in changes],
        table,
    )
