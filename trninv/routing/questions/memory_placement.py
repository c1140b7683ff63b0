"""Answer which nearest chips around a place have enough memory."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from sqlalchemy import select

from trninv import solvers
from trninv.database.tables import TABLES
from trninv.errors import UnknownAddressError
from trninv.inventory.address.containment import chip_ids_of
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, Rendered
from trninv.routing.cluster_islands import read_domain_classes
from trninv.routing.question import ROUTED_COST, Argument, question
from trninv.routing.questions.pool import total_memory
from trninv.routing.scope import Scope
from trninv.routing.wiring import MAX_DOMAINS, Wiring, domains_of_nodes
from trninv.routing.wiring_cache import SnapshotReader
from trninv.units import Bandwidth, Capacity, pluralize

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

MAX_MEMORY = 2**63 - 1

_DEFINITION = (
    "the fewest healthy or degraded chips with so much memory, nearest first over scale-up links (no EFA); "
    "among equally near chips degraded ones come last, and among all places one without degraded chips comes "
    "first; widest path to each, and the combined bandwidth into the place, one direction"
)


@dataclass(frozen=True, kw_only=True)
class MemoryPlacementAnswer(Answer):
    """The fewest and nearest chips with enough memory: a place's own, then the nearest, widest paths first."""

    place: Annotated[AddressText, "The place that they are nearest to."]
    requested: Annotated[Capacity, "Requested memory."]
    memory: Annotated[Capacity, "Memory of the chips."]
    chips: Annotated[tuple[AddressText, ...], "The chips, nearest first."]
    degraded: Annotated[tuple[AddressText, ...], "The degraded ones among them."]
    radius: Annotated[int, "Hops to the farthest chip."]
    min_bandwidth: Annotated[
        Bandwidth | None, "Least of the widest paths to them; null if the place's own chips suffice."
    ]
    delivery: Annotated[Bandwidth, "Combined bandwidth from the other chips into the place."]
    is_sufficient: Annotated[bool, "Whether the memory is enough."]
    candidates_tried: Annotated[int, "Number of places compared."]

    def is_satisfied(self) -> bool:
        return self.is_sufficient

    def render(self) -> Rendered:
        if not self.is_sufficient:
            yield f"no chip reaches {self.requested} over scale-up links: at most {self.memory}"
        yield f"{self.place}: {self.memory} on {pluralize(len(self.chips), 'chip')} within {self.radius} hops"
        if self.min_bandwidth is not None:
            yield f"widest paths of {self.min_bandwidth} or more; the others deliver {self.delivery} together"
        yield f"chips: {', '.join(self.chips)}"
        if self.degraded:
            yield f"degraded: {', '.join(self.degraded)}"

    def render_comparison(self) -> Rendered:
        if self.baseline:
            yield f"baseline: {self.baseline.place}, within {self.baseline.radius} hops"


@question(
    cost=ROUTED_COST,
    command="place --nearest",
    examples=(
        'place u-trn2x64 --memory "1,000 GiB" --nearest best',
        'place u-trn2x64/d0/s1/c5 --memory "1,000 GiB" --nearest here',
    ),
)
def memory_placement(
    reader: SnapshotReader,
    scope: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    memory: Annotated[
        Capacity, Argument("Memory needed.", minimum=1, maximum=MAX_MEMORY, name="bytes", metavar="MEMORY")
    ],
    best: Annotated[
        bool, Argument("Search around the best chip of the scope; otherwise around the scope itself.")
    ] = True,
) -> MemoryPlacementAnswer:
    """Find the fewest, nearest and best connected chips with so much memory.

    The best chip has the nearest such chips (none degraded, then the least radius, then the least sum of hops), then
    the widest paths, then the fastest delivery; ties by address. In a cluster, one domain of each of up to 64 kinds is
    tried, and of tied kinds the one with the most domains is taken. Allocations are ignored; `placements` considers
    free chips only.
    """
    connection = reader.connection
    place = resolve_place(connection, scope)
    candidate_starts = list(_candidate_starts(reader, place, best=best))
    degraded = _degraded_chips(
        reader, {wiring.nodes[own_chips[0]]["domain_id"] for wiring, own_chips in candidate_starts}
    )
    candidates = [
        _MemoryCandidate.from_graph(wiring.graph, own_chips, memory, degraded) for wiring, own_chips in candidate_starts
    ]
    best_rank = min((candidate.rank for candidate in candidates), default=None)
    if best_rank is None:
        raise UnknownAddressError(f"no chip of {place.address} is up; name another place")
    best_candidate = max(
        (candidate for candidate in candidates if candidate.rank == best_rank), key=lambda candidate: candidate.delivery
    )
    address_of = {
        node: best_candidate.graph.nodes[node]["address"]
        for node in (*best_candidate.own_chips, *best_candidate.others)
    }
    wiring_facts = evidence.cite_wiring(
        reader, best_candidate.graph.nodes.values(), best_candidate.graph.edges.values()
    )
    return MemoryPlacementAnswer(
        place=address_of[best_candidate.own_chips[0]] if best else place.address,
        requested=memory,
        memory=best_candidate.memory,
        chips=tuple(address_of.values()),
        degraded=tuple(address for node, address in address_of.items() if node in degraded),
        radius=best_candidate.radius,
        min_bandwidth=Bandwidth(best_candidate.min_bandwidth) if best_candidate.others else None,
        delivery=Bandwidth(best_candidate.delivery),
        is_sufficient=best_candidate.memory >= memory,
        candidates_tried=len(candidates),
        definition=_DEFINITION,
        facts=wiring_facts + evidence.cite_memory(reader, best_candidate.own_chips),
    )


