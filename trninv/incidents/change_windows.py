"""Join changes in one rack into windows of five minutes, which `trninv.incidents.grouping` makes into incidents.

A change is one command or import that set the states of one or more parts; its number is that of its first event. A
window starts with a change that is in no earlier window, and has all changes of its rack up to five minutes later. A
change of parts in several racks, or in none, is the only one in its window.

The window of a change depends only on earlier changes, so later ones never alter it. An incident, whose number is that
of its window's first change, keeps the number while any of its parts is unhealthy.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from trninv.incidents.failures import FailureEvent
from trninv.incidents.model import Location, PartKey

WINDOW: Final = timedelta(minutes=5)
"""The most time between the first and the last change of a window."""
_TICK: Final = timedelta(microseconds=1)
"""The smallest difference between two times."""

Span = tuple[datetime, datetime]
"""The first and the last time of a time span, both included."""
FailureLoader = Callable[[list[Span]], Iterable[FailureEvent]]
"""Loads the failure events of disjoint time spans."""
LocationLoader = Callable[[Collection[PartKey]], Iterable[tuple[PartKey, Location]]]
"""Loads the locations of parts."""


@dataclass(slots=True)
class _ChangeIndex:
    """The changes loaded so far, by number: their times, and the ids of the racks in which parts failed.

    None stands for parts that are in no rack.
    """

    times: dict[int, datetime] = field(default_factory=dict)
    racks: dict[int, set[int | None]] = field(default_factory=dict)

    def add(self, failures: Iterable[FailureEvent], locations: Mapping[PartKey, Location]) -> None:
        """Add the changes that these failure events belong to.

        Parts that no longer exist are skipped, and so are events of an earlier cluster that had the same ids.
        """
        for failure in failures:
            location = locations.get(failure.part)
            if location and failure.change > location.seeded_after:
                self.times.setdefault(failure.change, datetime.fromisoformat(failure.time))
                self.racks.setdefault(failure.change, set()).add(location.rack)

    def common_rack(self, change: int) -> int | None:
        """Return the id of the rack that contains all parts of a change; None if no single rack does."""
        racks = self.racks[change]
        return next(iter(racks)) if len(racks) == 1 else None


def window_starts(
    current: Collection[FailureEvent],
    locations: Mapping[PartKey, Location],
    load_failures: FailureLoader,
    load_locations: LocationLoader,
) -> dict[int, int]:
    """Map each change that made a part unhealthy to the first change of its window.

    Parameters
    ----------
    current
        Failure events of the parts that are unhealthy now.
    locations
        Locations of these parts.

    """
    # The window of a change may start up to five minutes before it, and a change in these minutes may itself belong to
    # a still earlier window. So the five minutes before every change are loaded, until they have no new change in a
    # rack of a part that is unhealthy now.
    index, all_locations = _ChangeIndex(), dict(locations)
    index.add(current, all_locations)
    racks = {location.rack for location in locations.values()} - {None}
    covered: list[Span] = []
    new_times = set(index.times.values())
    while new_times:
        spans = _subtract(((time - WINDOW, time) for time in new_times), covered)
        failures = list(load_failures(spans)) if spans else []
        covered = merge_spans([*covered, *spans])
        all_locations.update(load_locations({failure.part for failure in failures} - all_locations.keys()))
        earlier_changes = set(index.times)
        index.add(failures, all_locations)
        new_changes = index.times.keys() - earlier_changes
        new_times = {index.times[change] for change in new_changes if index.common_rack(change) in racks}
    starts = _window_starts(index)
    return {failure.change: starts.get(failure.change, failure.change) for failure in current}


def _window_starts(index: _ChangeIndex) -> dict[int, int]:
    """Map every change that lies in one rack to the first change of its window."""
    starts, latest_windows = dict[int, int](), dict[int, tuple[datetime, int]]()
    for time, change in sorted((time, change) for change, time in index.times.items()):
        if (rack := index.common_rack(change)) is None:
            continue
        start_time, first_change = latest_windows.get(rack, (time, change))
        if time - start_time > WINDOW:
            start_time, first_change = time, change
        latest_windows[rack] = start_time, first_change
        starts[change] = first_change
    return starts


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge spans into disjoint spans that cover the same time."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged_start, merged_end = merged[-1]
            merged[-1] = merged_start, max(end, merged_end)
        else:
            merged.append((start, end))
    return merged


def _subtract(spans: Iterable[Span], covered: list[Span]) -> list[Span]:
    """Return the parts of spans that no covered span contains; ``covered`` is disjoint and ascending."""
    remaining, covered_ends = list[Span](), [end for _, end in covered]
    for start, end in merge_spans(spans):
        uncovered_start = start
        for covered_start, covered_end in covered[bisect_left(covered_ends, start) :]:
            if covered_start > end:
                break
            if covered_start > uncovered_start:
                remaining.append((uncovered_start, covered_start - _TICK))
            uncovered_start = covered_end + _TICK
        if uncovered_start <= end:
            remaining.append((uncovered_start, end))
    return remaining
