"""Making room: which jobs move, where to, and in which order, so that a set of chips becomes free.

The fewest jobs that any one wanted set overlaps are a lower bound: each of them must go. Greedy re-placing often
reaches it, which proves the plan. Within one domain an integer program decides; across domains jobs go to what is free,
and are not moved on from there, so a plan may be more than the bound.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import ceil, prod
from typing import Final

import numpy as np

from trninv import deadline, solvers
from trninv.errors import UnknownJobError, nearest
from trninv.jobs.asked import Asked
from trninv.jobs.model import AnyOf, Legal
from trninv.jobs.room import intact
from trninv.jobs.search import ANY, Found, Policy, Search
from trninv.jobs.stock import Stock
from trninv.jobs.tenants import Tenant
from trninv.solvers.blocks import Words, meeting, whole, words
from trninv.solvers.slices import Limits

MOST_TRIED: Final = 64
"""Sets that are tried greedily."""
MOST_SOLVED: Final = 60
"""Domains, the cheapest ones, that an integer program is solved of."""
MOST_NODES: Final = 2_000
"""Nodes of a search tree."""


@dataclass(frozen=True, slots=True)
class Move:
    """A job that goes from one set of chips to another; ``stops`` says that it gives up its chips before all moves."""

    tenant: Tenant
    row: int
    mask: int
    to_row: int
    to: int
    stops: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Sets that become free, and the moves for that in order.

    Attributes
    ----------
        None were found where there are no rooms.
    lower
        No fewer moves do.

    """

    rooms: tuple[tuple[int, int], ...]
    moves: tuple[Move, ...]
    lower: int

    @property
    def exact(self) -> bool:
        """Whether no plan has fewer moves."""
        return len(self.moves) == self.lower


@dataclass(frozen=True, slots=True)
class Room:
    """A wanted set, what stands in it, and whether a part of it is degraded."""

    row: int
    mask: int
    jobs: int
    chips: int
    degraded: bool

    @property
    def cost(self) -> tuple[int, int]:
        """Jobs first, then chips."""
        return self.jobs, self.chips


def alternatives(stock: Stock, legal: Legal, mask: int) -> tuple[int, ...] | AnyOf:
    """Sets of as many chips that a job may have instead of its own; none of what is neither legal nor a block."""
    size, torus = mask.bit_count(), stock.model.torus
    if mask in legal.sets.get(size, ()):
        return legal.sets[size]
    if size in legal.any_of:
        return legal.any_of[size]
    if torus is None or mask not in torus.shape_of:
        return ()
    return tuple(block.mask for shape in torus.shapes if prod(shape) == size for block in torus.blocks(shape))


def elsewhere(there: Stock, legal: Legal, mask: int, policy: Policy, *, as_good: bool) -> Found | None:
    """The best place among what is free for a job that has a set now; ``as_good`` keeps its all-gather limit."""
    if not (wanted := alternatives(there, legal, mask)):
        return None
    least = Limits(there.model.limits(mask).all_gather, 0) if as_good else ANY
    search = Search(there, legal, wanted, least=least, healthy=as_good)
    found = search.best(search.fit, 1, policy)
    return found[0] if found else None


def pinned_by_name(tenants: Sequence[Tenant], names: Collection[str]) -> frozenset[int]:
    """Keys of the jobs that stay, by their own word or by name.

    Raises
    ------
    UnknownJobError

    """
    known = {each.name: each.key for each in tenants}
    for name in names:
        if name not in known:
            raise UnknownJobError(
                f"no job {name[:200]} holds chips there: {nearest(name, known)} (trninv jobs lists them)"
            )
    return frozenset([*(each.key for each in tenants if each.pinned), *(known[name] for name in names)])


