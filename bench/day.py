"""Simulate a day of jobs in 200 UltraServers and compare placement policies: free capacity, utilization, bandwidth.

Jobs ask for 98 % of the chips on average. The distribution of their sizes is invented, their durations are log-normal.
A job without a placement waits, and jobs behind it may start first. All policies get the same jobs. A job may use any
box of a torus; free capacity is counted in legal sets, the sets of chips that schedulers allocate.
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
from trninv.placement.candidates.free_capacity import ConsecutiveDomains, FreeCapacity, ModelDomains, count_chips
from trninv.placement.candidates.placement_model import LegalSets, PlacementModel, placement_model, read_legal_sets
from trninv.solvers.torus_blocks import contains, pack_masks

_SIZES = {1: 0.25, 4: 0.2, 8: 0.15, 16: 0.2, 32: 0.12, 64: 0.08}
"""Probability of each number of chips of a job."""
_LOAD, _MEAN_HOURS, _SIGMA = 0.98, 2.0, 1.0
"""Share of the chips that jobs ask for; mean duration, and standard deviation of the durations' logarithm."""
_WARM_UP_END, _DAY_END, _SAMPLE_INTERVAL = 6.0, 24.0, 0.1
"""In hours."""
_MAX_DOMAINS, _SEEDS = 200, 3
_STRANDED_MARK, _IDLE_MARK, _GATHER_MARK = 0.85, 0.003, 1.0
"""Marks of the policy pack against first fit: ratio of free chips that jobs of 32 can't use; increase of the share of
idle chips; ratio of the seconds of an all-gather of 16 chips."""
_MODEL, _FIRST_FIT = "u-trn2x64", "first fit, good shapes listed first"

Choose = Callable[[FreeCapacity, int], tuple[int, int] | None]
"""Returns a placement for a job with a number of chips, or None: the row of a domain and a mask of its chips."""


def day_rows(directory: Path, domains: int) -> Iterator[Row]:
    """Simulate a day for each policy and seed; a day depends only on its seed, not on the number of processes."""
    domains, legal = min(domains, _MAX_DOMAINS), _read_legal_sets(directory)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        futures = {
            name: [pool.submit(simulate_day, name, legal, domains, seed) for seed in range(_SEEDS)]
            for name in (_FIRST_FIT, *(policy.value for policy in PlacementPolicy))
        }
        days = {name: [future.result() for future in seeds] for name, seeds in futures.items()}
    first_fit = days.pop(_FIRST_FIT)
    for name, days_of_policy in days.items():
        note = f"{domains} UltraServers, {_SEEDS} seeds"
        marked = name == PlacementPolicy.PACK.value and domains == _MAX_DOMAINS
        stranded, first_stranded = _mean_of(days_of_policy, "stranded"), _mean_of(first_fit, "stranded")
        row_name = f"share of the free chips that jobs of 32 can't use, {name.lower()}"
        yield Row(
            row_name, 100 * stranded, 100 * first_stranded, _FIRST_FIT, _STRANDED_MARK if marked else None, "%", note
        )
        idle, first_idle = 1 - _mean_of(days_of_policy, "used"), 1 - _mean_of(first_fit, "used")
        mark = (first_idle + _IDLE_MARK) / first_idle if marked else None
        use_note = f"{note}; in use {100 * (1 - idle):.2f} and {100 * (1 - first_idle):.2f} %"
        yield Row(f"chips not in use, {name.lower()}", 100 * idle, 100 * first_idle, _FIRST_FIT, mark, "%", use_note)
        gather, first_gather = _mean_of(days_of_policy, "gather") / 1e9, _mean_of(first_fit, "gather") / 1e9
        note += f"; trninv {gather:.1f}, first fit {first_gather:.1f} GB/s"
        row_name = f"all-gather of 1 TB per chip by jobs of 16, {name.lower()}"
        yield Row(row_name, 1e3 / gather, 1e3 / first_gather, _FIRST_FIT, _GATHER_MARK if marked else None, "s", note)


def simulate_day(policy: str, legal: LegalSets, domains: int, seed: int) -> "DayResult":
    """Simulate a day with a placement policy or with first fit, by its name in the tables."""
    model = placement_model(_MODEL)
    sets = _boxes_by_size(model)
    choose: Choose = (
        partial(_first_fit, sets) if policy == _FIRST_FIT else partial(_best_fit, legal, sets, PlacementPolicy(policy))
    )
    return Day(model, legal, choose, domains, seed).run()


