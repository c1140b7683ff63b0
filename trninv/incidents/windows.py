"""Which changes of a rack are one: those within five minutes of the first, whether what they took out is back or not.

Only the history before a change says where it belongs, so that nothing that happens later moves it, and an incident has
the same number as long as anything of it lasts. A change of parts in several racks, or in none, is one by itself.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from trninv.incidents.model import Key, Spot
from trninv.incidents.reading import Fault

WITHIN: Final = timedelta(minutes=5)
_TICK: Final = timedelta(microseconds=1)

Span = tuple[datetime, datetime]
Faults = Callable[[list[Span]], Iterable[Fault]]
"""Finds the faults of spans of time that have none in common."""
Where = Callable[[Collection[Key]], Iterable[tuple[Key, Spot]]]
"""Finds where parts are."""


@dataclass(slots=True)
class _Seen:
    """What is known of changes: when each was, and the racks of what it took out."""

    at: dict[int, datetime] = field(default_factory=dict)
    racks: dict[int, set[int | None]] = field(default_factory=dict)

    def add(self, faults: Iterable[Fault], known: Mapping[Key, Spot]) -> None:
        for each in faults:
            if each.part in known and each.change > known[each.part].known_from:
                self.at.setdefault(each.change, datetime.fromisoformat(each.at))
                self.racks.setdefault(each.change, set()).add(known[each.part].rack)

    def rack_of(self, change: int) -> int | None:
        """The rack that all of a change is in, if there is one."""
        racks = self.racks[change]
        return next(iter(racks)) if len(racks) == 1 else None


def first_changes(
    current: Collection[Fault], spots: Mapping[Key, Spot], faults: Faults, where: Where
) -> dict[int, int]:
    """The first change of the window that each of the current ones is in.

    Parameters
    ----------
    current
        Faults of what is not up.
    spots
        Where that is.

    """
    seen, known = _Seen(), dict(spots)
    seen.add(current, known)
    racks = {spot.rack for spot in spots.values()} - {None}
    covered: list[Span] = []
    waiting = set(seen.at.values())
    while waiting:
        spans = _less(((at - WITHIN, at) for at in waiting), covered)
        found = list(faults(spans)) if spans else []
        covered = _merged([*covered, *spans])
        known.update(where({each.part for each in found} - known.keys()))
        before = set(seen.at)
        seen.add(found, known)
        waiting = {seen.at[change] for change in seen.at.keys() - before if seen.rack_of(change) in racks}
    firsts = _firsts(seen)
    return {each.change: firsts.get(each.change, each.change) for each in current}


def _firsts(seen: _Seen) -> dict[int, int]:
    """The first change of the window of every change that lies in one rack."""
    found, opened = dict[int, int](), dict[int, tuple[datetime, int]]()
    for at, change in sorted((at, change) for change, at in seen.at.items()):
        if (rack := seen.rack_of(change)) is None:
            continue
        if rack not in opened or at - opened[rack][0] > WITHIN:
            opened[rack] = at, change
        found[change] = opened[rack][1]
    return found


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans that have none in common and are the same in all."""
    found: list[Span] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _less(spans: Iterable[Span], covered: list[Span]) -> list[Span]:
    """What of spans is not covered yet; a time at which both meet is covered."""
    found, ends = list[Span](), [high for _, high in covered]
    for low, high in _merged(spans):
        start = low
        for begins, ends_at in covered[bisect_left(ends, low) :]:
            if begins > high:
                break
            if begins > start:
                found.append((start, begins - _TICK))
            start = ends_at + _TICK
        if start <= high:
            found.append((start, high))
    return found
