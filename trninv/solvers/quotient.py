"""Bound a cluster's bisection on its quotient graph, where each domain is an island and the fabric one vertex.

Let A be the side without the top of the fabric, with a_i chips of island i. The fabric does not block (an uplink
carries at least its healthy downlinks), so moving every network node to the other side costs nothing, and the cut is
Σ f_i(a_i). Here f_i(a) is the least cut between a chips of island i and its other chips and network node. Hence

lower  f_i(a) ≥ λ_i·a, with λ_i the least exit capacity per chip of any set of the island's chips (a fractional
       program, solved by flows after Dinkelbach, Management Science 13, 1967): filling the cheapest islands first
       bounds the sum.
       If no whole islands make up A, at least one is split. If the EFA links alone give f_i(a) ≥ λ_i·a and the island
       alone has cuts of at least c_i·a·(s_i - a), that is concave in each a_i, so a single split is the cheapest case.
upper  whole islands chosen by a knapsack, at most one of them split, summed in integers.

This works for clusters of any size. In a small one the f_i themselves are bounded (`trninv.solvers.islands`); a
knapsack on their lower bounds and one on their upper bounds then bound the sum (`trninv.solvers.share_selection`).

A damaged fabric, or an adopted one with several tops, is several hubs (`trninv.solvers.hubs`), each on either side. In
a small cluster the knapsack follows their tree. In a large one whole pieces are taken if they make up half. Otherwise,
for the lower bound, the chips that no whole hubs make up leave by the cheapest exits, and for the upper bound the rest
is split as if it had one hub. An island below several hubs counts for the lower bound as if it were below one of them
only, and for the upper bound as if it joined them.
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
"""Classes of equal islands, the size of a bundle of them, and for which numbers of chips before it taking it pays."""
_INFINITE_COST = 2**62
MAX_ISLANDS, MAX_CHIPS = 64, 2_048
"""Limits of a small cluster, in which the cut profile of each island is computed."""
_METHOD_BY_RATIOS = (
    "quotient: whole domains and at most one split domain; no set of a domain's chips has less exit capacity "
    "per chip, which bounds every split from below"
)
_IN_PARTS = (
    "quotient: whole disconnected parts, whole domains and at most one split domain; no set of a domain's chips "
    "has less exit capacity per chip, which bounds every split from below"
)
_MAX_SPLITS_TRIED = 200
"""Limit of islands × sizes that are tried for the one split island."""


class ClassSelection(NamedTuple):
    """The chips on side A of ``island_count`` islands of a class, and whether the hub above them is on side A too."""

    class_index: int
    chips: tuple[int, ...]
    island_count: int
    is_hub_taken: bool = False


@dataclass(frozen=True, slots=True)
class Quotient:
    """Bounds on the bisection of a cluster, and a split that attains the upper one.

    Chips without a selection are on side B. ``links`` are the cut links between hubs.
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

    Knapsacks over cut profiles in a small cluster, O(chips²) after the profiles; over exit ratios (Dinkelbach 1967) in
    a large one, O(classes·chips·log(islands)).

    Parameters
    ----------
    classes
        Different islands, and how many there are of each.
    narrow
        Links between their hubs.

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
    elif len(frozenset[int]().union(*(island.joins for island, _ in classes))) > 1:
        quotient = _bisect_pieces(classes, min_side, max_side, narrow)
    else:
        quotient = _bisect_by_ratios(classes, min_side, max_side)
    if quotient.upper and not quotient.lower and not _has_whole_half(classes, min_side, max_side, narrow):
        quotient = replace(quotient, lower=min(_narrowest_capacity(classes, narrow), quotient.upper))
    return quotient


def _has_whole_half(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[NarrowUplink]
) -> bool:
    """Return whether whole pieces may make up one side; True without a check if an island is itself in pieces."""
    if not all(_is_connected(island) for island, _ in classes):
        return True
    sizes = [_chip_count(classes, piece) for piece in connected_pieces(classes, narrow)]
    return sum(sizes[index] for index in subset_sum.largest_sum(sizes, max_side)) >= min_side


def connected_pieces(classes: Sequence[tuple[Island, int]], narrow: Sequence[NarrowUplink]) -> list[dict[int, int]]:
    """Return the pieces of a cluster that no link joins, each as the number of islands of each class.

    Breadth-first search over islands and hubs, O(classes·hubs + uplinks).

    Examples
    --------
    Two islands that lost their network node are a piece each:

    >>> import networkx as nx
    >>> graph = nx.Graph()
    >>> graph.add_node(1, kind="chip")
    >>> connected_pieces([(Island.from_graph(graph, [1], None), 2)], [])
    [{0: 1}, {0: 1}]

    """
    pieces = list[dict[int, int]]()
    for members in hubs.connected_islands([island.joins for island, _ in classes], narrow):
        if classes[members[0]][0].joins:
            pieces.append({class_index: classes[class_index][1] for class_index in members})
        else:
            pieces += [{members[0]: 1}] * classes[members[0]][1]
    return pieces


