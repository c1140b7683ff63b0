"""Answer how fast collectives can be on the wiring: all-to-all, all-gather, reduce-scatter, all-reduce.

Within a domain the solvers work on its graph. A cluster is solved one island at a time, because its fabric does not
limit traffic; an island is a domain with its exits, which are its links to the fabric. An island with s of the
cluster's n chips sees all other chips as one network node of weight n - s, and the cluster reaches the least rate that
any island allows. An all-gather is limited by the set S of nodes that receives the least capacity per chip outside S.
If S does not include the fabric, the tightest S lies in one island. If S includes the fabric, the limit is λ, the least
exit capacity per chip of any set of an island's chips (`trninv.solvers.quotient`).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import TYPE_CHECKING, Annotated, NamedTuple

from trninv import solvers
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, LinkRef
from trninv.routing.cluster_islands import (
    DomainClass,
    has_disconnected_domains,
    name_links,
    read_domain_classes,
    read_island,
)
from trninv.routing.link_selection import DisconnectedReason
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.scope import Scope, ScopeGraph
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import cut_links, link_ref
from trninv.units import Bandwidth, pluralize

if TYPE_CHECKING:
    from trninv.solvers.collectives import AllGatherRate
    from trninv.solvers.graph import Graph
    from trninv.solvers.islands import Island

MAX_CLASSES_SOLVED = 12
"""Number of classes of equal domains that are solved exactly; the others only contribute bounds."""

_DEFINITION = (
    "upper limits that the wiring sets on collectives of the scope's healthy chips, bytes per second of a chip "
    "in one direction; not predictions of a library"
)
_ALL_TO_ALL_METHOD = "uniform concurrent flow: a routing attains the lower bound, link prices prove the upper one"
_ALL_GATHER_METHOD = (
    "n - 1 times the least ratio, over all sets of chips, of the capacity into a set to the number of chips outside"
)


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


class _ScopeLimits(NamedTuple):
    """The limits on a scope's collectives.

    ``reduce_bound`` is an upper bound on the data of an all-reduce over its time, in bytes per second.
    """

    all_to_all: CollectiveLimit
    all_gather: CollectiveLimit
    ring_all_reduce: CollectiveLimit | None
    reduce_bound: Fraction


@dataclass(frozen=True, kw_only=True)
class CollectivesAnswer(Answer):
    """Limits of the wiring on collectives; not predictions of a library. Bus bandwidth is each chip's share of the data
    times the number of other chips, over the time.
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
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    chips: Annotated[tuple[str, ...], Argument("Only these chips of the scope.", metavar="ADDRESS")] = (),
) -> CollectivesAnswer:
    """Find the limits of the wiring on collectives: all-to-all, all-gather, reduce-scatter, all-reduce."""
    resolved_scope = Scope.resolve(snapshot, scope, chips)
    if len(resolved_scope.domains) == 1:
        scope_graph = resolved_scope.graph(snapshot, "this")
        graphs, count = [scope_graph.graph], len(scope_graph.endpoints)
        limits = _limits_of_domain(scope_graph)
    else:
        classes = [
            domain_class
            for domain_class in read_domain_classes(snapshot, resolved_scope)
            if domain_class.island.chip_count
        ]
        graphs = [domain_class.island.graph for domain_class in classes]
        count = sum(domain_class.island.chip_count * len(domain_class.domains) for domain_class in classes)
        domains = sum(len(domain_class.domains) for domain_class in classes)
        if domains > 1 and has_disconnected_domains(snapshot, resolved_scope, classes):
            limits = _ScopeLimits(_DISCONNECTED, _DISCONNECTED, None, Fraction(0))
        elif domains > 1:
            limits = _limits_of_cluster(classes, count, partial(name_links, snapshot, resolved_scope))
        else:  # at most one domain has healthy chips
            limits = _limits_of_domain(_only_live_domain(snapshot, resolved_scope, classes))
    nodes = [attributes for graph in graphs for attributes in graph.nodes.values()]
    links = (attributes for graph in graphs for attributes in graph.edges.values())
    bus_limit, algorithm_limit = _all_reduce_limits(limits.all_gather, limits.reduce_bound, count)
    return CollectivesAnswer(
        scope=resolved_scope.place.address,
        chips=count,
        all_to_all=limits.all_to_all,
        all_gather=limits.all_gather,
        reduce_scatter=limits.all_gather,
        all_reduce=bus_limit,
        all_reduce_algorithm=algorithm_limit,
        ring_all_reduce=limits.ring_all_reduce,
        reason=resolved_scope.via.disconnected_reason("all of them")
        if count > 1 and not limits.all_to_all.upper
        else None,
        definition=_DEFINITION + resolved_scope.via.definition_suffix,
        via=resolved_scope.via,
        facts=evidence.cite_wiring(snapshot, nodes, links),
    )


