"""Answer how many parts of a place were unhealthy over time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from sqlalchemy import select

from trninv.database.as_of import as_of_time
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, InvalidTimeError, WrongLevelError
from trninv.history import timeline as history
from trninv.history.point_in_time import parse_time
from trninv.inventory.address.lookup import resolve
from trninv.routing.answer import AddressText, Answer, Rendered, RenderedTable
from trninv.routing.question import ROUTED_COST, Argument, FreeText, question
from trninv.routing.wiring_cache import SnapshotReader
from trninv.units import pluralize

MAX_BUCKETS: Final = 1_000
_BAR_CHARACTERS: Final = " ▁▂▃▄▅▆▇█"
_DEFINITION: Final = (
    "servers, chips, switches, NICs, network nodes and links of the place and links that end there that are not up, "
    "those that a server took along included; worst is the most at once, of each state for itself and of all together; "
    "a bucket has what happened after its beginning and up to its end"
)


@dataclass(frozen=True, slots=True)
class UnhealthyCount:
    """Parts that are not up, by state."""

    degraded: Annotated[int, "Carry a part."]
    down: Annotated[int, "Have failed, or their server has."]
    maintenance: Annotated[int, "Were taken out of service, or their server was."]
    total: Annotated[int, "All that are not up; at worst, at the same time."]

    @classmethod
    def from_history(cls, counts_by_state: history.UnhealthyCounts) -> "UnhealthyCount":
        """Convert counts of the history."""
        degraded, down, maintenance = counts_by_state.counts
        return cls(degraded, down, maintenance, counts_by_state.all)


@dataclass(frozen=True, slots=True)
class TimelineBucket:
    """A part of the time."""

    start: Annotated[str, "When it begins."]
    end: Annotated[str, "When it ends."]
    worst: Annotated[UnhealthyCount, "The most at once."]
    unhealthy_at_end: Annotated[UnhealthyCount, "At its end."]
    events: Annotated[int, "Changes of parts in it."]

    @classmethod
    def from_history(cls, history_bucket: history.TimelineInterval) -> "TimelineBucket":
        """Convert an interval of the history."""
        worst, unhealthy_at_end = map(UnhealthyCount.from_history, (history_bucket.worst, history_bucket.at_end))
        return cls(
            history_bucket.begin.isoformat(),
            history_bucket.end.isoformat(),
            worst,
            unhealthy_at_end,
            history_bucket.events,
        )


@dataclass(frozen=True, kw_only=True)
class TimelineAnswer(Answer):
    """How many parts of a place were not up, over time."""

    scope: Annotated[AddressText, "The place."]
    since: Annotated[str, "When it begins."]
    until: Annotated[str, "When it ends."]
    requested_since: Annotated[
        str | None, "The earlier time that was asked for, where history is known only since later."
    ]
    buckets: Annotated[tuple[TimelineBucket, ...], "The time in parts of the same length, the earliest first."]

    @property
    def worst(self) -> int:
        """The most parts that were not up at once."""
        return max(bucket.worst.total for bucket in self.buckets)

    def render(self) -> Rendered:
        yield f"{self.scope}: {self.since} to {self.until}"
        if self.requested_since:
            yield f"history is known since {self.since} only: nothing is shown from {self.requested_since} to then"
        if self.worst:
            yield "".join(_bar_character(bucket.worst.total, self.worst) for bucket in self.buckets).rstrip()
        if any(bucket.events for bucket in self.buckets):
            yield "".join("^" if bucket.events else " " for bucket in self.buckets).rstrip()
        yield f"at most {pluralize(self.worst, 'part')} not up at once; ^ marks changes"
        changed_buckets = [bucket for bucket in self.buckets if bucket.events]
        if changed_buckets:
            yield RenderedTable(
                ["from", "to", "worst", "degraded", "down", "maintenance", "events"], map(_render_row, changed_buckets)
            )


def _bar_character(count: int, maximum: int) -> str:
    return _BAR_CHARACTERS[-(-count * (len(_BAR_CHARACTERS) - 1) // maximum)]


def _render_row(bucket: TimelineBucket) -> Iterator[object]:
    yield from (bucket.start, bucket.end, f"{bucket.worst.total:,}")
    yield from (
        f"{count:,}"
        for count in (
            bucket.unhealthy_at_end.degraded,
            bucket.unhealthy_at_end.down,
            bucket.unhealthy_at_end.maintenance,
            bucket.events,
        )
    )


@question(
    cost=ROUTED_COST, examples=("timeline u-trn2x64 --since 2026-11-01T00:00:00Z --buckets 30",), has_baseline=False
)
def timeline(
    reader: SnapshotReader,
    scope: Annotated[
        str, Argument("Place or link; with all that it holds and the links that end there.", metavar="SCOPE")
    ],
    since: Annotated[
        FreeText | None, Argument("An ISO time with its zone; since history is known unless said.", metavar="TIME")
    ] = None,
    until: Annotated[FreeText | None, Argument("An ISO time with its zone; now unless said.", metavar="TIME")] = None,
    buckets: Annotated[int, Argument("How many parts the time has", minimum=1, maximum=MAX_BUCKETS, metavar="N")] = 60,
) -> TimelineAnswer:
    """How many parts of a place were not up over time, by state, and when something changed."""
    connection, cluster = reader.connection, TABLES["cluster"]
    if reader.changes.nodes or reader.changes.links:
        raise InvalidArgumentError("history is what happened: ask it without supposing anything down or derated")
    place = resolve(connection, scope)
    if place.level == "core":
        raise WrongLevelError(f"{place.address} is a core and has no state: name its chip")
    cluster_row = connection.execute(select(cluster).where(cluster.c.id == place.cluster_id)).one()
    if cluster_row.known_since is None:
        raise InvalidTimeError(f"no history is known of {cluster_row.slug}: it was not seeded by this trninv")
    now, history_start = (
        as_of_time(connection.engine) or datetime.now(UTC),
        datetime.fromisoformat(cluster_row.known_since),
    )
    end = now if until is None else parse_time(until)
    requested = history_start if since is None else parse_time(since)
    start = max(history_start, requested)
    if start >= end or end > now:
        problem = f"from {start.isoformat()} to {end.isoformat()} there is no history of {cluster_row.slug}"
        raise InvalidTimeError(f"{problem}, which is known since {cluster_row.known_since}: name an earlier time first")
    return TimelineAnswer(
        scope=place.address,
        since=start.isoformat(),
        until=end.isoformat(),
        requested_since=requested.isoformat() if requested < start else None,
        buckets=tuple(
            map(
                TimelineBucket.from_history,
                history.timeline_intervals(connection, place, cluster_row.known_from, start, end, buckets),
            )
        ),
        definition=_DEFINITION,
        facts=(),
    )
