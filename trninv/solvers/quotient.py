"""Bisection of a cluster on its quotient: a scale-up domain is an island, the EFA fabric one vertex between them.

Let A be the side that the top of the fabric is not on, with a_i chips of island i. The fabric does not block (an uplink
carries at least its live downlinks), so moving every network node to the other side costs nothing and the cut is
Σ f_i(a_i), f_i(a) being the least that parts a chips of island i from the rest of it and from its network node. Hence

lower  f_i(a) ≥ λ_i·a, with λ_i the least exit capacity a chip of any set of the island's chips (a fractional program,
       solved by flows after Dinkelbach, Management Science 13, 1967): filling the cheapest islands bounds the sum.
       Where no whole islands make up A, one at least is split: if the EFA links alone give f_i(a) ≥ λ_i·a and the
       island alone has cuts of at least c_i·a·(s_i - a), that is concave in each a_i, so one split is the worst case.
upper  whole islands chosen by a knapsack, at most one of them split, summed in integers.

That is for clusters of any size. In a small one the f_i themselves are bounded (`trninv.solvers.boundary`), a knapsack
on their lower bounds and one on their upper ones bound the sum, and as long as they differ, the widest gap that the
lower knapsack uses is solved: few are.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from trninv.solvers import enumeration, shares
from trninv.solvers.arcs import arcs
from trninv.solvers.bisection import closed_form
from trninv.solvers.boundary import Profile
from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph
from trninv.solvers.ports import folded, without_dead_nics

Ints = NDArray[np.int64]
Pick = tuple[list[int], int, NDArray[np.bool_]]
"""Kinds of islands that are alike, how many together, and for which numbers of chips before them taking them pays."""

_FAR = 2**62
MOST_ISLANDS, MOST_CHIPS = 64, 2_048
"""Of a cluster that is small: what its islands cut is bounded one by one."""
_BY_RATIOS = (
    "quotient: whole domains and at most one that is split; no set of a domain's chips has less exit capacity a chip, "
    "which bounds every split from below"
)
_MOST_TRIED = 200
"""Islands × sizes of their parts that are tried for the one that is split."""


@dataclass(frozen=True)
class Island:
    """A domain as the rest of the cluster sees it.

    Attributes
    ----------
    make
        Makes its graph, which few of many islands are asked for.
    above
        The network node that its chips' NICs lead to, if that is up.
    own
        What each chip sends to the network node through NICs of its own; None if a NIC is another's too, or only.
    exit
        Capacity from all its chips to the network node.
    cut_off
        Whether the fabric above its network node is damaged.

    """

    make: Callable[[], Graph]
    chips: tuple[int, ...]
    above: int | None
    own: tuple[int, ...] | None
    exit: int
    cut_off: bool = False

    @cached_property
    def graph(self) -> Graph:
        """Its nodes, and the network node ``above`` if that is up."""
        return self.make()

    @cached_property
    def ratio(self) -> Fraction:
        """λ: the least exit capacity a chip of any set of its chips; 0 where the fabric above is damaged."""
        if self.cut_off or self.above is None or not self.exit:
            return Fraction(0)
        own = self.own
        if own and min(own) == max(own):  # a set's chips leave by their own, and no other link leads out
            return Fraction(own[0])
        return _ratio(self.graph, self.chips, self.above)

    @cached_property
    def spread(self) -> Fraction:
        """A c such that its cut of a chips from its others is at least c·a·(size - a), its EFA links carrying λ a chip.

        0 where these alone don't carry as much.
        """
        if self.above is None or not self.ratio:
            return Fraction(0)
        nics = {near for near, of in self.graph.nodes(data=True) if of["kind"] == "nic"}
        exits = Graph(self.graph)
        exits.remove_edges_from([edge for edge in self.graph.edges if nics.isdisjoint(edge)])
        private = _ratio(exits, self.chips, self.above) >= self.ratio
        return _spread(self.graph, self.chips) if private else Fraction(0)

    @property
    def size(self) -> int:
        """How many chips it has."""
        return len(self.chips)

    @classmethod
    def of(cls, graph: Graph, chips: Collection[int], above: int | None, *, cut_off: bool = False) -> "Island":
        """See an island's graph so; ``cut_off`` says that the fabric above its network node is damaged."""
        graph, ends = without_dead_nics(graph), tuple(sorted(chips))
        node = above if above in graph else None
        own = own_exits(graph, ends, node) if node is not None and ends else None
        leaves = sum(own) if own else minimum_cut(graph, ends, [node])[0] if node is not None and ends else 0
        return cls(lambda: graph, ends, node, None if own is None else tuple(own), leaves, cut_off)

    @cached_property
    def profile(self) -> Profile:
        """What it cuts by how many of its chips are on side A; the network node is on side B."""
        return Profile(self.graph, self.chips, self.above)

    def some(self, count: int) -> tuple[int, ...]:
        """So many of its chips that cut the profile's upper bound."""
        side = self.profile.side(count) if count < self.size else self.chips
        return tuple(chip for chip in self.chips if chip in side)


