"""What is left of a fleet when parts fail, as often as the user says."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from trninv import deadline, solvers
from trninv.choice import Choice
from trninv.errors import LimitError
from trninv.jobs.failing import Exposed, Rate, rates_of, single
from trninv.jobs.model import legal_of
from trninv.jobs.stock import stock
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Table, Told
from trninv.routing.journal import Progress
from trninv.routing.question import ROUTED, Argument, Text, question
from trninv.routing.wiring import Reader

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.solvers.blocks import Words
    from trninv.solvers.survival import Cause, Counted

MOST_SAMPLES, MOST_SEED, MOST_HOURS = 1_000_000, 2**31 - 1, 10_000_000
_INLINE = 20_000
"""Draws without an executor, so that a request ends."""
_BATCHES = 4
"""Of a task."""
SURE = 0.99
_MOST_SPARES = 1_000_000
_PARTS = (0.05, 0.5, 0.95)

_DEFINED = (
    "parts fail independently of each other, a server takes its chips along and a rack its servers; "
    "{reading}; {start}; a domain is whole with all chips, links, switches and NICs up; chips in jobs of a size are "
    "those of the sets that schedulers grant which are up with every link, held or not; P5 is what there is at least "
    "in 95 of 100 cases (inverted_cdf)"
)


class Start(Choice):
    """What the fleet is like to begin with."""

    NOW = "NOW", "As it is: what is down stays down."
    NEW = "NEW", "Everything up."


@dataclass(frozen=True, slots=True)
class RateUsed:
    """A rate that was given."""

    kind: Annotated[str, "Which parts."]
    mtbf_hours: Annotated[float, "Mean time between failures, hours."]
    mttr_hours: Annotated[float | None, "Mean time to repair, hours."]
    likely: Annotated[float, "How likely one is down, 0 to 1."]
    parts: Annotated[int, "How many there are in each domain; of racks that several share, 1."]


@dataclass(frozen=True, slots=True)
class Figure:
    """What is left: mean and percentiles."""

    job_chips: Annotated[int | None, "Chips of a job; null of whole domains."]
    chips: Annotated[int, "Chips of the jobs that fit now, or of the domains that are whole, before anything fails."]
    mean: Annotated[float, "Of domains, or of chips in jobs of the size."]
    p5: Annotated[int, "At least so many in 95 of 100 cases: what to promise."]
    p50: Annotated[int, "At least so many in half of them."]
    p95: Annotated[int, "At least so many in 5 of 100."]
    standard_error: Annotated[float | None, "Of the mean; null where it is exact."]

    @property
    def exact(self) -> bool:
        """Whether it is a binomial's, and was not drawn."""
        return self.standard_error is None


@dataclass(frozen=True, slots=True)
class SpareNeed:
    """Whole domains to have in reserve."""

    domains: Annotated[int, "Domains that a job needs."]
    spares: Annotated[int | None, "How many more for 99 %; null if that takes more than a million."]


@dataclass(frozen=True, kw_only=True)
class CapacityAnswer(Answer):
    """What is left when parts fail."""

    of: Annotated[At, "The scope."]
    mission_hours: Annotated[int | None, "How long nothing is repaired; null at any time, with repairs."]
    start: Annotated[Start, "What the fleet is like to begin with."]
    rates: Annotated[tuple[RateUsed, ...], "As they were given."]
    domains: Annotated[Figure, "Domains that are whole, which is as many as the largest job of whole domains has."]
    sizes: Annotated[tuple[Figure, ...], "Chips in jobs of each size that schedulers grant."]
    domain_likely: Annotated[float | None, "How likely a domain is whole that was; null where domains fail together."]
    spares: Annotated[tuple[SpareNeed, ...], "So that a job of whole domains has enough in 99 of 100 cases."]
    samples: Annotated[int, "Draws; 0 where all is exact."]
    seed: Annotated[int, "From which they follow."]

    def told(self) -> Told:
        when = "at any time" if self.mission_hours is None else f"after {self.mission_hours:,} hours without repair"
        drawn = f"; {self.samples:,} draws, seed {self.seed}" if self.samples else ""
        yield f"{self.of}: what is left {when}, from {self.start.lower()}{drawn}"
        yield Table(
            ["rate", "MTBF h", "MTTR h", "down"],
            ([r.kind, f"{r.mtbf_hours:,g}", _hours(r.mttr_hours), f"{r.likely:.3g}"] for r in self.rates),
        )
        yield Table(["", "at most", "mean", "±", "P5", "P50", "P95"], map(_row, (self.domains, *self.sizes)))
        if self.spares:
            yield Table(["job of domains", "spares for 99%"], ([s.domains, _spares(s)] for s in self.spares))