class Planner:
    """Plans for one stock, of all rows of its cluster.

    Parameters
    ----------
    staying
        Keys of jobs that are not moved. Nor are those of several domains, those with spares, those with chips beside
        what is inside of the stock, and those whose chips are no set that could be had elsewhere.

    """

    def __init__(self, stock: Stock, legal: Legal, tenants: Sequence[Tenant], staying: Collection[int]) -> None:
        self.stock, self._legal = stock, legal
        self._inside, self._known = whole(stock.inside), dict[tuple[int, tuple[int, ...], int], tuple[int, ...]]()
        self._movable = [each for each in tenants if each.key not in staying and self._may_move(each)]
        self._rows = np.array([row for each in self._movable for row in each.work], np.intp)
        self._masks = words([mask for each in self._movable for mask in each.work.values()], stock.model.chips)

    def _may_move(self, of: Tenant) -> bool:
        if len(of.work) != 1 or of.spare:
            return False
        ((row, mask),) = of.work.items()
        return self._inside[row] & mask == mask and bool(alternatives(self.stock, self._legal, mask))

    @cached_property
    def _emptied(self) -> Stock:
        """As if every job had gone that may be moved."""
        moved = np.zeros_like(self.stock.held)
        np.bitwise_or.at(moved, self._rows, self._masks)
        return self.stock.holding(self.stock.held & ~moved)

    def wanted(self, asked: Asked) -> Plan | None:
        """As `domains` or `plan`, by what is asked for."""
        return self.domains(asked.domains) if asked.domains else self.plan(asked.sets)

    def plan(self, wanted: Sequence[int] | AnyOf) -> Plan | None:
        """Free one set of some; None where none can be, whoever moves."""
        rooms, lower = self._any_rooms(wanted) if isinstance(wanted, AnyOf) else self._rooms(wanted)
        if not rooms:
            return None
        best = next(filter(None, map(self._greedy, islice(rooms, MOST_TRIED))), None)
        one_domain = len({room.row for room in rooms}) == 1 and np.count_nonzero(self.stock.inside.any(axis=1)) == 1
        if best is None or _cost(best) > rooms[0].cost:
            best, solved = self._solved(rooms, best)
            if one_domain and not isinstance(wanted, AnyOf):
                if solved is None:
                    return None
                lower = solved
        return Plan((), (), lower) if best is None else replace(best, lower=min(lower, len(best.moves)))

    def _rooms(self, wanted: Sequence[int]) -> tuple[list[Room], int]:
        """The sets that could be freed, the cheapest first, and the fewest jobs of one."""
        search = Search(self._emptied, self._legal, wanted)
        fit, worn = search.by_row(search.intact), search.by_row(search.worn)
        sets = words(wanted, self.stock.model.chips)
        jobs, chips = (np.zeros(fit.shape, np.int64) for _ in range(2))
        met = meeting(self._masks, sets)
        np.add.at(jobs, self._rows, met)
        np.add.at(chips, self._rows, met * np.bitwise_count(self._masks).sum(axis=1, dtype=np.int64)[:, None])
        rows, at = np.nonzero(fit)
        order = np.lexsort((at, rows, worn[rows, at], chips[rows, at], jobs[rows, at]))
        listed = ((int(rows[i]), int(at[i])) for i in order)
        found = [
            Room(row, wanted[which], int(jobs[row, which]), int(chips[row, which]), bool(worn[row, which]))
            for row, which in listed
        ]
        return found, found[0].jobs if found else 0

    def _any_rooms(self, wanted: AnyOf) -> tuple[list[Room], int]:
        """Of each rack the servers with fewest jobs, one of several servers counting in parts, and a bound by those."""
        model = self.stock.model
        servers = words(model.whole_server, model.chips)
        met = meeting(self._masks, servers).astype(float)
        weight = np.zeros((len(self.stock.ordinals), model.servers))
        np.add.at(weight, self._rows, met / np.maximum(met.sum(axis=1, keepdims=True), 1))
        weight[~intact(self._emptied, model.whole_server)[self._emptied.kinds[1]]] = np.inf
        worn = Search(self._emptied, self._legal, model.whole_server)
        worn_servers, found, bounds = worn.by_row(worn.worn), list[Room](), list[float]()
        for rack in model.racks:
            of = weight[:, list(rack)]
            least = np.lexsort((worn_servers[:, list(rack)], of))[:, : wanted.servers]
            total = np.take_along_axis(of, least, axis=1).sum(axis=1)
            for row in np.flatnonzero(np.isfinite(total)).tolist():
                mask = sum(model.whole_server[rack[at]] for at in least[row])
                there = [each for each in self._at(row) if each.work[row] & mask]
                degraded = bool(worn_servers[row, [rack[at] for at in least[row]]].any())
                found.append(Room(row, mask, len(there), sum(each.chips for each in there), degraded))
                bounds.append(float(total[row]))
        found.sort(key=lambda room: (*room.cost, room.degraded, room.row, room.mask))
        return found, ceil(min(bounds, default=0) - 1e-9)

    @cached_property
    def _by_row(self) -> dict[int, list[Tenant]]:
        found: dict[int, list[Tenant]] = {}
        for each in self._movable:
            found.setdefault(next(iter(each.work)), []).append(each)
        return found

    def _at(self, row: int) -> list[Tenant]:
        return self._by_row.get(row, [])

    def _greedy(self, room: Room) -> Plan | None:
        """Jobs in the way go to what is free, the largest first."""
        moves = self._replaced([room], [each for each in self._at(room.row) if each.work[room.row] & room.mask])
        return None if isinstance(moves, Tenant) else Plan(((room.row, room.mask),), moves, 0)

    def _replaced(self, rooms: Sequence[Room], moving: Sequence[Tenant]) -> tuple[Move, ...] | Tenant:
        """Where all jobs go, or the first that finds no place."""
        kept = np.zeros_like(self.stock.held)
        for room in rooms:
            kept[room.row] |= self._words(room.mask)
        there, moves = self.stock, list[Move]()
        for each in sorted(moving, key=lambda each: (-each.chips, each.key)):
            deadline.check()
            ((row, mask),) = each.work.items()
            found = elsewhere(there.holding(there.held | kept), self._legal, mask, Policy.PACK, as_good=True)
            if found is None:
                return each
            moves.append(Move(each, row, mask, found.row, found.mask))
            held = there.held.copy()
            held[row] &= ~self._words(mask)
            held[found.row] |= self._words(found.mask)
            there = there.holding(held)
        return tuple(moves)

    def _words(self, mask: int) -> Words:
        found: Words = words([mask], self.stock.model.chips)[0]
        return found

    def _solved(self, rooms: Sequence[Room], best: Plan | None) -> tuple[Plan | None, int | None]:
        """The best plan that moves jobs within a domain, of the cheapest domains; and of the last one its bound."""
        lower: int | None = rooms[0].jobs
        for row in islice(dict.fromkeys(room.row for room in rooms), MOST_SOLVED):
            here = [room for room in rooms if room.row == row]
            if best is not None and here[0].cost >= _cost(best):
                break
            found, lower = self._within(row, [room.mask for room in here])
            if found is not None and (best is None or _cost(found) < _cost(best)):
                best = found
        return best, lower

    def _within(self, row: int, rooms: Sequence[int]) -> tuple[Plan | None, int | None]:
        """Free a set of a domain by moves within it, and the fewest moves that do; None where none do."""
        deadline.check()
        alike: dict[tuple[int, ...], list[Tenant]] = {}
        for each in self._at(row):
            alike.setdefault(self._choices(row, each.work[row]), []).append(each)
        pools = [
            solvers.rearrangement.Pool(tuple(each.work[row] for each in of), others) for others, of in alike.items()
        ]
        found = solvers.rearrangement.rearranged(rooms, pools, MOST_NODES)
        if found is None or not found.room:
            return None, found.lower if found else None
        named = {each.work[row]: each for each in self._at(row)}
        pairs = [pair for pool in found.moves for pair in pool]
        order, stopped = solvers.rearrangement.ordered(pairs)
        moves = tuple(
            Move(named[pairs[at][0]], row, pairs[at][0], row, pairs[at][1], stops=at in stopped) for at in order
        )
        return Plan(((row, found.room),), moves, 0), found.lower

    def _choices(self, row: int, mask: int) -> tuple[int, ...]:
        """Sets of a domain that a job may have, whatever other jobs do."""
        wanted, least = alternatives(self.stock, self._legal, mask), self.stock.model.limits(mask).all_gather
        if isinstance(wanted, AnyOf):
            return ()
        if (key := (row, wanted, least)) not in self._known:
            emptied = self._emptied.rows([row], self._emptied.inside)
            search = Search(emptied, self._legal, wanted, least=Limits(least, 0), healthy=True)
            self._known[key] = tuple(wanted[at] for at in np.flatnonzero(search.fit[0]))
        return self._known[key]

    def domains(self, count: int) -> Plan | None:
        """Empty whole domains, the cheapest whose jobs find a place; None where there can't be so many."""
        rooms, _ = self._rooms((self.stock.model.full,))
        if len(rooms) < count:
            return None
        lower, chosen, others = sum(room.jobs for room in rooms[:count]), rooms[:count], iter(rooms[count:])
        for _ in range(MOST_TRIED):
            moves = self._replaced(chosen, [each for room in chosen for each in self._at(room.row)])
            if not isinstance(moves, Tenant):
                return Plan(tuple((room.row, room.mask) for room in chosen), moves, lower)
            if (other := next(others, None)) is None:
                break
            chosen = [*(room for room in chosen if room.row not in moves.work), other]
        return Plan((), (), lower)


def _cost(plan: Plan) -> tuple[int, int]:
    return len(plan.moves), sum(move.mask.bit_count() for move in plan.moves)
