"""Bound a cluster's bisection on its quotient graph, where each domain is an island and the fabric one vertex.

Chips, switches and links inside a domain are those of its island (`trninv.solvers.islands`); the fabric is the EFA
network between domains. `trninv.routing.cluster_islands` groups equal islands into classes and calls `bisect_quotient`.

Let A be the side of the cut without the top network node of the fabric, with a_i of the s_i chips of island i. The
fabric does not block (an uplink carries at least its healthy downlinks), so moving every network node to the other side
costs nothing, and the cut is Σ f_i(a_i). Here f_i(a) is the least cut between a chips of island i on one side, and its
other chips and its network node on the other side. Hence there are two bounds:

lower  f_i(a) ≥ λ_i·a, where λ_i is the least exit capacity per chip of any set of the island's chips (a fractional
       program, solved by flows after Dinkelbach, Management Science 13, 1967). Taking chips from the islands with the
       least λ_i first bounds the sum from below.
       If A can't consist of whole islands, at least one island is split. If the EFA links alone give f_i(a) ≥ λ_i·a,
       and the links inside the island add at least c_i·a·(s_i - a), the bound is concave in each a_i, so splitting a
       single island is the cheapest case.
upper  A consists of whole islands, chosen by a knapsack, and at most one split island; its cut is summed in integers.

This works for clusters of any size. In a small cluster the f_i themselves are bounded (`trninv.solvers.islands`); a
knapsack over their lower bounds and another over their upper bounds then bound the sum
(`trninv.solvers.share_selection`).

A damaged fabric, or an adopted fabric with several top nodes, consists of several hubs (`trninv.solvers.hubs`), each of
which can be on either side. In a small cluster the knapsack follows the tree of hubs. A large cluster is divided into
pieces, which no link connects with each other. If whole pieces make up half of the chips, the cut is 0. Otherwise the
lower bound assumes that the chips that whole hubs can't make up leave by the cheapest exits, and the upper bound splits
the chips that whole pieces can't make up as if they were below one hub. An island below several hubs counts for the
lower bound as if it were below only one of them, and for the upper bound as if these hubs were one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trninv.solvers import hubs, parts, share_selection, subset_sum
from trninv.solvers.graph import weighted_edges
from trninv.solvers.hubs import NarrowUplink
from trninv.solvers.islands import Island, scale_up_graph

Ints = NDArray[np.int64]
KnapsackPick = tuple[list[int], int, NDArray[np.bool_]]
"""A knapsack step: the classes that a bundle of equal islands can come from, the number of islands in the bundle, and
for each number of chips in the other islands whether adding the bundle is cheaper."""
_INFINITE_COST = 2**62
"""The cost of numbers of chips that whole islands can't make up."""
MAX_ISLANDS, MAX_CHIPS = 64, 2_048
"""Limits of a small cluster, in which the cut profile of each island is computed."""
_METHOD_BY_RATIOS = (
    "quotient: whole domains and at most one split domain; no set of a domain's chips has less exit capacity "
    "per chip, which bounds every split from below"
)
_METHOD_BY_PIECES = (
    "quotient: whole disconnected parts, whole domains and at most one split domain; no set of a domain's chips "
    "has less exit capacity per chip, which bounds every split from below"
)
_MAX_SPLITS_TRIED = 200
"""Once so many splits have been tried (pairs of a class and a number of chips), further classes are only bounded."""


class ClassSelection(NamedTuple):
    """The chips on side A of each of ``island_count`` islands of a class.

    ``is_hub_taken`` is whether the hub above these islands is on side A too.
    """

    class_index: int
    chips: tuple[int, ...]
    island_count: int
    is_hub_taken: bool = False


@dataclass(frozen=True, slots=True)
class Quotient:
    """Bounds on the bisection of a cluster, and a split into sides A and B that attains the upper bound.

    Chips in no selection are on side B. ``links`` are the ids of the cut links between hubs.
    """

    lower: int
    upper: int
    selections: tuple[ClassSelection, ...]
    method: str
    links: tuple[int, ...] = ()


