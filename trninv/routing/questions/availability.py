"""Answer how much of a period a place's parts were up, how often they failed and how long repairs took."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Final

from sqlalchemy import Connection, select

from trninv.database.as_of import as_of_time
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, InvalidTimeError
from trninv.history.availability import AvailabilityBy, availability_sums
from trninv.history.availability_sums import AvailabilitySums
from trninv.history.point_in_time import parse_time
from trninv.inventory.address.lookup import resolve
from trninv.inventory.parameter import Argument, FreeText
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot

_MICROSECONDS_PER_SECOND: Final = 1_000_000
_CACHED_GROUPS: Final = 1_000
"""Results that are kept, since most racks had no failure and differ only in their names."""
_CONFIDENCE: Final = 0.95
"""Confidence level of the two limits of a mean time or an availability."""
_DEFINITION: Final = (
    "shares of time by state over all parts of a kind, with their server's state included; degraded parts carry "
    "traffic and are counted separately, and maintenance is planned, not a failure. A failure is a change to "
    "down of a part itself, not with its server. MTBF is the time up or degraded per failure, MTTR the time "
    "down per ended repair, with the time of ongoing ones included; the 95 % limits are those of exponential "
    "times by chi-square, time censored (NIST/SEMATECH e-Handbook of Statistical Methods, 8.4.5.1). Without a "
    "failure there is only a lower limit. Inherent availability is MTBF / (MTBF + MTTR), with limits by the "
    "beta distribution of two such times"
)


@lru_cache(maxsize=10_000)
def _gamma_quantile(shape: int, probability: float) -> float:
    """Return a quantile of the gamma distribution with scale 1."""
    from scipy.special import gammaincinv  # noqa: PLC0415 # slow, and the service imports this file at its start

    return float(gammaincinv(shape, probability))


@lru_cache(maxsize=10_000)
def _beta_quantile(alpha: int, beta: int, probability: float) -> float:
    """Return a quantile of the beta distribution."""
    from scipy.special import betaincinv  # noqa: PLC0415 # slow, and the service imports this file at its start

    return float(betaincinv(alpha, beta, probability))


@dataclass(frozen=True, slots=True)
class MeanTime:
    """A mean time in seconds, with its 95 % confidence limits."""

    seconds: Annotated[float | None, "The estimate; null before the first event."]
    lower: Annotated[float | None, "Lower limit with 97.5 % confidence; null if no time was observed."]
    upper: Annotated[float | None, "Upper limit with 97.5 % confidence; null if none is known."]

    @classmethod
    @lru_cache(maxsize=_CACHED_GROUPS)
    def from_total(cls, microseconds: int, events: int) -> "MeanTime":
        """Estimate the mean time from the observed time and the number of events (failures or repairs) in it."""
        total, tail = microseconds / _MICROSECONDS_PER_SECOND, (1 - _CONFIDENCE) / 2
        return cls(
            total / events if events else None,
            total / _gamma_quantile(events + 1, 1 - tail) if microseconds else None,
            total / _gamma_quantile(events, tail) if events else None,
        )

    def __str__(self) -> str:
        if self.lower is None:
            return "-"
        low = _format_hours(self.lower)
        if self.seconds is None or self.upper is None:
            return f"> {low} h"
        return f"{_format_hours(self.seconds)} h ({low} to {_format_hours(self.upper)})"


def _format_hours(seconds: float) -> str:
    """Return seconds as hours with four digits, or as whole hours if there are more."""
    hours = seconds / 3600
    return f"{hours:,.0f}" if hours >= 10_000 else f"{hours:,.4g}"  # noqa: PLR2004 # the first with five digits


@dataclass(frozen=True, slots=True)
class InherentAvailability:
    """Inherent availability, MTBF / (MTBF + MTTR): the share of time up in the long run, without planned work."""

    share: Annotated[float | None, "The estimate; null without a failure and a repair."]
    lower: Annotated[float, "Lower limit with 97.5 % confidence; 0 if no repair has ended."]
    upper: Annotated[float, "Upper limit with 97.5 % confidence; 1 if nothing has failed."]

    @classmethod
    @lru_cache(maxsize=_CACHED_GROUPS)
    def from_counts(cls, carried: int, failures: int, repairing: int, repairs: int) -> "InherentAvailability":
        """Estimate it from two total times in microseconds and the number of failures or repairs in each.

        Parts fail while they are up or degraded (``carried``) and are repaired while they are down (``repairing``).
        """
        share = None
        if failures and repairs:
            share = carried * repairs / (carried * repairs + repairing * failures)
        tail = (1 - _CONFIDENCE) / 2
        return cls(
            share,
            cls._limit(carried, failures + 1, repairing, repairs, 1 - tail) if repairs else 0.0,
            cls._limit(carried, failures, repairing, repairs + 1, tail) if failures else 1.0,
        )

    @staticmethod
    def _limit(carried: int, failures: int, repairing: int, repairs: int, probability: float) -> float:
        """Return a confidence limit; the share of one gamma variable in the sum of two is beta-distributed."""
        ratio = _beta_quantile(failures, repairs, probability)
        return carried * (1 - ratio) / (carried * (1 - ratio) + repairing * ratio)


@dataclass(frozen=True, slots=True)
class KindAvailability:
    """Availability of the parts of a kind, or of one group of them."""

    kind: Annotated[str, "Chip, link, NIC, network node, server or switch."]
    name: Annotated[
        str | None, "Its model, rack or cluster; null if it has none, or if all parts of the kind are one group."
    ]
    parts: Annotated[int, "Number of parts."]
    up: Annotated[float, "Share of time up."]
    degraded: Annotated[float, "Share of time degraded."]
    down: Annotated[float, "Share of time down, the server's state included."]
    maintenance: Annotated[float, "Share of time in maintenance, the server's state included."]
    failures: Annotated[int, "Number of times that a part itself went down."]
    repairs: Annotated[int, "Number of times that a part that was down itself changed to another state."]
    down_at_start: Annotated[int, "Parts that were down themselves at the start."]
    ongoing: Annotated[int, "Parts that were down themselves at the end."]
    mtbf: Annotated[MeanTime, "Mean time between failures."]
    mttr: Annotated[MeanTime, "Mean time to repair."]
    inherent: Annotated[InherentAvailability, "Availability from MTBF and MTTR."]

    @classmethod
    def from_sums(cls, group_sums: AvailabilitySums) -> "KindAvailability":
        """Convert the sums that the history gives for a group of parts."""
        return cls(
            group_sums.kind,
            group_sums.name,
            group_sums.parts,
            group_sums.share("up"),
            group_sums.share("degraded"),
            group_sums.share("down"),
            group_sums.share("maintenance"),
            group_sums.failures,
            group_sums.repaired,
            group_sums.down_before,
            group_sums.down_after,
            MeanTime.from_total(group_sums.carried, group_sums.failures),
            MeanTime.from_total(group_sums.repairing, group_sums.repaired),
            InherentAvailability.from_counts(
                group_sums.carried, group_sums.failures, group_sums.repairing, group_sums.repaired
            ),
        )


@dataclass(frozen=True, kw_only=True)
class AvailabilityAnswer(Answer):
    """Availability of a place's parts over a period."""

    scope: Annotated[AddressText, "The place."]
    since: Annotated[str, "Start of the counted period."]
    until: Annotated[str, "End of the period."]
    requested_since: Annotated[str | None, "The requested start, if history starts later."]
    by: Annotated[AvailabilityBy, "How the parts of a kind are grouped."]
    kinds: Annotated[tuple[KindAvailability, ...], "Each kind of part, or each group of one."]

    def render(self) -> Rendered:
        yield f"{self.scope}: {self.since} to {self.until}"
        if self.requested_since:
            yield f"history starts at {self.since}; nothing is counted between {self.requested_since} and then"
        group_headers = [] if self.by is AvailabilityBy.KIND else [self.by.lower()]
        yield RenderedTable(
            [
                "kind",
                *group_headers,
                "parts",
                "up",
                "degraded",
                "down",
                "maintenance",
                "failures",
                "open",
                "MTBF",
                "MTTR",
            ],
            (_render_row(group, has_name=bool(group_headers)) for group in self.kinds),
        )


