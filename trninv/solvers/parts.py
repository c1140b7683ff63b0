"""The parts of a graph that nothing joins: how they make up two halves, and what it costs to split one of them.

Whole parts cost nothing. So a bisection is 0 if and only if some of them together have one half of the endpoints
(`trninv.solvers.subset_sum`). Else it is the least sum of what the parts cut, a knapsack over how many endpoints of
each are on one side (`trninv.solvers.shares`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import networkx as nx

from trninv.solvers import shares, subset_sum
from trninv.solvers.boundary import CutProfile
from trninv.solvers.flow import minimum_cut
from trninv.solvers.graph import Graph, weighted_edges
from trninv.solvers.split import Cut

WHOLE = "whole parts that nothing joins: some have one half of the chips together"
_SPLIT = "no whole parts have half of the chips: a knapsack over what the {} parts cut, by how many of their chips"


class Part(NamedTuple):
    """The nodes of a part, and the endpoints among them."""

    nodes: frozenset[int]
    ends: tuple[int, ...]


def parts(graph: Graph, ends: Sequence[int]) -> list[Part]:
    """List the parts that have endpoints."""
    wanted = set(ends)
    found = (Part(frozenset(nodes), tuple(sorted(wanted & nodes))) for nodes in nx.connected_components(graph))
    return [part for part in found if part.ends]


def whole(graph: Graph, among: Sequence[Part], low: int, high: int) -> Cut | None:
    """Return a split that cuts nothing, with ``low`` to ``high`` endpoints on one side; None if there is none."""
    chosen = [among[at] for at in subset_sum.largest([len(part.ends) for part in among], high)]
    if sum(len(part.ends) for part in chosen) < low:
        return None
    return Cut.from_side(graph, frozenset[int]().union(*(part.nodes for part in chosen)), WHOLE)


def bisect(graph: Graph, among: Sequence[Part], low: int, high: int) -> Cut:
    """Return the least cut that splits some of the parts, which no whole ones can replace."""
    profiles = [CutProfile(Graph(graph.subgraph(part.nodes)), part.ends) for part in among]
    islands = shares.Islands.of(profiles)
    found = shares.min_sum_shares(islands, islands, low, high)
    side = {end for profile, share in zip(profiles, found.shares, strict=True) for end in profile.witness(share.across)}
    rest = {end for part in among for end in part.ends} - side
    least = max(found.lower, min((carries for _, _, carries in weighted_edges(graph) if carries), default=0))
    return Cut.from_side(graph, minimum_cut(graph, side, rest)[1], _SPLIT.format(len(among)), least)