def bisect_quotient(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[NarrowUplink] = ()
) -> Quotient:
    """Return bounds on the least cut of a cluster with ``min_side`` to ``max_side`` chips on one side.

    A small cluster is solved by knapsacks over cut profiles, O(chips²) plus the profiles; a large one by knapsacks over
    exit capacities and exit ratios (Dinkelbach 1967), O(classes·chips·log(islands)).

    Parameters
    ----------
    classes
        One island of each class of equal islands, and the number of islands in the class.
    narrow
        Links between the islands' hubs.

    Examples
    --------
    Two islands of one chip, whose NICs have uplinks of 10 to the same network node:

    >>> import networkx as nx
    >>> graph = nx.Graph()
    >>> graph.add_nodes_from([(1, {"kind": "chip"}), (2, {"kind": "nic"}), (3, {"kind": "network_node"})])
    >>> graph.add_weighted_edges_from([(1, 2, 12), (2, 3, 10)], weight="capacity")
    >>> quotient = bisect_quotient([(Island.from_graph(graph, [1], 3), 2)], 1, 1)
    >>> quotient.lower, quotient.upper, quotient.selections[0].chips, quotient.selections[0].island_count
    (10, 10, (1,), 1)

    """
    island_count = sum(count for _, count in classes)
    if island_count <= MAX_ISLANDS and sum(island.chip_count * count for island, count in classes) <= MAX_CHIPS:
        quotient = _bisect_by_profiles(classes, min_side, max_side, narrow)
    elif len(frozenset[int]().union(*(island.reachable_hubs for island, _ in classes))) > 1:
        quotient = _bisect_pieces(classes, min_side, max_side, narrow)
    else:
        quotient = _bisect_by_ratios(classes, min_side, max_side)
    if quotient.upper and not quotient.lower and not _has_whole_half(classes, min_side, max_side, narrow):
        quotient = replace(quotient, lower=min(_narrowest_capacity(classes, narrow), quotient.upper))
    return quotient


def _has_whole_half(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[NarrowUplink]
) -> bool:
    """Return whether whole pieces make up one side; True without a check if an island is not connected inside."""
    if not all(_is_connected(island) for island, _ in classes):
        return True
    sizes = [_chip_count(classes, piece) for piece in connected_pieces(classes, narrow)]
    return sum(sizes[index] for index in subset_sum.largest_sum(sizes, max_side)) >= min_side


def connected_pieces(classes: Sequence[tuple[Island, int]], narrow: Sequence[NarrowUplink]) -> list[dict[int, int]]:
    """Return the pieces of a cluster, which no link connects with each other, as numbers of islands by class.

    Breadth-first search over islands and hubs, O(classes·hubs + uplinks).

    Examples
    --------
    Each of two equal islands without a network node is a piece of its own:

    >>> import networkx as nx
    >>> graph = nx.Graph()
    >>> graph.add_node(1, kind="chip")
    >>> connected_pieces([(Island.from_graph(graph, [1], None), 2)], [])
    [{0: 1}, {0: 1}]

    """
    pieces = list[dict[int, int]]()
    for members in hubs.connected_islands([island.reachable_hubs for island, _ in classes], narrow):
        if classes[members[0]][0].reachable_hubs:
            pieces.append({class_index: classes[class_index][1] for class_index in members})
        else:
            pieces += [{members[0]: 1}] * classes[members[0]][1]
    return pieces


def _chip_count(classes: Sequence[tuple[Island, int]], piece: Mapping[int, int]) -> int:
    return sum(classes[class_index][0].chip_count * count for class_index, count in piece.items())


def _is_connected(island: Island) -> bool:
    """Return whether an island's chips are all connected; below several hubs, only inner links count."""
    if len(island.reachable_hubs) == 1 and island.private_exits and min(island.private_exits):
        return True
    graph = island.graph if len(island.reachable_hubs) < 2 else scale_up_graph(island.graph)  # noqa: PLR2004 # several
    return len(parts.connected_parts(graph, island.chips)) < 2  # noqa: PLR2004 # one part, or no chip