def own_exits(graph: Graph, chips: Sequence[int], above: int) -> list[int] | None:
    """What each chip sends to the network node through NICs of its own; None if a NIC is another's too, or only."""
    own = dict.fromkeys(chips, 0)
    for nic, of in graph.nodes(data=True):
        if of["kind"] == "nic":
            users = [near for near in graph[nic] if near != above]
            if len(users) > 1 or not own.keys() >= set(users):
                return None
            if users and graph.has_edge(nic, above):
                own[users[0]] += min(graph.edges[nic, end]["capacity"] for end in (users[0], above))
    return list(own.values())


def without_exits(graph: Graph) -> Graph:
    """An island's chips and switches alone."""
    return Graph(graph.subgraph(node for node, of in graph.nodes(data=True) if of["kind"] in ("chip", "switch")))


def _ratio(graph: Graph, chips: Sequence[int], above: int) -> Fraction:
    """Least capacity a chip of any non-empty set of chips, from it to the network node."""
    graph = folded(graph)
    ratio = Fraction(minimum_cut(graph, chips, [above])[0], len(chips))
    links = arcs(graph.nodes, dict(graph.adjacency())).ahead
    while ratio:
        demand: nx.DiGraph[object] = nx.DiGraph()
        source = object()
        for a, ahead in links.items():
            demand.add_edges_from((a, b, {"capacity": of["capacity"] * ratio.denominator}) for b, of in ahead.items())
        for end in chips:
            demand.add_edge(source, end, capacity=ratio.numerator)
        value, (side, _) = nx.minimum_cut(demand, source, above)
        if value == ratio.numerator * len(chips):
            break
        cheap = side.intersection(chips)
        ratio = Fraction(minimum_cut(graph, cheap, [above])[0], len(cheap))
    return ratio


def _spread(graph: Graph, chips: Sequence[int]) -> Fraction:
    """A c such that every cut of a of the n chips carries at least c·a·(n - a).

    Of an undamaged torus from its bisection B: dimension-order routing of one unit between each pair loads no link
    with more than n²/4 / B of its capacity. Where all splits can be enumerated, the least over a. Else 0.
    """
    count = len(chips)
    if count < 2:  # noqa: PLR2004 # one chip has no cut
        return Fraction(0)
    alone = without_exits(graph)
    if closed := closed_form(alone, chips):
        return Fraction(4 * closed.lower, count**2)
    hubs = enumeration.hubs(alone, chips)
    if hubs is None:
        return Fraction(0)
    profile = enumeration.profile(alone, chips, hubs)
    return min(Fraction(profile[a], a * (count - a)) for a in range(1, count))


class Taken(NamedTuple):
    """Of how many islands of a kind these chips are on side A."""

    kind: int
    chips: tuple[int, ...]
    islands: int


@dataclass(frozen=True, slots=True)
class Quotient:
    """Bounds on the bisection of a cluster, and a split that has the upper one; what is not taken is on side B."""

    lower: int
    upper: int
    taken: tuple[Taken, ...]
    method: str


def bisect(kinds: Sequence[tuple[Island, int]], low: int, high: int) -> Quotient:
    """Least cut with ``low`` to ``high`` chips on one side.

    Parameters
    ----------
    kinds
        Different islands, and how many there are of each.

    """
    number, is_sound = sum(count for _, count in kinds), not any(island.cut_off for island, _ in kinds)
    if is_sound and number <= MOST_ISLANDS and sum(island.size * count for island, count in kinds) <= MOST_CHIPS:
        return _by_profiles(kinds, low, high)
    return _by_ratios(kinds, low, high)


def _by_profiles(kinds: Sequence[tuple[Island, int]], low: int, high: int) -> Quotient:
    """Of a small cluster: how many chips of each island, by a knapsack on what they cut."""
    listed = [kind for kind, (_, count) in enumerate(kinds) for _ in range(count)]
    found = shares.least([kinds[kind][0].profile for kind in listed], low, high)
    split = Counter((kind, count) for kind, count in zip(listed, found.counts, strict=True) if count)
    taken = tuple(Taken(kind, kinds[kind][0].some(count), islands) for (kind, count), islands in sorted(split.items()))
    method = (
        f"quotient: a knapsack over what the {len(listed):,} domains cut, by how many of their chips are on one side"
    )
    return Quotient(found.lower, found.upper, taken, method)


