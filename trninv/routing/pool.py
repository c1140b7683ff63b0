"""How far a place reaches: hops and widest path to every node, and what a set can deliver into it at once."""

from collections.abc import Collection, Iterable, Sequence

import networkx as nx

from trninv.inventory.address import chips_of, resolve
from trninv.routing import evidence
from trninv.routing.flow import minimum_cut
from trninv.routing.graph import Graph, capacities
from trninv.routing.results import PoolAnswer, PoolRing, ReachedChip
from trninv.routing.wiring import Reader, domains_of
from trninv.units import Bandwidth, Capacity

_POOL = (
    "memory of the healthy chips within reach over scale-up links (no EFA); widest path and what a whole ring delivers "
    "at once, one direction"
)


def hops_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Links to the nearest source, for every node that can be reached."""
    layers = nx.bfs_layers(graph, [node for node in sources if node in graph])
    return {node: hops for hops, layer in enumerate(layers) for node in layer}


def widest_from(graph: Graph, sources: Collection[int]) -> dict[int, int]:
    """Capacity of the widest path from any source, for every other node that can be reached."""
    widest: dict[int, int] = {}
    for floor in sorted({carries for _, _, carries in capacities(graph)}, reverse=True):
        wide = Graph([(a, b) for a, b, carries in capacities(graph) if carries >= floor])
        for node in hops_from(wide, sources).keys() - set(sources):
            widest.setdefault(node, floor)
    return widest


def delivery(graph: Graph, ring: Collection[int], place: Collection[int]) -> int:
    """Bytes per second that a ring of chips can send into a place at once."""
    return minimum_cut(graph, ring, place)[0] if ring else 0


def memory(graph: Graph, chips: Iterable[int]) -> Capacity:
    return Capacity(sum(graph.nodes[chip]["memory"] for chip in chips))


def rings(graph: Graph, own: Sequence[int], max_hops: int | None, least: int) -> tuple[PoolRing, ...]:
    """The other chips by hops, at most ``max_hops`` away and with a widest path of ``least`` or more."""
    hops, widest = hops_from(graph, own), widest_from(graph, own)
    found: dict[int, list[int]] = {}
    for node in sorted(hops.keys() - set(own)):
        near = max_hops is None or hops[node] <= max_hops
        if graph.nodes[node]["kind"] == "chip" and near and widest[node] >= least:
            found.setdefault(hops[node], []).append(node)
    return tuple(_ring(graph, own, at, found[at], widest) for at in sorted(found))


def pool_answer(reader: Reader, of: str, max_hops: int | None, least: int) -> PoolAnswer:
    """Memory within reach of a place."""
    connection = reader.connection
    place = resolve(connection, of)
    chips = frozenset(connection.scalars(chips_of(place)))
    wiring = reader.load(domains_of(connection, chips))
    own = sorted(chips & wiring.nodes.keys())
    by_hops = rings(wiring.graph, own, max_hops, least)
    links = evidence.of_wiring(connection, wiring.nodes.values(), (of for _, _, of in wiring.edges()))
    return PoolAnswer(
        of=place.address,
        chips=len(own) + sum(ring.chips for ring in by_hops),
        own=memory(wiring.graph, own),
        remote=Capacity(sum(ring.memory for ring in by_hops)),
        by_hops=by_hops,
        definition=_POOL,
        facts=links + evidence.of_memory(connection, chips),
    )


def _ring(graph: Graph, own: Sequence[int], hops: int, chips: Sequence[int], widest: dict[int, int]) -> PoolRing:
    reached = (
        ReachedChip(graph.nodes[chip]["address"], Capacity(graph.nodes[chip]["memory"]), Bandwidth(widest[chip]))
        for chip in chips
    )
    return PoolRing(hops, tuple(reached), memory(graph, chips), Bandwidth(delivery(graph, chips, own)))
