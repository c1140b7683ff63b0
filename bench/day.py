"""Simulate a day of jobs in 200 UltraServers and compare placement policies: free capacity, utilization, bandwidth.

Jobs arrive at a load of 0.98 of the chips. Their sizes are invented, their durations log-normal. A job without a
placement waits, and jobs behind it may start first. All policies get the same jobs. A job accepts any box; free
capacity is counted in the sets of chips that schedulers allocate.
"""

import heapq
import random
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import log, prod
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench.measure import Row, seed_cluster
from trninv.database.engine import temporary_engine
from trninv.placement.candidates.candidate_search import CandidateSearch, PlacementPolicy
from trninv.placement.candidates.free_blocks import concurrent_jobs
from trninv.placement.candidates.free_capacity import FreeCapacity, count_chips
from trninv.placement.candidates.placement_model import LegalSets, PlacementModel, placement_model, read_legal_sets
from trninv.solvers.torus_blocks import contains, pack_masks

_SIZES = {1: 0.25, 4: 0.2, 8: 0.15, 16: 0.2, 32: 0.12, 64: 0.08}
"""Chips of a job, and the probability of that size."""
_LOAD, _MEAN, _SIGMA = 0.98, 2.0, 1.0
"""Share of the chips that jobs ask for; mean hours of a job, and the standard deviation of their logarithm."""
_WARM, _END, _EVERY = 6.0, 24.0, 0.1
"""Hours: end of the warm-up, end of the day, time between two samples."""
_MOST, _SEEDS = 200, 3
_STRANDED, _POINTS, _SLOWER = 0.85, 0.003, 1.0
"""Marks of pack against first fit: chips that jobs of 32 can't use, lost utilization, all-gather of 16 chips."""
_MODEL, _FIRST = "u-trn2x64", "first fit, good shapes listed first"

Choose = Callable[[FreeCapacity, int], tuple[int, int] | None]
"""Chooses a row and a mask of chips for a job of a size, or None."""