@dataclass(frozen=True)
class DayResult:
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
    result: DayResult = field(default_factory=DayResult)

    def run(self) -> DayResult:
        """Run the day: take arrivals and ends in their order, start each job that fits, and sample."""
        full = np.tile(pack_masks([self.model.full], self.model.chips), (self.domains, 1))
        none = np.zeros_like(full)
        group = ModelDomains(1, "day", self.model.slug, (ConsecutiveDomains(0, self.domains, 0, 1, 1),), True)
        capacity = FreeCapacity(group, self.model, np.arange(self.domains), full, full, none.copy(), none)
        jobs = deque(_draw_jobs(self.domains * self.model.chips, self.seed))
        ends: list[tuple[float, int, int]] = []
        waiting: dict[int, deque[tuple[float, float]]] = {size: deque() for size in _SIZES}
        sizes_without_room: set[int] = set()
        sample_time = _WARM_UP_END
        while jobs:
            now = min(jobs[0][0], ends[0][0] if ends else _DAY_END)
            while sample_time <= min(now, _DAY_END):
                self._sample(capacity)
                sample_time += _SAMPLE_INTERVAL
            if ends and ends[0][0] <= now:
                _, row, mask = heapq.heappop(ends)
                capacity = _toggle(capacity, row, mask)
                sizes_without_room.clear()
            else:
                arrival, size, hours = jobs.popleft()
                waiting[size].append((arrival, hours))
            for size in sorted((size for size in waiting if waiting[size]), key=lambda size: waiting[size][0]):
                while waiting[size] and size not in sizes_without_room:
                    if (choice := self.choose(capacity, size)) is None:
                        sizes_without_room.add(size)
                        break
                    row, mask = choice
                    capacity = _toggle(capacity, row, mask)
                    heapq.heappush(ends, (now + waiting[size].popleft()[1], row, mask))
                    if size == 16 and now >= _WARM_UP_END:  # noqa: PLR2004 # the size that the mark is about
                        self.result.gather.append(self.model.limits(mask).all_gather)
        return self.result

    def _sample(self, capacity: FreeCapacity) -> None:
        free = count_chips(capacity.free)
        self.result.used.append(1 - free / (self.domains * self.model.chips))
        if free:
            self.result.stranded.append(1 - 32 * concurrent_jobs(capacity, self.legal)[32] / free)


def _mean_of(days: list[DayResult], measure: str) -> float:
    return statistics.fmean(statistics.fmean(getattr(day, measure)) for day in days)


def _draw_jobs(chips: int, seed: int) -> Iterator[tuple[float, int, float]]:
    """Yield random jobs in the order of arrival: the hour, the number of chips, and the hours that it runs."""
    draw, now = random.Random(seed), 0.0
    mean_chips = sum(size * share for size, share in _SIZES.items())
    while now < _DAY_END:
        now += draw.expovariate(_LOAD * chips / mean_chips / _MEAN_HOURS)
        (size,) = draw.choices(list(_SIZES), list(_SIZES.values()))
        yield now, size, draw.lognormvariate(log(_MEAN_HOURS) - _SIGMA**2 / 2, _SIGMA)


def _toggle(capacity: FreeCapacity, row: int, mask: int) -> FreeCapacity:
    """Allocate free chips of a row, or release allocated ones."""
    allocated = capacity.allocated.copy()
    allocated[row] ^= pack_masks([mask], capacity.model.chips)[0]
    return capacity.with_allocated(allocated)


def _boxes_by_size(model: PlacementModel) -> Mapping[int, list[int]]:
    """Return the masks of all boxes by size, those with the highest bandwidth first."""
    assert model.torus

    def rank(mask: int) -> tuple[int, int]:
        limits = model.limits(mask)
        return -limits.all_gather, -limits.bisection

    shapes = model.torus.shapes
    shapes_by_size = {size: [shape for shape in shapes if prod(shape) == size] for size in _SIZES}
    return {
        size: sorted((block.mask for shape in shapes_of_size for block in model.torus.blocks(shape)), key=rank)
        for size, shapes_of_size in shapes_by_size.items()
    }


def _first_fit(sets: Mapping[int, list[int]], capacity: FreeCapacity, size: int) -> tuple[int, int] | None:
    """Choose the first listed box that is free in the first domain that has one."""
    fit = contains(capacity.free, pack_masks(sets[size], capacity.model.chips))
    rows = np.flatnonzero(fit.any(axis=1))
    return (int(rows[0]), sets[size][int(fit[rows[0]].argmax())]) if len(rows) else None


def _best_fit(
    legal: LegalSets, sets: Mapping[int, list[int]], policy: PlacementPolicy, capacity: FreeCapacity, size: int
) -> tuple[int, int] | None:
    """Choose as `trninv place` does with a policy."""
    search = CandidateSearch(capacity, legal, sets[size])
    best = search.best(search.matches, 1, policy)
    return (best[0].row, best[0].mask) if best else None


def _read_legal_sets(directory: Path) -> LegalSets:
    url = f"sqlite:///{directory}/legal.db"
    seed_cluster(url, 1)
    with temporary_engine(url) as engine, engine.connect() as connection:
        return read_legal_sets(connection, placement_model(_MODEL))
