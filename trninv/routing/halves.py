"""Bisection of a scope: of one domain's chips, or of a cluster on its quotient."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from trninv.errors import ScopeTooLargeError
from trninv.inventory.address import Place
from trninv.routing import bisection, cluster, evidence
from trninv.routing.graph import Graph, cut_links
from trninv.routing.results import Balance, BisectionAnswer, Bounds
from trninv.routing.split import Split
from trninv.routing.wiring import MAX_DOMAINS, load
from trninv.settings import Settings
from trninv.units import Bandwidth

_BISECTION = (
    "least capacity, one direction, between halves of the scope's healthy chips (balance LIVE); only links among those "
    "chips, through switches and the EFA fabric between domains count"
)


def of_domain(connection: Connection, place: Place, domains: Sequence[int], members: frozenset[int]) -> BisectionAnswer:
    """The chips of one domain, halved."""
    wiring = load(connection, domains)
    ends = sorted(node for node in members if node in wiring.graph)
    graph = _isolated(wiring.graph, ends)
    lost = len(members & wiring.failed)
    seconds = Settings.load().bisection_seconds / (2 if lost else 1)
    split = bisection.bisect(graph, ends, seconds=seconds)
    nominal = bisection.bisect(graph, ends, fillers=lost, seconds=seconds) if lost else None
    inside = [graph.nodes[end]["address"] for end in ends if end in split.side]
    outside = [graph.nodes[end]["address"] for end in ends if end not in split.side]
    cut = cut_links(graph, split.side)
    return BisectionAnswer(
        of=place.address,
        lower=Bandwidth(split.lower),
        upper=Bandwidth(split.upper),
        method=split.method,
        balance=Balance.LIVE,
        side_a=len(inside),
        side_b=len(outside),
        chips_a=tuple(inside),
        chips_b=tuple(outside),
        cut=cut,
        cut_size=len(cut),
        nominal=_bounds(nominal, split) if nominal else None,
        definition=_BISECTION,
        facts=evidence.of_wiring(connection, graph.nodes.values(), graph.edges.values()),
    )


def of_cluster(
    connection: Connection, place: Place, domains: Sequence[int], members: frozenset[int] | None
) -> BisectionAnswer:
    """The chips of several domains of a cluster, halved; ``members`` None stands for all chips of the domains.

    Raises
    ------
    ScopeTooLargeError
        Chips of more than MAX_DOMAINS domains, but not the whole cluster.

    """
    if members is not None and len(domains) > MAX_DOMAINS:
        raise ScopeTooLargeError(f"chips of {len(domains)} domains: name at most {MAX_DOMAINS}, or the cluster")
    kinds = cluster.kinds_of(connection, place.cluster_id, domains, members)
    chips = sum(kind.island.size * len(kind.domains) for kind in kinds)
    lost = sum(kind.failed for kind in kinds)
    split = cluster.split(connection, kinds, chips // 2, chips - chips // 2)
    nominal = None
    if lost:
        half = (chips + lost) // 2
        fillers = cluster.bisect_kinds(kinds, max(half - lost, 0), min(chips + lost - half, chips))
        nominal = Bounds(Bandwidth(fillers.lower), Bandwidth(min(fillers.upper, split.upper)))
    inside, outside = split.sides(connection)
    graphs = [kind.island.graph for kind in kinds]
    models = {edge["model"] for graph in graphs for _, _, edge in graph.edges(data=True)}
    domain_models = {of["domain"] for graph in graphs for _, of in graph.nodes(data=True) if of["domain"]}
    return BisectionAnswer(
        of=place.address,
        lower=Bandwidth(split.lower),
        upper=Bandwidth(split.upper),
        method=split.method,
        balance=Balance.LIVE,
        side_a=split.size,
        side_b=chips - split.size,
        chips_a=inside,
        chips_b=outside,
        cut=split.cut,
        cut_size=split.cut_size,
        nominal=nominal,
        definition=_BISECTION,
        facts=evidence.of_links(connection, models) + evidence.of_fabric(connection, domain_models),
        truncated=split.cut_size > len(split.cut),
    )


def _bounds(nominal: Split, live: Split) -> Bounds:
    """Fillers even out the halves of any split of the healthy chips, so that one bounds the nominal from above too."""
    return Bounds(Bandwidth(nominal.lower), Bandwidth(min(nominal.upper, live.upper)))


def _isolated(graph: Graph, ends: Collection[int]) -> Graph:
    """The links among some chips, and through the switches that they are attached to."""
    switches = {near for end in ends for near in graph[end] if graph.nodes[near]["kind"] == "switch"}
    return Graph(graph.subgraph({*ends, *switches}))
