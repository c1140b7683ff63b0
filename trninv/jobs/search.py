"""Where sets of chips fit in free ones, the best first: exact, over every position in every domain.

Domains with the same free chips, and with no damaged link, are looked at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import islice
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trninv import deadline
from trninv.choice import Choice
from trninv.jobs.damage import NOTHING_LOST, Lost
from trninv.jobs.model import AnyOf, Legal, Rack
from trninv.jobs.stock import Stock
from trninv.solvers.blocks import Words, holding, meeting, whole, words
from trninv.solvers.slices import Limits


class Policy(Choice):
    """What goes first among places that fit."""

    QUALITY = "QUALITY", "All-gather, then bisection of the place, then least harm to what larger jobs need."
    PACK = "PACK", "Least harm to what larger jobs need, then fewest free chips left, then all-gather and bisection."
    SPREAD = "SPREAD", "Least share of the job in one rack, of several domains below one network node; then as QUALITY."
    SLURM = "SLURM", "By Slurm's torus3d rule, for comparison: least overlap with free sets of the next larger size."


@dataclass(frozen=True, slots=True)
class Found:
    """A place that fits.

    Attributes
    ----------
    row
        Of the stock.
    worn
        Something in it is degraded; the limits are of it as it is.
    harm
        Chips of the free legal sets that it takes or breaks up, the mean of all sizes above 1.
    leaves
        Free chips that its domain has left.

    """

    row: int
    mask: int
    limits: Limits
    worn: bool
    harm: float
    leaves: int


ANY: Final = Limits(0, 0)
"""Limits that everything reaches."""


class Search:
    """Places for one of some sets.

    Parameters
    ----------
    wanted
        Sets of one number of chips, or any so many servers of a rack.
    kept
        Chips that are not to be taken, though they stay free.
    least, healthy
        What a place that is fit reaches, and whether nothing in it is degraded.

    """

    def __init__(
        self,
        stock: Stock,
        legal: Legal,
        wanted: Sequence[int] | AnyOf,
        kept: Words | None = None,
        *,
        least: Limits = ANY,
        healthy: bool = False,
    ) -> None:
        self.stock, self._legal, self._least, self._healthy = stock, legal, least, healthy
        left = stock.free if kept is None else stock.free & ~kept
        self._first, self._class = stock.kinds if kept is None else stock.kinds_of(left)
        self._free, self._left_over = stock.free[self._first], left[self._first]
        self._listed = list(self._racks(wanted)) if isinstance(wanted, AnyOf) else None
        self._masks = [rack.mask for rack in self._listed or ()] if isinstance(wanted, AnyOf) else list(wanted)
        self._sets = words(self._masks, stock.model.chips)

    def _racks(self, any_of: AnyOf) -> Iterator["Rack"]:
        """Of each kind of free set, the racks with enough free servers."""
        model = self.stock.model
        for of, free in enumerate(whole(self._left_over)):
            lost = self.stock.lost.get(int(self._first[of]), NOTHING_LOST)
            for rack in model.racks:
                masks = [model.whole_server[server] for server in rack]
                there = [mask for mask in masks if free & mask == mask]
                whole_ones = [mask for mask in there if not lost.breaks(mask)]
                whole_ones.sort(key=lambda mask: (lost.wears(mask), model.shortfall(mask, lost.carried)))
                sound = sum(not lost.wears(mask) for mask in whole_ones)
                best_first = tuple(dict.fromkeys([*whole_ones, *there]))
                if len(there) >= any_of.servers + any_of.spares:
                    good = self._good(best_first[: len(whole_ones)], sound, any_of.servers, lost)
                    yield Rack(of, best_first, any_of, len(whole_ones), sound, good)

    def _good(self, servers: Sequence[int], sound: int, needed: int, lost: Lost) -> int:
        """How many of servers, the best first, may be taken: the worst of those are as good as is wanted."""
        if self._healthy:
            return sound
        for good in range(max(sound + 1, needed), len(servers) + 1) if self._least != ANY else ():
            deadline.check()
            worst = self.stock.model.worn_limits(sum(servers[good - needed : good]), lost.carried)
            if not reaches(worst, self._least):
                return max(sound, good - 1)
        return len(servers)

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Kinds of free sets × wanted sets: whether all chips are free."""
        if self._listed is None:
            return holding(self._left_over, self._sets)
        return self._of_racks([True for _ in self._listed])

    def _of_racks(self, are: Sequence[bool]) -> NDArray[np.bool_]:
        found = np.zeros((len(self._free), len(self._masks)), bool)
        for at, rack in enumerate(self._listed or ()):
            found[rack.of, at] = are[at]
        return found

    @cached_property
    def intact(self) -> NDArray[np.bool_]:
        """Those whose links all carry something."""
        if self._listed is not None:
            return self._of_racks([rack.needs <= rack.intact for rack in self._listed])
        return self._intact_of(self.free.copy(), self._sets, np.arange(len(self._free)))

    def _intact_of(self, free: NDArray[np.bool_], sets: Words, kinds: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Kinds of free sets × sets, those left out of the free ones that lack a link."""
        for at, kind in enumerate(kinds.tolist()):
            if (lost := self._damaged.get(kind, NOTHING_LOST)).broken:
                free[at] &= ~lost.broken_in(sets, self.stock.model.chips)
        return free

    @cached_property
    def worn(self) -> NDArray[np.bool_]:
        """Those that have something degraded: a chip, a NIC of one, or a link among several."""
        if self._listed is not None:
            return self._of_racks([rack.needs > rack.sound for rack in self._listed])
        found = np.zeros_like(self.free)
        for of, lost in self._damaged.items():
            found[of] = lost.worn_in(self._sets, self.stock.model.chips)
        return found

    @cached_property
    def fit(self) -> NDArray[np.bool_]:
        """Intact ones that reach the least limits, what is degraded as it is; without that, where it is not wanted."""
        enough = np.array([reaches(each, self._least) for each in self.limits], bool)
        found: NDArray[np.bool_] = self.intact & enough[None, :]
        if self._listed is not None:
            return found & self._of_racks([rack.needs <= rack.good for rack in self._listed])
        if self._healthy:
            return found & ~self.worn
        if self._least != ANY and self.stock.lost:
            for of, at in zip(*np.nonzero(found & self.worn), strict=True):
                deadline.check()
                found[of, at] = reaches(self.worn_limits(self.row_of(of), at), self._least)
        return found

    @cached_property
    def _damaged(self) -> Mapping[int, Lost]:
        """What kinds of free sets lack."""
        lost = self.stock.lost
        return {of: lost[row] for of, row in enumerate(self._first.tolist()) if row in lost}

    @cached_property
    def limits(self) -> list[Limits]:
        """Of each wanted set, undamaged."""
        return [self.stock.model.limits(mask) for mask in self._masks]

    @cached_property
    def in_rack(self) -> NDArray[np.bool_]:
        """Which of the wanted sets are in one rack."""
        found: NDArray[np.bool_] = self._share == [mask.bit_count() for mask in self._masks]
        return found

    @cached_property
    def _share(self) -> NDArray[np.intp]:
        """Of each wanted set: most of its chips that are in one rack."""
        model = self.stock.model
        racks = [sum(model.whole_server[server] for server in rack) for rack in model.racks]
        return np.array([max((mask & rack).bit_count() for rack in racks) for mask in self._masks], np.intp)

    def listed(self, fit: NDArray[np.bool_]) -> int:
        """How many places `best` has at most."""
        return int(fit.sum(axis=1)[self._class].sum())

    def kind(self, row: int) -> int:
        """Equal for rows with the same places."""
        return int(self._class[row])

    def row_of(self, kind: int) -> int:
        """The first row with a kind of free set."""
        return int(self._first[kind])

    def by_row(self, fit: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Rows of the stock × listed sets."""
        found: NDArray[np.bool_] = fit[self._class]
        return found

    def has(self, fit: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each domain has a place."""
        found: NDArray[np.bool_] = np.logical_or.reduce(fit, axis=1)[self._class]
        return found

    def domains(self, fit: NDArray[np.bool_]) -> int:
        """How many domains have a place."""
        return int(self.has(fit).sum())

    def positions(self, fit: NDArray[np.bool_]) -> int:
        """How many places there are, in a rack each way to take so many servers."""
        if self._listed is None:
            return self.listed(fit)
        each = np.zeros(len(self._free), np.int64)
        for of, at in zip(*np.nonzero(fit), strict=True):
            rack = self._listed[at]
            each[of] += comb(rack.good, rack.any_of.servers)
        return int(each[self._class].sum())

    def sets(self, fit: NDArray[np.bool_], row: int) -> list[int]:
        """Sets of a row that fit; of a rack, its free servers by as many as are needed, so that none is in two."""
        at = np.flatnonzero(fit[self._class[row]]).tolist()
        if self._listed is None:
            return [self._masks[each] for each in at]
        return [mask for each in at for mask in self._listed[each].parts()]

    def beside(self, found: "Found") -> list[int]:
        """Servers to spare, of a place in a rack."""
        racks = (rack for rack in self._listed or () if rack.of == self._class[found.row] and rack.mask == found.mask)
        return [mask for rack in racks for mask in rack.servers[rack.any_of.servers : rack.needs]]

    def best(self, fit: NDArray[np.bool_], k: int, policy: Policy) -> list[Found]:
        """The k best places, those with something degraded after all others; ties by domain, then by chips."""
        worn = self.worn if self.stock.lost else np.zeros_like(fit)
        found = [*islice(self._ranked(fit & ~worn, k, policy), k)]
        return [*found, *islice(self._as_they_are(fit & worn, policy), k - len(found))]

    def _ranked(self, fit: NDArray[np.bool_], k: int, policy: Policy) -> Iterator[Found]:
        grades = [(-each.all_gather, -each.bisection) for each in self.limits]
        grade = np.unique(grades, axis=0, return_inverse=True)[1].ravel() if grades else np.zeros(0, np.intp)
        first = {Policy.QUALITY: grade, Policy.SPREAD: self._share * (len(grades) + 1) + grade}.get(policy, 0 * grade)
        for rank in np.unique(first):
            columns = np.flatnonzero(first == rank)
            of, at = np.nonzero(fit[:, columns])
            if not len(of) or k <= 0:
                continue
            kinds, which = np.unique(of, return_inverse=True)
            harm, left = self._harm(kinds, columns)[which, at], self._left[of]
            cost = self._met(kinds, columns)[which, at] if policy is Policy.SLURM else harm
            at = columns[at]
            worth = np.zeros_like(at) if policy is Policy.SLURM else grade[at]
            order = np.lexsort((at, self._first[of], worth, left, cost))[:k]
            pairs = [(cost[i], left[i], worth[i], int(of[i]), int(at[i]), harm[i]) for i in order]
            rows = {kind: np.flatnonzero(self._class == kind)[:k].tolist() for *_, kind, _, _ in pairs}
            spread = sorted((*key, row, which, lost) for *key, kind, which, lost in pairs for row in rows[kind])
            for _, leaves, _, row, which, lost in spread[:k]:
                yield self._found(row, which, self.limits[which], float(lost), int(leaves))

    def _as_they_are(self, fit: NDArray[np.bool_], policy: Policy) -> Iterator[Found]:
        """Places with something degraded, the best first by what they carry: solved only if they may be the next."""
        of, at = np.nonzero(fit)
        kinds, which = np.unique(of, return_inverse=True)
        columns = np.arange(len(self._masks))
        harm, left = self._harm(kinds, columns)[which, at], self._left[of]
        met = self._met(kinds, columns)[which, at] if policy is Policy.SLURM else harm
        rows = self._first[of].tolist()

        def key(i: int, of: Limits) -> tuple[float, ...]:
            worth, cost = (-of.all_gather, -of.bisection), (met[i], left[i])
            order: dict[Policy, tuple[float, ...]] = {Policy.PACK: cost + worth, Policy.SLURM: cost}
            share = (self._share[at[i]],) if policy is Policy.SPREAD else ()
            return (*order.get(policy, (*share, *worth, *cost)), rows[i], int(at[i]))

        waiting = list[tuple[tuple[float, ...], int, Limits | None]]()
        for i, row in enumerate(rows):
            whole_one, carried = self.limits[at[i]], self.stock.lost[row].carried
            degree = self.stock.model.least_degree(self._masks[at[i]], carried)
            waiting.append((key(i, Limits(min(degree, whole_one.all_gather), whole_one.bisection)), i, None))
        heapify(waiting)
        while waiting:
            deadline.check()
            _, i, limits = heappop(waiting)
            if limits is None:
                limits = self.worn_limits(rows[i], at[i])
                heappush(waiting, (key(i, limits), i, limits))
            else:
                yield self._found(rows[i], int(at[i]), limits, float(harm[i]), int(left[i]), worn=True)

    def _found(self, row: int, at: int, limits: Limits, harm: float, leaves: int, *, worn: bool = False) -> Found:
        sizes = sum(size > 1 for size in self._legal.sets)
        return Found(row, self._masks[at], limits, worn, harm / max(sizes, 1), leaves)

    def worn_limits(self, row: int, at: int) -> Limits:
        """What a wanted set carries in a row as it is."""
        return self.stock.model.worn_limits(self._masks[at], self.stock.lost[row].carried)

    @cached_property
    def _left(self) -> NDArray[np.int64]:
        size = self._masks[0].bit_count() if self._masks else 0
        free: NDArray[np.int64] = np.bitwise_count(self._free).sum(axis=1, dtype=np.int64)
        return free - size

    def _harm(self, kinds: NDArray[np.intp], wanted: NDArray[np.intp]) -> NDArray[np.float32]:
        """Kinds of free sets × wanted sets: chips of the legal sets, all sizes together, that it breaks up.

        Those that lack a link are of no use before, and do not count.
        """
        return self._meeting(kinds, wanted, {size: size for size in self._legal.sets if size > 1}, intact=True)

    def _met(self, kinds: NDArray[np.intp], wanted: NDArray[np.intp]) -> NDArray[np.float32]:
        """Kinds of free sets × wanted sets: how many free legal sets of the next larger size it meets.

        Slurm's frag_cost: https://github.com/SchedMD/slurm, eval_nodes_torus3d.c; there of nodes, by placements.
        """
        chips = self._masks[0].bit_count() if self._masks else 0
        larger = min((size for size in self._legal.sets if size > chips), default=None)
        return self._meeting(kinds, wanted, {} if larger is None else {larger: 1}, intact=False)

    def _meeting(
        self, kinds: NDArray[np.intp], wanted: NDArray[np.intp], weights: Mapping[int, int], *, intact: bool
    ) -> NDArray[np.float32]:
        """Kinds of free sets × wanted sets: the weights, by size, of the free, or intact, legal sets that it meets."""
        masks = [(mask, weight) for size, weight in weights.items() for mask in self._legal.sets[size]]
        sets: Words = words([mask for mask, _ in masks], self.stock.model.chips)
        weight = np.array([each for _, each in masks], np.float32)  # whole numbers, so that equal sums are equal
        free = holding(self._free[kinds], sets)
        usable = self._intact_of(free, sets, kinds) if intact else free
        met: NDArray[np.float32] = (usable * weight) @ meeting(sets, self._sets[wanted])
        return met


def reaches(limits: Limits, least: Limits) -> bool:
    """Whether limits are no less than some."""
    return limits.all_gather >= least.all_gather and limits.bisection >= least.bisection