def _candidate_starts(reader: SnapshotReader, place: Place, *, best: bool) -> Iterator[tuple[Wiring, list[int]]]:
    """Yield the candidates' wirings and own chips: each healthy chip of a scope, or the place itself."""
    if place.level == "cluster" and best:
        classes = read_domain_classes(reader, Scope.resolve(reader, place.address))
        domains = [
            domain_class.domains[0]
            for domain_class in sorted(classes, key=lambda domain_class: -len(domain_class.domains))
        ][:MAX_DOMAINS]
        chips = None
    else:
        chips = frozenset(reader.connection.scalars(chip_ids_of(place)))
        domains = domains_of_nodes(reader.connection, chips)
    for wiring in [reader.load([domain]) for domain in domains] if best else [reader.load(domains)]:
        healthy = [
            node
            for node, attributes in wiring.nodes.items()
            if attributes["kind"] == "chip" and (chips is None or node in chips)
        ]
        yield from (
            ((wiring, [chip]) for chip in sorted(healthy)) if best else [(wiring, sorted(healthy))] if healthy else []
        )


def _degraded_chips(reader: SnapshotReader, domains: Collection[int]) -> frozenset[int]:
    """Return the chips of some domains that are degraded, in the database or in the scenario."""
    node = TABLES["node"]
    query = select(node.c.id).where(node.c.domain_id.in_(domains), node.c.kind == "chip", node.c.state == "degraded")
    assumed = (key for key, factor in reader.changes.nodes.items() if factor)
    return frozenset([*reader.connection.scalars(query), *assumed])


@dataclass(frozen=True)
class _MemoryCandidate:
    """A place's own chips, and the nearest other chips that together have the requested memory, or all within reach.

    Attributes
    ----------
    own_chips, others
        Node ids; the others nearest first.
    hops, widest
        Distance to each node, and capacity of the widest path from it in bytes per second.
    requested
        Memory in bytes.
    degraded
        Ids of degraded chips.

    """

    graph: "Graph"
    own_chips: list[int]
    others: list[int]
    hops: dict[int, int]
    widest: dict[int, int]
    requested: int
    degraded: frozenset[int]

    @classmethod
    def from_graph(
        cls, graph: "Graph", own_chips: list[int], requested: int, degraded: frozenset[int]
    ) -> "_MemoryCandidate":
        """Add the nearest chips until the memory is enough; of equally near ones, degraded ones last."""
        hops, widest = solvers.distances.hops_from(graph, own_chips), solvers.distances.widest_from(graph, own_chips)
        nearest = sorted(
            (node for node in hops.keys() - set(own_chips) if graph.nodes[node]["kind"] == "chip"),
            key=lambda node: (hops[node], node in degraded, -widest[node], node),
        )
        memory, others = int(total_memory(graph.nodes, own_chips)), list[int]()
        for node in nearest:
            if memory >= requested:
                break
            others.append(node)
            memory += graph.nodes[node]["memory"]
        return cls(graph, own_chips, others, hops, widest, requested, degraded)

    @property
    def memory(self) -> Capacity:
        """Memory of all its chips."""
        return total_memory(self.graph.nodes, [*self.own_chips, *self.others])

    @property
    def radius(self) -> int:
        """Hops to the farthest chip."""
        return max((self.hops[node] for node in self.others), default=0)

    @property
    def min_bandwidth(self) -> int:
        """Least capacity of the widest paths; 0 without others."""
        return min((self.widest[node] for node in self.others), default=0)

    @cached_property
    def rank(self) -> tuple[int, ...]:
        """Sort key, the best first: enough memory, no degraded chip, radius, sum of hops, widest paths."""
        total_hops, is_degraded = (
            sum(self.hops[node] for node in self.others),
            bool(self.degraded & {*self.own_chips, *self.others}),
        )
        return -min(self.memory, self.requested), is_degraded, self.radius, total_hops, -self.min_bandwidth

    @cached_property
    def delivery(self) -> int:
        """Maximum flow from the others into the own chips, in bytes per second."""
        return solvers.max_flow.set_to_set_flow(self.graph, self.others, self.own_chips)
