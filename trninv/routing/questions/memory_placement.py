"""Answer which chips near a place have enough memory together, for `trninv place --nearest`."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from sqlalchemy import select

from trninv import solvers
from trninv.database.tables import TABLES
from trninv.errors import UnknownAddressError
from trninv.inventory.address.lookup import Place, resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer
from trninv.routing.cluster_islands import read_domain_classes
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.questions.memory_pool import total_memory
from trninv.routing.scope import Scope
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import MAX_DOMAINS, Wiring, domains_of_nodes
from trninv.units import Bandwidth, Capacity, pluralize

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

MAX_MEMORY = 2**63 - 1  # bytes

_DEFINITION = (
    "the fewest healthy or degraded chips with enough memory, nearest first over scale-up links (no EFA); "
    "among equally near chips degraded ones come last, and among all places one without degraded chips comes "
    "first; widest path to each, and the combined bandwidth into the place, one direction"
)


@dataclass(frozen=True, kw_only=True)
class MemoryPlacementAnswer(Answer):
    """The fewest and nearest chips with enough memory: a place's own, then the nearest ones, widest paths first."""

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

    def value_lines(self) -> Sequence[object]:
        return self.chips if self.is_sufficient else ()

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
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    memory: Annotated[
        Capacity, Argument("Memory needed.", minimum=1, maximum=MAX_MEMORY, name="bytes", metavar="MEMORY")
    ],
    best: Annotated[
        bool, Argument("Search around the best chip of the scope; otherwise around the scope itself.")
    ] = True,
) -> MemoryPlacementAnswer:
    """Find the fewest, nearest and best connected chips with enough memory.

    The best chip has the nearest such chips (none degraded, then the least radius, then the least sum of hops), then
    the widest paths, then the fastest delivery; ties by address. In a cluster, one domain of each of up to 64 kinds is
    tried, and of tied kinds the one with the most domains is taken. Allocations are ignored; `placements` considers
    free chips only.
    """
    connection = snapshot.connection
    place = resolve_place(connection, scope)
    candidate_starts = list(_candidate_starts(snapshot, place, best=best))
    degraded = _degraded_chips(
        snapshot,
        {wiring.nodes[chip]["domain_id"] for wiring, own_chips in candidate_starts for chip in own_chips},
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
        snapshot, best_candidate.graph.nodes.values(), best_candidate.graph.edges.values()
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
        facts=wiring_facts + evidence.cite_memory(snapshot, best_candidate.own_chips),
    )


def _candidate_starts(snapshot: Snapshot, place: Place, *, best: bool) -> Iterator[tuple[Wiring, list[int]]]:
    """Yield the wiring and the own chips of each candidate, around which `_MemoryCandidate` adds the nearest chips.

    If ``best``, each chip of the place that carries traffic is a candidate; in a cluster, only the chips of one domain
    of each of the largest classes of equal domains. Otherwise all of the place's chips together are the only candidate.
    """
    if place.level == "cluster" and best:
        classes = read_domain_classes(snapshot, Scope.resolve(snapshot, place.address))
        largest_classes = sorted(classes, key=lambda domain_class: -len(domain_class.domains))[:MAX_DOMAINS]
        domains = [domain_class.domains[0] for domain_class in largest_classes]
        chips = None  # all chips of these domains
    else:
        chips = frozenset(snapshot.connection.scalars(row_ids_in(place, "chip")))
        domains = domains_of_nodes(snapshot.connection, chips)
    for wiring in [snapshot.load([domain]) for domain in domains] if best else [snapshot.load(domains)]:
        carrying_chips = [
            node
            for node, attributes in wiring.nodes.items()
            if attributes["kind"] == "chip" and (chips is None or node in chips)
        ]
        if best:
            yield from ((wiring, [chip]) for chip in sorted(carrying_chips))
        elif carrying_chips:
            yield wiring, sorted(carrying_chips)


def _degraded_chips(snapshot: Snapshot, domains: Collection[int]) -> frozenset[int]:
    """Return the degraded chips of some domains, and all nodes that the scenario derates, whether chips or not."""
    node = TABLES["node"]
    query = select(node.c.id).where(node.c.domain_id.in_(domains), node.c.kind == "chip", node.c.state == "degraded")
    derated = (key for key, factor in snapshot.changes.nodes.items() if factor)
    return frozenset([*snapshot.connection.scalars(query), *derated])


@dataclass(frozen=True)
class _MemoryCandidate:
    """A place's own chips and the nearest others, until they have the requested memory or no more are in reach.

    Attributes
    ----------
    own_chips, others
        Ids of the place's chips and of the other chips, nearest first.
    hops, widest
        Hops to each node from the own chips, and capacity of the widest path from it in bytes per second.
    requested
        Requested memory in bytes.
    degraded
        Ids of the degraded chips in the wiring.

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
        """Add the nearest chips until the memory is enough; of equally near chips, add degraded ones last."""
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
        """Memory of all chips of the candidate."""
        return total_memory(self.graph.nodes, [*self.own_chips, *self.others])

    @property
    def radius(self) -> int:
        """Hops to the farthest chip."""
        return max((self.hops[node] for node in self.others), default=0)

    @property
    def min_bandwidth(self) -> int:
        """Least capacity of the widest paths from the other chips; 0 if there are no other chips."""
        return min((self.widest[node] for node in self.others), default=0)

    @cached_property
    def rank(self) -> tuple[int, ...]:
        """Sort key, best first: memory up to the requested, no degraded chip, radius, total hops, widest paths."""
        total_hops = sum(self.hops[node] for node in self.others)
        is_degraded = bool(self.degraded & {*self.own_chips, *self.others})
        return -min(self.memory, self.requested), is_degraded, self.radius, total_hops, -self.min_bandwidth

    @cached_property
    def delivery(self) -> int:
        """Maximum flow from the other chips into the place's own chips, in bytes per second."""
        return solvers.max_flow.set_to_set_flow(self.graph, self.others, self.own_chips)