def _narrowest_capacity(classes: Sequence[tuple[Island, int]], narrow: Sequence[NarrowUplink]) -> int:
    """Return the capacity of the narrowest link, which is a lower bound of every cut that is not empty."""
    inner_capacities = (capacity for island, _ in classes for _, _, capacity in weighted_edges(island.graph))
    capacities = (*inner_capacities, *(uplink.capacity for uplink in narrow))
    return min((capacity for capacity in capacities if capacity), default=0)


def _bisect_by_profiles(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[NarrowUplink]
) -> Quotient:
    """Bisect a small cluster by a knapsack over the islands' cut profiles."""
    class_of_island = [class_index for class_index, (_, count) in enumerate(classes) for _ in range(count)]
    islands = [classes[class_index][0] for class_index in class_of_island]
    hubs_by_island = [island.reachable_hubs for island in islands]
    profiles, tree = [island.profile for island in islands], hubs.hub_tree(hubs_by_island, narrow)
    lower = upper = share_selection.Islands(profiles, tree)
    if any(len(island_hubs) > 1 for island_hubs in hubs_by_island):
        lower = share_selection.Islands([island.lower_bound_island.profile for island in islands], tree)
        upper = share_selection.Islands(profiles, hubs.contract_hubs(hubs_by_island, narrow))
    island_shares = share_selection.min_sum_shares(lower, upper, min_side, max_side)
    chips_by_class = Counter(
        (class_index, share)
        for class_index, share in zip(class_of_island, island_shares.shares, strict=True)
        if any(share)
    )
    selections = tuple(
        _selection(classes[class_index][0], class_index, *share, island_count=island_count)
        for (class_index, share), island_count in sorted(chips_by_class.items())
    )
    method = (
        f"quotient: a knapsack over the cuts of the {len(class_of_island):,} domains, by number of chips on one side"
    )
    return Quotient(island_shares.lower, island_shares.upper, selections, method, island_shares.links)


def _selection(
    island: Island, class_index: int, across: int, is_hub_taken: bool, *, island_count: int
) -> ClassSelection:
    """Return the chips of an island on side A if ``across`` of its chips are on the other side than its hub."""
    chips = island.witness(across)
    return ClassSelection(class_index, island.others(chips) if is_hub_taken else chips, island_count, is_hub_taken)


def _bisect_pieces(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[NarrowUplink]
) -> Quotient:
    """Bisect a large cluster below several hubs.

    The upper bound is the cheaper of two splits: whole pieces with a split of the rest, or a split of all islands. In a
    split, all islands count as if they were below one hub.
    """
    pieces = connected_pieces(classes, narrow)
    sizes = [_chip_count(classes, piece) for piece in pieces]
    whole_pieces = subset_sum.largest_sum(sizes, max_side)
    chosen, chosen_chips = Counter[int](), sum(sizes[index] for index in whole_pieces)
    for index in whole_pieces:
        chosen.update(pieces[index])
    selections = tuple(
        ClassSelection(class_index, classes[class_index][0].chips, count, is_hub_taken=True)
        for class_index, count in sorted(chosen.items())
    )
    if chosen_chips >= min_side:
        return Quotient(0, 0, selections, f"quotient: {parts.WHOLE_PARTS_METHOD}")
    rest = [class_index for class_index, (_, count) in enumerate(classes) if count > chosen[class_index]]
    rest_classes = [(classes[index][0], classes[index][1] - chosen[index]) for index in rest]
    quotient = _bisect_by_ratios(rest_classes, min_side - chosen_chips, max_side - chosen_chips)
    selections += tuple(
        selection._replace(class_index=rest[selection.class_index]) for selection in quotient.selections
    )
    without_pieces = _bisect_by_ratios(classes, min_side, max_side)
    if without_pieces.upper < quotient.upper:
        quotient, selections = without_pieces, without_pieces.selections
    lower = min(_exit_lower_bound(classes, min_side, max_side), quotient.upper)
    return Quotient(lower, quotient.upper, selections, _METHOD_BY_PIECES)


