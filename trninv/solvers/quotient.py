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
from trninv.solvers.arcs import directed_adjacency
from trninv.solvers.bisection import torus_bisection
from trninv.solvers.boundary import CutProfile
from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph, weighted_edges
from trninv.solvers.hubs import Narrow
from trninv.solvers.ports import contract_nics, without_dead_nics

Ints = NDArray[np.int64]
KnapsackPick = tuple[list[int], int, NDArray[np.bool_]]
"""Kinds of islands that are alike, how many together, and for which numbers of chips before them taking them pays."""

_INFINITE_COST = 2**62
MAX_ISLANDS, MAX_CHIPS = 64, 2_048
"""Of a cluster that is small: what its islands cut is bounded one by one."""
_METHOD_BY_RATIOS = (
    "quotient: whole domains and at most one that is split; no set of a domain's chips has less exit capacity a chip, "
    "which bounds every split from below"
)
_IN_PARTS = (
    "quotient: whole parts that nothing joins, whole domains and at most one that is split; no set of a domain's chips "
    "has less exit capacity a chip, which bounds every split from below"
)
_MAX_SPLITS_TRIED = 200
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

    make_graph: Callable[[], Graph]
    chips: tuple[int, ...]
    network_node: int | None
    private_exits: tuple[int, ...] | None
    exit_capacity: int
    uplink_degraded: bool = False
    hubs: frozenset[int] = frozenset([0])
    at_one: "Island | None" = None

    @cached_property
    def graph(self) -> Graph:
        """Its nodes, and the network node ``above`` if that is up."""
        return self.make_graph()

    @cached_property
    def exit_ratio(self) -> Fraction:
        """λ: the least exit capacity a chip of any set of its chips."""
        if self.network_node is None or not self.exit_capacity:
            return Fraction(0)
        exits = self.private_exits
        if exits and min(exits) == max(exits):  # a set's chips leave by their own, and no other link leads out
            return Fraction(exits[0])
        return _min_exit_ratio(self.graph, self.chips, self.network_node)

    @cached_property
    def spread_ratio(self) -> Fraction:
        """A c such that its cut of a chips from its others is at least c·a·(size - a), its EFA links carrying λ a chip.

        0 where these alone don't carry as much.
        """
        if self.network_node is None or not self.exit_ratio:
            return Fraction(0)
        nics = {node for node, attributes in self.graph.nodes(data=True) if attributes["kind"] == "nic"}
        exit_graph = Graph(self.graph)
        exit_graph.remove_edges_from([edge for edge in self.graph.edges if nics.isdisjoint(edge)])
        has_private_exits = _min_exit_ratio(exit_graph, self.chips, self.network_node) >= self.exit_ratio
        return _min_spread(self.graph, self.chips) if has_private_exits else Fraction(0)

    @property
    def chip_count(self) -> int:
        """How many chips it has."""
        return len(self.chips)

    @property
    def joins(self) -> frozenset[int]:
        """The hubs that it leads to."""
        return self.hubs if self.exit_capacity else frozenset()

    @property
    def below(self) -> "Island":
        """What bounds it from below: itself, or what of it is at one hub."""
        return self.at_one or self

    @classmethod
    def from_graph(
        cls, graph: Graph, chips: Collection[int], network_node: int | None, hubs: frozenset[int] = frozenset([0])
    ) -> "Island":
        """See an island's graph so."""
        graph, endpoints = without_dead_nics(graph), tuple(sorted(chips))
        live_node = network_node if network_node in graph else None
        private_exits = (
            private_exit_capacities(graph, endpoints, live_node) if live_node is not None and endpoints else None
        )
        exit_capacity = (
            sum(private_exits)
            if private_exits
            else minimum_cut(graph, endpoints, [live_node])[0]
            if live_node is not None and endpoints
            else 0
        )
        return cls(
            lambda: graph,
            endpoints,
            live_node,
            None if private_exits is None else tuple(private_exits),
            exit_capacity,
            hubs=hubs,
        )

    @cached_property
    def profile(self) -> CutProfile:
        """What it cuts by how many of its chips are on side A; the network node is on side B."""
        return CutProfile(self.graph, self.chips, self.network_node)

    def witness(self, count: int) -> tuple[int, ...]:
        """So many of its chips that cut the profile's upper bound."""
        side = self.profile.witness(count) if count < self.chip_count else self.chips
        return tuple(chip for chip in self.chips if chip in side)

    def others(self, some: Collection[int]) -> tuple[int, ...]:
        """Its other chips."""
        rest = set(self.chips).difference(some)
        return tuple(chip for chip in self.chips if chip in rest)


