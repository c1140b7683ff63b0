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

Where the fabric is damaged, or was adopted and has several tops, it is several hubs (`trninv.solvers.hubs`), and each
may be on either side. In a small cluster the knapsack follows their tree. Of a large one, islands that nothing joins to
others are taken as a whole where that is enough; else, from below, as many chips as no whole hubs make up leave by the
cheapest exits, and from above the rest is split as if it had one hub. An island below several hubs counts from below as
if it were at one of them only, and from above as if it joined them.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from trninv.solvers import enumeration, hubs, parts, shares, subset_sum
from trninv.solvers.arcs import arcs
from trninv.solvers.bisection import closed_form
from trninv.solvers.boundary import Profile
from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph, capacities
from trninv.solvers.hubs import Narrow
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
_IN_PARTS = (
    "quotient: whole parts that nothing joins, whole domains and at most one that is split; no set of a domain's chips "
    "has less exit capacity a chip, which bounds every split from below"
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
        Whether the fabric above its network node may block: not all islands that are asked about are below one hub.
    hubs
        The hubs that it is below, one where the fabric is intact.
    at_one
        Of an island below several hubs, the same with what leads to the first of them only, which cuts no more.

    """

    make: Callable[[], Graph]
    chips: tuple[int, ...]
    above: int | None
    own: tuple[int, ...] | None
    exit: int
    cut_off: bool = False
    hubs: frozenset[int] = frozenset([0])
    at_one: "Island | None" = None

    @cached_property
    def graph(self) -> Graph:
        """Its nodes, and the network node ``above`` if that is up."""
        return self.make()

    @cached_property
    def ratio(self) -> Fraction:
        """λ: the least exit capacity a chip of any set of its chips."""
        if self.above is None or not self.exit:
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

    @property
    def joins(self) -> frozenset[int]:
        """The hubs that it leads to."""
        return self.hubs if self.exit else frozenset()

    @property
    def below(self) -> "Island":
        """What bounds it from below: itself, or what of it is at one hub."""
        return self.at_one or self

    @classmethod
    def of(
        cls, graph: Graph, chips: Collection[int], above: int | None, hubs: frozenset[int] = frozenset([0])
    ) -> "Island":
        """See an island's graph so."""
        graph, ends = without_dead_nics(graph), tuple(sorted(chips))
        node = above if above in graph else None
        own = own_exits(graph, ends, node) if node is not None and ends else None
        leaves = sum(own) if own else minimum_cut(graph, ends, [node])[0] if node is not None and ends else 0
        return cls(lambda: graph, ends, node, None if own is None else tuple(own), leaves, hubs=hubs)

    @cached_property
    def profile(self) -> Profile:
        """What it cuts by how many of its chips are on side A; the network node is on side B."""
        return Profile(self.graph, self.chips, self.above)

    def some(self, count: int) -> tuple[int, ...]:
        """So many of its chips that cut the profile's upper bound."""
        side = self.profile.side(count) if count < self.size else self.chips
        return tuple(chip for chip in self.chips if chip in side)

    def others(self, some: Collection[int]) -> tuple[int, ...]:
        """Its other chips."""
        rest = set(self.chips).difference(some)
        return tuple(chip for chip in self.chips if chip in rest)


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
    """Of how many islands of a kind these chips are on side A, and whether the hub above is there too."""

    kind: int
    chips: tuple[int, ...]
    islands: int
    is_hub_taken: bool = False


@dataclass(frozen=True, slots=True)
class Quotient:
    """Bounds on the bisection of a cluster, and a split that has the upper one; what is not taken is on side B.

    ``links`` between hubs are cut as well.
    """

    lower: int
    upper: int
    taken: tuple[Taken, ...]
    method: str
    links: tuple[int, ...] = ()


def bisect(kinds: Sequence[tuple[Island, int]], low: int, high: int, narrow: Sequence[Narrow] = ()) -> Quotient:
    """Least cut with ``low`` to ``high`` chips on one side.

    Parameters
    ----------
    kinds
        Different islands, and how many there are of each.
    narrow
        Links between their hubs.

    """
    number = sum(count for _, count in kinds)
    if number <= MOST_ISLANDS and sum(island.size * count for island, count in kinds) <= MOST_CHIPS:
        found = _by_profiles(kinds, low, high, narrow)
    elif len(frozenset[int]().union(*(island.joins for island, _ in kinds))) > 1:
        found = _in_parts(kinds, low, high, narrow)
    else:
        found = _by_ratios(kinds, low, high)
    if found.upper and not found.lower and not _has_whole_half(kinds, low, high, narrow):
        found = replace(found, lower=min(_narrowest(kinds, narrow), found.upper))
    return found


def _has_whole_half(kinds: Sequence[tuple[Island, int]], low: int, high: int, narrow: Sequence[Narrow]) -> bool:
    """Whether some parts may make up one side; where an island is in pieces that is not looked into."""
    if not all(_is_joined(island) for island, _ in kinds):
        return True
    sizes = [_chips(kinds, part) for part in pieces(kinds, narrow)]
    return sum(sizes[at] for at in subset_sum.largest(sizes, high)) >= low


def pieces(kinds: Sequence[tuple[Island, int]], narrow: Sequence[Narrow]) -> list[dict[int, int]]:
    """Return the pieces that nothing joins: how many islands of each kind they have."""
    listed = list[dict[int, int]]()
    for part in hubs.joined([island.joins for island, _ in kinds], narrow):
        if kinds[part[0]][0].joins:
            listed.append({kind: kinds[kind][1] for kind in part})
        else:
            listed += [{part[0]: 1}] * kinds[part[0]][1]
    return listed


def _chips(kinds: Sequence[tuple[Island, int]], part: Mapping[int, int]) -> int:
    return sum(kinds[kind][0].size * count for kind, count in part.items())


def _is_joined(island: Island) -> bool:
    """Whether all its chips are joined, by its own links alone if it is below several hubs."""
    if len(island.joins) == 1 and island.own and min(island.own):
        return True
    graph = island.graph if len(island.joins) < 2 else without_exits(island.graph)  # noqa: PLR2004 # several
    return len(parts.parts(graph, island.chips)) < 2  # noqa: PLR2004 # one part, or no chip


def _narrowest(kinds: Sequence[tuple[Island, int]], narrow: Sequence[Narrow]) -> int:
    """Return what the narrowest of all links carries: no less is cut where anything is."""
    inside = (carries for island, _ in kinds for _, _, carries in capacities(island.graph))
    return min((carries for carries in (*inside, *(link.carries for link in narrow)) if carries), default=0)


def _by_profiles(kinds: Sequence[tuple[Island, int]], low: int, high: int, narrow: Sequence[Narrow]) -> Quotient:
    """Of a small cluster: how many chips of each island, by a knapsack on what they cut."""
    listed = [kind for kind, (_, count) in enumerate(kinds) for _ in range(count)]
    joins = [kinds[kind][0].joins for kind in listed]
    above = below = shares.Islands([kinds[kind][0].profile for kind in listed], hubs.tree(joins, narrow))
    if any(len(each) > 1 for each in joins):
        below = shares.Islands([kinds[kind][0].below.profile for kind in listed], below.top)
        above = shares.Islands(above.profiles, hubs.contracted(joins, narrow))
    found = shares.least(below, above, low, high)
    split = Counter((kind, share) for kind, share in zip(listed, found.shares, strict=True) if any(share))
    taken = tuple(_taken(kinds[kind][0], kind, *share, islands) for (kind, share), islands in sorted(split.items()))
    method = (
        f"quotient: a knapsack over what the {len(listed):,} domains cut, by how many of their chips are on one side"
    )
    return Quotient(found.lower, found.upper, taken, method, found.links)


def _taken(island: Island, kind: int, across: int, is_hub_taken: bool, islands: int) -> Taken:  # a share
    """What of an island is on side A if so many of its chips are across from its hub."""
    some = island.some(across)
    return Taken(kind, island.others(some) if is_hub_taken else some, islands, is_hub_taken)


def _in_parts(kinds: Sequence[tuple[Island, int]], low: int, high: int, narrow: Sequence[Narrow]) -> Quotient:
    """Of a large one below several hubs: whole parts, and of the others as if they were below one hub."""
    listed = pieces(kinds, narrow)
    sizes = [_chips(kinds, part) for part in listed]
    places = subset_sum.largest(sizes, high)
    chosen, reached = Counter[int](), sum(sizes[at] for at in places)
    for at in places:
        chosen.update(listed[at])
    taken = tuple(Taken(kind, kinds[kind][0].chips, islands, True) for kind, islands in sorted(chosen.items()))
    if reached >= low:
        return Quotient(0, 0, taken, f"quotient: {parts.WHOLE}")
    rest = [kind for kind, (_, count) in enumerate(kinds) if count > chosen[kind]]
    found = _by_ratios(
        [(kinds[kind][0], kinds[kind][1] - chosen[kind]) for kind in rest], low - reached, high - reached
    )
    taken += tuple(each._replace(kind=rest[each.kind]) for each in found.taken)
    at_once = _by_ratios(kinds, low, high)
    if at_once.upper < found.upper:
        found, taken = at_once, at_once.taken
    return Quotient(min(_beside_hubs(kinds, low, high), found.upper), found.upper, taken, _IN_PARTS)


def _beside_hubs(kinds: Sequence[tuple[Island, int]], low: int, high: int) -> int:
    """Return what leaves at least: with hubs on either side, the chips that no whole hubs make up.

    With F the hubs on side A, which have s of the chips below them, low - s others at least are across from their hubs,
    or as many of those below F where s is more than that: the same for side B.
    """
    sizes = Counter[int]()
    for island, count in kinds:
        if island.below.joins:
            sizes[min(island.below.joins)] += island.size * count
    listed = list(sizes.values())
    reached = sum(listed[at] for at in subset_sum.largest(listed, high))
    return ceil(_cheapest([(island.below, count) for island, count in kinds], max(low - reached, 0)))


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
        for bundle in subset_sum.bundles(sum(kinds[kind][1] for kind in alike)):
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
