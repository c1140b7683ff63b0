"""List incidents that have closed: failures in the groups of `trninv.incidents.grouping`, all of them repaired.

A closed incident consists of the failures of one window (`trninv.incidents.change_windows`). It closed with the last
recovery of a part that failed itself in this window. A failure that began and ended while the part's server was
unhealthy never was an incident of its own, and is none here.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection

from trninv.incidents import common_place, failure_history, failures
from trninv.incidents.change_windows import WINDOW, merge_spans, window_starts
from trninv.incidents.failures import FailureEvent, PartSite
from trninv.incidents.grouping import count_parts, grouping_rule, resolve_scope, root_causes
from trninv.incidents.incident_context import instances_at, load_notes
from trninv.incidents.losses import load_losses
from trninv.incidents.model import (
    MAX_LISTED,
    ClosedIncident,
    PartKey,
    UnhealthyPart,
    classify_severity,
    part_key,
)
from trninv.inventory.address.lookup import Place
from trninv.inventory.state.condition import Condition, effective_condition

MAX_CLOSED: Final = 200
"""The most closed incidents that are listed, the latest; a list at an earlier time has those before it.

With a scope, they are those in which a part there recovered last.
"""
_BATCH_SIZE: Final = 500
"""Recoveries that are loaded at a time."""
_MAX_RECOVERIES: Final = 20_000
"""The most recoveries that are searched, with a scope the most there."""


def list_closed_incidents(connection: Connection, scope: str | None = None) -> list[ClosedIncident]:
    """List the last incidents that closed, the latest first.

    Parameters
    ----------
    scope
        An address: only incidents that had a part at or below it, or a link that ends there, are returned.

    Raises
    ------
    AddressError, UnknownAddressError
    """
    place = None if scope is None else resolve_scope(connection, scope)
    windows = islice(_closed_windows(connection, place), MAX_CLOSED)
    return list(_build_incidents(connection, sorted(windows, key=_closing, reverse=True)))


def _closed_windows(connection: Connection, place: Place | None) -> Iterator["_Window"]:
    """Yield closed windows that had a part in a place, by the last recovery of a part there, the latest first."""
    visited, before, count = set[int](), failures.MAX_EVENT, 0
    while recoveries := failure_history.load_recoveries(connection, before, _BATCH_SIZE, place):
        before, count = recoveries[-1].id, count + len(recoveries)
        windows = [window for window in _load_windows(connection, recoveries) if window.first_change not in visited]
        visited |= {window.first_change for window in windows}
        # without a place, a window is visited at its last recovery, so that those of later batches closed earlier
        closed = [window for window in windows if window.closing_event and (place is None or window.touches(place))]
        yield from sorted(closed, key=_closing, reverse=True)
        if len(recoveries) < _BATCH_SIZE or count >= _MAX_RECOVERIES:
            return


@dataclass(frozen=True, slots=True)
class _Window:
    """The failures of a window, by event, and the parts that were unhealthy through them, in their worst state.

    ``closing_event`` is the last recovery; None if a part is still unhealthy by itself, or no failure was visible.
    """

    first_change: int
    failures: Mapping[int, Any]
    members: tuple[UnhealthyPart, ...]
    closing_event: int | None

    def touches(self, place: Place) -> bool:
        """Return whether it had a part at or below a place, or a link that ends there."""
        return any(common_place.is_in_place(part, place) for part in self.members)


def _closing(window: _Window) -> int:
    return window.closing_event or 0


def _load_windows(connection: Connection, recoveries: Sequence[Any]) -> Iterator[_Window]:
    """Yield the windows of the failures that ended with some recoveries."""
    parts = {row.failure: part_key(row.kind, row.part_id) for row in recoveries if row.failure is not None}
    summaries = failures.load_event_summaries(connection, parts)
    starts, _ = _starts(
        connection, [FailureEvent(event.change, event.time, parts[number]) for number, event in summaries.items()]
    )
    firsts = set(starts.values())
    times = [datetime.fromisoformat(event.time) for event in failures.load_event_summaries(connection, firsts).values()]
    rows = list(failure_history.load_failures(connection, merge_spans((time, time + WINDOW) for time in times)))
    starts, sites = _starts(
        connection, [FailureEvent(row.change, row.at, part_key(row.kind, row.part_id)) for row in rows]
    )
    recovered = failure_history.load_recovery_events(connection, {row.recovered for row in rows if row.recovered})
    rows_by_window = defaultdict[int, list[Any]](list)
    for row in rows:
        if starts.get(row.change) in firsts and part_key(row.kind, row.part_id) in sites:
            rows_by_window[starts[row.change]].append(row)
    for first, failed in rows_by_window.items():
        yield _build_window(first, failed, sites, recovered)


def _starts(connection: Connection, failed: Sequence[FailureEvent]) -> tuple[dict[int, int], dict[PartKey, PartSite]]:
    """Return the first change of each change's window, and the sites of the parts that exist.

    Failures of parts that no longer exist are omitted, and so are those of an earlier cluster that had the same ids.
    """
    sites = dict(failures.load_sites(connection, {failure.part for failure in failed}))
    present = [
        failure
        for failure in failed
        if failure.part in sites and failure.change > sites[failure.part].location.seeded_after
    ]
    starts = window_starts(
        present,
        {key: site.location for key, site in sites.items()},
        partial(failures.load_failure_events, connection),
        partial(failures.load_locations, connection),
    )
    return starts, sites


def _build_window(
    first: int, failed: Sequence[Any], sites: Mapping[PartKey, PartSite], recovered: Mapping[int, Any]
) -> _Window:
    def is_hidden(row: Any) -> bool:  # behind its server, from beginning to end
        return bool(
            row.recovered and row.failed_itself and row.before != "up" and recovered[row.recovered].state != "up"
        )

    visible = [row for row in failed if not is_hidden(row)]
    ends = [row.recovered for row in visible if row.failed_itself]
    members = dict[PartKey, UnhealthyPart]()
    for row in visible:
        key = part_key(row.kind, row.part_id)
        condition = Condition("down") if row.went_down else Condition(row.state, row.factor_ppm)
        if key in members:
            condition = effective_condition(condition, members[key].condition)
        members[key] = UnhealthyPart(
            row.kind,
            row.part_id,
            row.address,
            condition,
            row.failed_itself,
            *sites[key],
            failure_event=row.id,
        )
    closing = max(ends) if ends and None not in ends else None
    return _Window(first, {row.id: row for row in visible}, tuple(members.values()), closing)


def _build_incidents(connection: Connection, windows: Sequence[_Window]) -> Iterator[ClosedIncident]:
    causes = [_causes(window) for window in windows]
    places = common_place.smallest_common_place(connection, causes)
    closings = failure_history.load_recovery_events(connection, map(_closing, windows))
    firsts = failures.load_event_summaries(connection, {window.first_change for window in windows})
    spans = [(firsts[window.first_change].time, closings[_closing(window)].at) for window in windows]
    losses = load_losses(connection, [window.members for window in windows], spans)
    instances = instances_at(connection, causes, [start for start, _ in spans])
    notes = load_notes(connection, {str(window.first_change) for window in windows})
    for window, window_causes, place, loss, bound in zip(windows, causes, places, losses, instances, strict=True):
        closing, started_at = closings[_closing(window)], firsts[window.first_change].time
        changes = {window.failures[part.failure_event or 0].change for part in window_causes}
        failure = window.failures[window_causes[0].failure_event or 0]
        yield ClosedIncident(
            id=str(window.first_change),
            rule=grouping_rule({*changes, window.first_change}, window_causes, window.members),
            severity=classify_severity(window.members, loss),
            place=place,
            causes=tuple(part.address for part in window_causes[:MAX_LISTED]),
            cause_count=len(window_causes),
            parts=count_parts(window.members),
            started_at=started_at,
            who=failure.who,
            why=failure.why,
            source=failure.source,
            closed_at=closing.at,
            closed_by=closing.who,
            closed_why=closing.why,
            chips_lost=loss.chips,
            bandwidth_lost=loss.bandwidth,
            jobs=loss.jobs[:MAX_LISTED],
            job_count=len(loss.jobs),
            instances=bound[:MAX_LISTED],
            notes=tuple(notes.get(str(window.first_change), ())[-MAX_LISTED:]),
            closing_event=closing.id,
        )


def _causes(window: _Window) -> list[UnhealthyPart]:
    """Return the root causes of a window in the order of their failures."""
    causes = {cause.key: cause for cause in root_causes(window.members).values()}
    return sorted(causes.values(), key=lambda part: (part.failure_event or 0, part.key))