def private_exit_capacities(graph: Graph, chips: Sequence[int], network_node: int) -> list[int] | None:
    """What each chip sends to the network node through NICs of its own; None if a NIC is another's too, or only."""
    exits = dict.fromkeys(chips, 0)
    for nic, attributes in graph.nodes(data=True):
        if attributes["kind"] == "nic":
            chips_of_nic = [neighbor for neighbor in graph[nic] if neighbor != network_node]
            if len(chips_of_nic) > 1 or not exits.keys() >= set(chips_of_nic):
                return None
            if chips_of_nic and graph.has_edge(nic, network_node):
                exits[chips_of_nic[0]] += min(
                    graph.edges[nic, end]["capacity"] for end in (chips_of_nic[0], network_node)
                )
    return list(exits.values())


def scale_up_graph(graph: Graph) -> Graph:
    """An island's chips and switches alone."""
    return Graph(
        graph.subgraph(node for node, attributes in graph.nodes(data=True) if attributes["kind"] in ("chip", "switch"))
    )


def _min_exit_ratio(graph: Graph, chips: Sequence[int], network_node: int) -> Fraction:
    """Least capacity a chip of any non-empty set of chips, from it to the network node."""
    graph = contract_nics(graph)
    ratio = Fraction(minimum_cut(graph, chips, [network_node])[0], len(chips))
    adjacency = directed_adjacency(graph.nodes, dict(graph.adjacency())).successors
    while ratio:
        demand: nx.DiGraph[object] = nx.DiGraph()
        source = object()
        for a, successors in adjacency.items():
            demand.add_edges_from(
                (a, b, {"capacity": link["capacity"] * ratio.denominator}) for b, link in successors.items()
            )
        for chip in chips:
            demand.add_edge(source, chip, capacity=ratio.numerator)
        value, (side, _) = nx.minimum_cut(demand, source, network_node)
        if value == ratio.numerator * len(chips):
            break
        cheapest_set = side.intersection(chips)
        ratio = Fraction(minimum_cut(graph, cheapest_set, [network_node])[0], len(cheapest_set))
    return ratio


def _min_spread(graph: Graph, chips: Sequence[int]) -> Fraction:
    """A c such that every cut of a of the n chips carries at least c·a·(n - a).

    Of an undamaged torus from its bisection B: dimension-order routing of one unit between each pair loads no link
    with more than n²/4 / B of its capacity. Where all splits can be enumerated, the least over a. Else 0.
    """
    count = len(chips)
    if count < 2:  # noqa: PLR2004 # one chip has no cut
        return Fraction(0)
    inner_graph = scale_up_graph(graph)
    if torus_cut := torus_bisection(inner_graph, chips):
        return Fraction(4 * torus_cut.lower, count**2)
    hub_nodes = enumeration.select_hubs(inner_graph, chips)
    if hub_nodes is None:
        return Fraction(0)
    profile = enumeration.enumerate_profile(inner_graph, chips, hub_nodes)
    return min(Fraction(profile[a], a * (count - a)) for a in range(1, count))


class ClassSelection(NamedTuple):
    """Of how many islands of a kind these chips are on side A, and whether the hub above is there too."""

    class_index: int
    chips: tuple[int, ...]
    island_count: int
    is_hub_taken: bool = False


@dataclass(frozen=True, slots=True)
class Quotient:
    """Bounds on the bisection of a cluster, and a split that has the upper one; what is not taken is on side B.

    ``links`` between hubs are cut as well.
    """

    lower: int
    upper: int
    selections: tuple[ClassSelection, ...]
    method: str
    links: tuple[int, ...] = ()


def bisect_quotient(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[Narrow] = ()
) -> Quotient:
    """Least cut with ``low`` to ``high`` chips on one side.

    Parameters
    ----------
    kinds
        Different islands, and how many there are of each.
    narrow
        Links between their hubs.

    """
    island_count = sum(count for _, count in classes)
    if island_count <= MAX_ISLANDS and sum(island.chip_count * count for island, count in classes) <= MAX_CHIPS:
        found = _bisect_by_profiles(classes, min_side, max_side, narrow)
    elif len(frozenset[int]().union(*(island.joins for island, _ in classes))) > 1:
        found = _in_parts(classes, min_side, max_side, narrow)
    else:
        found = _bisect_by_ratios(classes, min_side, max_side)
    if found.upper and not found.lower and not _has_whole_half(classes, min_side, max_side, narrow):
        found = replace(found, lower=min(_narrowest(classes, narrow), found.upper))
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
    return sum(kinds[kind][0].chip_count * count for kind, count in part.items())


