"""Where sets of chips fit in free ones, the best first: exact, over every position in every domain.

Domains with the same free chips, and with no damaged link, are looked at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from trninv.choice import Choice
from trninv.jobs.model import AnyOf, Legal
from trninv.jobs.stock import Lost, Stock
from trninv.solvers.blocks import Words, holding, meeting, whole, words
from trninv.solvers.slices import Limits


class Policy(Choice):
    """What goes first among places that fit."""

    QUALITY = "QUALITY", "All-gather, then bisection of the place, then least harm to what larger jobs need."
    PACK = "PACK", "Least harm to what larger jobs need, then fewest free chips left, then all-gather and bisection."


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
        Chips of larger sets, all sizes counting alike, that it breaks up.
    leaves
        Free chips that its domain has left.

    """

    row: int
    mask: int
    limits: Limits
    worn: bool
    harm: float
    leaves: int


class Search:
    """Places for one of some sets.

    Parameters
    ----------
    wanted
        Sets of one number of chips, or any so many servers of a rack.

    """

    def __init__(self, stock: Stock, legal: Legal, wanted: Sequence[int] | AnyOf) -> None:
        self.stock, self._legal = stock, legal
        self._first, self._class = stock.kinds
        self._free = stock.free[self._first]
        self._any_of = wanted if isinstance(wanted, AnyOf) else None
        listed = list(self._racks()) if isinstance(wanted, AnyOf) else [(-1, mask) for mask in wanted]
        self._of = np.array([of for of, _ in listed], np.intp)
        self._masks = [mask for _, mask in listed]
        self._sets = words(self._masks, stock.model.chips)

    def _racks(self) -> Iterator[tuple[int, int]]:
        """Of each kind of free set, the first so many free servers of each rack that has them."""
        model = self.stock.model
        for of, free in enumerate(whole(self._free)):
            for rack in model.racks:
                servers = [server for server in rack if free & model.whole_server[server] == model.whole_server[server]]
                if self._any_of and len(servers) >= self._any_of.servers:
                    yield of, sum(model.whole_server[server] for server in servers[: self._any_of.servers])

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Kinds of free sets × wanted sets: whether all chips are free."""
        if self._any_of is None:
            return holding(self._free, self._sets)
        found: NDArray[np.bool_] = np.equal.outer(np.arange(len(self._free)), self._of)
        return found

    @cached_property
    def intact(self) -> NDArray[np.bool_]:
        """Those whose links all carry something."""
        found = self.free.copy()
        for of, lost in self._damaged():
            for broken in words(lost.broken, self.stock.model.chips):
                found[of] &= ~self._has(broken)
        return found

    @cached_property
    def worn(self) -> NDArray[np.bool_]:
        """Those that have something degraded."""
        found = np.zeros_like(self.free)
        for of, lost in self._damaged():
            for worn in words(lost.worn, self.stock.model.chips):
                found[of] |= self._has(worn)
        return found

    def _has(self, link: Words) -> NDArray[np.bool_]:
        """Which of the wanted sets have all chips of a link; one chip alone needs none."""
        several = np.array([mask.bit_count() > 1 for mask in self._masks], bool)
        inside: NDArray[np.bool_] = ((self._sets & link) == link).all(axis=1) & several
        return inside

    def _damaged(self) -> Iterator[tuple[int, Lost]]:
        lost = self.stock.lost
        return ((of, lost[row]) for of, row in enumerate(self._first.tolist()) if row in lost)

    @cached_property
    def limits(self) -> list[Limits]:
        """Of each wanted set, undamaged."""
        return [self.stock.model.limits(mask) for mask in self._masks]

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
        """How many places there are."""
        if self._any_of is None:
            return int(fit.sum(axis=1)[self._class].sum())
        each = np.zeros(len(self._free), np.int64)
        for of, at in zip(*np.nonzero(fit), strict=True):
            each[of] += self._choices(int(of), self._masks[at])
        return int(each[self._class].sum())

    def _choices(self, of: int, mask: int) -> int:
        """In how many ways that many servers of a rack can be taken."""
        model, free = self.stock.model, whole(self._free[of : of + 1])[0]
        (rack,) = (rack for rack in model.racks if any(mask & model.whole_server[server] for server in rack))
        there = sum(free & model.whole_server[server] == model.whole_server[server] for server in rack)
        return comb(there, self._any_of.servers) if self._any_of else 1

    def best(self, fit: NDArray[np.bool_], k: int, policy: Policy) -> list[Found]:
        """The k best places, those with something degraded after all others; ties by domain, then by chips."""
        worn = self.worn if self.stock.lost else np.zeros_like(fit)
        listed = self._ranked(fit & ~worn, k, policy)
        found = [*islice(listed, k)]
        return [*found, *islice(self._ranked(fit & worn, k - len(found), policy, worn=True), k - len(found))]

    def _ranked(self, fit: NDArray[np.bool_], k: int, policy: Policy, *, worn: bool = False) -> Iterator[Found]:
        grades = sorted({(-each.all_gather, -each.bisection) for each in self.limits})
        grade = np.array([grades.index((-each.all_gather, -each.bisection)) for each in self.limits], np.intp)
        parts = [grade == rank for rank in range(len(grades))] if policy is Policy.QUALITY else [grade >= 0]
        for part in parts:
            columns = np.flatnonzero(part)
            of, at = np.nonzero(fit[:, columns])
            if not len(of) or k <= 0:
                continue
            kinds, which = np.unique(of, return_inverse=True)
            harm, left = self._harm(kinds, columns)[which, at], self._left[of]
            at = columns[at]
            order = np.lexsort((at, self._first[of], grade[at], left, harm))[:k]
            pairs = [(harm[i], left[i], grade[at[i]], int(of[i]), int(at[i])) for i in order]
            rows = {kind: np.flatnonzero(self._class == kind)[:k].tolist() for *_, kind, _ in pairs}
            spread = sorted((*key, row, which) for *key, kind, which in pairs for row in rows[kind])
            for lost, leaves, _, row, which in spread[:k]:
                yield self._found(row, which, float(lost), int(leaves), worn=worn)

    def _found(self, row: int, at: int, harm: float, leaves: int, *, worn: bool) -> Found:
        mask, limits = self._masks[at], self.limits[at]
        if worn:
            limits = self.stock.model.worn_limits(mask, self.stock.lost[row].carried)
        sizes = sum(size > 1 for size in self._legal.sets)
        return Found(row, mask, limits, worn, harm / max(sizes, 1), leaves)

    @cached_property
    def _left(self) -> NDArray[np.int64]:
        size = self._masks[0].bit_count() if self._masks else 0
        free: NDArray[np.int64] = np.bitwise_count(self._free).sum(axis=1, dtype=np.int64)
        return free - size

    def _harm(self, kinds: NDArray[np.intp], wanted: NDArray[np.intp]) -> NDArray[np.float32]:
        """Kinds of free sets × wanted sets: chips of the legal sets, all sizes together, that it breaks up."""
        masks = [(mask, size) for size, masks in self._legal.sets.items() if size > 1 for mask in masks]
        sets: Words = words([mask for mask, _ in masks], self.stock.model.chips)
        chips = np.array([size for _, size in masks], np.float32)  # whole numbers, so that equal sums are equal
        lost: NDArray[np.float32] = (holding(self._free[kinds], sets) * chips) @ meeting(sets, self._sets[wanted])
        return lost


def fitting(found: Search, least: Limits) -> NDArray[np.bool_]:
    """Intact places whose sets have at least some limits."""
    enough = [each.all_gather >= least.all_gather and each.bisection >= least.bisection for each in found.limits]
    fit: NDArray[np.bool_] = found.intact & np.array(enough, bool)[None, :]
    return fit
