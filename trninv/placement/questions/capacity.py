"""Answer how much capacity is left when parts fail at given rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from trninv import deadline, solvers
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.placement.candidates.free_capacity import read_capacity
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.placement.failure_model import FailureModel, FailureRate, parse_rates, single_bits
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, Rendered, RenderedTable
from trninv.routing.question import ROUTED_COST, Argument, FreeText, question
from trninv.routing.sweep_journal import Progress
from trninv.routing.wiring_cache import SnapshotReader

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.solvers.survival import CountedSets, FailureCause
    from trninv.solvers.torus_blocks import MaskRows

MAX_SAMPLES, MAX_SEED, MAX_HOURS = 1_000_000, 2**31 - 1, 10_000_000
_MAX_INLINE_SAMPLES = 20_000
"""The limit of samples without an executor, so that a request finishes."""
_BATCHES = 4
"""Batches of samples per task."""
CONFIDENCE = 0.99
_MAX_SPARES = 1_000_000
_QUANTILES = (0.05, 0.5, 0.95)

_DEFINITION = (
    "parts fail independently; the failure of a server cascades to its chips, that of a rack to its servers; "
    "{reading}; {start}; a domain is whole with all chips, links, switches and NICs up; chips in jobs of a size "
    "are those of legal sets that are up with every link, allocated or not; P5 is the number that is reached "
    "in 95 of 100 cases (inverted_cdf)"
)


class InitialState(DescribedEnum):
    """Initial state of the fleet."""

    NOW = "NOW", "The current state: parts that are down stay down."
    NEW = "NEW", "Every part is up."


@dataclass(frozen=True, slots=True)
class AppliedRate:
    """A failure rate, as given."""

    kind: Annotated[str, "Kind of part."]
    mtbf_hours: Annotated[float, "Mean time between failures, hours."]
    mttr_hours: Annotated[float | None, "Mean time to repair, hours."]
    probability: Annotated[float, "Probability that a part is down, 0 to 1."]
    parts: Annotated[int, "Parts per domain; 1 for a rack that several domains share."]


@dataclass(frozen=True, slots=True)
class CapacityEstimate:
    """Remaining capacity: mean and percentiles."""

    job_chips: Annotated[int | None, "Chips per job; null for whole domains."]
    chips: Annotated[int, "Chips in jobs of this size, or whole domains, before any failure."]
    mean: Annotated[float, "Mean number of whole domains, or of chips in jobs of this size."]
    p5: Annotated[int, "Reached in 95 of 100 cases: the number to promise."]
    p50: Annotated[int, "Reached in 50 of 100 cases."]
    p95: Annotated[int, "Reached in 5 of 100 cases."]
    standard_error: Annotated[float | None, "Standard error of the mean; null if exact."]

    @property
    def exact(self) -> bool:
        """Whether it comes from a binomial distribution, not from samples."""
        return self.standard_error is None


@dataclass(frozen=True, slots=True)
class SpareRequirement:
    """Spare domains that a job needs."""

    domains: Annotated[int, "Domains of the job."]
    spares: Annotated[int | None, "Spare domains for 99 %; null if more than a million."]


@dataclass(frozen=True, kw_only=True)
class CapacityAnswer(Answer):
    """Capacity that remains when parts fail."""

    scope: Annotated[AddressText, "The scope."]
    mission_hours: Annotated[int | None, "Hours without repair; null for any time, with repairs."]
    start: Annotated[InitialState, "Initial state of the fleet."]
    rates: Annotated[tuple[AppliedRate, ...], "Failure rates, as given."]
    domains: Annotated[CapacityEstimate, "Whole domains: the size of the largest possible job of whole domains."]
    sizes: Annotated[tuple[CapacityEstimate, ...], "Chips in jobs of each legal size."]
    domain_probability: Annotated[
        float | None, "Probability that a whole domain stays whole; null if domains fail together."
    ]
    spares: Annotated[
        tuple[SpareRequirement, ...], "Spare domains with which jobs of whole domains have enough in 99 of 100 cases."
    ]
    samples: Annotated[int, "Number of samples; 0 if all results are exact."]
    seed: Annotated[int, "Seed of the samples."]

    def render(self) -> Rendered:
        period = "at any time" if self.mission_hours is None else f"after {self.mission_hours:,} hours without repair"
        drawn = f"; {self.samples:,} samples, seed {self.seed}" if self.samples else ""
        yield f"{self.scope}: remaining capacity {period}, from {self.start.lower()}{drawn}"
        yield RenderedTable(
            ["rate", "MTBF h", "MTTR h", "down"],
            ([r.kind, f"{r.mtbf_hours:,g}", _format_hours(r.mttr_hours), f"{r.probability:.3g}"] for r in self.rates),
        )
        yield RenderedTable(
            ["", "at most", "mean", "±", "P5", "P50", "P95"], map(_estimate_row, (self.domains, *self.sizes))
        )
        if self.spares:
            yield RenderedTable(
                ["job of domains", "spares for 99%"], ([s.domains, _format_spares(s)] for s in self.spares)
            )


def _format_hours(hours: float | None) -> str:
    return "" if hours is None else f"{hours:,g}"


def _format_spares(requirement: SpareRequirement) -> str:
    return f"{requirement.spares:,}" if requirement.spares is not None else "too many"


def _estimate_row(estimate: CapacityEstimate) -> Sequence[str]:
    name = "whole domains" if estimate.job_chips is None else f"chips in jobs of {estimate.job_chips}"
    error = "exact" if estimate.standard_error is None else f"{estimate.standard_error:.2g}"
    return [
        name,
        f"{estimate.chips:,}",
        f"{estimate.mean:,.2f}",
        error,
        f"{estimate.p5:,}",
        f"{estimate.p50:,}",
        f"{estimate.p95:,}",
    ]


@question(cost=ROUTED_COST, examples=("capacity u-trn2x64 --rates rates.toml",), has_baseline=False)
def capacity(
    reader: SnapshotReader,
    scope: Annotated[str, Argument("Chip, server, rack, domain or cluster.", metavar="SCOPE")],
    rates: Annotated[
        FreeText | None,
        Argument(
            "TOML tables chip, server, rack, switch, nic or link, with mtbf_hours and mttr_hours.", metavar="FILE"
        ),
    ] = None,
    mission: Annotated[
        int | None,
        Argument(
            "Hours without repair; by default any time, with repairs", minimum=1, maximum=MAX_HOURS, metavar="HOURS"
        ),
    ] = None,
    start: Annotated[InitialState, Argument("Initial state of the fleet.", option="--from")] = InitialState.NOW,
    gang: Annotated[
        int | None, Argument("Also compute spares for a job of so many whole domains", minimum=1, maximum=_MAX_SPARES)
    ] = None,
    samples: Annotated[
        int, Argument("Samples for results that can't be computed exactly", minimum=100, maximum=MAX_SAMPLES)
    ] = 10_000,
    seed: Annotated[int, Argument("Seed of the samples", maximum=MAX_SEED)] = 0,
    *,
    executor: "Executor | None" = None,
    progress: Progress = lambda *_: None,
) -> CapacityAnswer:
    """Estimate what remains when parts fail: whole domains, chips in jobs of each size, and spares for 99 %.

    You supply the failure rates: no document states any. The same seed gives the same results on any number of workers.
    """
    if rates is None:
        raise InvalidArgumentError("rates: no document states failure rates; give your own (--rates FILE)")
    if executor is None and samples > _MAX_INLINE_SAMPLES:
        raise InvalidArgumentError(
            f"{samples:,} samples are too many; use at most {_MAX_INLINE_SAMPLES:,}, or the command line with --workers"
        )
    initial = read_capacity(reader, scope)
    model = initial.model
    legal_sets = reader.cached(("legal", model.slug), lambda: read_legal_sets(reader.connection, model))
    failure_model, failure_rates = FailureModel(model, legal_sets), parse_rates(rates)
    causes = failure_model.causes({rate.kind: rate.unavailability(mission) for rate in failure_rates}, initial)
    if start is InitialState.NEW:
        initial = initial.all_up()
    counts = [
        solvers.survival.CountedSets(failure_model.whole_domain),
        *map(failure_model.counted_sets, legal_sets.sizes),
    ]
    units = [(1, None), *((size, size) for size in legal_sets.sizes)]
    intact = failure_model.intact_sets(initial)
    distributions = [
        _exact_distribution(intact, causes, item, sets) for item, sets in zip(counts, single_bits(counts), strict=True)
    ]
    drawn = _draw_samples(intact, causes, counts, samples, seed, executor, progress) if None in distributions else None
    figures = [
        _estimate(item, int(count.count_intact(intact).sum()), *unit, None if drawn is None else drawn[:, index])
        for index, (item, count, unit) in enumerate(zip(distributions, counts, units, strict=True))
    ]
    probability = (
        float(solvers.survival.survival_probabilities(causes, failure_model.whole_domain)[0])
        if distributions[0] is not None
        else None
    )
    return CapacityAnswer(
        scope=scope.strip(),
        mission_hours=mission,
        start=start,
        rates=tuple(_applied_rate(rate, mission, cause) for rate, cause in zip(failure_rates, causes, strict=True)),
        domains=figures[0],
        sizes=tuple(figures[1:]),
        domain_probability=probability,
        spares=tuple(_spare_requirements(len(initial.ordinals), probability, gang)),
        samples=0 if drawn is None else samples,
        seed=seed,
        definition=_DEFINITION.format(
            reading="nothing is repaired" if mission else "a part is down for MTTR / (MTBF + MTTR) of the time",
            start="parts that are down now stay down" if start is InitialState.NOW else "all parts are up at first",
        ),
        facts=evidence.cite(reader, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]),
    )


def _applied_rate(rate: FailureRate, mission_time: int | None, cause: "FailureCause") -> AppliedRate:
    return AppliedRate(
        rate.kind, rate.mtbf_hours, rate.mttr_hours, rate.unavailability(mission_time), len(cause.destroys)
    )


def _exact_distribution(
    intact: "MaskRows", causes: "Sequence[FailureCause]", count: "CountedSets", sets: "MaskRows"
) -> tuple[int, NDArray[np.float64], float] | None:
    """Return a binomial's number of sets, distribution and probability of each; None if it is not binomial."""
    survival = solvers.survival
    probabilities = survival.survival_probabilities(causes, sets)
    if count.group_size > 1 or not survival.are_independent(causes, sets) or np.ptp(probabilities) > 0:
        return None
    trials = int(count.count_intact(intact).sum())
    return trials, survival.binomial_cdf(trials, float(probabilities[0])), float(probabilities[0])


