"""Answer the rates that the wiring allows collectives at most: on a domain's graph, or on a cluster's islands.

In a cluster the fabric does not block. So an island of s of the n chips sees all others as one network node of weight
n - s, and the cluster reaches the least rate that any island allows. For cut sets S without the fabric, the tightest S
lies in one island; for those with it, λ decides, the least exit capacity per chip (`trninv.solvers.quotient`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Annotated

from trninv import solvers
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, LinkRef, Rendered, RenderedTable
from trninv.routing.cluster_islands import DomainClass, are_apart, read_domain_classes
from trninv.routing.link_selection import DisconnectedReason
from trninv.routing.question import ROUTED_COST, Argument, question
from trninv.routing.scope import Scope, ScopeGraph
from trninv.routing.wiring import cut_links, link_ref
from trninv.routing.wiring_cache import SnapshotReader
from trninv.units import Bandwidth, pluralize

if TYPE_CHECKING:
    from trninv.solvers.collectives import AllGatherRate
    from trninv.solvers.graph import Graph
    from trninv.solvers.islands import Island

MAX_CLASSES_SOLVED = 12
"""Classes of islands that are solved exactly; the others only contribute bounds."""

_DEFINITION = (
    "upper limits that the wiring sets on collectives of the scope's healthy chips, bytes per second of a chip "
    "in one direction; not predictions of a library"
)
_ALL_TO_ALL_METHOD = "uniform concurrent flow: packed trees from below, prices of links from above"
_ALL_GATHER_METHOD = "the least capacity into a set per chip outside it, by flows"


@dataclass(frozen=True, slots=True)
class CollectiveLimit:
    """Limit of the wiring on a collective, for each chip, one direction."""

    lower: Annotated[Bandwidth, "Proven lower bound: this rate can be reached."]
    upper: Annotated[Bandwidth, "Proven upper bound."]
    method: Annotated[str, "Why the bounds hold."]
    links: Annotated[tuple[LinkRef, ...], "Links that limit the rate."]

    @property
    def exact(self) -> bool:
        """Whether the bounds agree to nine digits."""
        return (self.upper - self.lower) * 10**9 <= self.upper

    def __str__(self) -> str:
        if self.exact:
            return f"{self.upper / 10**9:,.6g} GB/s"
        return f"{self.lower / 10**9:,.6g} to {self.upper / 10**9:,.6g} GB/s"


_DISCONNECTED = CollectiveLimit(Bandwidth(0), Bandwidth(0), "some domains are not connected to the others", ())


@dataclass(frozen=True, kw_only=True)
class CollectivesAnswer(Answer):
    """Limits of the wiring on collectives; not predictions of a library. Bus bandwidth is each chip's share of the data
    times the number of other chips, over the time.

    Bus bandwidth is each chip's part of the data times the number of other chips, over the time.
    """

    scope: Annotated[AddressText, "The scope."]
    chips: Annotated[int, "Its healthy chips."]
    all_to_all: Annotated[CollectiveLimit, "Rate at which each chip sends to all the others together."]
    all_gather: Annotated[CollectiveLimit, "Bus bandwidth of an all-gather."]
    reduce_scatter: Annotated[CollectiveLimit, "Bus bandwidth of a reduce-scatter."]
    all_reduce: Annotated[CollectiveLimit, "Bus bandwidth of a reduce-scatter followed by an all-gather."]
    all_reduce_algorithm: Annotated[CollectiveLimit, "Data size over the time: bus bandwidth · n / (2(n - 1))."]
    ring_all_reduce: Annotated[
        CollectiveLimit | None,
        "Bus bandwidth on disjoint rings through all chips, both directions together; null if none was found.",
    ]

    reason: DisconnectedReason

    def render(self) -> Rendered:
        yield f"{self.scope}: {pluralize(self.chips, 'chip')}, each at most"
        limits = {
            "all-to-all, sent": self.all_to_all,
            "all-gather, bus": self.all_gather,
            "reduce-scatter, bus": self.reduce_scatter,
            "all-reduce, bus": self.all_reduce,
            "all-reduce, data / time": self.all_reduce_algorithm,
            "all-reduce on rings, bus": self.ring_all_reduce,
        }
        if self.reason:
            yield self.reason
        yield RenderedTable(
            ["collective", "limit", "why"], ([name, limit, limit.method] for name, limit in limits.items() if limit)
        )

    def render_comparison(self) -> Rendered:
        if baseline := self.baseline:
            yield f"baseline: all-to-all {baseline.all_to_all}, all-gather {baseline.all_gather}"


@question(
    cost=ROUTED_COST,
    examples=(
        "collectives u-trn2x64",
        "collectives u-trn2x64 --down u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c1",
        "collectives u-trn2x64 --chips u-trn2x64/d0/s0 --chips u-trn2x64/d0/s1/c0",
    ),
)
def collectives(
    reader: SnapshotReader,
    scope: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    chips: Annotated[tuple[str, ...], Argument("Only these chips of the scope.", metavar="ADDRESS")] = (),
) -> CollectivesAnswer:
    """Find the limits of the wiring on collectives: all-to-all, all-gather, reduce-scatter, all-reduce."""
    resolved_scope = Scope.resolve(reader, scope, chips)
    if len(resolved_scope.domains) == 1:
        scope_graph = resolved_scope.graph(reader, "this")
        graphs, count = [scope_graph.graph], len(scope_graph.endpoints)
        all_to_all, gather_limit, ring_limit, reduce_bound = _limits_of_domain(scope_graph)
    else:
        classes = [
            domain_class
            for domain_class in read_domain_classes(reader, resolved_scope)
            if domain_class.island.chip_count
        ]
        graphs, count = (
            [domain_class.island.graph for domain_class in classes],
            sum(domain_class.island.chip_count * len(domain_class.domains) for domain_class in classes),
        )
        domains = sum(len(domain_class.domains) for domain_class in classes)
        if domains > 1 and are_apart(reader, resolved_scope, classes):
            all_to_all, gather_limit, ring_limit, reduce_bound = _DISCONNECTED, _DISCONNECTED, None, Fraction(0)
        elif domains > 1:
            (all_to_all, gather_limit, reduce_bound), ring_limit = _limits_of_cluster(classes, count), None
        else:  # at most one domain has healthy chips
            all_to_all, gather_limit, ring_limit, reduce_bound = _limits_of_domain(_only_live_domain(classes))
    nodes = [attributes for graph in graphs for attributes in graph.nodes.values()]
    links = (attributes for graph in graphs for attributes in graph.edges.values())
    reduce_limit, algorithm_limit = _all_reduce_limits(gather_limit, reduce_bound, count)
    return CollectivesAnswer(
        scope=resolved_scope.place.address,
        chips=count,
        all_to_all=all_to_all,
        all_gather=gather_limit,
        reduce_scatter=gather_limit,
        all_reduce=reduce_limit,
        all_reduce_algorithm=algorithm_limit,
        ring_all_reduce=ring_limit,
        reason=resolved_scope.via.disconnected_reason("all of them") if count > 1 and not all_to_all.upper else None,
        definition=_DEFINITION + resolved_scope.via.definition_suffix,
        via=resolved_scope.via,
        facts=evidence.cite_wiring(reader, nodes, links),
    )


def _only_live_domain(classes: Sequence[DomainClass]) -> ScopeGraph:
    """Return the graph of the only domain with healthy chips, including its exits; empty if there is none."""
    if not classes:
        return ScopeGraph(solvers.graph.Graph(), [], 0)
    return ScopeGraph(classes[0].island.graph, list(classes[0].island.chips), 0)


def _all_reduce_limits(
    gather_limit: CollectiveLimit, reduce_bound: Fraction, chips: int
) -> tuple[CollectiveLimit, CollectiveLimit]:
    """Return the limits on an all-reduce, as bus bandwidth and as data over time.

    A reduce-scatter and an all-gather reach the lower bound; ``reduce_bound`` limits the rate from above.
    """
    if chips < 2:  # noqa: PLR2004 # a single chip reduces nothing
        return gather_limit, gather_limit
    bus = Fraction(2 * (chips - 1), chips)
    upper = max(reduce_bound * bus, Fraction(gather_limit.lower))
    lower_reason = "a reduce-scatter and an all-gather reach the lower bound"
    upper_reason = (
        "the whole result crosses every cut in both directions, and all chips together send at least 2(n - 1) "
        "times the data"
    )
    reduce_limit = CollectiveLimit(
        gather_limit.lower, Bandwidth(ceil(upper)), f"{lower_reason}; {upper_reason}", gather_limit.links
    )
    algorithm_limit = CollectiveLimit(
        Bandwidth(floor(gather_limit.lower / bus)),
        Bandwidth(ceil(upper / bus)),
        f"bus bandwidth × {chips} / (2 × {chips - 1})",
        gather_limit.links,
    )
    return reduce_limit, algorithm_limit


def _port_capacities(graph: "Graph", chips: Sequence[int]) -> list[int]:
    """Return the capacity of each chip's links together."""
    return [solvers.graph.cut_capacity(graph, {chip}) for chip in chips]


