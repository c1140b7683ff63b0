"""set, events: the condition of things, and who changed it when and why."""

import getpass

import click

from trninv.cli.output import MOST, format_option, rows, show
from trninv.errors import LimitError, UsageError
from trninv.history.events import events as listed
from trninv.inventory.database import connect, reading, writing
from trninv.inventory.schema import STATES
from trninv.inventory.state import Condition, set_state


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
@click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS…")
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
    trninv set u-trn2x64/d0/s0/c0--u-trn2x64/d0/s1/c0 degraded --factor 0.5 --why "half of its lanes"
    trninv set u-trn2x64/d0/s1/c5 up --why "replaced"
    """
    condition = Condition.of(state, factor)
    with connect(database) as engine, writing(engine) as connection:
        made = set_state(connection, addresses, condition, why=why, who=who)

    def table() -> None:
        for change in made:
            click.echo(f"{change.address}: {change.before} → {change.after}")
        if not made:
            click.echo(f"{'it is' if len(addresses) == 1 else 'all are'} {condition} already")

    show(style, [{"address": c.address, "before": str(c.before), "after": str(c.after)} for c in made], table)


@click.command()
@click.argument("scope", required=False)
@click.option("--since", metavar="TIME", help="None before: an ISO time with its zone.")
@click.option("--until", metavar="TIME", help="None after.")
@click.option("--last", default=50, show_default=True, metavar="N", help="How many, newest first.")
@format_option
@click.pass_obj
def events(database: str, scope: str | None, since: str | None, until: str | None, last: int, style: str) -> None:
    """Who set what to which state, when and why; newest first.

    Of a place, with all that it holds and the links that end there. The number of an event is a time for --at.

    \b
    trninv events u-trn2x64/d0/s1 --since 2026-11-22T00:00:00Z
    """
    if not 1 <= last <= MOST:
        raise LimitError(f"--last {last}: ask for 1 to {MOST:,}")
    with connect(database) as engine, reading(engine) as connection:
        found = [
            {
                "event": one.number,
                "at": one.at,
                "who": one.who,
                "source": one.source,
                "address": one.address,
                "before": str(one.before),
                "after": str(one.after),
                "why": one.why,
                "clockWentBack": one.clock_went_back,
            }
            for one in listed(connection, scope, since=since, until=until, most=last)
        ]

    def table() -> None:
        headers = ["event", "at", "who", "source", "address", "before", "after", "why"]
        rows(headers, ([each[header] for header in headers] for each in found))
        for each in found:
            if each["clockWentBack"]:
                click.echo(f"the clock had gone back before event {each['event']}: numbers keep the order")

    show(style, found, table)