def _only_live_domain(snapshot: Snapshot, scope: Scope, classes: Sequence[DomainClass]) -> ScopeGraph:
    """Return the graph of the only domain with healthy chips, including its exits; empty if there is none."""
    if not classes:
        return ScopeGraph(solvers.graph.Graph(), [], 0)
    island = read_island(snapshot, scope, classes[0].domains[0])
    return ScopeGraph(island.graph, list(island.chips), 0)


def _all_reduce_limits(
    gather_limit: CollectiveLimit, reduce_bound: Fraction, chips: int
) -> tuple[CollectiveLimit, CollectiveLimit]:
    """Return the limits on an all-reduce, as bus bandwidth and as data over time.

    ``gather_limit`` is the limit on an all-gather: a reduce-scatter and an all-gather reach the lower bound.
    ``reduce_bound`` limits the data over time from above.
    """
    if chips < 2:  # noqa: PLR2004 # a single chip reduces nothing
        return gather_limit, gather_limit
    bus_factor = Fraction(2 * (chips - 1), chips)  # bus bandwidth over data rate
    upper = max(reduce_bound * bus_factor, Fraction(gather_limit.lower))
    lower_reason = "a reduce-scatter and an all-gather reach the lower bound"
    upper_reason = (
        "the whole result crosses every cut in both directions, and all chips together send at least 2(n - 1) "
        "times the data"
    )
    bus_limit = CollectiveLimit(
        gather_limit.lower, Bandwidth(ceil(upper)), f"{lower_reason}; {upper_reason}", gather_limit.links
    )
    algorithm_limit = CollectiveLimit(
        Bandwidth(floor(gather_limit.lower / bus_factor)),
        Bandwidth(ceil(upper / bus_factor)),
        f"bus bandwidth × {chips} / (2 × {chips - 1})",
        gather_limit.links,
    )
    return bus_limit, algorithm_limit


def _port_capacities(graph: "Graph", chips: Sequence[int]) -> list[int]:
    """Return the total capacity of the links of each chip."""
    return [solvers.graph.cut_capacity(graph, {chip}) for chip in chips]


def all_gather_limit(scope_graph: ScopeGraph) -> CollectiveLimit:
    """Return the limit on an all-gather in a scope within one domain."""
    graph, endpoints = scope_graph.graph, scope_graph.endpoints
    return _gather_limit(
        solvers.collectives.all_gather_rate(graph, dict.fromkeys(endpoints, 1)), len(endpoints) - 1, graph
    )


def _limits_of_domain(scope_graph: ScopeGraph) -> _ScopeLimits:
    """Return the limits on all collectives on a domain's graph."""
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
        # whatever two chips a cut separates, it separates the first chip from one of them
        network = solvers.max_flow.FlowNetwork.from_graph(graph)
        min_flow = min(network.minimum_cut(endpoints[:1], [end])[0] for end in endpoints[1:])
        reduce_bound = min(Fraction(min_flow), Fraction(sum(_port_capacities(graph, endpoints)), 2 * others))
    return _ScopeLimits(all_to_all, gather_limit, _ring_limit(graph, endpoints, gather_limit), reduce_bound)