def all_gather_limit(scope_graph: ScopeGraph) -> CollectiveLimit:
    """Return the limit on an all-gather in a scope within one domain."""
    graph, endpoints = scope_graph.graph, scope_graph.endpoints
    return _gather_limit(
        solvers.collectives.all_gather_rate(graph, dict.fromkeys(endpoints, 1)), len(endpoints) - 1, graph
    )


def _limits_of_domain(
    scope_graph: ScopeGraph,
) -> tuple[CollectiveLimit, CollectiveLimit, CollectiveLimit | None, Fraction]:
    graph, endpoints = scope_graph.graph, scope_graph.endpoints
    weights = dict.fromkeys(endpoints, 1)
    flow = solvers.collectives.max_concurrent_flow(graph, weights)
    others = len(endpoints) - 1
    bottleneck = tuple(link_ref(graph.nodes, graph.adj, a, b) for a, b in flow.bottleneck)
    all_to_all = CollectiveLimit(
        Bandwidth(floor(flow.lower * others)), Bandwidth(ceil(flow.upper * others)), _ALL_TO_ALL_METHOD, bottleneck
    )
    gather_limit = all_gather_limit(scope_graph)
    reduce_bound = Fraction(0)
    if others > 0:
        min_flow = min(solvers.max_flow.minimum_cut(graph, endpoints[:1], [end])[0] for end in endpoints[1:])
        reduce_bound = min(Fraction(min_flow), Fraction(sum(_port_capacities(graph, endpoints)), 2 * others))
    return all_to_all, gather_limit, _ring_limit(graph, endpoints, gather_limit), reduce_bound


