"""How much of a time the parts of a place were up, how often they failed, and how long repairs took."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Final

from sqlalchemy import select

from trninv.errors import LimitError, MomentError
from trninv.history.availability import AvailabilityBy, sums
from trninv.history.moment import instant
from trninv.history.sums import Sums
from trninv.inventory.address import locate
from trninv.inventory.past import time_of
from trninv.inventory.schema import TABLES
from trninv.routing.answer import Answer, At, Table, Told
from trninv.routing.question import ROUTED, Argument, Text, question
from trninv.routing.wiring import Reader

_SECOND: Final = 1_000_000
_SURE: Final = 0.95
_DEFINED: Final = (
    "shares of the time of all parts of a kind, by the state that held, their server's included; degraded carries on "
    "and is counted apart, down has failed, maintenance is planned and no failure. Failures are changes to down of a "
    "part itself, not with its server. MTBF is time up or degraded by failures, MTTR time down by ended repairs, those "
    "still open counted in that time; 95 % limits of exponential times by chi-square, time censored (NIST/SEMATECH "
    "e-Handbook of Statistical Methods, 8.4.5.1). Without a failure there is a lower limit alone. Inherent "
    "availability is MTBF / (MTBF + MTTR), its limits by the beta distribution of two such times"
)


@lru_cache(maxsize=10_000)
def _gamma(shape: int, quantile: float) -> float:
    from scipy.special import gammaincinv  # noqa: PLC0415 # slow to import, and the service starts with questions

    return float(gammaincinv(shape, quantile))


@lru_cache(maxsize=10_000)
def _beta(one: int, other: int, quantile: float) -> float:
    from scipy.special import betaincinv  # noqa: PLC0415 # slow to import, and the service starts with questions

    return float(betaincinv(one, other, quantile))


@dataclass(frozen=True, slots=True)
class MeanTime:
    """A mean time in seconds, with its 95 % confidence limits."""

    seconds: Annotated[float | None, "The estimate; null where nothing has happened yet that it is the mean of."]
    lower: Annotated[float | None, "With 97.5 % confidence no less; null where no time was observed."]
    upper: Annotated[float | None, "With 97.5 % confidence no more; null: no limit is known."]

    @classmethod
    def of(cls, micros: int, events: int) -> "MeanTime":
        """Of so many events in a time that was observed."""
        total, tail = micros / _SECOND, (1 - _SURE) / 2
        return cls(
            total / events if events else None,
            total / _gamma(events + 1, 1 - tail) if micros else None,
            total / _gamma(events, tail) if events else None,
        )

    def __str__(self) -> str:
        if self.lower is None:
            return "-"
        low = f"{self.lower / 3600:,.4g}"
        if self.seconds is None or self.upper is None:
            return f"> {low} h"
        return f"{self.seconds / 3600:,.4g} h ({low} to {self.upper / 3600:,.4g})"


@dataclass(frozen=True, slots=True)
class Inherent:
    """Inherent availability, MTBF / (MTBF + MTTR): the share of time up in the long run, planned work left out."""

    share: Annotated[float | None, "The estimate; null without a failure and a repair."]
    lower: Annotated[float, "With 97.5 % confidence no less; 0 where no repair has ended."]
    upper: Annotated[float, "With 97.5 % confidence no more; 1 where nothing has failed."]

    @classmethod
    def of(cls, carried: int, failures: int, repairing: int, repaired: int) -> "Inherent":
        """Of microseconds up or degraded with failures, and of microseconds down with repairs."""
        if not failures or not repaired:
            share = None
        else:
            share = carried * repaired / (carried * repaired + repairing * failures)
        tail = (1 - _SURE) / 2
        return cls(
            share,
            cls._limit(carried, failures + 1, repairing, repaired, 1 - tail) if repaired else 0.0,
            cls._limit(carried, failures, repairing, repaired + 1, tail) if failures else 1.0,
        )

    @staticmethod
    def _limit(carried: int, failures: int, repairing: int, repaired: int, quantile: float) -> float:
        """As the ratio of two times that are each gamma distributed, by a quantile of the beta distribution."""
        part = _beta(failures, repaired, quantile)
        return carried * (1 - part) / (carried * (1 - part) + repairing * part)


@dataclass(frozen=True, slots=True)
class KindAvailability:
    """What the parts of a kind did, or those of one group of them."""

    kind: Annotated[str, "Chip, link, NIC, network node, server or switch, as events have it."]
    name: Annotated[str | None, "Its model, rack or cluster; null where it has none, or all of the kind are one group."]
    parts: Annotated[int, "How many."]
    up: Annotated[float, "Share of the time in which they carried everything."]
    degraded: Annotated[float, "Share in which they carried a part."]
    down: Annotated[float, "Share in which they had failed, or their server had."]
    maintenance: Annotated[float, "Share in which they were taken out of service, or their server was."]
    failures: Annotated[int, "How often a part itself went down."]
    repaired: Annotated[int, "How often a part that was down itself came to another state."]
    down_before: Annotated[int, "Parts that were down themselves at the beginning."]
    open: Annotated[int, "Parts that were down themselves at the end."]
    mtbf: Annotated[MeanTime, "Mean time between failures."]
    mttr: Annotated[MeanTime, "Mean time to repair."]
    inherent: Annotated[Inherent, "Availability as MTBF and MTTR make it."]

    @classmethod
    def of(cls, found: Sums) -> "KindAvailability":
        """From what was summed."""
        return cls(
            found.kind,
            found.name,
            found.parts,
            found.share("up"),
            found.share("degraded"),
            found.share("down"),
            found.share("maintenance"),
            found.failures,
            found.repaired,
            found.down_before,
            found.down_after,
            MeanTime.of(found.carried, found.failures),
            MeanTime.of(found.repairing, found.repaired),
            Inherent.of(found.carried, found.failures, found.repairing, found.repaired),
        )


@dataclass(frozen=True, kw_only=True)
class AvailabilityAnswer(Answer):
    """How much of a time the parts of a place were up."""

    of: Annotated[At, "The place."]
    since: Annotated[str, "When what was counted begins."]
    until: Annotated[str, "When it ends."]
    asked: Annotated[str | None, "The earlier time that was asked for, where history is known only since later."]
    by: Annotated[AvailabilityBy, "What parts of a kind are one group."]
    kinds: Annotated[tuple[KindAvailability, ...], "Each kind of part, or each group of one."]

    def told(self) -> Told:
        yield f"{self.of}: {self.since} to {self.until}"
        if self.asked:
            yield f"history is known since {self.since} only: nothing is counted from {self.asked} to then"
        named = [] if self.by is AvailabilityBy.KIND else [self.by.lower()]
        yield Table(
            ["kind", *named, "parts", "up", "degraded", "down", "maintenance", "failures", "open", "MTBF", "MTTR"],
            (_row(each, named=bool(named)) for each in self.kinds),
        )


def _row(of: KindAvailability, *, named: bool) -> Iterator[object]:
    yield from (of.kind, of.name or "-", f"{of.parts:,}") if named else (of.kind, f"{of.parts:,}")
    yield from (f"{share:.4%}" for share in (of.up, of.degraded, of.down, of.maintenance))
    yield from (f"{of.failures:,}", f"{of.open:,}", of.mtbf, of.mttr)


@question(price=ROUTED, examples=("availability u-trn2x64 --since 2026-01-01T00:00:00Z",), compares=False)
def availability(
    reader: Reader,
    of: Annotated[
        str, Argument("Place or link; with all that it holds and the links that end there.", metavar="SCOPE")
    ],
    since: Annotated[
        Text | None, Argument("An ISO time with its zone; since history is known unless said.", metavar="TIME")
    ] = None,
    until: Annotated[Text | None, Argument("An ISO time with its zone; now unless said.", metavar="TIME")] = None,
    by: Annotated[AvailabilityBy, Argument("What parts of a kind are counted together.")] = AvailabilityBy.KIND,
) -> AvailabilityAnswer:
    """Share of time up, failures, mean time between failures and mean time to repair, of each kind of part."""
    connection, cluster = reader.connection, TABLES["cluster"]
    if reader.changes.nodes or reader.changes.links:
        raise LimitError("history is what happened: ask it without supposing anything down or derated")
    place = locate(connection, of)
    if place.level == "core":
        raise LimitError(f"{place.address}: a core has no state: name its chip")
    known = connection.execute(select(cluster).where(cluster.c.id == place.cluster_id)).one()
    if known.known_since is None:
        raise MomentError(f"no history is known of {known.slug}: it was not seeded by this trninv")
    now = time_of(connection.engine) or datetime.now(UTC)
    begins, ends = datetime.fromisoformat(known.known_since), now if until is None else instant(until)
    wanted = begins if since is None else instant(since)
    start = max(begins, wanted)
    if ends <= begins:
        raise MomentError(f"the history of {known.slug} is known since {known.known_since}: name a later --until")
    if wanted >= ends or ends > now:
        raise MomentError(
            f"from {start.isoformat()} to {ends.isoformat()} there is no history: name an earlier time first"
        )
    return AvailabilityAnswer(
        of=place.address,
        since=start.isoformat(),
        until=ends.isoformat(),
        asked=wanted.isoformat() if wanted < start else None,
        by=by,
        kinds=tuple(map(KindAvailability.of, sums(connection, place, by, known.known_from, start, ends))),
        definition=_DEFINED,
        facts=(),
    )
