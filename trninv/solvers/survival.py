"""How many sets of chips are whole when parts fail: exact where it is a binomial, else by drawing.

A domain has so many sets, one bit each. A part that fails takes some of them along, the same ones in every domain;
parts fail independently. Draws come in batches, each with a seed of its own that follows from the first
(`numpy.random.SeedSequence.spawn`), so that the figures are the same whoever draws which batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from trninv.solvers.blocks import MaskRows

BATCH_SIZE = 64
"""Draws that have a seed together."""
_GUESS_DEVIATIONS = 10
"""Standard deviations within which a first guess of a number of failures lies."""


@dataclass(frozen=True, slots=True)
class FailureCause:
    """Parts of a kind: how likely each has failed, and the sets of its domain that it takes along (a row a part).

    Attributes
    ----------
    first
        Of parts that several domains share, one row in ``takes``: the first domain of each, and how many there are in
        all; empty of parts of one domain.

    """

    probability: float
    destroys: MaskRows
    offset: tuple[int, ...] = ()

    def sample_losses(self, random: np.random.Generator, size: int, domains: int) -> tuple[NDArray[np.int64], MaskRows]:
        """Of so many draws, the domains hit (draw · domains + domain), and what each loses."""
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
    """What is counted in each domain: sets of some kind, in groups of so many; ``sets`` has a row of words a rack."""

    sets: MaskRows
    group_size: int = 1

    def count_intact(self, intact: MaskRows) -> NDArray[np.int64]:
        """In each row of words."""
        counts = np.zeros(len(intact), np.int64)
        for rack in self.sets:
            counts += np.bitwise_count(intact & rack).sum(axis=1, dtype=np.int64) // self.group_size
        return counts


@dataclass(frozen=True, slots=True)
class SamplingTask:
    """Some batches of draws, in plain values that travel to other processes."""

    intact: MaskRows
    causes: tuple[FailureCause, ...]
    counted_sets: tuple[CountedSets, ...]
    seeds: tuple[np.random.SeedSequence, ...]
    sizes: tuple[int, ...]


def sample(task: SamplingTask) -> NDArray[np.int64]:
    """Draws × what is counted, over all domains."""
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
    """Which of some parts have failed, each with the same likelihood: by the gaps between them."""
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
    """So many draws, as tasks of so many batches each."""
    sizes = [min(BATCH_SIZE, samples - start) for start in range(0, samples, BATCH_SIZE)]
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    for start in range(0, len(sizes), batches_per_task):
        part = slice(start, start + batches_per_task)
        yield SamplingTask(intact, tuple(causes), tuple(counted_sets), tuple(seeds[part]), tuple(sizes[part]))


def survival_probabilities(causes: Sequence[FailureCause], sets: MaskRows) -> NDArray[np.float64]:
    """How likely each of some sets (rows of one bit) has lost nothing."""
    probabilities = np.ones(len(sets), np.float64)
    for cause in causes:
        hit = ((cause.destroys[:, None, :] & sets[None, :, :]) != 0).any(axis=2)
        probabilities *= np.array([(1 - cause.probability) ** times for times in hit.sum(axis=0).tolist()], np.float64)
    return probabilities


def are_independent(causes: Sequence[FailureCause], sets: MaskRows) -> bool:
    """Whether no part takes two of some sets along: they then fail independently."""
    for cause in causes:
        hit = ((cause.destroys[:, None, :] & sets[None, :, :]) != 0).any(axis=2)
        if cause.probability and (cause.offset or (hit.sum(axis=1) > 1).any()):
            return False
    return True


def binomial_cdf(count: int, probability: float) -> NDArray[np.float64]:
    """P[X ≤ 0], P[X ≤ 1], … of a binomial."""
    return np.asarray(bdtr(np.arange(count + 1), count, probability), np.float64)


def spares_needed(count: int, probability: float, confidence: float, max_spares: int) -> int | None:
    """The fewest more so that enough of count and those are whole, as surely as wanted; None if that takes too many."""
    min_spares, enough_spares = 0, 1
    while bdtrc(count - 1, count + enough_spares, probability) < confidence:
        min_spares, enough_spares = enough_spares, 2 * enough_spares
        if enough_spares > max_spares:
            return None
    while min_spares < enough_spares:
        middle = (min_spares + enough_spares) // 2
        min_spares, enough_spares = (
            (min_spares, middle)
            if bdtrc(count - 1, count + middle, probability) >= confidence
            else (middle + 1, enough_spares)
        )
    return min_spares
