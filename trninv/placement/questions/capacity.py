"""Answer how much capacity remains when parts fail at rates that the user supplies.

Capacity is counted in whole domains, and for each legal job size in the chips of as many jobs as could run. A result
with a binomial distribution is computed exactly; the others are sampled (`trninv.solvers.survival`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import sqrt
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from trninv import deadline, solvers
from trninv.database.as_of import current_time
from trninv.enumeration import DescribedEnum
from trninv.errors import InvalidArgumentError
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.parameter import Argument, FreeText
from trninv.placement.allocations.reservations import (
    Window,
    list_reservations,
    parse_window,
    render_reservations,
)
from trninv.placement.candidates.free_capacity import read_capacity
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.placement.candidates.reserved_chips import without_maintenance
from trninv.placement.failure_model import FailureModel, FailureRate, parse_rates, single_bits
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.routing.sweep_journal import Progress
from trninv.units import format_timestamp

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from trninv.solvers.survival import CountedSets, FailureCause
    from trninv.solvers.torus_blocks import MaskRows

MAX_SAMPLES, MAX_SEED, MAX_HOURS = 1_000_000, 2**31 - 1, 10_000_000
"""The largest values of the arguments."""
_MAX_INLINE_SAMPLES = 20_000
"""The most samples without an executor (a pool of workers), so that a request finishes in time."""
_BATCHES = 4
"""Batches of samples in one task for an executor."""
CONFIDENCE = 0.99
"""The probability with which spares must suffice."""
_MAX_SPARES = 1_000_000
"""The most spares that the search tries, and the most domains of a job."""
_MOMENT = timedelta(microseconds=1)
_QUANTILES = (0.05, 0.5, 0.95)
"""The quantiles in an estimate: P5, P50 and P95."""

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
    """A failure rate, and the probability that follows from it."""

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
    rates: Annotated[tuple[AppliedRate, ...], "Failure rates that you supplied."]
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
    reservations: Annotated[
        tuple[str, ...],
        "The first reservations of chips of the scope, with their times; those in maintenance count as down.",
    ]

    def render(self) -> Rendered:
        period = "at any time" if self.mission_hours is None else f"after {self.mission_hours:,} hours without repair"
        drawn = f"; {self.samples:,} samples, seed {self.seed}" if self.samples else ""
        yield f"{self.scope}: remaining capacity {period}, from {self.start.lower()}{drawn}"
        yield RenderedTable(
            ["rate", "MTBF h", "MTTR h", "down"],
            (
                [rate.kind, f"{rate.mtbf_hours:,g}", _format_hours(rate.mttr_hours), f"{rate.probability:.3g}"]
                for rate in self.rates
            ),
        )
        yield RenderedTable(
            ["", "at most", "mean", "±", "P5", "P50", "P95"], map(_estimate_row, (self.domains, *self.sizes))
        )
        if self.spares:
            yield RenderedTable(
                ["job of domains", "spares for 99%"], ([s.domains, _format_spares(s)] for s in self.spares)
            )
        yield from render_reservations(self.reservations)


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


@question(cost=ROUTED_COST, examples=("capacity u-trn2x64 --rates rates.toml",), has_baseline=False, reads_clock=True)
def capacity(
    snapshot: Snapshot,
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
            "Hours after which to look, without repairs; by default the long-run state, with repairs",
            minimum=1,
            maximum=MAX_HOURS,
            metavar="HOURS",
        ),
    ] = None,
    start: Annotated[InitialState, Argument("Initial state of the fleet.", option="--from")] = InitialState.NOW,
    gang: Annotated[
        int | None, Argument("Also compute spares for a job of this many whole domains", minimum=1, maximum=_MAX_SPARES)
    ] = None,
    samples: Annotated[
        int, Argument("Samples for results that can't be computed exactly", minimum=100, maximum=MAX_SAMPLES)
    ] = 10_000,
    seed: Annotated[int, Argument("Seed of the samples", maximum=MAX_SEED)] = 0,
    until: Annotated[
        FreeText | None,
        Argument(
            "Chips in maintenance at any moment until then count as down: a time, or a duration such as 12h; by "
            "default those in maintenance now.",
            metavar="TIME",
        ),
    ] = None,
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
    now = current_time(snapshot.connection)
    window = parse_window(None, until, now) if until else Window(*map(format_timestamp, (now, now + _MOMENT)))
    initial = without_maintenance(snapshot, read_capacity(snapshot, scope), window)
    model = initial.model
    legal_sets = snapshot.cached(("legal", model.slug), lambda: read_legal_sets(snapshot.connection, model))
    failure_model, failure_rates = FailureModel(model, legal_sets), parse_rates(rates)
    causes = failure_model.causes({rate.kind: rate.unavailability(mission) for rate in failure_rates}, initial)
    if start is InitialState.NEW:
        initial = initial.all_up()
    # What to count: whole domains first, then jobs of each size.
    counted_sets = [
        solvers.survival.CountedSets(failure_model.whole_domain),
        *map(failure_model.counted_sets, legal_sets.sizes),
    ]
    job_sizes: list[int | None] = [None, *legal_sets.sizes]
    intact = failure_model.intact_sets(initial)
    distributions = [
        _exact_distribution(intact, causes, counted, sets)
        for counted, sets in zip(counted_sets, single_bits(counted_sets), strict=True)
    ]
    drawn = (
        _draw_samples(intact, causes, counted_sets, samples, seed, executor, progress)
        if None in distributions
        else None
    )
    estimates = [
        _estimate(size, int(counted.count_intact(intact).sum()), exact, None if drawn is None else drawn[:, index])
        for index, (size, counted, exact) in enumerate(zip(job_sizes, counted_sets, distributions, strict=True))
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
        domains=estimates[0],
        sizes=tuple(estimates[1:]),
        domain_probability=probability,
        spares=tuple(_spare_requirements(len(initial.ordinals), probability, gang)),
        samples=0 if drawn is None else samples,
        seed=seed,
        reservations=list_reservations(snapshot.connection, resolve_place(snapshot.connection, scope), window),
        definition=_DEFINITION.format(
            reading="nothing is repaired" if mission else "a part is down for MTTR / (MTBF + MTTR) of the time",
            start="parts that are down now stay down" if start is InitialState.NOW else "all parts are up at first",
        ),
        facts=evidence.cite(
            snapshot, sorted({model.domain_model.server.slug, model.slug}), ["chip_sets", "server_sets"]
        ),
    )


def _applied_rate(rate: FailureRate, mission_time: int | None, cause: "FailureCause") -> AppliedRate:
    return AppliedRate(
        rate.kind, rate.mtbf_hours, rate.mttr_hours, rate.unavailability(mission_time), len(cause.destroys)
    )


def _exact_distribution(
    intact: "MaskRows", causes: "Sequence[FailureCause]", counted: "CountedSets", sets: "MaskRows"
) -> tuple[int, NDArray[np.float64], float] | None:
    """Return the exact distribution of the number of surviving sets, or None if it is not binomial.

    Parameters
    ----------
    sets
        The sets in ``counted``: one row for each, with a single bit.

    Returns
    -------
        The number of sets, the probabilities that at most 0, 1, … survive, and the probability that one set survives.

    """
    survival = solvers.survival
    probabilities = survival.survival_probabilities(causes, sets)
    if counted.group_size > 1 or not survival.are_independent(causes, sets) or np.ptp(probabilities) > 0:
        return None
    trials = int(counted.count_intact(intact).sum())
    return trials, survival.binomial_cdf(trials, float(probabilities[0])), float(probabilities[0])


def _draw_samples(
    intact: "MaskRows",
    causes: "Sequence[FailureCause]",
    counted_sets: "Sequence[CountedSets]",
    samples: int,
    random_seed: int,
    executor: "Executor | None",
    progress: Progress,
) -> NDArray[np.int64]:
    """Draw samples, on the executor if there is one; return how many sets survive, as samples × ``counted_sets``."""
    draw = solvers.survival.sample
    tasks = solvers.survival.sampling_tasks(intact, causes, counted_sets, samples, random_seed, _BATCHES)
    futures = [executor.submit(draw, task) for task in tasks] if executor else []
    results = (future.result() for future in futures) if executor else map(draw, tasks)
    batches, done = [], 0
    for batch in results:
        deadline.raise_if_expired()
        batches.append(batch)
        progress("samples", done := done + len(batch), samples)
    return np.vstack(batches)


def _estimate(
    job_chips: int | None,
    intact_sets: int,
    exact: tuple[int, NDArray[np.float64], float] | None,
    drawn: NDArray[np.int64] | None,
) -> CapacityEstimate:
    """Return the estimate for jobs of ``job_chips`` chips, or for whole domains if that is None.

    Parameters
    ----------
    intact_sets
        Number of sets before any failure.
    exact, drawn
        The result of `_exact_distribution` or, if that is None, the number of surviving sets in each sample.

    """
    unit = job_chips or 1
    if exact is not None:
        trials, distribution, probability = exact
        p5, p50, p95 = (int(np.searchsorted(distribution, quantile)) * unit for quantile in _QUANTILES)
        return CapacityEstimate(job_chips, intact_sets * unit, trials * probability * unit, p5, p50, p95, None)
    values = np.zeros(0, np.int64) if drawn is None else drawn * unit
    p5, p50, p95 = (int(value) for value in np.quantile(values, _QUANTILES, method="inverted_cdf"))
    error = float(values.std(ddof=1)) / sqrt(len(values))
    return CapacityEstimate(job_chips, intact_sets * unit, float(values.mean()), p5, p50, p95, error)


def _spare_requirements(domains: int, probability: float | None, gang_size: int | None) -> "list[SpareRequirement]":
    """Return the spares that jobs of 1, 10, 100, … of the scope's domains need, and a job of ``gang_size`` domains.

    The list is empty if the probability that a domain stays whole is None, because domains fail together.
    """
    if probability is None:
        return []
    sizes = {10**power for power in range(7) if 10**power <= domains} | ({gang_size} if gang_size else set())
    return [
        SpareRequirement(size, solvers.survival.spares_needed(size, probability, CONFIDENCE, _MAX_SPARES))
        for size in sorted(sizes)
    ]
