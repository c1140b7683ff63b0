"""List events and follow new ones (`events`)."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import click

from trninv.characters import escape_controls
from trninv.cli.database_connection import NOT_ANSWERING, open_fleet, read_revision
from trninv.cli.messages import print_wrapped
from trninv.cli.output import MAX_LIMIT, print_table, print_truncation, print_value
from trninv.cli.progress_line import Progress
from trninv.cli.shell_completion import ADDRESS
from trninv.database.tables import ACTIONS, EVENT_SOURCES, PART_KINDS
from trninv.errors import InvalidArgumentError, UsageError
from trninv.history.events import Event
from trninv.placement.placement_fleet import Fleet

_POLL_SECONDS: Final = 0.5
"""Time between two checks for new events."""
_PAGE_SIZE: Final = 1_000
_EMPTY_HINT: Final = "no events match: trninv set ADDRESS STATE --why TEXT records one"


@click.command()
@click.argument("scope", required=False, type=ADDRESS)
@click.option("--since", metavar="TIME", help="Only events at or after this time: an ISO time with its zone.")
@click.option("--until", metavar="TIME", help="Only events up to this time.")
@click.option("--kind", type=click.Choice(PART_KINDS), help="Only events of this kind of part.")
@click.option("--action", type=click.Choice(ACTIONS), help="Only this action on jobs, cordons or reservations.")
@click.option("--job", metavar="JOB", help="Only events of jobs with this name.")
@click.option("--who", metavar="NAME", help="Only events by this user.")
@click.option("--why", metavar="TEXT", help="Only events whose reason contains this text.")
@click.option("--source", type=click.Choice(EVENT_SOURCES), help="Only events from this source.")
@click.option("--batch", type=int, metavar="N", help="Only events of the change whose first event is N.")
@click.option("--last", "limit", default=50, show_default=True, metavar="N", help="Maximum number of events.")
@click.option("--follow", is_flag=True, help="Print the last N, then new events until Ctrl-C, oldest first.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json", "ndjson"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@click.pass_obj
def events(database: str, /, limit: int, style: str, *, follow: bool, **filters: Any) -> None:
    """List events: who changed what, when and why, newest first.

    With SCOPE, only events of its parts, of links that end there and of jobs with chips there. A job's address is the
    smallest place that contains all of its chips. Other commands accept an event number as the time in --at.

    \b
    trninv events u-trn2x64/d0/s1 --since 2026-11-22T00:00:00Z
    trninv events u-trn2x64 --kind server --why ticket
    trninv events u-trn2x64/d0/s1 --job train-7b
    trninv events --follow --format ndjson
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgumentError(f"--last {limit}: give a number from 1 to {MAX_LIMIT:,}")
    if follow and (style == "json" or filters["until"]):
        raise UsageError("--follow does not end; omit --until and use --format table or ndjson")
    with open_fleet(database) as fleet:
        if follow:
            _follow_events(fleet, limit, style, filters)
            return
        with Progress("events"):
            row_limit = limit + (style == "table")  # one more shows whether there are more
            event_list = list(fleet.events(limit=row_limit, **filters))
    if style == "ndjson":
        _print_lines(event_list, style)
    else:
        print_value(style, [event.to_json() for event in event_list], lambda: _print_table(event_list, limit))


def _print_table(event_list: list[Event], limit: int) -> None:
    print_table(
        ["event", "at", "who", "source", "address", "before", "after", "why"],
        (
            [event.event, event.at, event.who, event.source, event.address, *_render_change(event), event.why]
            for event in event_list[:limit]
        ),
        optional_columns=["source", "who"],
        empty_text=_EMPTY_HINT,
        exact_times=True,
    )
    print_truncation(event_list, limit, "--last N")
    for event in event_list[:limit]:
        if event.clock_went_back:
            print_wrapped(f"the clock was set back before event {event.event}: event numbers give the order")


def _render_change(event: Event) -> tuple[str, str]:
    """Return the conditions before and after, or, for an action, an empty text and the action."""
    if event.action is None:
        return str(event.before), str(event.after)
    action = event.action if event.moved_from is None else "moved from here:" if event.moved_from else "moved to here:"
    return "", f"{action} {event.job}" if event.job else action


def _print_lines(event_list: list[Event], style: str) -> None:
    for event in event_list:
        if style == "ndjson":
            click.echo(escape_controls(json.dumps(event.to_json(), ensure_ascii=False)))
        else:
            before, after = _render_change(event)
            change = f"{before} → {after}" if before else after
            click.echo(
                escape_controls(f"{event.event}  {event.at}  {event.who}  {event.address}: {change}  {event.why}")
            )


def _follow_events(fleet: Fleet, limit: int, style: str, filters: dict[str, Any]) -> None:
    """Print the latest events, then new ones until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        for page in _read_pages(fleet, limit, filters):
            _print_lines(page, style)


def _read_pages(fleet: Fleet, limit: int, filters: dict[str, Any]) -> Iterator[list[Event]]:
    """Yield the latest events, then pages of new ones, maybe empty; retry while the database is unreachable."""
    after: int | None = None
    last_revision, is_waiting = None, False
    while True:
        revision = read_revision(fleet)
        if revision is None or revision != last_revision:
            try:
                with fleet.snapshot() as snapshot:
                    newest = max((event.event for event in snapshot.events(limit=1)), default=0)
                    if after is None:
                        page = list(snapshot.events(limit=limit, **filters))[::-1]
                    else:
                        page = list(snapshot.events(limit=_PAGE_SIZE, after=after, **filters))
            except NOT_ANSWERING as error:
                if not is_waiting:
                    click.echo(f"{error}: retrying", err=True)
                is_waiting = True
            else:
                is_waiting = False
                yield page
                if after is not None and len(page) == _PAGE_SIZE:  # there may be more
                    after, last_revision = page[-1].event, None
                    continue
                # a service reads the page later, and filters omit events
                after, last_revision = max(newest, after or 0, *(event.event for event in page)), revision
        time.sleep(_POLL_SECONDS)
