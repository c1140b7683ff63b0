"""Bisection of a scope: of one domain's chips, or of a cluster on its quotient."""

from collections.abc import Sequence

from trninv.errors import ScopeTooLargeError
from trninv.routing import bisection, cluster, evidence
from trninv.routing.graph import cut_links
from trninv.routing.results import Balance, BisectionAnswer, Bounds
from trninv.routing.scope import Scope
from trninv.routing.split import Split
from trninv.routing.wiring import MAX_DOMAINS, Reader
from trninv.settings import Settings
from trninv.units import Bandwidth

_BISECTION = (
    "least capacity, one direction, between halves of the scope's healthy chips (balance LIVE); what collectives reach "
    "may be less (collectives); "
)
_ISOLATED = "only links among those chips, through switches and the EFA fabric between domains count"
_TRANSIT = "other healthy chips of their domains may forward for them, and stand on whichever side is cheaper"


def bisection_answer(reader: Reader, scope: str, chips: Sequence[str], *, transit: bool) -> BisectionAnswer:
    """Bisection of a scope, or of the chips named within it."""
    found = Scope.of(reader, scope, chips, transit=transit)
    return of_cluster(reader, found) if len(found.domains) > 1 else of_domain(reader, found)


def of_domain(reader: Reader, scope: Scope) -> BisectionAnswer:
    """The chips of one domain, halved."""
    inside = scope.inside(reader, "this bisection")
    graph, ends, lost = inside.graph, inside.ends, inside.lost
    seconds = Settings.load().bisection_seconds / (2 if lost else 1)
    split = bisection.bisect(graph, ends, seconds=seconds)
    nominal = bisection.bisect(graph, ends, fillers=lost, seconds=seconds) if lost else None
    chips_a = tuple(graph.nodes[end]["address"] for end in ends if end in split.side)
    chips_b = tuple(graph.nodes[end]["address"] for end in ends if end not in split.side)
    cut = cut_links(graph, split.side)
    return BisectionAnswer(
        of=scope.place.address,
        lower=Bandwidth(split.lower),
        upper=Bandwidth(split.upper),
        method=split.method,
        balance=Balance.LIVE,
        side_a=len(chips_a),
        side_b=len(chips_b),
        chips_a=chips_a,
        chips_b=chips_b,
        cut=cut,
        cut_size=len(cut),
        nominal=_bounds(nominal, split) if nominal else None,
        definition=_BISECTION + (_TRANSIT if scope.transit else _ISOLATED),
        facts=evidence.of_wiring(reader.connection, graph.nodes.values(), graph.edges.values()),
    )


def of_cluster(reader: Reader, scope: Scope) -> BisectionAnswer:
    """The chips of several domains of a cluster, halved.

    Raises
    ------
    ScopeTooLargeError
        Chips of more than MAX_DOMAINS domains, but not the whole cluster.

    """
    if scope.members is not None and len(scope.domains) > MAX_DOMAINS:
        raise ScopeTooLargeError(f"chips of {len(scope.domains)} domains: name at most {MAX_DOMAINS}, or the cluster")
    kinds = cluster.kinds_of(reader, scope)
    chips = sum(kind.island.size * len(kind.domains) for kind in kinds)
    lost = sum(kind.failed * len(kind.domains) for kind in kinds)
    split = cluster.split(reader, scope, kinds, chips // 2, chips - chips // 2)
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
        of=scope.place.address,
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
        definition=_BISECTION + (_TRANSIT if scope.transit else _ISOLATED),
        facts=evidence.of_links(reader.connection, models) + evidence.of_fabric(reader.connection, domain_models),
        truncated=split.cut_size > len(split.cut),
    )


def _bounds(nominal: Split, live: Split) -> Bounds:
    """Fillers even out the halves of any split of the healthy chips, so that one bounds the nominal from above too."""
    return Bounds(Bandwidth(nominal.lower), Bandwidth(min(nominal.upper, live.upper)))
