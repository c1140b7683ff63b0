"""Estimate how many sets of chips survive when parts fail: exactly if the number is binomial, otherwise by sampling.

`trninv.placement.questions.capacity` calls this module, with failure rates from `trninv.placement.failure_rates`.

A domain has a number of chip sets that jobs can use; some of the domain's sets are an integer with one bit for each.
A part that fails destroys certain sets, the same ones in every domain. Parts fail independently. Samples are drawn in
batches. Each batch has its own seed, derived from the question's seed (`numpy.random.SeedSequence.spawn`), so the
result does not depend on which process draws which batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from trninv.solvers.torus_blocks import MaskRows

BATCH_SIZE = 64
"""Number of samples in a batch, which are drawn with one seed."""
_GUESS_DEVIATIONS = 10
"""Random numbers are drawn for the mean number of failures plus so many standard deviations, which is nearly always
enough."""


@dataclass(frozen=True, slots=True)
class FailureCause:
    """Parts of one kind that fail with equal probability.

    Attributes
    ----------
    probability
        Probability that a part has failed.
    destroys
        The sets that each part destroys in its domain, one row for each part.
    first_domains
        Empty if each part belongs to one domain. For parts that several consecutive domains share, the index of each
        part's first domain; its last domain is the one before the next part's. ``destroys`` then has one row.

    """

    probability: float
    destroys: MaskRows
    first_domains: tuple[int, ...] = ()

    def sample_losses(self, random: np.random.Generator, size: int, domains: int) -> tuple[NDArray[np.int64], MaskRows]:
        """Draw ``size`` samples; return each domain with a failure (sample · domains + domain) and its lost sets."""
        if not self.first_domains:
            parts = len(self.destroys)
            failed_parts = sample_failures(random, size * domains * parts, self.probability)
            return failed_parts // max(parts, 1), self.destroys[failed_parts % max(parts, 1)]
        first_domains = np.array(self.first_domains, np.int64)
        domain_counts = np.diff(first_domains, append=domains)
        failed_parts = sample_failures(random, size * len(first_domains), self.probability)
        draw, part = failed_parts // len(first_domains), failed_parts % len(first_domains)
        repeats = domain_counts[part]
        # count 0, 1, … from the first domain of each failed part
        offsets = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        domain_index = np.repeat(draw * domains + first_domains[part], repeats) + offsets
        return domain_index, np.broadcast_to(self.destroys[0], (len(domain_index), self.destroys.shape[1]))


@dataclass(frozen=True, slots=True)
class CountedSets:
    """Chip sets to count in each domain.

    ``sets`` has one row of words for each rack, with the bits of the rack's sets. A job needs ``group_size`` sets in
    one rack, so that many intact sets of a rack count as one group.
    """

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
    """Some batches of samples, in plain values that can be sent to other processes.

    Attributes
    ----------
    intact
        The sets that are intact before the failures, one row of words for each domain.
    seeds, sizes
        The seed and the number of samples of each batch.

    """

    intact: MaskRows
    causes: tuple[FailureCause, ...]
    counted_sets: tuple[CountedSets, ...]
    seeds: tuple[np.random.SeedSequence, ...]
    sizes: tuple[int, ...]


def sample(task: SamplingTask) -> NDArray[np.int64]:
    """Return the number of intact groups over all domains, by sample (rows) and entry of ``counted_sets`` (columns).

    Monte Carlo simulation (Metropolis & Ulam 1949); O(samples·failures per sample) expected.

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
    """Return the rows of one batch: the groups that are intact at first, minus those lost in domains with failures."""
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

    The gaps between failed parts have a geometric distribution, so drawing the gaps (Devroye 1986) takes O(failures)
    instead of O(parts).

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
    """Yield tasks of ``batches_per_task`` batches or fewer, with ``samples`` samples altogether; O(batches).

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
    """Return the probability that each of some sets survives; O(parts·sets).

    A row of ``sets`` has the bit of one set. Parts fail independently, so the probability is the product of 1 - p over
    the parts that destroy the set.

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
        parts_by_set = hit.sum(axis=0).tolist()
        probabilities *= np.array([(1 - cause.probability) ** parts for parts in parts_by_set], np.float64)
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
        if cause.probability and (cause.first_domains or (hit.sum(axis=1) > 1).any()):
            return False
    return True


def binomial_cdf(count: int, probability: float) -> NDArray[np.float64]:
    """Return P[X ≤ 0], …, P[X ≤ count] for a binomial X of ``count`` trials.

    O(count) evaluations of the incomplete beta function.

    Examples
    --------
    >>> binomial_cdf(2, 0.5).tolist()
    [0.25, 0.75, 1.0]

    """
    return np.asarray(bdtr(np.arange(count + 1), count, probability), np.float64)


def spares_needed(count: int, probability: float, confidence: float, max_spares: int) -> int | None:
    """Return the fewest spares with which at least ``count`` parts survive with the probability ``confidence``.

    None if ``max_spares`` are not enough. Exponential and binary search over the binomial's upper tail; O(log(spares)).

    Parameters
    ----------
    probability
        Probability that a part, or a spare, survives.
    max_spares
        The most spares to consider, at least 1.

    Examples
    --------
    A part survives with probability 0.9. At least one part survives with probability 0.9 without a spare, and with
    probability 0.99 with one spare:

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
