"""events: what was set to which state, and which jobs came and went, when, by whom and why; now, and as it comes."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

import click
from sqlalchemy import Connection, Engine

from trninv.characters import plain
from trninv.cli.output import MOST, cut, rows, show
from trninv.cli.places import PLACE
from trninv.cli.progress import Progress
from trninv.cli.prose import say
from trninv.errors import LimitError, NotReachableError, UsageError
from trninv.history.events import Event, last
from trninv.history.events import events as listed
from trninv.inventory.address import locate
from trninv.inventory.database import connect, reading
from trninv.inventory.revision import Revision
from trninv.inventory.schema import ACTIONS, EVENT_SOURCES, PART_KINDS

_SECONDS: Final = 0.5
"""Between two looks for new events."""
_PAGE: Final = 1_000
_NONE: Final = "nothing happened so: trninv set ADDRESS STATE --why TEXT changes a state"


@click.command()
@click.argument("scope", required=False, type=PLACE)
@click.option("--since", metavar="TIME", help="None before: an ISO time with its zone.")
@click.option("--until", metavar="TIME", help="None after.")
@click.option("--kind", type=click.Choice(PART_KINDS), help="Only of parts of this kind.")
@click.option("--action", type=click.Choice(ACTIONS), help="Only this, of jobs and of servers closed to them.")
@click.option("--job", metavar="JOB", help="Only of the jobs of this name.")
@click.option("--who", metavar="NAME", help="Only what they did.")
@click.option("--why", metavar="TEXT", help="Only with this text in the reason.")
@click.option("--source", type=click.Choice(EVENT_SOURCES), help="Only what came from there.")
@click.option("--batch", type=int, metavar="N", help="Only those of the change whose first event is N.")
@click.option("--last", "most", default=50, show_default=True, metavar="N", help="How many, newest first.")
@click.option("--follow", is_flag=True, help="Print the last N, then each as it comes, oldest first, until Ctrl-C.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json", "ndjson"]),
    default="table",
    show_default=True,
    help="How to print.",
)
@click.pass_obj
def events(database: str, /, most: int, style: str, *, follow: bool, **tests: Any) -> None:
    """Who set what to which state, when and why, and which jobs came, moved and went; newest first.

    Of a place, with all that it holds, the links that end there and the jobs that held chips there. A job is at the
    least place that has all of its chips. The number of an event is a time for --at.

    \b
    trninv events u-trn2x64/d0/s1 --since 2026-11-22T00:00:00Z
    trninv events u-trn2x64 --kind server --why ticket
    trninv events u-trn2x64/d0/s1 --job train-7b
    trninv events --follow --format ndjson
    """
    if not 1 <= most <= MOST:
        raise LimitError(f"--last {most}: ask for 1 to {MOST:,}")
    if follow and (style == "json" or tests["until"]):
        raise UsageError("--follow never ends: leave out --until, and take --format table or ndjson")
    with connect(database) as engine:
        if follow:
            _follow(engine, most, style, tests)
            return
        with reading(engine) as connection, Progress("events"):
            found = _found(connection, most + (style == "table"), tests)
    if style == "ndjson":
        _lines(found, style)
    else:
        show(style, [each.fields() for each in found], lambda: _table(found, most))


def _found(connection: Connection, most: int, tests: dict[str, Any]) -> list[Event]:
    """Events; where there is none, a place that never was is told."""
    found = list(listed(connection, most=most, **tests))
    if not found and tests["scope"] is not None:
        locate(connection, tests["scope"])
    return found


def _table(found: list[Event], most: int) -> None:
    rows(
        ["event", "at", "who", "source", "address", "before", "after", "why"],
        ([each.event, each.at, each.who, each.source, each.address, *_became(each), each.why] for each in found[:most]),
        spare=["source", "who"],
        none=_NONE,
    )
    cut(found, most, "--last N")
    for each in found[:most]:
        if each.clock_went_back:
            say(f"the clock had gone back before event {each.event}: numbers keep the order")


def _became(of: Event) -> tuple[str, str]:
    """What was before and after; of a job or a closing, nothing and what was done."""
    if of.action is None:
        return str(of.before), str(of.after)
    return "", f"{of.action} {of.job}" if of.job else of.action


def _lines(found: list[Event], style: str) -> None:
    for each in found:
        if style == "ndjson":
            click.echo(plain(json.dumps(each.fields(), ensure_ascii=False)))
        else:
            before, after = _became(each)
            became = f"{before} → {after}" if before else after
            click.echo(plain(f"{each.event}  {each.at}  {each.who}  {each.address}: {became}  {each.why}"))


def _follow(engine: Engine, most: int, style: str, tests: dict[str, Any]) -> None:
    """Print until Ctrl-C; while the database does not answer, wait for it."""
    try:
        with reading(engine) as connection:
            after = last(connection)
            _lines(_found(connection, most, tests)[::-1], style)
        for found in _new(engine, after, tests):
            _lines(found, style)
    except KeyboardInterrupt:
        return


def _new(engine: Engine, after: int, tests: dict[str, Any]) -> Iterator[list[Event]]:
    watched, seen, is_waiting = Revision(engine), None, False
    while True:
        revision = watched.current()
        if revision is None or revision != seen:
            try:
                with reading(engine) as connection:
                    found = list(listed(connection, most=_PAGE, after=after, **tests))
                    newest = last(connection)
            except NotReachableError as error:
                if not is_waiting:
                    click.echo(f"{error}: waiting for it", err=True)
                is_waiting = True
            else:
                is_waiting = False
                yield found
                is_all = len(found) < _PAGE
                after, seen = (newest, revision) if is_all else (found[-1].event, None)
                if not is_all:
                    continue
        time.sleep(_SECONDS)
