"""Estimate how many sets of chips survive when parts fail: exactly if that is binomial, otherwise by sampling.

A domain has a number of sets, one bit for each. A part that fails destroys some of them, the same ones in every domain;
parts fail independently. Samples are drawn in batches, each with its own seed derived from the first
(`numpy.random.SeedSequence.spawn`), so the result does not depend on which process draws which batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from trninv.solvers.torus_blocks import MaskRows

BATCH_SIZE = 64
"""Samples that share a seed."""
_GUESS_DEVIATIONS = 10
"""Standard deviations above the mean number of failures for which random numbers are drawn at once."""


@dataclass(frozen=True, slots=True)
class FailureCause:
    """Parts of one kind that fail with equal probability.

    Attributes
    ----------
    probability
        Probability that a part has failed.
    destroys
        The sets of its domain that each part destroys, one row for each part.
    offset
        Empty for parts of one domain. For parts that several domains share, the first domain of each part; ``destroys``
        then has one row.

    """

    probability: float
    destroys: MaskRows
    offset: tuple[int, ...] = ()

    def sample_losses(self, random: np.random.Generator, size: int, domains: int) -> tuple[NDArray[np.int64], MaskRows]:
        """Draw ``size`` samples; return the domains hit (sample · domains + domain) and the sets that each loses."""
        if not self.offset:
            parts = len(self.destroys)
            failed_parts = sample_failures(random, size * domains * parts, self.probability)
            return failed_parts // max(parts, 1), self.destroys[failed_parts % max(parts, 1)]
        first_domains = np.array(self.offset, np.int64)
        domain_counts = np.diff(first_domains, append=domains)
        failed_parts = sample_failures(random, size * len(first_domains), self.probability)
        draw, part = failed_parts // len(first_domains), failed_parts % len(first_domains)
        repeats = domain_counts[part]
        offsets = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        domain_index = np.repeat(draw * domains + first_domains[part], repeats) + offsets
        return domain_index, np.broadcast_to(self.destroys[0], (len(domain_index), self.destroys.shape[1]))


@dataclass(frozen=True, slots=True)
class CountedSets:
    """Sets to count in each domain, in groups of ``group_size``; ``sets`` has one row of words for each rack."""

    sets: MaskRows
    group_size: int = 1

    def count_intact(self, intact: MaskRows) -> NDArray[np.int64]:
        """Return the number of intact groups in each row of words."""
        counts = np.zeros(len(intact), np.int64)
        for rack in self.sets:
            counts += np.bitwise_count(intact & rack).sum(axis=1, dtype=np.int64) // self.group_size
        return counts


@dataclass(frozen=True, slots=True)
class SamplingTask:
    """Some batches of samples, in plain values that travel to other processes."""

    intact: MaskRows
    causes: tuple[FailureCause, ...]
    counted_sets: tuple[CountedSets, ...]
    seeds: tuple[np.random.SeedSequence, ...]
    sizes: tuple[int, ...]


def sample(task: SamplingTask) -> NDArray[np.int64]:
    """Return the number of intact groups over all domains (samples × ``counted_sets``).

    Monte Carlo simulation; O(samples·failures) expected, with the failures of one sample.

    Examples
    --------
    Two domains with sets 0 and 1. The only cause of failure never happens, so four sets survive in each of two samples:

    >>> intact = np.array([[0b11], [0b11]], np.uint64)
    >>> cause = FailureCause(0.0, np.array([[0b01]], np.uint64))
    >>> [task] = sampling_tasks(intact, [cause], [CountedSets(np.array([[0b11]], np.uint64))], 2, 7, 1)
    >>> sample(task).tolist()
    [[4], [4]]

    """
    full_counts = [group.count_intact(task.intact) for group in task.counted_sets]
    return np.vstack(
        [_sample_batch(task, full_counts, seed, size) for seed, size in zip(task.seeds, task.sizes, strict=True)]
    )


def _sample_batch(
    task: SamplingTask, full_counts: Sequence[NDArray[np.int64]], seed: np.random.SeedSequence, size: int
) -> NDArray[np.int64]:
    random, domains = np.random.default_rng(seed), len(task.intact)
    domain_indexes, losses = [np.zeros(0, np.int64)], [task.intact[:0]]
    for cause in task.causes:
        hit_domains, lost_masks = cause.sample_losses(random, size, domains)
        domain_indexes.append(hit_domains)
        losses.append(lost_masks)
    domain_index, lost_sets = np.concatenate(domain_indexes), np.concatenate(losses)
    order = np.argsort(domain_index, kind="stable")
    hit, starts = np.unique(domain_index[order], return_index=True)
    totals = np.tile([int(group.sum()) for group in full_counts], (size, 1))
    if not len(hit):
        return totals
    intact = task.intact[hit % domains] & ~np.bitwise_or.reduceat(lost_sets[order], starts, axis=0)
    for index, group in enumerate(task.counted_sets):
        np.add.at(totals[:, index], hit // domains, group.count_intact(intact) - full_counts[index][hit % domains])
    return totals


def sample_failures(random: np.random.Generator, parts: int, probability: float) -> NDArray[np.int64]:
    """Draw which of ``parts`` parts have failed, each with the same probability.

    The gaps between failures are geometric (waiting times, Devroye 1986): O(failures) instead of O(parts).

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> sample_failures(random, 4, 0.0).tolist(), sample_failures(random, 4, 1.0).tolist()
    ([], [0, 1, 2, 3])

    """
    if not probability or not parts:
        return np.zeros(0, np.int64)
    mean, chunks, last = parts * probability, list[NDArray[np.int64]](), -1
    while last < parts:
        gaps = random.geometric(probability, ceil(mean + _GUESS_DEVIATIONS * sqrt(mean)) + 1)
        chunks.append(last + np.cumsum(np.minimum(gaps, parts + 1)))
        last = int(chunks[-1][-1])
    positions = np.concatenate(chunks)
    return positions[positions < parts]


def sampling_tasks(
    intact: MaskRows,
    causes: Sequence[FailureCause],
    counted_sets: Sequence[CountedSets],
    samples: int,
    seed: int,
    batches_per_task: int,
) -> Iterator[SamplingTask]:
    """Yield tasks of ``batches_per_task`` batches each, for ``samples`` samples in all; O(batches).

    Examples
    --------
    100 samples are batches of 64 and 36:

    >>> intact = np.array([[0b11]], np.uint64)
    >>> [task.sizes for task in sampling_tasks(intact, [], [], samples=100, seed=7, batches_per_task=1)]
    [(64,), (36,)]

    """
    sizes = [min(BATCH_SIZE, samples - start) for start in range(0, samples, BATCH_SIZE)]
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    for start in range(0, len(sizes), batches_per_task):
        part = slice(start, start + batches_per_task)
        yield SamplingTask(intact, tuple(causes), tuple(counted_sets), tuple(seeds[part]), tuple(sizes[part]))


def survival_probabilities(causes: Sequence[FailureCause], sets: MaskRows) -> NDArray[np.float64]:
    """Return the probability that each of some sets (rows of one bit) survives; O(parts·sets).

    The product of 1 - p over the parts that destroy it, since parts fail independently.

    Examples
    --------
    Set 0 needs two parts that fail with probability 0.1, set 1 only the second of them:

    >>> cause = FailureCause(0.1, np.array([[0b01], [0b11]], np.uint64))
    >>> survival_probabilities([cause], np.array([[0b01], [0b10]], np.uint64)).round(2).tolist()
    [0.81, 0.9]

    """
    probabilities = np.ones(len(sets), np.float64)
    for cause in causes:
        hit = ((cause.destroys[:, None, :] & sets[None, :, :]) != 0).any(axis=2)
        probabilities *= np.array([(1 - cause.probability) ** times for times in hit.sum(axis=0).tolist()], np.float64)
    return probabilities


def are_independent(causes: Sequence[FailureCause], sets: MaskRows) -> bool:
    """Return whether no part destroys two of the sets, so that they fail independently; O(parts·sets).

    Examples
    --------
    >>> sets = np.array([[0b01], [0b10]], np.uint64)
    >>> own, shared = (FailureCause(0.1, np.array(rows, np.uint64)) for rows in ([[0b01], [0b10]], [[0b11]]))
    >>> are_independent([own], sets), are_independent([shared], sets)
    (True, False)

    """
    for cause in causes:
        hit = ((cause.destroys[:, None, :] & sets[None, :, :]) != 0).any(axis=2)
        if cause.probability and (cause.offset or (hit.sum(axis=1) > 1).any()):
            return False
    return True


def binomial_cdf(count: int, probability: float) -> NDArray[np.float64]:
    """Return P[X ≤ 0], …, P[X ≤ count] for X binomial; O(count) incomplete beta functions.

    Examples
    --------
    >>> binomial_cdf(2, 0.5).tolist()
    [0.25, 0.75, 1.0]

    """
    return np.asarray(bdtr(np.arange(count + 1), count, probability), np.float64)


def spares_needed(count: int, probability: float, confidence: float, max_spares: int) -> int | None:
    """Return the fewest spares with which ``count`` parts survive with ``confidence``; None if that takes too many.

    Exponential and binary search over the binomial's upper tail; O(log(spares)).

    Parameters
    ----------
    probability
        Probability that a part, or a spare, survives.
    max_spares
        The most spares to consider, at least 1.

    Examples
    --------
    Each part survives with probability 0.9. One of one part survives with 0.9, one of two with 0.99:

    >>> spares_needed(1, 0.9, confidence=0.95, max_spares=10), spares_needed(1, 0.9, confidence=0.9, max_spares=10)
    (1, 0)

    """
    min_spares, enough_spares = 0, 1
    while bdtrc(count - 1, count + enough_spares, probability) < confidence:
        if enough_spares == max_spares:
            return None
        min_spares, enough_spares = enough_spares, min(2 * enough_spares, max_spares)
    while min_spares < enough_spares:
        middle = (min_spares + enough_spares) // 2
        min_spares, enough_spares = (
            (min_spares, middle)
            if bdtrc(count - 1, count + middle, probability) >= confidence
            else (middle + 1, enough_spares)
        )
    return min_spares
