"""Answer what a domain can do as a whole: chips, memory pool, bisection, all-gather.

`trninv.incidents.impact` computes the same answer to compare a domain with and without an incident.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self

from sqlalchemy import func, select

from trninv import solvers
from trninv.database.tables import TABLES
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, AnswerDifference, Bounds, incomparability_reason
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.questions.collectives import all_gather_limit
from trninv.routing.questions.memory_pool import total_memory
from trninv.routing.scope import Scope
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import Wiring
from trninv.units import Bandwidth, Capacity

_LINK = TABLES["link"]
_MAX_SEARCH_NODES: Final = 200
"""Limit on the search tree of the bisection; small, so that the answer is quick even if it is not exact."""
_DEFINITION: Final = (
    "for one domain: chips that carry traffic; idle links, which carry nothing, each counted once, those of its NICs "
    "to chips and to the network included; HBM of the "
    "largest set of chips that NeuronLink joins; bisection bandwidth and the limit of an all-gather, one "
    "direction, over NeuronLink"
)


@dataclass(frozen=True, kw_only=True)
class CapabilityAnswer(Answer):
    """What a domain can do as a whole."""

    scope: Annotated[AddressText, "The domain, or the place in it."]
    chips: Annotated[int, "Chips that carry traffic."]
    idle_links: Annotated[int, "Idle links of the domain: they carry nothing. Those of its NICs count too."]
    pool: Annotated[Capacity, "HBM of the largest set of connected chips."]
    halves: Annotated[Bounds, "Bisection bandwidth."]
    all_gather: Annotated[Bounds, "Upper limit of the bus bandwidth of an all-gather."]

    def difference_from(self, other: Self) -> AnswerDifference:
        return AnswerDifference(
            bytes_per_second=self.halves.upper - other.halves.upper,
            chips=self.chips - other.chips,
            bytes=self.pool - other.pool,
            incomparable=incomparability_reason(other.chips, self.chips),
        )

    def render(self) -> Rendered:
        yield f"{self.scope}: chips that carry traffic {self.chips:,}, idle links {self.idle_links:,}"
        yield f"largest pool: {self.pool}"
        yield f"bisection: {self.halves} one direction"
        yield f"all-gather: {self.all_gather} at most"


@question(
    cost=ROUTED_COST,
    examples=("capability u-trn2x64/d0 --down u-trn2x64/d0/s0/c0",),
)
def capability(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Domain, or a server or rack in one.", metavar="SCOPE")],
) -> CapabilityAnswer:
    """Summarize what a domain can do: chips, idle links, memory pool, bisection, all-gather."""
    return compute_capability(snapshot, scope)


def compute_capability(snapshot: Snapshot, address: str) -> CapabilityAnswer:
    """Compute what a domain, or a server or rack in one, can do."""
    scope = Scope.resolve(snapshot, address)
    scope_graph = scope.graph(snapshot, "a capability")
    cut = solvers.bisection.bisect(scope_graph.graph, scope_graph.endpoints, max_nodes=_MAX_SEARCH_NODES)
    gather_limit = all_gather_limit(scope_graph)
    return CapabilityAnswer(
        scope=scope.place.address,
        chips=len(scope_graph.endpoints),
        idle_links=_idle_links(snapshot, scope.domains[0]),
        pool=_largest_pool(snapshot.load(scope.domains), scope_graph.endpoints),
        halves=Bounds(Bandwidth(cut.lower), Bandwidth(cut.upper)),
        all_gather=Bounds(gather_limit.lower, gather_limit.upper),
        definition=_DEFINITION,
        facts=evidence.cite_wiring(snapshot, scope_graph.graph.nodes.values(), scope_graph.graph.edges.values()),
    )


def _idle_links(snapshot: Snapshot, domain: int) -> int:
    """Count the links of a domain that carry nothing: the link or one of its ends is down or in maintenance.

    These are the links of the domain whose field ``bandwidth`` is 0.
    """
    count = select(func.count()).select_from(_LINK).where(_LINK.c.domain_id == domain)
    wiring = snapshot.load([domain], fabric=True)
    carrying = sum(domain in {wiring.nodes[end]["domain_id"] for end in (a, b)} for a, b, _ in wiring.edges())
    return (snapshot.connection.scalar(count) or 0) - carrying


def _largest_pool(wiring: Wiring, chips: Sequence[int]) -> Capacity:
    """Return the total memory of the connected chips that have the most."""
    remaining, largest = set(chips), Capacity(0)
    while remaining:
        component = solvers.distances.hops_from(wiring.graph, [next(iter(remaining))]).keys() & remaining
        remaining -= component
        largest = max(largest, total_memory(wiring.nodes, component))
    return largest