def _draw_samples(
    intact: "MaskRows",
    causes: "Sequence[FailureCause]",
    counts: "Sequence[CountedSets]",
    samples: int,
    random_seed: int,
    executor: "Executor | None",
    progress: Progress,
) -> NDArray[np.int64]:
    """Draw samples; return samples × counts."""
    draw_batch, tasks = (
        solvers.survival.sample,
        solvers.survival.sampling_tasks(intact, causes, counts, samples, random_seed, _BATCHES),
    )
    waiting = [executor.submit(draw_batch, task) for task in tasks] if executor else []
    results = (batch.result() for batch in waiting) if executor else (draw_batch(task) for task in tasks)
    batches, done = [], 0
    for batch in results:
        deadline.raise_if_expired()
        batches.append(batch)
        progress("samples", done := done + len(batch), samples)
    return np.vstack(batches)


def _estimate(
    exact: tuple[int, NDArray[np.float64], float] | None,
    total: int,
    unit: int,
    job_chips: int | None,
    drawn: NDArray[np.int64] | None,
) -> CapacityEstimate:
    if exact is not None:
        trials, below, probability = exact
        p5, p50, p95 = (int(np.searchsorted(below, part)) * unit for part in _QUANTILES)
        return CapacityEstimate(job_chips, total * unit, trials * probability * unit, p5, p50, p95, None)
    values = np.zeros(0, np.int64) if drawn is None else drawn * unit
    p5, p50, p95 = (int(value) for value in np.quantile(values, _QUANTILES, method="inverted_cdf"))
    error = float(values.std(ddof=1)) / sqrt(len(values))
    return CapacityEstimate(job_chips, total * unit, float(values.mean()), p5, p50, p95, error)


def _spare_requirements(domains: int, probability: float | None, gang_size: int | None) -> "list[SpareRequirement]":
    """Yield the spares of jobs of 1, 10, 100, … domains of the scope, and of the requested size."""
    if probability is None:
        return []
    sizes = {10**power for power in range(7) if 10**power <= domains} | ({gang_size} if gang_size else set())
    return [
        SpareRequirement(size, solvers.survival.spares_needed(size, probability, CONFIDENCE, _MAX_SPARES))
        for size in sorted(sizes)
    ]
