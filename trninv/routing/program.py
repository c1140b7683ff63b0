"""Bisection as an integer program (HiGHS through SciPy): x says the side of a node, y whether an edge is cut.

Tree-balance cuts hold it up from below (Ferreira, Martin, de Souza, Weismantel & Wolsey, Math. Programming 74, 1996).
"""

from collections.abc import Iterator, Sequence
from math import ceil, gcd, inf

import networkx as nx
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp
from scipy.sparse import csr_array

from trninv.routing.flow import minimum_cut
from trninv.routing.graph import Graph, capacities
from trninv.routing.split import Split

Row = tuple[dict[int, float], float, float]
"""Coefficients by column, least and most."""

_TOLERANCE = 1e-6


def bisect(graph: Graph, ends: Sequence[int], fillers: int, seconds: float) -> Split:
    """Bisection with bounds that HiGHS proved within the time; exact if they met.

    Capacities are divided by their common divisor, so that a bound is rounded up to the next possible value.
    """
    nodes, half = sorted(graph), (len(ends) + fillers) // 2
    column = {node: i for i, node in enumerate(nodes)}
    edges = {frozenset(edge): len(nodes) + i for i, edge in enumerate(graph.edges)}
    carried = [carries for _, _, carries in capacities(graph)]
    unit = gcd(*carried) or 1
    rows = [
        *_cut_rows(column, edges),
        ({column[end]: 1.0 for end in ends}, float(half - fillers), float(half)),
        *_tree_rows(graph, ends, edges, half - fillers),
    ]
    weigh = set(ends)
    result = milp(
        c=[0.0] * len(nodes) + [carries / unit for carries in carried],
        integrality=np.array([int(node in weigh) for node in nodes] + [0] * len(edges)),
        bounds=Bounds(0, 1),
        constraints=_matrix(rows, len(nodes) + len(edges)),
        options={"time_limit": seconds},
    )
    split = Split.of(graph, _side(graph, ends, half, nodes, result), "", _bound(result) * unit)
    ended = "solved" if split.lower == split.upper else f"proven bounds after {seconds:g} s"
    return Split(split.lower, split.upper, split.side, f"integer program with tree-balance cuts (HiGHS): {ended}")


def _cut_rows(column: dict[int, int], edges: dict[frozenset[int], int]) -> Iterator[Row]:
    """Y ≥ |x_a - x_b| for every edge."""
    for edge, y in edges.items():
        a, b = edge
        yield {y: 1, column[a]: 1, column[b]: -1}, 0, inf
        yield {y: 1, column[a]: -1, column[b]: 1}, 0, inf


def _tree_rows(graph: Graph, ends: Sequence[int], edges: dict[frozenset[int], int], need: int) -> Iterator[Row]:
    """Σ min(endpoints below the edge, need) · y ≥ need over a breadth-first tree from each endpoint.

    At least ``need`` endpoints lie across from the root, and the tree path to each crosses a cut edge.
    """
    if need <= 0 or not nx.is_connected(graph):
        return
    for root in ends:
        below = dict.fromkeys(graph, 0) | dict.fromkeys(ends, 1)
        row: dict[int, float] = {}
        for parent, child in reversed(list(nx.bfs_edges(graph, root, sort_neighbors=sorted))):
            row[edges[frozenset((parent, child))]] = min(below[child], need)
            below[parent] += below[child]
        yield row, need, inf


def _matrix(rows: Sequence[Row], columns: int) -> LinearConstraint:
    values = [value for row, _, _ in rows for value in row.values()]
    at = ([i for i, (row, _, _) in enumerate(rows) for _ in row], [j for row, _, _ in rows for j in row])
    matrix = csr_array((values, at), shape=(len(rows), columns))
    return LinearConstraint(matrix, [least for _, least, _ in rows], [most for _, _, most in rows])


def _bound(result: OptimizeResult) -> int:
    bound = result.mip_dual_bound
    return max(0, ceil(bound - _TOLERANCE)) if bound is not None and bound > -inf else 0


def _side(graph: Graph, ends: Sequence[int], half: int, nodes: Sequence[int], result: OptimizeResult) -> set[int]:
    """The solver's split, or if it found none in time the first endpoints against the rest."""
    if result.x is None:
        return minimum_cut(graph, ends[:half], ends[half:])[1]
    return {node for node, x in zip(nodes, result.x, strict=False) if round(x)}