def _is_joined(island: Island) -> bool:
    """Whether all its chips are joined, by its own links alone if it is below several hubs."""
    if len(island.joins) == 1 and island.private_exits and min(island.private_exits):
        return True
    graph = island.graph if len(island.joins) < 2 else scale_up_graph(island.graph)  # noqa: PLR2004 # several
    return len(parts.parts(graph, island.chips)) < 2  # noqa: PLR2004 # one part, or no chip


def _narrowest(kinds: Sequence[tuple[Island, int]], narrow: Sequence[Narrow]) -> int:
    """Return what the narrowest of all links carries: no less is cut where anything is."""
    inside = (carries for island, _ in kinds for _, _, carries in weighted_edges(island.graph))
    return min((carries for carries in (*inside, *(link.carries for link in narrow)) if carries), default=0)


def _bisect_by_profiles(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[Narrow]
) -> Quotient:
    """Of a small cluster: how many chips of each island, by a knapsack on what they cut."""
    class_of_island = [class_index for class_index, (_, count) in enumerate(classes) for _ in range(count)]
    joins = [classes[class_index][0].joins for class_index in class_of_island]
    above = below = shares.Islands(
        [classes[class_index][0].profile for class_index in class_of_island], hubs.tree(joins, narrow)
    )
    if any(len(each) > 1 for each in joins):
        below = shares.Islands([classes[class_index][0].below.profile for class_index in class_of_island], below.top)
        above = shares.Islands(above.profiles, hubs.contracted(joins, narrow))
    island_shares = shares.min_sum_shares(below, above, min_side, max_side)
    chips_by_class = Counter(
        (class_index, share)
        for class_index, share in zip(class_of_island, island_shares.shares, strict=True)
        if any(share)
    )
    selections = tuple(
        _taken(classes[class_index][0], class_index, *share, number)
        for (class_index, share), number in sorted(chips_by_class.items())
    )
    method = (
        f"quotient: a knapsack over what the {len(class_of_island):,} domains cut, by how many of their "
        "chips are on one side"
    )
    return Quotient(island_shares.lower, island_shares.upper, selections, method, island_shares.links)


def _taken(island: Island, kind: int, across: int, is_hub_taken: bool, islands: int) -> ClassSelection:  # a share
    """What of an island is on side A if so many of its chips are across from its hub."""
    some = island.witness(across)
    return ClassSelection(kind, island.others(some) if is_hub_taken else some, islands, is_hub_taken)


def _in_parts(kinds: Sequence[tuple[Island, int]], low: int, high: int, narrow: Sequence[Narrow]) -> Quotient:
    """Of a large one below several hubs: whole parts, and of the others as if they were below one hub."""
    listed = pieces(kinds, narrow)
    sizes = [_chips(kinds, part) for part in listed]
    places = subset_sum.largest(sizes, high)
    chosen, reached = Counter[int](), sum(sizes[at] for at in places)
    for at in places:
        chosen.update(listed[at])
    taken = tuple(ClassSelection(kind, kinds[kind][0].chips, islands, True) for kind, islands in sorted(chosen.items()))
    if reached >= low:
        return Quotient(0, 0, taken, f"quotient: {parts.WHOLE}")
    rest = [kind for kind, (_, count) in enumerate(kinds) if count > chosen[kind]]
    found = _bisect_by_ratios(
        [(kinds[kind][0], kinds[kind][1] - chosen[kind]) for kind in rest], low - reached, high - reached
    )
    taken += tuple(each._replace(class_index=rest[each.class_index]) for each in found.selections)
    at_once = _bisect_by_ratios(kinds, low, high)
    if at_once.upper < found.upper:
        found, taken = at_once, at_once.selections
    return Quotient(min(_beside_hubs(kinds, low, high), found.upper), found.upper, taken, _IN_PARTS)


def _beside_hubs(kinds: Sequence[tuple[Island, int]], low: int, high: int) -> int:
    """Return what leaves at least: with hubs on either side, the chips that no whole hubs make up.

    With F the hubs on side A, which have s of the chips below them, low - s others at least are across from their hubs,
    or as many of those below F where s is more than that: the same for side B.
    """
    sizes = Counter[int]()
    for island, count in kinds:
        if island.below.joins:
            sizes[min(island.below.joins)] += island.chip_count * count
    listed = list(sizes.values())
    reached = sum(listed[at] for at in subset_sum.largest(listed, high))
    return ceil(_fractional_knapsack([(island.below, count) for island, count in kinds], max(low - reached, 0)))


