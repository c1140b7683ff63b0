"""Bisection of a scope: of one domain's chips, or of a cluster on its quotient."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from trninv.errors import ScopeTooLargeError, WrongLevelError
from trninv.inventory.address import Place, chips_of, resolve
from trninv.routing import bisection, cluster, evidence
from trninv.routing.graph import Graph, cut_links
from trninv.routing.results import Balance, BisectionAnswer, Bounds
from trninv.routing.split import Split
from trninv.routing.wiring import MAX_DOMAINS, Reader, domains_in, domains_of
from trninv.settings import Settings
from trninv.units import Bandwidth

_BISECTION = (
    "least capacity, one direction, between halves of the scope's healthy chips (balance LIVE); only links among those "
    "chips, through switches and the EFA fabric between domains count"
)


def bisection_answer(reader: Reader, scope: str, chips: Sequence[str]) -> BisectionAnswer:
    """Bisection of a scope, or of the chips named within it."""
    connection = reader.connection
    place = resolve(connection, scope)
    if place.level == "cluster" and not chips:
        domains, members = domains_in(connection, place), None
    else:
        members = frozenset(connection.scalars(chips_of(place)))
        if chips:
            members = _named(connection, chips, members, place)
        domains = domains_of(connection, members)
    if len(domains) > 1:
        return of_cluster(reader, place, domains, members)
    if members is None:
        members = frozenset(connection.scalars(chips_of(place)))
    return of_domain(reader, place, domains, members)


def of_domain(reader: Reader, place: Place, domains: Sequence[int], members: frozenset[int]) -> BisectionAnswer:
    """The chips of one domain, halved."""
    wiring = reader.load(domains)
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
        facts=evidence.of_wiring(reader.connection, graph.nodes.values(), graph.edges.values()),
    )


def of_cluster(reader: Reader, place: Place, domains: Sequence[int], members: frozenset[int] | None) -> BisectionAnswer:
    """The chips of several domains of a cluster, halved; ``members`` None stands for all chips of the domains.

    Raises
    ------
    ScopeTooLargeError
        Chips of more than MAX_DOMAINS domains, but not the whole cluster.

    """
    if members is not None and len(domains) > MAX_DOMAINS:
        raise ScopeTooLargeError(f"chips of {len(domains)} domains: name at most {MAX_DOMAINS}, or the cluster")
    kinds = cluster.kinds_of(reader, place.cluster_id, domains, members)
    chips = sum(kind.island.size * len(kind.domains) for kind in kinds)
    lost = sum(kind.failed for kind in kinds)
    split = cluster.split(reader, kinds, chips // 2, chips - chips // 2)
    nominal = None
    if lost:
        half = (chips + lost) // 2
        fillers = cluster.bisect_kinds(kinds, max(half - lost, 0), min(chips + lost - half, chips))
        nominal = Bounds(Bandwidth(fillers.lower), Bandwidth(min(fillers.upper, split.upper)))
    inside, outside = split.sides(reader.connection)
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
        facts=evidence.of_links(reader.connection, models) + evidence.of_fabric(reader.connection, domain_models),
        truncated=split.cut_size > len(split.cut),
    )


def _named(connection: Connection, chips: Sequence[str], members: frozenset[int], scope: Place) -> frozenset[int]:
    named: set[int] = set()
    for address in chips:
        wanted = set(connection.scalars(chips_of(resolve(connection, address))))
        if not wanted <= members:
            raise WrongLevelError(f"{address} is not within {scope.address}")
        named |= wanted
    return frozenset(named)


def _bounds(nominal: Split, live: Split) -> Bounds:
    """Fillers even out the halves of any split of the healthy chips, so that one bounds the nominal from above too."""
    return Bounds(Bandwidth(nominal.lower), Bandwidth(min(nominal.upper, live.upper)))


def _isolated(graph: Graph, ends: Collection[int]) -> Graph:
    """The links among some chips, and through the switches that they are attached to."""
    switches = {near for end in ends for near in graph[end] if graph.nodes[near]["kind"] == "switch"}
    return Graph(graph.subgraph({*ends, *switches}))
