"""Bisect a graph of several connected components ("parts"), by whole parts or by splitting some of them.

`trninv.solvers.bisection` calls this module for a domain whose failures have disconnected some endpoints (chips) from
others.

A part that is not split cuts no link, so the bisection is 0 if and only if some parts together have half of the
endpoints (`trninv.solvers.subset_sum`). Otherwise the bisection is the least sum of the parts' cuts, a knapsack over
the number of each part's endpoints on one side (`trninv.solvers.share_selection`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import networkx as nx

from trninv.solvers import share_selection, subset_sum
from trninv.solvers.graph import Cut, Graph, weighted_edges
from trninv.solvers.islands import CutProfile
from trninv.solvers.max_flow import minimum_cut

WHOLE_PARTS_METHOD = "whole disconnected parts: some of them together have half of the chips"
_SPLIT_PARTS_METHOD = (
    "no whole parts together have half of the chips: a knapsack over the cuts of the {} parts, by number of chips"
)


class GraphPart(NamedTuple):
    """A connected component of a graph, and the endpoints in it."""

    nodes: frozenset[int]
    endpoints: tuple[int, ...]


def connected_parts(graph: Graph, endpoints: Sequence[int]) -> list[GraphPart]:
    """List the connected components that have endpoints; breadth-first search, O(V + E).

    Examples
    --------
    Switch 9 has no chip left:

    >>> graph = Graph([(1, 2), (3, 4)])
    >>> graph.add_node(9)
    >>> [part.endpoints for part in connected_parts(graph, [1, 2, 3, 4])]
    [(1, 2), (3, 4)]

    """
    endpoint_set = set(endpoints)
    components = (
        GraphPart(frozenset(nodes), tuple(sorted(endpoint_set & nodes))) for nodes in nx.connected_components(graph)
    )
    return [part for part in components if part.endpoints]


def whole_parts_cut(graph: Graph, parts: Sequence[GraphPart], min_side: int, max_side: int) -> Cut | None:
    """Return a split of capacity 0 with ``min_side`` to ``max_side`` endpoints on one side; None if there is none.

    Solved as a subset sum over the parts' sizes, with the complexity of `trninv.solvers.subset_sum.largest_sum`.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (3, 4, 20)], weight="capacity")
    >>> cut = whole_parts_cut(graph, connected_parts(graph, [1, 2, 3, 4]), 2, 2)
    >>> cut.upper, sorted(cut.side) in ([1, 2], [3, 4])
    (0, True)

    """
    chosen = [parts[index] for index in subset_sum.largest_sum([len(part.endpoints) for part in parts], max_side)]
    if sum(len(part.endpoints) for part in chosen) < min_side:
        return None
    return Cut.from_side(graph, frozenset[int]().union(*(part.nodes for part in chosen)), WHOLE_PARTS_METHOD)


def bisect_parts(graph: Graph, parts: Sequence[GraphPart], min_side: int, max_side: int) -> Cut:
    """Return the least cut that splits some of the parts, for graphs without a split of capacity 0.

    Solved as a knapsack over the parts' cut profiles, with the complexity of
    `trninv.solvers.share_selection.min_sum_shares`.

    Examples
    --------
    Chip 4 is alone, so one of chips 1 to 3 must join its side; chip 3 does so at the least cost:

    >>> graph = Graph()
    >>> graph.add_weighted_edges_from([(1, 2, 30), (2, 3, 20)], weight="capacity")
    >>> graph.add_node(4)
    >>> cut = bisect_parts(graph, connected_parts(graph, [1, 2, 3, 4]), 2, 2)
    >>> cut.lower, cut.upper
    (20, 20)

    """
    profiles = [CutProfile(Graph(graph.subgraph(part.nodes)), part.endpoints) for part in parts]
    islands = share_selection.Islands.below_hub(profiles)
    least = share_selection.min_sum_shares(islands, islands, min_side, max_side)
    side = {end for profile, share in zip(profiles, least.shares, strict=True) for end in profile.witness(share.across)}
    rest = {end for part in parts for end in part.endpoints} - side
    # some link is cut, so the capacity of the narrowest link is a lower bound too
    narrowest = min((capacity for _, _, capacity in weighted_edges(graph) if capacity), default=0)
    split = minimum_cut(graph, side, rest)[1]
    return Cut.from_side(graph, split, _SPLIT_PARTS_METHOD.format(len(parts)), max(least.lower, narrowest))