def _render_row(group: KindAvailability, *, has_name: bool) -> Iterator[object]:
    yield from (group.kind, group.name or "-", f"{group.parts:,}") if has_name else (group.kind, f"{group.parts:,}")
    yield from (f"{share:.4%}" for share in (group.up, group.degraded, group.down, group.maintenance))
    yield from (f"{group.failures:,}", f"{group.ongoing:,}", group.mtbf, group.mttr)


@question(
    cost=ROUTED_COST,
    examples=("availability u-trn2x64 --since 2026-01-01T00:00:00Z",),
    has_baseline=False,
    reads_clock=True,
)
def availability(
    snapshot: Snapshot,
    scope: Annotated[
        str, Argument("Place or link, with everything in it and the links that end there.", metavar="SCOPE")
    ],
    since: Annotated[
        FreeText | None, Argument("ISO time with its zone; by default the start of the history.", metavar="TIME")
    ] = None,
    until: Annotated[FreeText | None, Argument("ISO time with its zone; by default now.", metavar="TIME")] = None,
    by: Annotated[AvailabilityBy, Argument("How to group the parts of a kind.")] = AvailabilityBy.KIND,
) -> AvailabilityAnswer:
    """Measure uptime, failures, MTBF and MTTR of each kind of part."""
    if snapshot.changes.nodes or snapshot.changes.links:
        raise InvalidArgumentError("a scenario has no history; omit what is down or derated")
    return measure_availability(snapshot.connection, scope, since, until, by)


def measure_availability(
    connection: Connection,
    scope: str,
    since: str | None = None,
    until: str | None = None,
    by: AvailabilityBy = AvailabilityBy.KIND,
) -> AvailabilityAnswer:
    """Return the recorded availability of a place, whatever the scenario of the caller.

    Raises
    ------
    InvalidTimeError, InvalidArgumentError
        There is no history in the period, or the place is a core.

    """
    cluster = TABLES["cluster"]
    place = resolve(connection, scope)
    if place.level == "core":
        raise InvalidArgumentError(f"{place.address} is a core and has no state; name its chip")
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
    if end <= history_start:
        raise InvalidTimeError(
            f"the history of {cluster_row.slug} starts at {cluster_row.known_since}; use a later --until"
        )
    if requested >= end or end > now:
        raise InvalidTimeError(
            f"there is no history from {start.isoformat()} to {end.isoformat()}; use an earlier time first"
        )
    return AvailabilityAnswer(
        scope=place.address,
        since=start.isoformat(),
        until=end.isoformat(),
        requested_since=requested.isoformat() if requested < start else None,
        by=by,
        kinds=tuple(
            KindAvailability.from_sums(group_sums)
            # known_from: the number of the event after which the history starts
            for group_sums in availability_sums(connection, place, by, cluster_row.known_from, start, end)
        ),
        definition=_DEFINITION,
        facts=(),
    )