def _hours(of: float | None) -> str:
    return "" if of is None else f"{of:,g}"


def _spares(of: SpareNeed) -> str:
    return f"{of.spares:,}" if of.spares is not None else "too many"


def _row(of: Figure) -> Sequence[str]:
    name = "whole domains" if of.job_chips is None else f"chips in jobs of {of.job_chips}"
    error = "exact" if of.standard_error is None else f"{of.standard_error:.2g}"
    return [name, f"{of.chips:,}", f"{of.mean:,.2f}", error, f"{of.p5:,}", f"{of.p50:,}", f"{of.p95:,}"]


@question(price=ROUTED, examples=("capacity u-trn2x64 --rates rates.toml",), compares=False)
def capacity(
    reader: Reader,
    of: Annotated[str, Argument("Chip, server, rack, domain or cluster to look at.", metavar="SCOPE")],
    rates: Annotated[
        Text | None,
        Argument(
            "TOML: for chip, server, rack, switch, nic and link a table with mtbf_hours and mttr_hours.", metavar="FILE"
        ),
    ] = None,
    mission: Annotated[
        int | None,
        Argument("After so many hours without repair, not at any time", least=1, most=MOST_HOURS, metavar="HOURS"),
    ] = None,
    start: Annotated[Start, Argument("What the fleet is like to begin with.", option="--from")] = Start.NOW,
    gang: Annotated[
        int | None, Argument("Spares for a job of so many whole domains too", least=1, most=_MOST_SPARES)
    ] = None,
    samples: Annotated[int, Argument("Draws of what is not exact", least=100, most=MOST_SAMPLES)] = 10_000,
    seed: Annotated[int, Argument("What draws follow from", most=MOST_SEED)] = 0,
    *,
    executor: "Executor | None" = None,
    progress: Progress = lambda *_: None,
) -> CapacityAnswer:
    """What is left of a fleet when parts fail: whole domains, chips in jobs of each size, and spares for 99 %.

    Rates are the user's: no document gives any. The same seed gives the same figures on any number of workers.
    """
    if rates is None:
        raise LimitError("rates: no document gives any, so name a file of your own (--rates FILE)")
    if executor is None and samples > _INLINE:
        raise LimitError(f"{samples:,} draws: ask for at most {_INLINE:,}, or on the command line with --workers")
    there = stock(reader, of)
    model = there.model
    legal = reader.remembered(("legal", model.slug), lambda: legal_of(reader.connection, model))
    exposed, given = Exposed(model, legal), rates_of(rates)
    causes = exposed.causes({rate.kind: rate.likely(mission) for rate in given}, there)
    if start is Start.NEW:
        there = there.as_new()
    counts = [solvers.survival.Counted(exposed.whole), *map(exposed.counted, legal.sizes)]
    units = [(1, None), *((size, size) for size in legal.sizes)]
    alive = exposed.alive(there)
    found = [_exact(alive, causes, each, sets) for each, sets in zip(counts, single(counts), strict=True)]
    drawn = _drawn(alive, causes, counts, samples, seed, executor, progress) if None in found else None
    figures = [
        _figure(each, int(count.of(alive).sum()), *unit, None if drawn is None else drawn[:, at])
        for at, (each, count, unit) in enumerate(zip(found, counts, units, strict=True))
    ]
    likely = float(solvers.survival.whole_likely(causes, exposed.whole)[0]) if found[0] is not None else None
    return CapacityAnswer(
        of=of.strip(),
        mission_hours=mission,
        start=start,
        rates=tuple(_used(rate, mission, cause) for rate, cause in zip(given, causes, strict=True)),
        domains=figures[0],
        sizes=tuple(figures[1:]),
        domain_likely=likely,
        spares=tuple(_needs(len(there.ordinals), likely, gang)),
        samples=0 if drawn is None else samples,
        seed=seed,
        definition=_DEFINED.format(
            reading="nothing is repaired meanwhile" if mission else "down is MTTR / (MTBF + MTTR) of the time",
            start="what is down now stays down" if start is Start.NOW else "everything is up to begin with",
        ),
        facts=evidence.cite(reader, sorted({model.of.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )


def _used(rate: Rate, mission: int | None, cause: "Cause") -> RateUsed:
    return RateUsed(rate.kind, rate.mtbf, rate.mttr, rate.likely(mission), len(cause.takes))


def _exact(
    alive: "Words", causes: "Sequence[Cause]", count: "Counted", sets: "Words"
) -> tuple[int, NDArray[np.float64], float] | None:
    """Of how many sets a binomial counts, its distribution, and how likely each is whole; None where it is none."""
    survival = solvers.survival
    likely = survival.whole_likely(causes, sets)
    if count.group > 1 or not survival.are_apart(causes, sets) or np.ptp(likely) > 0:
        return None
    trials = int(count.of(alive).sum())
    return trials, survival.binomial_cdf(trials, float(likely[0])), float(likely[0])


def _drawn(
    alive: "Words",
    causes: "Sequence[Cause]",
    counts: "Sequence[Counted]",
    samples: int,
    seed: int,
    executor: "Executor | None",
    progress: Progress,
) -> NDArray[np.int64]:
    """Draws × what is counted."""
    draw, tasks = solvers.survival.draw, solvers.survival.tasks(alive, causes, counts, samples, seed, _BATCHES)
    waiting = [executor.submit(draw, task) for task in tasks] if executor else []
    results = (each.result() for each in waiting) if executor else (draw(task) for task in tasks)
    found, done = [], 0
    for each in results:
        deadline.check()
        found.append(each)
        progress("draws", done := done + len(each), samples)
    return np.vstack(found)


def _figure(
    exact: tuple[int, NDArray[np.float64], float] | None,
    most: int,
    unit: int,
    job_chips: int | None,
    drawn: NDArray[np.int64] | None,
) -> Figure:
    if exact is not None:
        trials, below, likely = exact
        p5, p50, p95 = (int(np.searchsorted(below, part)) * unit for part in _PARTS)
        return Figure(job_chips, most * unit, trials * likely * unit, p5, p50, p95, None)
    values = np.zeros(0, np.int64) if drawn is None else drawn * unit
    p5, p50, p95 = (int(each) for each in np.quantile(values, _PARTS, method="inverted_cdf"))
    error = float(values.std(ddof=1)) / sqrt(len(values))
    return Figure(job_chips, most * unit, float(values.mean()), p5, p50, p95, error)


def _needs(domains: int, likely: float | None, gang: int | None) -> "list[SpareNeed]":
    """For jobs of 1, 10, 100, … domains of the scope, and of as many as are asked about."""
    if likely is None:
        return []
    sizes = {10**power for power in range(7) if 10**power <= domains} | ({gang} if gang else set())
    return [SpareNeed(size, solvers.survival.spares(size, likely, SURE, _MOST_SPARES)) for size in sorted(sizes)]