def _gather_limit(rate: "AllGatherRate | None", others: int, graph: "Graph") -> CollectiveLimit:
    """Convert a rate per pair of chips into a limit per chip, which receives from ``others`` chips."""
    if rate is None:
        return CollectiveLimit(Bandwidth(0), Bandwidth(0), "fewer than two chips", ())
    total = rate.rate * others
    chip_count = sum(graph.nodes[node]["kind"] == "chip" for node in rate.bottleneck)
    method = f"{_ALL_GATHER_METHOD}: a set of {pluralize(chip_count, 'chip')} attains it"
    return CollectiveLimit(Bandwidth(floor(total)), Bandwidth(ceil(total)), method, cut_links(graph, rate.bottleneck))


def _ring_limit(graph: "Graph", endpoints: Sequence[int], limit: CollectiveLimit) -> CollectiveLimit | None:
    """Return the limit on rings through all chips, at most ``limit``; None if there are switches or no such rings."""
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
    """Bounds on the rate per pair of chips that a class of domains allows, and the links that limit it, by their ends.

    ``tree_count`` is the number of trees that the solver packed for the lower bound; the classes share a limit on it.
    """

    domain_class: DomainClass
    lower: Fraction
    upper: Fraction
    links: tuple[tuple[int, int], ...]
    tree_count: int = 0


_NameLinks = Callable[[DomainClass, Collection[tuple[int, int]]], tuple[LinkRef, ...]]
"""A function that converts links of a class's island, given by their ends, to links of the class's first domain."""


def _limits_of_cluster(classes: Sequence[DomainClass], chips: int, name: _NameLinks) -> _ScopeLimits:
    """Return the limits on all collectives of a cluster with this number of chips; solve one island per class."""
    # the narrowest classes first, because only MAX_CLASSES_SOLVED of them are solved exactly
    classes = sorted(classes, key=lambda domain_class: _min_port_capacity(domain_class.island))
    all_to_all = _all_to_all_rates(classes, chips)
    all_gathers = [
        _all_gather_rate(domain_class, chips, solve=index < MAX_CLASSES_SOLVED)
        for index, domain_class in enumerate(classes)
    ]
    fabric = "; the fabric does not block, so one domain decides"
    send_capacity = sum(
        sum(_port_capacities(domain_class.island.graph, domain_class.island.chips)) * len(domain_class.domains)
        for domain_class in classes
    )
    min_capacity = min(
        min(_min_port_capacity(domain_class.island), domain_class.island.exit_capacity) for domain_class in classes
    )
    reduce_bound = min(Fraction(min_capacity), Fraction(send_capacity, 2 * (chips - 1)))
    return _ScopeLimits(
        _narrowest_limit(all_to_all, chips - 1, _ALL_TO_ALL_METHOD + fabric, name),
        _narrowest_limit(all_gathers, chips - 1, _ALL_GATHER_METHOD + fabric, name),
        None,
        reduce_bound,
    )


def _min_port_capacity(island: "Island") -> int:
    """Return the total capacity of the links of the island's chip that has the least."""
    return min(_port_capacities(island.graph, island.chips))


def _narrowest_limit(bounds: Sequence[_RateBounds], others: int, method: str, name: _NameLinks) -> CollectiveLimit:
    """Return the limit per chip of the class that allows the least rate."""
    narrowest = min(bounds, key=lambda bound: bound.upper)
    lower = min(bound.lower for bound in bounds)
    links = name(narrowest.domain_class, narrowest.links) if narrowest.links else ()
    return CollectiveLimit(Bandwidth(floor(lower * others)), Bandwidth(ceil(narrowest.upper * others)), method, links)


def _all_to_all_rates(classes: Sequence[DomainClass], chips: int) -> list[_RateBounds]:
    """Bound the all-to-all rate of each class, those with the narrowest exit first.

    An island is solved only up to the least upper bound so far, because a higher rate would change nothing.
    """
    rates, remaining_trees = list[_RateBounds](), solvers.collectives.MAX_TREES
    by_exit = sorted(classes, key=lambda domain_class: _exit_bound(domain_class.island, chips))
    for index, domain_class in enumerate(by_exit):
        max_rate = min((bounds.upper for bounds in rates), default=_exit_bound(domain_class.island, chips))
        max_trees = remaining_trees if index < MAX_CLASSES_SOLVED else 0
        rates.append(_all_to_all_rate(domain_class, chips, max_rate, max_trees))
        remaining_trees = max(remaining_trees - rates[-1].tree_count, 1)
    return rates


