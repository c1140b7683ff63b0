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
from trninv.inventory.parameter import Argument, FreeText
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.units import pluralize

MAX_BUCKETS: Final = 1_000
_BAR_CHARACTERS: Final = " ▁▂▃▄▅▆▇█"
_DEFINITION: Final = (
    "unhealthy servers, chips, switches, NICs, network nodes and links of the place, and links that end there, "
    "cascades from servers included; worst is the most at once, for each state and for all together; a bucket "
    "counts what happened after its start and up to its end"
)


@dataclass(frozen=True, slots=True)
class UnhealthyCount:
    """Unhealthy parts by state."""

    degraded: Annotated[int, "Degraded parts."]
    down: Annotated[int, "Parts that are down, or whose server is."]
    maintenance: Annotated[int, "Parts in maintenance, or whose server is."]
    total: Annotated[int, "All unhealthy parts; at worst, at the same time."]

    @classmethod
    def from_history(cls, counts_by_state: history.UnhealthyCounts) -> "UnhealthyCount":
        """Convert counts of the history."""
        degraded, down, maintenance = counts_by_state.counts
        return cls(degraded, down, maintenance, counts_by_state.all)


@dataclass(frozen=True, slots=True)
class TimelineBucket:
    """An interval of the period."""

    start: Annotated[str, "Start of the interval."]
    end: Annotated[str, "End of the interval."]
    worst: Annotated[UnhealthyCount, "Most unhealthy parts at once."]
    unhealthy_at_end: Annotated[UnhealthyCount, "Unhealthy parts at the end."]
    events: Annotated[int, "Number of changes of parts in it."]

    @classmethod
    def from_history(cls, interval: history.TimelineInterval) -> "TimelineBucket":
        """Convert an interval of the history."""
        return cls(
            interval.begin.isoformat(),
            interval.end.isoformat(),
            UnhealthyCount.from_history(interval.worst),
            UnhealthyCount.from_history(interval.at_end),
            interval.events,
        )


@dataclass(frozen=True, kw_only=True)
class TimelineAnswer(Answer):
    """Number of unhealthy parts of a place over time."""

    scope: Annotated[AddressText, "The place."]
    since: Annotated[str, "Start of the period."]
    until: Annotated[str, "End of the period."]
    requested_since: Annotated[str | None, "The requested start, if history starts later."]
    buckets: Annotated[tuple[TimelineBucket, ...], "Intervals of equal length, earliest first."]

    @property
    def worst(self) -> int:
        """Highest number of parts that were unhealthy at the same time."""
        return max(bucket.worst.total for bucket in self.buckets)

    def render(self) -> Rendered:
        yield f"{self.scope}: {self.since} to {self.until}"
        if self.requested_since:
            yield f"history starts at {self.since}; nothing is shown between {self.requested_since} and then"
        if self.worst:
            yield "".join(_bar_character(bucket.worst.total, self.worst) for bucket in self.buckets).rstrip()
        if any(bucket.events for bucket in self.buckets):
            yield "".join("^" if bucket.events else " " for bucket in self.buckets).rstrip()
        yield f"at most {pluralize(self.worst, 'part')} unhealthy at once; ^ marks changes"
        changed_buckets = [bucket for bucket in self.buckets if bucket.events]
        if changed_buckets:
            yield RenderedTable(
                ["from", "to", "worst", "degraded", "down", "maintenance", "events"], map(_render_row, changed_buckets)
            )


def _bar_character(count: int, maximum: int) -> str:
    """Return the block character whose height is the share of a count in the maximum, rounded up."""
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
    cost=ROUTED_COST,
    examples=("timeline u-trn2x64 --since 2026-11-01T00:00:00Z --buckets 30",),
    has_baseline=False,
    reads_clock=True,
)
def timeline(
    snapshot: Snapshot,
    scope: Annotated[
        str, Argument("Place or link, with everything in it and the links that end there.", metavar="SCOPE")
    ],
    since: Annotated[
        FreeText | None, Argument("ISO time with its zone; by default the start of the history.", metavar="TIME")
    ] = None,
    until: Annotated[FreeText | None, Argument("ISO time with its zone; by default now.", metavar="TIME")] = None,
    buckets: Annotated[int, Argument("Number of time intervals", minimum=1, maximum=MAX_BUCKETS, metavar="N")] = 60,
) -> TimelineAnswer:
    """Count the unhealthy parts of a place over time, by state."""
    connection, cluster = snapshot.connection, TABLES["cluster"]
    if snapshot.changes.nodes or snapshot.changes.links:
        raise InvalidArgumentError("a scenario has no history; omit what is down or derated")
    place = resolve(connection, scope)
    if place.level == "core":
        raise WrongLevelError(f"{place.address} is a core and has no state; name its chip")
    cluster_row = connection.execute(select(cluster).where(cluster.c.id == place.cluster_id)).one()
    if cluster_row.known_since is None:
        raise InvalidTimeError(
            f"{cluster_row.slug} has no history, because this trninv did not seed it; name another cluster"
        )
    now = as_of_time(connection.engine) or datetime.now(UTC)
    history_start = datetime.fromisoformat(cluster_row.known_since)
    end = now if until is None else parse_time(until)
    requested = history_start if since is None else parse_time(since)
    start = max(history_start, requested)
    if start >= end or end > now:
        problem = f"there is no history of {cluster_row.slug} from {start.isoformat()} to {end.isoformat()}"
        raise InvalidTimeError(f"{problem}: it starts at {cluster_row.known_since}; use an earlier time first")
    # known_from: the number of the event after which the history starts
    recorded = history.RecordedPlace(place, cluster_row.known_from, history_start)
    return TimelineAnswer(
        scope=place.address,
        since=start.isoformat(),
        until=end.isoformat(),
        requested_since=requested.isoformat() if requested < start else None,
        buckets=tuple(
            TimelineBucket.from_history(interval)
            for interval in history.timeline_intervals(connection, [recorded], start, end, buckets)
        ),
        definition=_DEFINITION,
        facts=(),
    )
