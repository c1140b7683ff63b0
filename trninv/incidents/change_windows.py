"""Join changes in one rack that are at most five minutes apart.

Only the history before a change decides its window, so later changes never move it, and an incident keeps its number
while any of its parts is unhealthy. A change of parts in several racks, or in none, has a window of its own.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from trninv.incidents.failures import FailureEvent
from trninv.incidents.model import Location, PartKey

WINDOW: Final = timedelta(minutes=5)
_TICK: Final = timedelta(microseconds=1)

Span = tuple[datetime, datetime]
FailureLoader = Callable[[list[Span]], Iterable[FailureEvent]]
"""Loads the failure events of disjoint time spans."""
LocationLoader = Callable[[Collection[PartKey]], Iterable[tuple[PartKey, Location]]]
"""Loads the locations of parts."""


@dataclass(slots=True)
class _ChangeIndex:
    """The changes loaded so far: their times, and the racks of the parts that failed."""

    times: dict[int, datetime] = field(default_factory=dict)
    racks: dict[int, set[int | None]] = field(default_factory=dict)

    def add(self, failures: Iterable[FailureEvent], locations: Mapping[PartKey, Location]) -> None:
        for failure in failures:
            if failure.part in locations and failure.change > locations[failure.part].history_from_event:
                self.times.setdefault(failure.change, datetime.fromisoformat(failure.time))
                self.racks.setdefault(failure.change, set()).add(locations[failure.part].rack)

    def common_rack(self, change: int) -> int | None:
        """Return the rack that contains all of a change, or None."""
        racks = self.racks[change]
        return next(iter(racks)) if len(racks) == 1 else None


def window_starts(
    current: Collection[FailureEvent],
    locations: Mapping[PartKey, Location],
    load_failures: FailureLoader,
    load_locations: LocationLoader,
) -> dict[int, int]:
    """Map each current change to the first change of its window.

    Parameters
    ----------
    current
        Failure events of the unhealthy parts.
    locations
        Locations of these parts.

    """
    index, all_locations = _ChangeIndex(), dict(locations)
    index.add(current, all_locations)
    racks = {location.rack for location in locations.values()} - {None}
    covered: list[Span] = []
    waiting = set(index.times.values())
    while waiting:
        spans = _subtract(((time - WINDOW, time) for time in waiting), covered)
        failures = list(load_failures(spans)) if spans else []
        covered = _merge_spans([*covered, *spans])
        all_locations.update(load_locations({failure.part for failure in failures} - all_locations.keys()))
        indexed = set(index.times)
        index.add(failures, all_locations)
        waiting = {index.times[change] for change in index.times.keys() - indexed if index.common_rack(change) in racks}
    starts = _window_starts(index)
    return {failure.change: starts.get(failure.change, failure.change) for failure in current}


def _window_starts(index: _ChangeIndex) -> dict[int, int]:
    """Map every change that lies in one rack to the first change of its window."""
    starts, open_windows = dict[int, int](), dict[int, tuple[datetime, int]]()
    for time, change in sorted((time, change) for change, time in index.times.items()):
        if (rack := index.common_rack(change)) is None:
            continue
        if rack not in open_windows or time - open_windows[rack][0] > WINDOW:
            open_windows[rack] = time, change
        starts[change] = open_windows[rack][1]
    return starts


def _merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge spans into disjoint spans that cover the same time."""
    merged: list[Span] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _subtract(spans: Iterable[Span], covered: list[Span]) -> list[Span]:
    """Return the parts of spans that are not covered yet; an end point that both share counts as covered."""
    remaining, covered_ends = list[Span](), [high for _, high in covered]
    for low, high in _merge_spans(spans):
        start = low
        for covered_start, covered_end in covered[bisect_left(covered_ends, low) :]:
            if covered_start > high:
                break
            if covered_start > start:
                remaining.append((start, covered_start - _TICK))
            start = covered_end + _TICK
        if start <= high:
            remaining.append((start, high))
    return remaining
