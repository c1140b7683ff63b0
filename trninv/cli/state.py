"""set: the condition of things."""

import getpass

import click

from trninv.cli.moment import changing
from trninv.cli.output import format_option, show
from trninv.cli.places import PLACE
from trninv.cli.prose import say
from trninv.errors import UsageError
from trninv.inventory.schema import STATES
from trninv.inventory.state import Condition, kept_by_server, set_state


def you() -> str:
    """The name of who runs the command.

    Raises
    ------
    UsageError
        It has none.

    """
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        raise UsageError("your user has no name here: say --who") from None


@click.command("set")
@click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS…", type=PLACE)
@click.argument("state", type=click.Choice(STATES))
@click.option("--why", required=True, help="The reason, recorded with the change.")
@click.option("--factor", type=float, metavar="F", help="For degraded: the fraction that still works, such as 0.5.")
@click.option("--who", default=you, show_default="you", help="Who says so.")
@format_option
@click.pass_obj
def set_(  # one parameter an option
    database: str, addresses: tuple[str, ...], state: str, why: str, factor: float | None, who: str, style: str
) -> None:
    """Record that things are up, degraded, down or in maintenance; every answer takes it into account from then on.

    Servers, chips, switches, NICs, network nodes and links (A--B). A server takes its chips and NICs with it, and
    restores them later. All of the addresses are set, or none.

    \b
    trninv set u-trn2x64/d0/s1/c5 down --why "HBM errors, ticket 4711"
    trninv set u-trn2x64/d0/s0/c0--u-trn2x64/d0/s1/c0 degraded \\
        --factor 0.5 --why "half of its lanes"
    trninv set u-trn2x64/d0/s1/c5 up --why "replaced"
    """
    condition = Condition.of(state, factor)
    with changing(database) as connection:
        made = set_state(connection, addresses, condition, why=why, who=who)
        kept = dict(kept_by_server(connection, addresses))

    def table() -> None:
        for change in made:
            say(f"{change.address}: {change.before} → {change.after}")
        if not made:
            say(f"{'it is' if len(addresses) == 1 else 'all are'} {condition} already")
        for address, stays in kept.items():
            say(f"{address} stays {stays} as long as its server is")

    show(style, [{"address": c.address, "before": str(c.before), "after": str(c.after)} for c in made], table)
