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

from trninv.solvers.blocks import Words

BATCH = 64
"""Draws that have a seed together."""
_SURE = 10
"""Standard deviations within which a first guess of a number of failures lies."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Parts of a kind: how likely each has failed, and the sets of its domain that it takes along (a row a part).

    Attributes
    ----------
    first
        Of parts that several domains share, one row in ``takes``: the first domain of each, and how many there are in
        all; empty of parts of one domain.

    """

    likely: float
    takes: Words
    first: tuple[int, ...] = ()

    def failed(self, random: np.random.Generator, size: int, domains: int) -> tuple[NDArray[np.int64], Words]:
        """Of so many draws, the domains hit (draw · domains + domain), and what each loses."""
        if not self.first:
            parts = len(self.takes)
            found = failures(random, size * domains * parts, self.likely)
            return found // max(parts, 1), self.takes[found % max(parts, 1)]
        begin = np.array(self.first, np.int64)
        reach = np.diff(begin, append=domains)
        found = failures(random, size * len(begin), self.likely)
        of, each = found // len(begin), found % len(begin)
        many = reach[each]
        offsets = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        place = np.repeat(of * domains + begin[each], many) + offsets
        return place, np.broadcast_to(self.takes[0], (len(place), self.takes.shape[1]))


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted in each domain: sets of some kind, in groups of so many; ``sets`` has a row of words a rack."""

    sets: Words
    group: int = 1

    def of(self, alive: Words) -> NDArray[np.int64]:
        """In each row of words."""
        found = np.zeros(len(alive), np.int64)
        for rack in self.sets:
            found += np.bitwise_count(alive & rack).sum(axis=1, dtype=np.int64) // self.group
        return found


@dataclass(frozen=True, slots=True)
class Task:
    """Some batches of draws, in plain values that travel to other processes."""

    alive: Words
    causes: tuple[Cause, ...]
    counted: tuple[Counted, ...]
    seeds: tuple[np.random.SeedSequence, ...]
    sizes: tuple[int, ...]


def draw(task: Task) -> NDArray[np.int64]:
    """Draws × what is counted, over all domains."""
    whole = [each.of(task.alive) for each in task.counted]
    return np.vstack([_batch(task, whole, seed, size) for seed, size in zip(task.seeds, task.sizes, strict=True)])


def _batch(
    task: Task, whole: Sequence[NDArray[np.int64]], seed: np.random.SeedSequence, size: int
) -> NDArray[np.int64]:
    random, domains = np.random.default_rng(seed), len(task.alive)
    places, taken = [np.zeros(0, np.int64)], [task.alive[:0]]
    for cause in task.causes:
        place, lost = cause.failed(random, size, domains)
        places.append(place)
        taken.append(lost)
    where, what = np.concatenate(places), np.concatenate(taken)
    order = np.argsort(where, kind="stable")
    hurt, first = np.unique(where[order], return_index=True)
    totals = np.tile([int(each.sum()) for each in whole], (size, 1))
    if not len(hurt):
        return totals
    left = task.alive[hurt % domains] & ~np.bitwise_or.reduceat(what[order], first, axis=0)
    for at, each in enumerate(task.counted):
        np.add.at(totals[:, at], hurt // domains, each.of(left) - whole[at][hurt % domains])
    return totals


def failures(random: np.random.Generator, parts: int, likely: float) -> NDArray[np.int64]:
    """Which of some parts have failed, each with the same likelihood: by the gaps between them."""
    if not likely or not parts:
        return np.zeros(0, np.int64)
    mean, found, last = parts * likely, list[NDArray[np.int64]](), -1
    while last < parts:
        gaps = random.geometric(likely, ceil(mean + _SURE * sqrt(mean)) + 1)
        found.append(last + np.cumsum(np.minimum(gaps, parts + 1)))
        last = int(found[-1][-1])
    every = np.concatenate(found)
    return every[every < parts]


def tasks(
    alive: Words, causes: Sequence[Cause], counted: Sequence[Counted], samples: int, seed: int, batches: int
) -> Iterator[Task]:
    """So many draws, as tasks of so many batches each."""
    sizes = [min(BATCH, samples - at) for at in range(0, samples, BATCH)]
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    for at in range(0, len(sizes), batches):
        part = slice(at, at + batches)
        yield Task(alive, tuple(causes), tuple(counted), tuple(seeds[part]), tuple(sizes[part]))


def whole_likely(causes: Sequence[Cause], sets: Words) -> NDArray[np.float64]:
    """How likely each of some sets (rows of one bit) has lost nothing."""
    found = np.ones(len(sets), np.float64)
    for cause in causes:
        hit = ((cause.takes[:, None, :] & sets[None, :, :]) != 0).any(axis=2)
        found *= np.array([(1 - cause.likely) ** times for times in hit.sum(axis=0).tolist()], np.float64)
    return found


def are_apart(causes: Sequence[Cause], sets: Words) -> bool:
    """Whether no part takes two of some sets along: they then fail independently."""
    for cause in causes:
        hit = ((cause.takes[:, None, :] & sets[None, :, :]) != 0).any(axis=2)
        if cause.likely and (cause.first or (hit.sum(axis=1) > 1).any()):
            return False
    return True


def binomial_cdf(count: int, likely: float) -> NDArray[np.float64]:
    """P[X ≤ 0], P[X ≤ 1], … of a binomial."""
    return np.asarray(bdtr(np.arange(count + 1), count, likely), np.float64)


def spares(count: int, likely: float, sure: float, most: int) -> int | None:
    """The fewest more so that enough of count and those are whole, as surely as wanted; None if that takes too many."""
    low, high = 0, 1
    while bdtrc(count - 1, count + high, likely) < sure:
        low, high = high, 2 * high
        if high > most:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bdtrc(count - 1, count + middle, likely) >= sure else (middle + 1, high)
    return low