def day_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Simulate a day for each policy and seed; a day depends only on its seed, not on the number of processes."""
    domains, legal = min(domains, _MOST), _legal(directory)
    with ProcessPoolExecutor(2, get_context("spawn")) as each:
        asked = {
            name: [each.submit(day, name, legal, domains, seed) for seed in range(_SEEDS)]
            for name in (_FIRST, *(policy.value for policy in PlacementPolicy))
        }
        days = {name: [one.result() for one in of] for name, of in asked.items()}
    first = days.pop(_FIRST)
    for name, ours in days.items():
        note = f"{domains} UltraServers, {_SEEDS} seeds"
        marked = name == PlacementPolicy.PACK.value and domains == _MOST
        stranded, then = _mean(ours, "stranded"), _mean(first, "stranded")
        what = f"share of the free chips that jobs of 32 can't use, {name.lower()}"
        yield Row(what, 100 * stranded, 100 * then, _FIRST, _STRANDED if marked else None, "%", note)
        idle, less = 1 - _mean(ours, "used"), 1 - _mean(first, "used")
        mark = (less + _POINTS) / less if marked else None
        used = f"{note}; in use {100 * (1 - idle):.2f} and {100 * (1 - less):.2f} %"
        yield Row(f"chips not in use, {name.lower()}", 100 * idle, 100 * less, _FIRST, mark, "%", used)
        gather, gave = _mean(ours, "gather") / 1e9, _mean(first, "gather") / 1e9
        note += f"; trninv {gather:.1f}, first fit {gave:.1f} GB/s"
        what = f"all-gather of 1 TB per chip by jobs of 16, {name.lower()}"
        yield Row(what, 1e3 / gather, 1e3 / gave, _FIRST, _SLOWER if marked else None, "s", note)


def day(policy: str, legal: LegalSets, domains: int, seed: int) -> "Seen":
    """Simulate a day with a placement policy, or with first fit."""
    model = placement_model(_MODEL)
    sets = _boxes(model)
    choose: Choose = (
        partial(_first_fit, sets) if policy == _FIRST else partial(_best, legal, sets, PlacementPolicy(policy))
    )
    return Day(model, legal, choose, domains, seed).run()


@dataclass(frozen=True)
class Seen:
    """The samples of a simulated day.

    Attributes
    ----------
    stranded, used
        One share per sample: of the free chips, those that jobs of 32 can't use; of all chips, those in use.
    gather
        All-gather bytes per second of each job of 16 when it started.

    """

    stranded: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    gather: list[float] = field(default_factory=list)


@dataclass
class Day:
    """A simulation in which jobs arrive, wait, run and end."""

    model: PlacementModel
    legal: LegalSets
    choose: Choose
    domains: int
    seed: int
    seen: Seen = field(default_factory=Seen)

    def run(self) -> Seen:
        full = np.tile(pack_masks([self.model.full], self.model.chips), (self.domains, 1))
        none = np.zeros_like(full)
        there = FreeCapacity("day", self.model, np.arange(self.domains), full, full, none.copy(), none)
        jobs = deque(_jobs(self.domains * self.model.chips, self.seed))
        ends: list[tuple[float, int, int]] = []
        waiting: dict[int, deque[tuple[float, float]]] = {size: deque() for size in _SIZES}
        full_for: set[int] = set()
        look = _WARM
        while jobs:
            now = min(jobs[0][0], ends[0][0] if ends else _END)
            while look <= min(now, _END):
                self._look(there)
                look += _EVERY
            if ends and ends[0][0] <= now:
                _, row, mask = heapq.heappop(ends)
                there = _held(there, row, mask)
                full_for.clear()
            else:
                came, size, hours = jobs.popleft()
                waiting[size].append((came, hours))
            for size in sorted((size for size in waiting if waiting[size]), key=lambda size: waiting[size][0]):
                while waiting[size] and size not in full_for:
                    if (found := self.choose(there, size)) is None:
                        full_for.add(size)
                        break
                    row, mask = found
                    there = _held(there, row, mask)
                    heapq.heappush(ends, (now + waiting[size].popleft()[1], row, mask))
                    if size == 16 and now >= _WARM:  # noqa: PLR2004 # the size that the mark is about
                        self.seen.gather.append(self.model.limits(mask).all_gather)
        return self.seen

    def _look(self, there: FreeCapacity) -> None:
        free = count_chips(there.free)
        self.seen.used.append(1 - free / (self.domains * self.model.chips))
        if free:
            self.seen.stranded.append(1 - 32 * concurrent_jobs(there, self.legal)[32] / free)


def _mean(days: list[Seen], what: str) -> float:
    return statistics.fmean(statistics.fmean(getattr(day, what)) for day in days)


def _jobs(chips: int, seed: int) -> Iterator[tuple[float, int, float]]:
    """Draw jobs: the hour of arrival, the chips, the hours it runs."""
    draw, now = random.Random(seed), 0.0
    mean = sum(size * share for size, share in _SIZES.items())
    while now < _END:
        now += draw.expovariate(_LOAD * chips / mean / _MEAN)
        (size,) = draw.choices(list(_SIZES), list(_SIZES.values()))
        yield now, size, draw.lognormvariate(log(_MEAN) - _SIGMA**2 / 2, _SIGMA)


def _held(there: FreeCapacity, row: int, mask: int) -> FreeCapacity:
    """Allocate free chips of a row, or release allocated ones."""
    held = there.allocated.copy()
    held[row] ^= pack_masks([mask], there.model.chips)[0]
    return there.with_allocated(held)


def _boxes(model: PlacementModel) -> Mapping[int, list[int]]:
    """Return boxes by size, those with the highest bandwidth first."""
    assert model.torus

    def worth(mask: int) -> tuple[int, int]:
        limits = model.limits(mask)
        return -limits.all_gather, -limits.bisection

    shapes = model.torus.shapes
    of_size = {size: [shape for shape in shapes if prod(shape) == size] for size in _SIZES}
    return {
        size: sorted((block.mask for shape in of for block in model.torus.blocks(shape)), key=worth)
        for size, of in of_size.items()
    }


def _first_fit(sets: Mapping[int, list[int]], there: FreeCapacity, size: int) -> tuple[int, int] | None:
    """Choose the first listed box that is free in the first domain that has one."""
    fit = contains(there.free, pack_masks(sets[size], there.model.chips))
    rows = np.flatnonzero(fit.any(axis=1))
    return (int(rows[0]), sets[size][int(fit[rows[0]].argmax())]) if len(rows) else None


def _best(
    legal: LegalSets, sets: Mapping[int, list[int]], policy: PlacementPolicy, there: FreeCapacity, size: int
) -> tuple[int, int] | None:
    """Choose as `placements` does."""
    search = CandidateSearch(there, legal, sets[size])
    found = search.best(search.matches, 1, policy)
    return (found[0].row, found[0].mask) if found else None


def _legal(directory: Path) -> LegalSets:
    url = f"sqlite:///{directory}/legal.db"
    seed_cluster(url, 1)
    with temporary_engine(url) as engine, engine.connect() as connection:
        return read_legal_sets(connection, placement_model(_MODEL))
