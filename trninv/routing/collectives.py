"""The limits of `trninv.routing.collective` for a scope: of a domain on its wiring, of a cluster island by island.

In a cluster the fabric does not block, so an island sees all the others as one network node of their weight n - s, and
the whole fleet reaches the least that any island does: for sets S that the fabric is not in, the best S lies in one
island; for sets that it is in, what matters is λ, the least exit capacity a chip (`trninv.routing.quotient`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import networkx as nx

from trninv.errors import ScopeTooLargeError
from trninv.routing import evidence
from trninv.routing.cluster import Kind, kinds_of
from trninv.routing.collective import Gather, concurrent, gather, ring_rate, rings
from trninv.routing.cuttree import cut_tree, worst_pair
from trninv.routing.graph import Graph, capacities, cut_links
from trninv.routing.quotient import Island, own_exits, without_exits
from trninv.routing.results import LinkRef
from trninv.routing.scope import Inside, Scope
from trninv.routing.split import capacity
from trninv.routing.surveys import CollectivesAnswer, Limit
from trninv.routing.wiring import Reader, link_ref
from trninv.units import Bandwidth

MAX_KINDS = 12
"""Kinds of damaged islands that are solved one by one; of more, only bounds are given."""

_COLLECTIVES = (
    "upper limits that the wiring sets to collectives of the scope's healthy chips, bytes per second of a chip in one "
    "direction; not predictions of a library"
)
_ALL_TO_ALL = "uniform concurrent flow: packed trees from below, prices of links from above"
_GATHER = "the least capacity into a set over the chips outside of it, by flows"


def collectives_answer(reader: Reader, of: str) -> CollectivesAnswer:
    """Every limit of a scope.

    Raises
    ------
    ScopeTooLargeError
        Chips of several domains, but not a whole cluster.

    """
    scope = Scope.of(reader, of)
    if len(scope.domains) == 1:
        inside = scope.inside(reader, "this")
        graphs, chips = [inside.graph], len(inside.ends)
        to_all, gathered, ring, most = _of_domain(inside)
    else:
        if scope.members is not None:
            raise ScopeTooLargeError(f"{of} has chips of several domains: name a domain or less, or the cluster")
        kinds = [kind for kind in kinds_of(reader, scope) if kind.island.size]
        graphs, chips = [kind.island.graph for kind in kinds], sum(k.island.size * len(k.domains) for k in kinds)
        if sum(len(kind.domains) for kind in kinds) > 1:
            (to_all, gathered, most), ring = _of_cluster(kinds, chips), None
        else:  # what is left lies in one domain, or nothing is
            graph, ends = (without_exits(kinds[0].island.graph), kinds[0].island.chips) if kinds else (Graph(), ())
            to_all, gathered, ring, most = _of_domain(Inside(graph, list(ends), 0))
    nodes = [of for graph in graphs for of in graph.nodes.values()]
    links = (of for graph in graphs for of in graph.edges.values())
    reduced, algorithm = _all_reduce(gathered, most, chips)
    return CollectivesAnswer(
        of=scope.place.address,
        chips=chips,
        all_to_all=to_all,
        all_gather=gathered,
        reduce_scatter=gathered,
        all_reduce=reduced,
        all_reduce_algorithm=algorithm,
        ring_all_reduce=ring,
        definition=_COLLECTIVES,
        facts=evidence.of_wiring(reader.connection, nodes, links),
    )


def _all_reduce(gathered: Limit, most: Fraction, chips: int) -> tuple[Limit, Limit]:
    """Bus bandwidth, and data over time: from below a reduce-scatter and an all-gather, from above ``most``."""
    if chips < 2:  # noqa: PLR2004 # nobody to reduce with
        return gathered, gathered
    bus = Fraction(2 * (chips - 1), chips)
    upper = max(most * bus, Fraction(gathered.lower))
    reached = "a reduce-scatter and an all-gather reach the lower bound"
    over = "every cut is crossed by the whole result both ways, and all chips send 2(n - 1) times the data at least"
    reduced = Limit(gathered.lower, Bandwidth(ceil(upper)), f"{reached}; {over}", gathered.links)
    data = Limit(
        Bandwidth(floor(gathered.lower / bus)),
        Bandwidth(ceil(upper / bus)),
        f"bus bandwidth × {chips} / (2 × {chips - 1})",
        gathered.links,
    )
    return reduced, data


def _ports(graph: Graph, chips: Sequence[int]) -> list[int]:
    """What each chip can send."""
    return [capacity(graph, {chip}) for chip in chips]


def _of_domain(inside: Inside) -> tuple[Limit, Limit, Limit | None, Fraction]:
    graph, ends = inside.graph, inside.ends
    weights = dict.fromkeys(ends, 1)
    theta, best = concurrent(graph, weights), gather(graph, weights)
    others = len(ends) - 1
    tight = tuple(link_ref(graph.nodes, graph.adj, a, b) for a, b in theta.tight)
    to_all = Limit(Bandwidth(floor(theta.lower * others)), Bandwidth(ceil(theta.upper * others)), _ALL_TO_ALL, tight)
    gathered = _gathered(best, others, graph)
    most = Fraction(0)
    if others > 0:
        worst, _ = worst_pair(cut_tree(graph), set(ends))
        most = min(Fraction(worst), Fraction(sum(_ports(graph, ends)), 2 * others))
    return to_all, gathered, _ring(graph, ends, gathered), most


def _gathered(best: Gather | None, others: int, graph: Graph) -> Limit:
    if best is None:
        return Limit(Bandwidth(0), Bandwidth(0), "fewer than two chips", ())
    rate = best.rate * others
    kept = sum(graph.nodes[node]["kind"] == "chip" for node in best.into)
    method = f"{_GATHER}: a set of {kept} chips takes no more"
    return Limit(Bandwidth(floor(rate)), Bandwidth(ceil(rate)), method, cut_links(graph, best.into))


def _ring(graph: Graph, ends: Sequence[int], most: Limit) -> Limit | None:
    if len(graph) != len(ends) or not (cycles := rings(graph, ends)):
        return None
    method = f"disjoint rings through all chips: {len(cycles)} found; no more than all-reduce's limit"
    return Limit(Bandwidth(ring_rate(graph, cycles)), most.upper, method, ())


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bounds on a rate for each pair, and the links that allow no more."""

    lower: Fraction
    upper: Fraction
    links: tuple[LinkRef, ...]