def _gather_limit(rate: "AllGatherRate | None", others: int, graph: "Graph") -> CollectiveLimit:
    if rate is None:
        return CollectiveLimit(Bandwidth(0), Bandwidth(0), "fewer than two chips", ())
    total = rate.rate * others
    chip_count = sum(graph.nodes[node]["kind"] == "chip" for node in rate.bottleneck)
    method = f"{_ALL_GATHER_METHOD}: a set of {chip_count} chips receives no more"
    return CollectiveLimit(Bandwidth(floor(total)), Bandwidth(ceil(total)), method, cut_links(graph, rate.bottleneck))


def _ring_limit(graph: "Graph", endpoints: Sequence[int], limit: CollectiveLimit) -> CollectiveLimit | None:
    if len(graph) != len(endpoints) or not (cycles := solvers.rings.edge_disjoint_rings(graph, endpoints)):
        return None
    upper = min(limit.upper, Bandwidth(solvers.rings.max_ring_bandwidth(graph, endpoints)))
    method = (
        f"disjoint rings through all chips: {len(cycles)} found; the number of sufficiently wide links at each "
        "chip allows no more"
    )
    return CollectiveLimit(Bandwidth(solvers.rings.ring_bandwidth(graph, cycles)), upper, method, ())


@dataclass(frozen=True, slots=True)
class _RateBounds:
    """Bounds on a rate per pair of chips, the links that limit it, and the number of trees that the solver packed."""

    lower: Fraction
    upper: Fraction
    links: tuple[LinkRef, ...]
    tree_count: int = 0


def _limits_of_cluster(classes: Sequence[DomainClass], chips: int) -> tuple[CollectiveLimit, CollectiveLimit, Fraction]:
    islands = sorted((domain_class.island for domain_class in classes), key=_min_port_capacity)
    all_to_all = _all_to_all_rates(islands, chips)
    all_gathers = [
        _all_gather_rate(island, chips, solve=index < MAX_CLASSES_SOLVED) for index, island in enumerate(islands)
    ]
    fabric = "; the fabric does not block, so one domain decides"
    send_capacity = sum(
        sum(_port_capacities(domain_class.island.graph, domain_class.island.chips)) * len(domain_class.domains)
        for domain_class in classes
    )
    min_capacity = min(min(_min_port_capacity(island), island.exit_capacity) for island in islands)
    reduce_bound = min(Fraction(min_capacity), Fraction(send_capacity, 2 * (chips - 1)))
    return (
        _narrowest_limit(all_to_all, chips - 1, _ALL_TO_ALL_METHOD + fabric),
        _narrowest_limit(all_gathers, chips - 1, _ALL_GATHER_METHOD + fabric),
        reduce_bound,
    )


def _min_port_capacity(island: "Island") -> int:
    return min(_port_capacities(island.graph, island.chips))