def _exit_lower_bound(classes: Sequence[tuple[Island, int]], min_side: int, max_side: int) -> int:
    """Bound the cut from below by the exits of the chips that whole hubs can't make up.

    Let F be the hubs on side A, with s chips below them. If s < min_side, at least min_side - s chips are on side A
    though their hubs are on side B. If s > max_side, at least s - max_side chips are on side B though their hubs are on
    side A. The same holds with the sides exchanged.
    """
    sizes = Counter[int]()
    for island, count in classes:
        if bound_hubs := island.lower_bound_island.reachable_hubs:
            sizes[min(bound_hubs)] += island.chip_count * count
    hub_sizes = list(sizes.values())
    whole_chips = sum(hub_sizes[index] for index in subset_sum.largest_sum(hub_sizes, max_side))
    split_chips = max(min_side - whole_chips, 0)
    return ceil(_fractional_knapsack([(island.lower_bound_island, count) for island, count in classes], split_chips))


def _bisect_by_ratios(classes: Sequence[tuple[Island, int]], min_side: int, max_side: int) -> Quotient:
    """Bisect a large cluster by whole islands, and one split island if whole islands make up no size of the range."""
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
    # whole islands make up no size of the range, so one island is split. Its bound is concave, so it is least at an end
    # of the range; the sides of a cut can be exchanged, so both ends are equivalent and only `min_side` is tried
    candidates: list[tuple[int, int, int, tuple[int, ...]]] = []
    split_bounds: list[Fraction] = []
    for class_index, (island, _) in enumerate(classes):
        if len(split_bounds) >= _MAX_SPLITS_TRIED:  # further classes are not tried, and only count for the lower bound
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
            whole_counts = _unpack_picks(other_classes, picks, min_side - part)
            upper = int(cost[min_side - part]) + int(island.profile.upper[part])
            candidates.append((upper, class_index, part, whole_counts))
    if not candidates:
        raise AssertionError("some island can always be split")
    upper, class_index, part, whole_counts = min(candidates)
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
    """Return the least Σ λ·a over all choices of so many chips, a fractional knapsack (Dantzig 1957)."""
    total, remaining = Fraction(0), chips
    for island, available in sorted(classes, key=lambda item: item[0].exit_ratio):
        count = min(remaining, island.chip_count * available)
        total += island.exit_ratio * count
        remaining -= count
    return total


def _knapsack(classes: Sequence[tuple[Island, int]], max_chips: int) -> tuple[Ints, list[KnapsackPick]]:
    """Return the least exit capacity of whole islands by their number of chips, and the steps that lead to it.

    Islands of equal size and exit capacity are interchangeable, so they are added in bundles.
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
    """Group the classes whose islands have chips, by size and exit capacity."""
    groups: dict[tuple[int, int], list[int]] = {}
    for index, (island, _) in enumerate(classes):
        if island.chip_count:
            groups.setdefault((island.chip_count, island.exit_capacity), []).append(index)
    return groups


def _unpack_picks(classes: Sequence[tuple[Island, int]], picks: Sequence[KnapsackPick], chips: int) -> tuple[int, ...]:
    """Return how many islands of each class the knapsack takes for a number of chips, following its steps back."""
    counts = [0] * len(classes)
    for equal_classes, bundle, better in reversed(picks):
        weight = bundle * classes[equal_classes[0]][0].chip_count
        if chips >= weight and better[chips - weight]:
            _add_islands(counts, classes, equal_classes, bundle)
            chips -= weight
    return tuple(counts)


def _add_islands(
    counts: list[int], classes: Sequence[tuple[Island, int]], equal_classes: Sequence[int], number: int
) -> None:
    """Add ``number`` islands to the counts of ``equal_classes``; fill up the first classes first."""
    for index in equal_classes:
        added = min(number, classes[index][1] - counts[index])
        counts[index] += added
        number -= added