def _by_ratios(kinds: Sequence[tuple[Island, int]], low: int, high: int) -> Quotient:
    """Of a large one: whole islands, and one that is split where they can't make up any size of the range."""
    filled = _cheapest(kinds, low)
    cost, picks = _knapsack(kinds, high)
    size = min(range(low, high + 1), key=lambda count: int(cost[count]))
    if cost[size] < _FAR:
        upper = int(cost[size])
        return Quotient(min(ceil(filled), upper), upper, _whole(kinds, _unpack(kinds, picks, size)), _BY_RATIOS)
    # each that can be split spans the whole range: its least is at either end, and the ends are each other's complement
    tried: list[tuple[int, int, int, tuple[int, ...], int]] = []
    extra: list[Fraction] = []
    for kind, (island, _) in enumerate(kinds):
        if len(extra) >= _MOST_TRIED:  # of many kinds the others only lower the bound
            extra += [island.spread * part * (island.size - part) for part in range(1, island.size)]
            continue
        others = [(other, count - (at == kind)) for at, (other, count) in enumerate(kinds)]
        cost, picks = _knapsack(others, high)
        for part in range(1, island.size):
            if part > low or cost[low - part] == _FAR:
                continue
            extra.append(island.spread * part * (island.size - part))
            whole, rest = _unpack(others, picks, low - part), int(cost[low - part])
            tried.append((rest + int(island.profile.upper[part]), kind, part, whole, rest))
    if not tried:
        raise AssertionError("some island can always be split")
    upper, kind, part, whole, _ = min(tried)
    one = Taken(kind, kinds[kind][0].some(part), 1)
    return Quotient(min(ceil(filled + min(extra)), upper), upper, (*_whole(kinds, whole), one), _BY_RATIOS)


def _whole(kinds: Sequence[tuple[Island, int]], numbers: Sequence[int]) -> tuple[Taken, ...]:
    return tuple(Taken(kind, kinds[kind][0].chips, number) for kind, number in enumerate(numbers) if number)


def _cheapest(kinds: Sequence[tuple[Island, int]], chips: int) -> Fraction:
    """Least Σ λ·a for a number of chips: the fractional knapsack."""
    total, left = Fraction(0), chips
    for island, number in sorted(kinds, key=lambda kind: kind[0].ratio):
        taken = min(left, island.size * number)
        total += island.ratio * taken
        left -= taken
    return total


def _knapsack(kinds: Sequence[tuple[Island, int]], most: int) -> tuple[Ints, list[Pick]]:
    """Least exit capacity of whole islands with each number of chips, and what each item was worth taking for.

    Islands that weigh and cost the same are one kind of item.
    """
    cost = np.full(most + 1, _FAR, dtype=np.int64)
    cost[0] = 0
    picks: list[Pick] = []
    for (size, leaves), alike in _alike(kinds).items():
        for bundle in _binary(sum(kinds[kind][1] for kind in alike)):
            weight = bundle * size
            if weight > most:
                continue
            other = cost[: most + 1 - weight] + bundle * leaves
            better = other < cost[weight:]
            cost[weight:] = np.where(better, other, cost[weight:])
            picks.append((alike, bundle, better))
    return np.minimum(cost, _FAR), picks


def _alike(kinds: Sequence[tuple[Island, int]]) -> dict[tuple[int, int], list[int]]:
    """Kinds that have chips, by their size and exit capacity."""
    found: dict[tuple[int, int], list[int]] = {}
    for kind, (island, _) in enumerate(kinds):
        if island.size:
            found.setdefault((island.size, island.exit), []).append(kind)
    return found


def _binary(number: int) -> Iterator[int]:
    """Bundles whose subsets make up every number to this one: 1, 2, 4, …, the rest."""
    bundle = 1
    while number > 0:
        yield min(bundle, number)
        number -= bundle
        bundle *= 2


def _unpack(kinds: Sequence[tuple[Island, int]], picks: Sequence[Pick], chips: int) -> tuple[int, ...]:
    whole = [0] * len(kinds)
    for alike, bundle, better in reversed(picks):
        weight = bundle * kinds[alike[0]][0].size
        if chips >= weight and better[chips - weight]:
            _take(whole, kinds, alike, bundle)
            chips -= weight
    return tuple(whole)


def _take(whole: list[int], kinds: Sequence[tuple[Island, int]], alike: Sequence[int], number: int) -> None:
    """Take so many more islands of kinds that are alike, the first kinds first."""
    for kind in alike:
        more = min(number, kinds[kind][1] - whole[kind])
        whole[kind] += more
        number -= more
