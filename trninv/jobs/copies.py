"""Several places at once: copies of a job, and sets to spare, each as good as leaves room for all that follow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from trninv import deadline, solvers
from trninv.catalog.facts import catalog
from trninv.choice import Choice
from trninv.jobs.model import AnyOf, Legal
from trninv.jobs.search import ANY, Found, Policy, Search
from trninv.jobs.stock import Stock
from trninv.solvers.blocks import Words, words
from trninv.solvers.slices import Limits


class Spread(Choice):
    """What copies of a job, and sets to spare, have none of in common."""

    CHIP = "CHIP", "They have no chip in common."
    SERVER = "SERVER", "Nor a server."
    RACK = "RACK", "Nor a rack."
    DOMAIN = "DOMAIN", "Nor a domain."
    NETWORK_NODE = "NETWORK_NODE", "Nor a network node of tier 3 above their domains."


@dataclass(frozen=True, slots=True)
class Wish:
    """What a place must be like, beside being free with every link, and whether any are avoided."""

    least: Limits = ANY
    healthy: bool = False
    rack: bool = False
    policy: Policy = Policy.QUALITY
    avoids: bool = False


@dataclass(frozen=True, slots=True)
class Pick:
    """A place, and servers of its rack to spare."""

    found: Found
    beside: tuple[int, ...] = ()

    @property
    def chips(self) -> int:
        """All that it takes."""
        return self.found.mask | sum(self.beside)


@dataclass(frozen=True)
class Places:
    """Sets that may be taken of a stock together, some being taken already."""

    stock: Stock
    legal: Legal
    wanted: Sequence[int] | AnyOf
    wish: Wish
    spread: Spread = Spread.CHIP
    kept: Words | None = None

    @cached_property
    def search(self) -> Search:
        """All places for one more."""
        wish = self.wish
        return Search(self.stock, self.legal, self.wanted, self.kept, least=wish.least, healthy=wish.healthy)

    @cached_property
    def fit(self) -> NDArray[np.bool_]:
        """Those that do."""
        return self.search.fit & self.search.in_rack[None, :] if self.wish.rack else self.search.fit

    def most(self, enough: int) -> int:
        """How many more can be taken at once, as far as it is fewer than enough."""
        if self._together > 1:
            return min(len(np.unique(self._groups[self.search.has(self.fit)])), enough)
        return self._counted(np.flatnonzero(self.search.has(self.fit)).tolist(), enough)

    def alternatives(self, k: int, others: int) -> Iterator[list[Pick]]:
        """The k best places that leave room for others, each with these."""
        for first in islice(self._leaving(others, k), k):
            yield [first, *self._after(first).sequence(others)]

    def sequence(self, sets: int) -> Iterator[Pick]:
        """So many places, one after the other the best that leaves room for the rest; there must be as many."""
        places = self
        for left in range(sets - 1, -1, -1):
            pick = next(places._leaving(left))
            yield pick
            places = places._after(pick)

    def _leaving(self, others: int, k: int = 1) -> Iterator[Pick]:
        """Places, the best first, that leave room for others; mostly the first k do."""
        for found in self._best(k):
            deadline.check()
            pick = Pick(found, tuple(self.search.beside(found)))
            if self._leaves(pick, others):
                yield pick

    def _best(self, k: int) -> Iterator[Found]:
        yield from self.search.best(self.fit, k, self.wish.policy)
        if (most := self.search.listed(self.fit)) > k:
            yield from self.search.best(self.fit, most, self.wish.policy)[k:]

    def _leaves(self, pick: Pick, others: int) -> bool:
        if not others:
            return True
        row, has = pick.found.row, self.search.has(self.fit)
        if self._together > 1:
            return len(np.unique(self._groups[has & (self._groups != self._groups[row])])) >= others
        taken = self.footprint(pick.chips)
        here = [each for each in self._footprints(row) if not each & taken]
        found = solvers.set_packing.most_apart(here, others) if here else 0
        has[row] = False
        return found >= others or found + self._counted(np.flatnonzero(has).tolist(), others - found) >= others

    def _counted(self, rows: Sequence[int], enough: int) -> int:
        found = 0
        for row in rows:
            if found >= enough:
                break
            found += self._fitting_at_once(row)
        return min(found, enough)

    def _fitting_at_once(self, row: int) -> int:
        kind = self.search.kind(row)
        if kind not in self._known:
            footprints = self._footprints(row)
            self._known[kind] = solvers.set_packing.most_apart(footprints, len(footprints)) if footprints else 0
        return self._known[kind]

    @cached_property
    def _known(self) -> dict[int, int]:
        return {}

    def _footprints(self, row: int) -> list[int]:
        return [self.footprint(mask) for mask in self.search.sets(self.fit, row)]

    def footprint(self, mask: int) -> int:
        """The chips of a domain that no other may have beside a set."""
        model = self.stock.model
        servers = [[at] for at in range(model.servers)] if self.spread is Spread.SERVER else model.racks
        match self.spread:
            case Spread.CHIP:
                return mask
            case Spread.SERVER | Spread.RACK:
                wholes = (sum(model.whole_server[server] for server in of) for of in servers)
                return sum(whole for whole in wholes if whole & mask)
        return model.full

    @property
    def _together(self) -> int:
        """How many domains following each other only one of which may be taken."""
        match self.spread:
            case Spread.RACK:
                return self.stock.model.of.domains_per_rack
            case Spread.NETWORK_NODE:
                return int(catalog().value(self.stock.model.slug, "domains_per_network_node"))
        return 1

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        return self.stock.ordinals // self._together

    def _after(self, pick: Pick) -> "Places":
        """What is left with a place taken."""
        row, chips = pick.found.row, self.stock.model.chips
        held = self.stock.held.copy()
        held[row] |= words([pick.chips], chips)[0]
        kept = np.zeros_like(held) if self.kept is None else self.kept.copy()
        if self._together > 1:
            kept[self._groups == self._groups[row]] = words([self.stock.model.full], chips)[0]
        else:
            kept[row] |= words([self.footprint(pick.chips)], chips)[0]
        return Places(self.stock.holding(held), self.legal, self.wanted, self.wish, self.spread, kept)