def _bisect_by_ratios(classes: Sequence[tuple[Island, int]], min_side: int, max_side: int) -> Quotient:
    """Of a large one: whole islands, and one that is split where they can't make up any size of the range."""
    lower_bound = _fractional_knapsack(classes, min_side)
    cost, picks = _knapsack(classes, max_side)
    size = min(range(min_side, max_side + 1), key=lambda count: int(cost[count]))
    if cost[size] < _INFINITE_COST:
        upper = int(cost[size])
        return Quotient(
            min(ceil(lower_bound), upper),
            upper,
            _select_whole(classes, _unpack_picks(classes, picks, size)),
            _METHOD_BY_RATIOS,
        )
    # each that can be split spans the whole range: its least is at either end, and the ends are each other's complement
    candidates: list[tuple[int, int, int, tuple[int, ...], int]] = []
    split_bounds: list[Fraction] = []
    for class_index, (island, _) in enumerate(classes):
        if len(split_bounds) >= _MAX_SPLITS_TRIED:  # of many kinds the others only lower the bound
            split_bounds += [
                island.spread_ratio * part * (island.chip_count - part) for part in range(1, island.chip_count)
            ]
            continue
        other_classes = [
            (other, count - (other_index == class_index)) for other_index, (other, count) in enumerate(classes)
        ]
        cost, picks = _knapsack(other_classes, max_side)
        for part in range(1, island.chip_count):
            if part > min_side or cost[min_side - part] == _INFINITE_COST:
                continue
            split_bounds.append(island.spread_ratio * part * (island.chip_count - part))
            whole_counts, rest = _unpack_picks(other_classes, picks, min_side - part), int(cost[min_side - part])
            candidates.append((rest + int(island.profile.upper[part]), class_index, part, whole_counts, rest))
    if not candidates:
        raise AssertionError("some island can always be split")
    upper, class_index, part, whole_counts, _ = min(candidates)
    split_selection = ClassSelection(class_index, classes[class_index][0].witness(part), 1)
    return Quotient(
        min(ceil(lower_bound + min(split_bounds)), upper),
        upper,
        (*_select_whole(classes, whole_counts), split_selection),
        _METHOD_BY_RATIOS,
    )


def _select_whole(classes: Sequence[tuple[Island, int]], counts: Sequence[int]) -> tuple[ClassSelection, ...]:
    return tuple(
        ClassSelection(class_index, classes[class_index][0].chips, count)
        for class_index, count in enumerate(counts)
        if count
    )


def _fractional_knapsack(classes: Sequence[tuple[Island, int]], chips: int) -> Fraction:
    """Least Σ λ·a for a number of chips: the fractional knapsack."""
    total, remaining = Fraction(0), chips
    for island, available in sorted(classes, key=lambda kind: kind[0].exit_ratio):
        count = min(remaining, island.chip_count * available)
        total += island.exit_ratio * count
        remaining -= count
    return total


def _knapsack(classes: Sequence[tuple[Island, int]], max_chips: int) -> tuple[Ints, list[KnapsackPick]]:
    """Least exit capacity of whole islands with each number of chips, and what each item was worth taking for.

    Islands that weigh and cost the same are one kind of item.
    """
    cost = np.full(max_chips + 1, _INFINITE_COST, dtype=np.int64)
    cost[0] = 0
    picks: list[KnapsackPick] = []
    for (size, exit_capacity), equal_classes in _group_equal(classes).items():
        for bundle in subset_sum.bundles(sum(classes[index][1] for index in equal_classes)):
            weight = bundle * size
            if weight > max_chips:
                continue
            candidate = cost[: max_chips + 1 - weight] + bundle * exit_capacity
            better = candidate < cost[weight:]
            cost[weight:] = np.where(better, candidate, cost[weight:])
            picks.append((equal_classes, bundle, better))
    return np.minimum(cost, _INFINITE_COST), picks


def _group_equal(classes: Sequence[tuple[Island, int]]) -> dict[tuple[int, int], list[int]]:
    """Kinds that have chips, by their size and exit capacity."""
    groups: dict[tuple[int, int], list[int]] = {}
    for index, (island, _) in enumerate(classes):
        if island.chip_count:
            groups.setdefault((island.chip_count, island.exit_capacity), []).append(index)
    return groups


def _unpack_picks(classes: Sequence[tuple[Island, int]], picks: Sequence[KnapsackPick], chips: int) -> tuple[int, ...]:
    counts = [0] * len(classes)
    for equal_classes, bundle, better in reversed(picks):
        weight = bundle * classes[equal_classes[0]][0].chip_count
        if chips >= weight and better[chips - weight]:
            _select(counts, classes, equal_classes, bundle)
            chips -= weight
    return tuple(counts)


def _select(
    counts: list[int], classes: Sequence[tuple[Island, int]], equal_classes: Sequence[int], number: int
) -> None:
    """Take so many more islands of kinds that are alike, the first kinds first."""
    for index in equal_classes:
        added = min(number, classes[index][1] - counts[index])
        counts[index] += added
        number -= added