def _of_cluster(kinds: Sequence[Kind], chips: int) -> tuple[Limit, Limit, Fraction]:
    islands = sorted((kind.island for kind in kinds), key=_least_port)
    to_all = [_to_all(island, chips, solve=at < MAX_KINDS) for at, island in enumerate(islands)]
    gathers = [_gather(island, chips, solve=at < MAX_KINDS) for at, island in enumerate(islands)]
    fabric = "; the fabric does not block, and one island decides"
    sent = sum(sum(_ports(kind.island.graph, kind.island.chips)) * len(kind.domains) for kind in kinds)
    narrowest = min(min(_least_port(island), island.exit) for island in islands)
    most = min(Fraction(narrowest), Fraction(sent, 2 * (chips - 1)))
    return _least(to_all, chips - 1, _ALL_TO_ALL + fabric), _least(gathers, chips - 1, _GATHER + fabric), most


def _least_port(island: Island) -> int:
    return min(_ports(island.graph, island.chips))


def _least(bounds: Sequence[_Bounds], others: int, method: str) -> Limit:
    least = min(bounds, key=lambda bound: bound.upper)
    lower = min(bound.lower for bound in bounds)
    return Limit(Bandwidth(floor(lower * others)), Bandwidth(ceil(least.upper * others)), method, least.links)


def _to_all(island: Island, chips: int, *, solve: bool) -> _Bounds:
    """θ as an island allows it; where each chip has an exit of its own, of equal size, that decides."""
    outside = chips - island.size
    bound = Fraction(island.exit, island.size * outside)
    links = () if island.above is None else cut_links(island.graph, {island.above})
    if not island.ratio:  # nothing leads out, or what is above is damaged
        return _Bounds(Fraction(0), bound, links)
    alone = without_exits(island.graph)
    narrowest = min((carries for _, _, carries in capacities(alone)), default=0)
    inner = Fraction(narrowest, island.size**2) if nx.is_connected(alone) else Fraction(0)
    own = None if island.above is None else own_exits(island.graph, island.chips, island.above)
    if own and min(own) == max(own) and (bound <= inner or island.size == 1):
        return _Bounds(bound, bound, links)  # within, the shortest paths of all pairs fill no link before
    if not solve or island.above is None:
        return _Bounds(Fraction(0), bound, links)
    found = concurrent(island.graph, dict.fromkeys(island.chips, 1) | {island.above: outside})
    tight = tuple(link_ref(island.graph.nodes, island.graph.adj, a, b) for a, b in found.tight)
    return _Bounds(Fraction(found.lower), min(Fraction(found.upper), bound), tight)


def _gather(island: Island, chips: int, *, solve: bool) -> _Bounds:
    """X as an island allows it: over sets that lie in it, and over those that the fabric is in."""
    graph, above = island.graph, island.above
    if above is None or not island.exit:
        return _Bounds(Fraction(0), Fraction(0), ())
    if solve:
        best = gather(graph, dict.fromkeys(island.chips, 1) | {above: chips - island.size})
    else:
        port = min(island.chips, key=lambda chip: capacity(graph, {chip}))
        best = Gather(Fraction(capacity(graph, {port}), chips - 1), frozenset([port]))
    if best is None:
        raise AssertionError("an island with an exit has a chip")
    least = island.ratio / (chips - 1)  # a set of a chips lets in λ·a at least, for less than all others
    sure = min(best.rate, island.ratio) if solve and island.ratio else least
    return _Bounds(sure, min(best.rate, island.ratio or best.rate), cut_links(graph, best.into))
