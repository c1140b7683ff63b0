"""Network nodes as hubs: one hub is all that uplinks join which carry at least what is below them.

Such an uplink never has to be cut: what is below it may as well be on the other side. A narrow one may be, and joins
two hubs. What no link joins is in parts.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import networkx as nx

from trninv.solvers.graph import Graph
from trninv.solvers.shares import Hub


class Narrow(NamedTuple):
    """A link between two hubs, which carries less than what is below it."""

    link: int
    ends: tuple[int, int]
    carries: int


def together(nodes: Collection[int], links: Collection[tuple[int, int]]) -> list[list[int]]:
    """Return the nodes by what links join, most nodes first."""
    graph = Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(links)
    return sorted(map(sorted, nx.connected_components(graph)), key=lambda group: (-len(group), group))


def joined(hubs_of: Sequence[Collection[int]], narrow: Sequence[Narrow]) -> list[list[int]]:
    """Return the islands by what joins them, given the hubs that each is below: places in ``hubs_of``."""
    graph = Graph()
    graph.add_nodes_from(range(len(hubs_of)))
    graph.add_edges_from((at, (hub,)) for at, hubs in enumerate(hubs_of) for hub in hubs)
    graph.add_edges_from(((a,), (b,)) for _, (a, b), carries in narrow if carries)
    found = (sorted(node for node in part if isinstance(node, int)) for part in nx.connected_components(graph))
    return [islands for islands in found if islands]


def contracted(hubs_of: Sequence[Collection[int]], narrow: Sequence[Narrow]) -> Hub:
    """Return the top of the islands' hubs, with all that anything joins as one: no split of these cuts less."""
    return _top([Hub(islands) for islands in joined(hubs_of, narrow)])


def tree(hubs_of: Sequence[Collection[int]], narrow: Sequence[Narrow]) -> Hub:
    """Return the top of the islands' hubs; of several hubs that an island is below it is at the first."""
    graph, alone, islands = Graph(), list[Hub](), dict[int, list[int]]()
    for at, hubs in enumerate(hubs_of):
        if hubs:
            islands.setdefault(min(hubs), []).append(at)
        else:
            alone.append(Hub([at]))
    graph.add_nodes_from(islands)
    graph.add_edges_from((*ends, {"carries": carries, "link": link}) for link, ends, carries in narrow if carries)

    def rooted(hub: int, above: int | None) -> Hub:
        below = sorted(set(graph[hub]) - {above})
        links = [graph.edges[hub, other] for other in below]
        under = [(rooted(other, hub), of["carries"], of["link"]) for other, of in zip(below, links, strict=True)]
        return Hub(islands.get(hub, []), under)

    roots = (max(part, key=lambda hub: (len(islands.get(hub, [])), -hub)) for part in nx.connected_components(graph))
    return _top([*(rooted(root, None) for root in roots), *alone])


def _top(hubs: Sequence[Hub]) -> Hub:
    """See hubs that nothing joins as one forest: the others are below the first, over nothing."""
    first, *others = sorted(hubs, key=lambda hub: -len(hub.islands))
    return Hub(first.islands, (*first.below, *((hub, 0, None) for hub in others)))
