"""What a domain can do as a whole, before and after a change: one computation for scenarios and for incidents."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self

from sqlalchemy import func, select

from trninv import solvers
from trninv.inventory.schema import TABLES
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Bounds, Difference, Told, incomparable
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.questions.collectives import all_gather
from trninv.routing.questions.pool import memory_of
from trninv.routing.scope import Scope
from trninv.routing.wiring import Reader, Wiring
from trninv.units import Bandwidth, Capacity

_LINK = TABLES["link"]
_NODES: Final = 200
"""Nodes of the search tree of the bisection: few, so that bounds come soon where nothing else is exact."""
_DEFINED: Final = (
    "of one domain: chips that carry traffic; links, those of its NICs too, that carry nothing; HBM of the most chips "
    "that NeuronLink joins; bisection bandwidth and the limit of an all-gather, one direction, over NeuronLink"
)


@dataclass(frozen=True, kw_only=True)
class CapabilityAnswer(Answer):
    """What a domain can do as a whole."""

    of: Annotated[At, "The domain, or the place in it."]
    chips: Annotated[int, "Chips that carry traffic."]
    idle_links: Annotated[int, "Links of the domain, those of its NICs too, that carry nothing."]
    pool: Annotated[Capacity, "HBM of the most chips that are joined."]
    halves: Annotated[Bounds, "Bisection bandwidth."]
    all_gather: Annotated[Bounds, "Bus bandwidth of an all-gather, at most."]

    def less(self, other: Self) -> Difference:
        return Difference(
            bytes_per_second=self.halves.upper - other.halves.upper,
            chips=self.chips - other.chips,
            bytes=self.pool - other.pool,
            incomparable=incomparable(other.chips, self.chips),
        )

    def told(self) -> Told:
        yield f"{self.of}: chips that carry traffic {self.chips:,}, links that carry nothing {self.idle_links:,}"
        yield f"largest pool: {self.pool}"
        yield f"bisection: {self.halves} one direction"
        yield f"all-gather: {self.all_gather} at most"


@question(
    price=ROUTED,
    examples=("capability u-trn2x64/d0 --down u-trn2x64/d0/s0/c0",),
)
def capability(
    reader: Reader,
    of: Annotated[str, Argument("Domain, or a server or rack in one.", metavar="SCOPE")],
) -> CapabilityAnswer:
    """What a domain can do: chips, idle links, largest memory pool, bisection and all-gather bandwidth."""
    return assess(reader, of)


def assess(reader: Reader, of: str) -> CapabilityAnswer:
    """Compute what a domain, or a server or rack in one, can do."""
    scope = Scope.of(reader, of)
    inside = scope.inside(reader, "a capability")
    split, gathered = solvers.bisection.bisect(inside.graph, inside.ends, nodes=_NODES), all_gather(inside)
    return CapabilityAnswer(
        of=scope.place.address,
        chips=len(inside.ends),
        idle_links=_idle_links(reader, scope.domains[0]),
        pool=_largest_pool(reader.load(scope.domains), inside.ends),
        halves=Bounds(Bandwidth(split.lower), Bandwidth(split.upper)),
        all_gather=Bounds(gathered.lower, gathered.upper),
        definition=_DEFINED,
        facts=evidence.of_wiring(reader, inside.graph.nodes.values(), inside.graph.edges.values()),
    )


def _idle_links(reader: Reader, domain: int) -> int:
    """Links of a domain that carry nothing, by themselves or for one of their ends."""
    count = select(func.count()).select_from(_LINK).where(_LINK.c.domain_id == domain)
    wiring = reader.load([domain], fabric=True)
    carrying = sum(domain in {wiring.nodes[end]["domain_id"] for end in (a, b)} for a, b, _ in wiring.edges())
    return (reader.connection.scalar(count) or 0) - carrying


def _largest_pool(wiring: Wiring, chips: Sequence[int]) -> Capacity:
    """HBM of the most chips that are joined."""
    waiting, largest = set(chips), Capacity(0)
    while waiting:
        joined = solvers.reach.hops_from(wiring.graph, [next(iter(waiting))]).keys() & waiting
        waiting -= joined
        largest = max(largest, memory_of(wiring.nodes, joined))
    return largest