def _chip_count(classes: Sequence[tuple[Island, int]], piece: Mapping[int, int]) -> int:
    return sum(classes[class_index][0].chip_count * count for class_index, count in piece.items())


def _is_connected(island: Island) -> bool:
    """Return whether all its chips are connected, by its own links alone if it is below several hubs."""
    if len(island.joins) == 1 and island.private_exits and min(island.private_exits):
        return True
    graph = island.graph if len(island.joins) < 2 else scale_up_graph(island.graph)  # noqa: PLR2004 # several
    return len(parts.connected_parts(graph, island.chips)) < 2  # noqa: PLR2004 # one part, or no chip


def _narrowest_capacity(classes: Sequence[tuple[Island, int]], narrow: Sequence[NarrowUplink]) -> int:
    """Return the capacity of the narrowest link: a lower bound of every cut that is not empty."""
    inner_capacities = (capacity for island, _ in classes for _, _, capacity in weighted_edges(island.graph))
    capacities = (*inner_capacities, *(uplink.capacity for uplink in narrow))
    return min((capacity for capacity in capacities if capacity), default=0)


def _bisect_by_profiles(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[NarrowUplink]
) -> Quotient:
    """Bisect a small cluster by a knapsack over the islands' cut profiles."""
    class_of_island = [class_index for class_index, (_, count) in enumerate(classes) for _ in range(count)]
    joins = [classes[class_index][0].joins for class_index in class_of_island]
    above = below = share_selection.Islands(
        [classes[class_index][0].profile for class_index in class_of_island], hubs.hub_tree(joins, narrow)
    )
    if any(len(island_hubs) > 1 for island_hubs in joins):
        below = share_selection.Islands(
            [classes[class_index][0].below.profile for class_index in class_of_island], below.top
        )
        above = share_selection.Islands(above.profiles, hubs.contract_hubs(joins, narrow))
    island_shares = share_selection.min_sum_shares(below, above, min_side, max_side)
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
    """Return the chips of an island on side A if ``across`` of its chips are across from its hub."""
    chips = island.witness(across)
    return ClassSelection(class_index, island.others(chips) if is_hub_taken else chips, island_count, is_hub_taken)


def _bisect_pieces(
    classes: Sequence[tuple[Island, int]], min_side: int, max_side: int, narrow: Sequence[NarrowUplink]
) -> Quotient:
    """Bisect a large cluster below several hubs by whole pieces, and split the rest as if it were below one hub."""
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
        return Quotient(0, 0, selections, f"quotient: {parts.WHOLE}")
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
    return Quotient(lower, quotient.upper, selections, _IN_PARTS)


def _exit_lower_bound(classes: Sequence[tuple[Island, int]], min_side: int, max_side: int) -> int:
    """Bound the cut from below by the exits of the chips that no whole hubs make up.

    Let F be the hubs on side A, with s chips below them. If s < min_side, at least min_side - s chips below other hubs
    are across from their hubs; if s is greater, as many of those below F are. The same holds for side B.
    """
    sizes = Counter[int]()
    for island, count in classes:
        if island.below.joins:
            sizes[min(island.below.joins)] += island.chip_count * count
    hub_sizes = list(sizes.values())
    whole_chips = sum(hub_sizes[index] for index in subset_sum.largest_sum(hub_sizes, max_side))
    split_chips = max(min_side - whole_chips, 0)
    return ceil(_fractional_knapsack([(island.below, count) for island, count in classes], split_chips))


def _bisect_by_ratios(classes: Sequence[tuple[Island, int]], min_side: int, max_side: int) -> Quotient:
    """Bisect a large cluster by whole islands, and one that is split if whole ones make up no size of the range."""
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
    # the part of a split island spans the whole range, so its least bound is at either end of the range, and the ends
    # are each other's complement: `min_side` alone is tried
    candidates: list[tuple[int, int, int, tuple[int, ...], int]] = []
    split_bounds: list[Fraction] = []
    for class_index, (island, _) in enumerate(classes):
        if len(split_bounds) >= _MAX_SPLITS_TRIED:  # with many classes the others only lower the bound
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
    """Return the least Σ λ·a for a number of chips: the fractional knapsack (Dantzig 1957)."""
    total, remaining = Fraction(0), chips
    for island, available in sorted(classes, key=lambda item: item[0].exit_ratio):
        count = min(remaining, island.chip_count * available)
        total += island.exit_ratio * count
        remaining -= count
    return total


def _knapsack(classes: Sequence[tuple[Island, int]], max_chips: int) -> tuple[Ints, list[KnapsackPick]]:
    """Return the least exit capacity of whole islands with each number of chips, and where each item is used.

    Islands of equal size and exit capacity are one kind of item.
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
    """Group the classes that have chips by size and exit capacity."""
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
    """Take ``number`` more islands of equal classes, the first classes first."""
    for index in equal_classes:
        added = min(number, classes[index][1] - counts[index])
        counts[index] += added
        number -= added