def _narrowest_limit(bounds: Sequence[_RateBounds], others: int, method: str) -> CollectiveLimit:
    narrowest = min(bounds, key=lambda bound: bound.upper)
    lower = min(bound.lower for bound in bounds)
    return CollectiveLimit(
        Bandwidth(floor(lower * others)), Bandwidth(ceil(narrowest.upper * others)), method, narrowest.links
    )


def _all_to_all_rates(islands: Sequence["Island"], chips: int) -> list[_RateBounds]:
    """Bound the all-to-all rate θ of each island, those with the narrowest exit first.

    The rate of an island need not be known above the least upper bound so far.
    """
    rates, trees_left = list[_RateBounds](), solvers.collectives.MAX_TREES
    for index, island in enumerate(sorted(islands, key=lambda island: _exit_bound(island, chips))):
        max_rate = min((bounds.upper for bounds in rates), default=_exit_bound(island, chips))
        rates.append(_all_to_all_rate(island, chips, max_rate, trees_left if index < MAX_CLASSES_SOLVED else 0))
        trees_left = max(trees_left - rates[-1].tree_count, 1)
    return rates


def _exit_bound(island: "Island", chips: int) -> Fraction:
    """Return the rate that an island's exit allows each pair of an inner and an outer chip."""
    return Fraction(island.exit_capacity, island.chip_count * (chips - island.chip_count))


def _all_to_all_rate(island: "Island", chips: int, max_rate: Fraction, max_trees: int) -> _RateBounds:
    """Bound the all-to-all rate θ of an island, up to ``max_rate``.

    If every chip has an exit of its own of equal capacity, the exits decide. Without trees (``max_trees`` is 0) the
    lower bound is 0.
    """
    outside_weight, bound = chips - island.chip_count, _exit_bound(island, chips)
    links = () if island.network_node is None else cut_links(island.graph, {island.network_node})
    if not _exit_ratio(island):
        return _RateBounds(Fraction(0), bound, links)
    inner_graph = solvers.islands.scale_up_graph(island.graph)
    min_link = min((capacity for _, _, capacity in solvers.graph.weighted_edges(inner_graph)), default=0)
    inner_bound = (
        Fraction(min_link, island.chip_count**2)
        if len(solvers.distances.hops_from(inner_graph, island.chips[:1])) == len(inner_graph)
        else Fraction(0)
    )
    private_exits = island.private_exits
    if private_exits and min(private_exits) == max(private_exits) and (bound <= inner_bound or island.chip_count == 1):
        return _RateBounds(bound, bound, links)  # shortest paths of all inner pairs saturate no link first
    if not max_trees or island.network_node is None:
        return _RateBounds(Fraction(0), bound, links)
    weights, upper = dict.fromkeys(island.chips, 1) | {island.network_node: outside_weight}, min(bound, max_rate)
    flow = solvers.collectives.max_concurrent_flow(island.graph, weights, float(upper), max_trees)
    bottleneck = tuple(link_ref(island.graph.nodes, island.graph.adj, a, b) for a, b in flow.bottleneck)
    return _RateBounds(Fraction(flow.lower), min(Fraction(flow.upper), upper), bottleneck or links, flow.tree_count)


def _all_gather_rate(island: "Island", chips: int, *, solve: bool) -> _RateBounds:
    """Bound the all-gather rate of an island, over cut sets within it and over those with the fabric."""
    graph, network_node = island.graph, island.network_node
    if network_node is None or not island.exit_capacity:
        return _RateBounds(Fraction(0), Fraction(0), ())
    if solve:
        rate = solvers.collectives.all_gather_rate(
            graph, dict.fromkeys(island.chips, 1) | {network_node: chips - island.chip_count}
        )
    else:
        port = min(island.chips, key=lambda chip: solvers.graph.cut_capacity(graph, {chip}))
        rate = solvers.collectives.AllGatherRate(
            Fraction(solvers.graph.cut_capacity(graph, {port}), chips - 1), frozenset([port])
        )
    if rate is None:
        raise AssertionError("an island with an exit has a chip")
    ratio = _exit_ratio(island)
    exit_bound = ratio / (chips - 1)  # a set of a chips has exit capacity λ·a or more, for at most n - 1 outer chips
    lower = min(rate.rate, ratio) if solve and ratio else exit_bound
    return _RateBounds(lower, min(rate.rate, ratio or rate.rate), cut_links(graph, rate.bottleneck))


def _exit_ratio(island: "Island") -> Fraction:
    """Return the least exit capacity per chip of any set of an island's chips; 0 if the fabric above may block."""
    return Fraction(0) if island.uplink_degraded else island.exit_ratio
