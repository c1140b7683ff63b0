"""drift: where what was seen differs from the design."""

from dataclasses import replace
from datetime import timedelta

import click

from trninv.cli.output import format_option, rows, show
from trninv.cli.places import PLACE
from trninv.cli.progress import Progress
from trninv.cli.prose import hint, say
from trninv.cli.status import is_without
from trninv.cli.unclaimed import say_unclaimed
from trninv.inventory.database import connect, writing
from trninv.inventory.rules import SEVERITIES
from trninv.live.drift import Drift
from trninv.live.drift import drift as compared
from trninv.live.findings import Finding, findings
from trninv.units import counted

_MOST_MINUTES = 60 * 24 * 366


@click.command()
@click.argument("scope", required=False, metavar="[SCOPE]", type=PLACE)
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit status 1 where something as bad is found.")
@click.option("--apply", "is_applied", is_flag=True, help="Set what does not work down, by what was found.")
@click.option("--all", "with_cleared", is_flag=True, help="List what is over too.")
@click.option(
    "--stale-after",
    type=click.IntRange(1, _MOST_MINUTES),
    default=60,
    show_default=True,
    metavar="MINUTES",
    help="How old the newest that a source said may be.",
)
@format_option
@click.pass_obj
def drift(  # one parameter an option
    database: str,
    scope: str | None,
    fail_on: str | None,
    is_applied: bool,
    with_cleared: bool,
    stale_after: int,
    style: str,
) -> None:
    """Compare what machines and their managers reported with the design, and list where they differ, the worst first.

    Everything is compared and recorded (views v_drift, GraphQL drift); SCOPE only says what is listed and applied.
    States stay as they are unless --apply is there: then chips that are missing or tainted, servers that are gone or
    unhealthy and sides whose links are down are set so, with who = the source and why = the finding. Nothing is ever
    set up again.

    \b
    trninv drift
    trninv drift rainier/d17 --fail-on high
    trninv drift --apply
    """
    with connect(database) as engine, writing(engine) as connection, Progress("drift") as progress:
        stale = timedelta(minutes=stale_after)
        made = compared(connection, stale_after=stale, scope=scope, apply=is_applied, progress=progress)
        listed = findings(connection, scope, cleared=with_cleared)
        is_unseen = is_without(connection, "observation")
    show(style, replace(made, findings=tuple(listed)), lambda: _tell(listed, made))
    if is_unseen and style == "table":
        hint("nothing was imported yet: trninv import --help")
    if fail_on and any(SEVERITIES.index(each.severity) >= SEVERITIES.index(fail_on) for each in made.findings):
        raise click.exceptions.Exit(1)


def _tell(listed: list[Finding], made: Drift) -> None:
    if listed:
        headers = ["severity", "rule", "address", "instance", "expected", "found", "since"]
        columns = ("severity", "rule", "address", "instance", "expected", "found", "first_seen")
        over = ["until"] if any(each.cleared_at for each in listed) else []
        wanted = (*columns, *(["cleared_at"] if over else []))
        rows(headers + over, ((getattr(each, name) for name in wanted) for each in listed), spare=["since", "rule"])
        click.echo()
    for change in made.applied:
        say(f"{change.address}: {change.before} → {change.after}")
    if made.not_compared:
        rules = ", ".join(f"{rule} of {count:,}" for rule, count in made.not_compared.items())
        say(f"not compared: {rules} of {counted(made.servers, 'server')}, since no current source reports it")
    say(f"{counted(len(made.findings), 'finding')}; {made.new} new, {made.cleared} over")
    say_unclaimed(made.unclaimed)
