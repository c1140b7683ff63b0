"""Count the sets of chips that survive failures, exactly or by sampling, for `trninv capacity`."""

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from trninv import deadline, solvers
from trninv.routing.sweep_journal import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from trninv.solvers.survival import CountedSets, FailureCause
    from trninv.solvers.torus_blocks import MaskRows

_BATCHES = 4
"""Batches of samples in one task for an executor."""
CONFIDENCE = 0.99
"""The probability with which spares must suffice."""
MAX_SPARES = 1_000_000
"""The most spares that the search tries, and the most domains of a job."""
_QUANTILES = (0.05, 0.5, 0.95)
"""The quantiles in an estimate: P5, P50 and P95."""


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


def exact_distribution(
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


def draw_samples(
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


def estimate(
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
        The result of `exact_distribution` or, if that is None, the number of surviving sets in each sample.

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


def spare_requirements(domains: int, probability: float | None, gang_size: int | None) -> "list[SpareRequirement]":
    """Return the spares that jobs of 1, 10, 100, … of the scope's domains need, and a job of ``gang_size`` domains.

    The list is empty if the probability that a domain stays whole is None, because domains fail together.
    """
    if probability is None:
        return []
    sizes = {10**power for power in range(7) if 10**power <= domains} | ({gang_size} if gang_size else set())
    return [
        SpareRequirement(size, solvers.survival.spares_needed(size, probability, CONFIDENCE, MAX_SPARES))
        for size in sorted(sizes)
    ]