def _exit_bound(island: "Island", chips: int) -> Fraction:
    """Return the rate that an island's exits allow each pair of a chip inside and a chip outside the island."""
    return Fraction(island.exit_capacity, island.chip_count * (chips - island.chip_count))


def _all_to_all_rate(domain_class: DomainClass, chips: int, max_rate: Fraction, max_trees: int) -> _RateBounds:
    """Bound the all-to-all rate of a class's island, up to ``max_rate``.

    If every chip has its own exit, all exits have equal capacity and the inner links are wide enough, the exits limit
    the rate. Otherwise the solver packs up to ``max_trees`` trees for the lower bound, which is 0 if ``max_trees`` is 0
    or the fabric above may block.
    """
    island = domain_class.island
    outside_weight, bound = chips - island.chip_count, _exit_bound(island, chips)
    links = () if island.network_node is None else _cut_ends(island.graph, {island.network_node})
    if not _exit_ratio(island):
        return _RateBounds(domain_class, Fraction(0), bound, links)
    inner_graph = solvers.islands.scale_up_graph(island.graph)
    min_link = min((capacity for _, _, capacity in solvers.graph.weighted_edges(inner_graph)), default=0)
    inner_bound = (  # a link carries the traffic of fewer than chip_count² pairs
        Fraction(min_link, island.chip_count**2)
        if len(solvers.distances.hops_from(inner_graph, island.chips[:1])) == len(inner_graph)
        else Fraction(0)
    )
    private_exits = island.private_exits
    if private_exits and min(private_exits) == max(private_exits) and (bound <= inner_bound or island.chip_count == 1):
        # shortest paths of all inner pairs saturate no link first
        return _RateBounds(domain_class, bound, bound, links)
    if not max_trees or island.network_node is None:
        return _RateBounds(domain_class, Fraction(0), bound, links)
    weights, upper = dict.fromkeys(island.chips, 1) | {island.network_node: outside_weight}, min(bound, max_rate)
    flow = solvers.collectives.max_concurrent_flow(island.graph, weights, float(upper), max_trees)
    ends = flow.bottleneck or links
    return _RateBounds(domain_class, Fraction(flow.lower), min(Fraction(flow.upper), upper), ends, flow.tree_count)


def _cut_ends(graph: "Graph", side: Collection[int]) -> tuple[tuple[int, int], ...]:
    """Return the links that separate some nodes from all others, by their ends."""
    return tuple(solvers.graph.cut_edges(graph, side))


def _all_gather_rate(domain_class: DomainClass, chips: int, *, solve: bool) -> _RateBounds:
    """Bound the all-gather rate of a class's island, by sets of nodes in the island and by sets with the fabric.

    Without ``solve``, the only set in the island that is tried is the chip whose links carry least.
    """
    island = domain_class.island
    graph, network_node = island.graph, island.network_node
    if network_node is None or not island.exit_capacity:
        return _RateBounds(domain_class, Fraction(0), Fraction(0), ())
    if solve:
        rate = solvers.collectives.all_gather_rate(
            graph, dict.fromkeys(island.chips, 1) | {network_node: chips - island.chip_count}
        )
    else:
        narrowest = min(island.chips, key=lambda chip: solvers.graph.cut_capacity(graph, {chip}))
        rate = solvers.collectives.AllGatherRate(
            Fraction(solvers.graph.cut_capacity(graph, {narrowest}), chips - 1), frozenset([narrowest])
        )
    if rate is None:
        raise AssertionError("an island with an exit has a chip")
    ratio = _exit_ratio(island)
    exit_bound = ratio / (chips - 1)  # k chips have exit capacity λ·k or more, for at most n - 1 chips outside
    lower = min(rate.rate, ratio) if solve and ratio else exit_bound
    return _RateBounds(domain_class, lower, min(rate.rate, ratio or rate.rate), _cut_ends(graph, rate.bottleneck))


def _exit_ratio(island: "Island") -> Fraction:
    """Return the least exit capacity per chip of any set of an island's chips; 0 if the fabric above may block."""
    return Fraction(0) if island.uplink_degraded else island.exit_ratio
