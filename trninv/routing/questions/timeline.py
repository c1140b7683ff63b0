"""How many parts of a place were not up, over time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from sqlalchemy import select

from trninv.errors import LimitError, MomentError, WrongLevelError
from trninv.history import timeline as history
from trninv.history.moment import instant
from trninv.inventory.address import locate
from trninv.inventory.past import time_of
from trninv.inventory.schema import TABLES
from trninv.routing.answer import Answer, At, Table, Told
from trninv.routing.question import ROUTED, Argument, Text, question
from trninv.routing.wiring import Reader
from trninv.units import counted

MOST: Final = 1_000
_BARS: Final = " ▁▂▃▄▅▆▇█"
_DEFINED: Final = (
    "servers, chips, switches, NICs, network nodes and links of the place and links that end there that are not up, "
    "those that a server took along included; worst is the most at once, of each state for itself and of all together; "
    "a bucket has what happened after its beginning and up to its end"
)


@dataclass(frozen=True, slots=True)
class NotUpCount:
    """Parts that are not up, by state."""

    degraded: Annotated[int, "Carry a part."]
    down: Annotated[int, "Have failed, or their server has."]
    maintenance: Annotated[int, "Were taken out of service, or their server was."]
    total: Annotated[int, "All that are not up; at worst, at the same time."]

    @classmethod
    def of(cls, found: history.NotUp) -> "NotUpCount":
        """As history has it."""
        degraded, down, maintenance = found.counts
        return cls(degraded, down, maintenance, found.all)


@dataclass(frozen=True, slots=True)
class TimelineBucket:
    """A part of the time."""

    begin: Annotated[str, "When it begins."]
    end: Annotated[str, "When it ends."]
    worst: Annotated[NotUpCount, "The most at once."]
    at_end: Annotated[NotUpCount, "At its end."]
    events: Annotated[int, "Changes of parts in it."]

    @classmethod
    def of(cls, found: history.Part) -> "TimelineBucket":
        """As history has it."""
        worst, at_end = map(NotUpCount.of, (found.worst, found.at_end))
        return cls(found.begin.isoformat(), found.end.isoformat(), worst, at_end, found.events)


@dataclass(frozen=True, kw_only=True)
class TimelineAnswer(Answer):
    """How many parts of a place were not up, over time."""

    of: Annotated[At, "The place."]
    since: Annotated[str, "When it begins."]
    until: Annotated[str, "When it ends."]
    asked: Annotated[str | None, "The earlier time that was asked for, where history is known only since later."]
    buckets: Annotated[tuple[TimelineBucket, ...], "The time in parts of the same length, the earliest first."]

    @property
    def worst(self) -> int:
        """The most parts that were not up at once."""
        return max(each.worst.total for each in self.buckets)

    def told(self) -> Told:
        yield f"{self.of}: {self.since} to {self.until}"
        if self.asked:
            yield f"history is known since {self.since} only: nothing is shown from {self.asked} to then"
        if self.worst:
            yield "".join(_bar(each.worst.total, self.worst) for each in self.buckets).rstrip()
        if any(each.events for each in self.buckets):
            yield "".join("^" if each.events else " " for each in self.buckets).rstrip()
        yield f"at most {counted(self.worst, 'part')} not up at once; ^ marks changes"
        eventful = [each for each in self.buckets if each.events]
        if eventful:
            yield Table(["from", "to", "worst", "degraded", "down", "maintenance", "events"], map(_row, eventful))


def _bar(count: int, most: int) -> str:
    return _BARS[-(-count * (len(_BARS) - 1) // most)]


def _row(of: TimelineBucket) -> Iterator[object]:
    yield from (of.begin, of.end, f"{of.worst.total:,}")
    yield from (f"{count:,}" for count in (of.at_end.degraded, of.at_end.down, of.at_end.maintenance, of.events))


@question(price=ROUTED, examples=("timeline u-trn2x64 --since 2026-11-01T00:00:00Z --buckets 30",), compares=False)
def timeline(
    reader: Reader,
    of: Annotated[
        str, Argument("Place or link; with all that it holds and the links that end there.", metavar="SCOPE")
    ],
    since: Annotated[
        Text | None, Argument("An ISO time with its zone; since history is known unless said.", metavar="TIME")
    ] = None,
    until: Annotated[Text | None, Argument("An ISO time with its zone; now unless said.", metavar="TIME")] = None,
    buckets: Annotated[int, Argument("How many parts the time has", least=1, most=MOST, metavar="N")] = 60,
) -> TimelineAnswer:
    """How many parts of a place were not up over time, by state, and when something changed."""
    connection, cluster = reader.connection, TABLES["cluster"]
    if reader.changes.nodes or reader.changes.links:
        raise LimitError("history is what happened: ask it without supposing anything down or derated")
    place = locate(connection, of)
    if place.level == "core":
        raise WrongLevelError(f"{place.address} is a core and has no state: name its chip")
    known = connection.execute(select(cluster).where(cluster.c.id == place.cluster_id)).one()
    if known.known_since is None:
        raise MomentError(f"no history is known of {known.slug}: it was not seeded by this trninv")
    now, begins = time_of(connection.engine) or datetime.now(UTC), datetime.fromisoformat(known.known_since)
    ends = now if until is None else instant(until)
    wanted = begins if since is None else instant(since)
    start = max(begins, wanted)
    if start >= ends or ends > now:
        says = f"from {start.isoformat()} to {ends.isoformat()} there is no history of {known.slug}"
        raise MomentError(f"{says}, which is known since {known.known_since}: name an earlier time first")
    return TimelineAnswer(
        of=place.address,
        since=start.isoformat(),
        until=ends.isoformat(),
        asked=wanted.isoformat() if wanted < start else None,
        buckets=tuple(
            map(TimelineBucket.of, history.timeline(connection, place, known.known_from, start, ends, buckets))
        ),
        definition=_DEFINED,
        facts=(),
    )
