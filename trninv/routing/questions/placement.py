"""The fewest chips around a place that hold so much memory, and the best place for them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from sqlalchemy import select

from trninv import solvers
from trninv.errors import UnknownAddressError
from trninv.inventory.address import Place, chips_of, resolve
from trninv.inventory.schema import TABLES
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Told
from trninv.routing.cluster import islands
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.questions.pool import memory_of
from trninv.routing.scope import Scope
from trninv.routing.wiring import MAX_DOMAINS, Reader, Wiring, domains_of
from trninv.units import Bandwidth, Capacity, counted

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

MOST_MEMORY = 2**63 - 1

_DEFINED = (
    "the fewest chips that are up or degraded, nearest first over scale-up links (no EFA), that hold so much; of "
    "equally near ones degraded ones last, and of all places one without any first; widest path to each and what they "
    "deliver at once into the place, one direction"
)


@dataclass(frozen=True, kw_only=True)
class PlacementAnswer(Answer):
    """The fewest, nearest chips that hold so much memory: a place's own, then the nearest, the widest paths first."""

    place: Annotated[At, "What they are nearest to."]
    wanted: Annotated[Capacity, "Memory asked for."]
    memory: Annotated[Capacity, "Memory they hold."]
    chips: Annotated[tuple[At, ...], "Nearest first."]
    degraded: Annotated[tuple[At, ...], "Those of them that are degraded."]
    radius: Annotated[int, "Hops to the farthest."]
    narrowest: Annotated[Bandwidth | None, "Least of the widest paths to them; null where the place's own suffice."]
    delivery: Annotated[Bandwidth, "What the others deliver at once into the place."]
    enough: Annotated[bool, "Whether they hold as much as was asked for."]
    tried: Annotated[int, "Places compared."]

    def succeeded(self) -> bool:
        return self.enough

    def told(self) -> Told:
        if not self.enough:
            yield f"no chip reaches {self.wanted} over scale-up links: at most {self.memory}"
        yield f"{self.place}: {self.memory} on {counted(len(self.chips), 'chip')} within {self.radius} hops"
        if self.narrowest is not None:
            yield f"widest paths of {self.narrowest} or more; the others deliver {self.delivery} at once"
        yield f"chips: {', '.join(self.chips)}"
        if self.degraded:
            yield f"degraded: {', '.join(self.degraded)}"

    def compared(self) -> Told:
        if self.baseline:
            yield f"as it is: {self.baseline.place}, within {self.baseline.radius} hops"


@question(
    price=ROUTED,
    command="place",
    examples=('place u-trn2x64 "1,000 GiB"', 'place u-trn2x64/d0/s1/c5 "1,000 GiB" --here'),
)
def placement(
    reader: Reader,
    of: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    memory: Annotated[Capacity, Argument("How much.", least=1, most=MOST_MEMORY, name="bytes", metavar="MEMORY")],
    best: Annotated[
        bool, Argument("Around the best chip of the place; else around the place itself.", option="--best/--here")
    ] = True,
) -> PlacementAnswer:
    """Where a job that needs so much memory fits best: the fewest, nearest, best linked chips that hold it.

    Best is the chip with the nearest such chips (none degraded, then least radius, then least sum of hops), then the
    widest paths, then the fastest delivery; ties by address. Of a cluster one domain of each kind is tried, 64 kinds at
    most, and of ties the kind of most domains is taken. Who holds the chips is not looked at: `fits` does.
    """
    connection = reader.connection
    place = resolve(connection, of)
    starts = list(_starts(reader, place, best=best))
    degraded = _degraded(reader, {wiring.nodes[own[0]]["domain_id"] for wiring, own in starts})
    found = [_Placed.of(wiring.graph, own, memory, degraded) for wiring, own in starts]
    nearest = min((placed.rank for placed in found), default=None)
    if nearest is None:
        raise UnknownAddressError(f"nothing of {place.address} is up")
    chosen = max((placed for placed in found if placed.rank == nearest), key=lambda placed: placed.delivery)
    name = {node: chosen.graph.nodes[node]["address"] for node in (*chosen.own, *chosen.others)}
    models = evidence.of_wiring(reader, chosen.graph.nodes.values(), chosen.graph.edges.values())
    return PlacementAnswer(
        place=name[chosen.own[0]] if best else place.address,
        wanted=memory,
        memory=chosen.memory,
        chips=tuple(name.values()),
        degraded=tuple(address for node, address in name.items() if node in degraded),
        radius=chosen.radius,
        narrowest=Bandwidth(chosen.narrowest) if chosen.others else None,
        delivery=Bandwidth(chosen.delivery),
        enough=chosen.memory >= memory,
        tried=len(found),
        definition=_DEFINED,
        facts=models + evidence.of_memory(reader, chosen.own),
    )


def _starts(reader: Reader, place: Place, *, best: bool) -> Iterator[tuple[Wiring, list[int]]]:
    """The places that are compared: each healthy chip of a scope, or the place itself."""
    if place.level == "cluster" and best:
        kinds = islands(reader, Scope.of(reader, place.address))
        domains = [kind.domains[0] for kind in sorted(kinds, key=lambda kind: -len(kind.domains))][:MAX_DOMAINS]
        chips = None
    else:
        chips = frozenset(reader.connection.scalars(chips_of(place)))
        domains = domains_of(reader.connection, chips)
    for wiring in [reader.load([domain]) for domain in domains] if best else [reader.load(domains)]:
        up = [node for node, of in wiring.nodes.items() if of["kind"] == "chip" and (chips is None or node in chips)]
        yield from ((wiring, [chip]) for chip in sorted(up)) if best else [(wiring, sorted(up))] if up else []


def _degraded(reader: Reader, domains: Collection[int]) -> frozenset[int]:
    """Chips of some domains that are degraded, or are supposed to be."""
    node = TABLES["node"]
    query = select(node.c.id).where(node.c.domain_id.in_(domains), node.c.kind == "chip", node.c.state == "degraded")
    supposed = (key for key, left in reader.changes.nodes.items() if left)
    return frozenset([*reader.connection.scalars(query), *supposed])


@dataclass(frozen=True)
class _Placed:
    """Own chips and the nearest others that together hold enough, if there are as many."""

    graph: "Graph"
    own: list[int]
    others: list[int]
    hops: dict[int, int]
    widest: dict[int, int]
    wanted: int
    degraded: frozenset[int]

    @classmethod
    def of(cls, graph: "Graph", own: list[int], wanted: int, degraded: frozenset[int]) -> "_Placed":
        hops, widest = solvers.reach.hops_from(graph, own), solvers.reach.widest_from(graph, own)
        near = sorted(
            (node for node in hops.keys() - set(own) if graph.nodes[node]["kind"] == "chip"),
            key=lambda node: (hops[node], node in degraded, -widest[node], node),
        )
        held, others = int(memory_of(graph.nodes, own)), list[int]()
        for node in near:
            if held >= wanted:
                break
            others.append(node)
            held += graph.nodes[node]["memory"]
        return cls(graph, own, others, hops, widest, wanted, degraded)

    @property
    def memory(self) -> Capacity:
        return memory_of(self.graph.nodes, [*self.own, *self.others])

    @property
    def radius(self) -> int:
        return max((self.hops[node] for node in self.others), default=0)

    @property
    def narrowest(self) -> int:
        return min((self.widest[node] for node in self.others), default=0)

    @cached_property
    def rank(self) -> tuple[int, ...]:
        """Less is better: memory that is lacking counts first, then whether a chip is degraded."""
        walked, worn = sum(self.hops[node] for node in self.others), bool(self.degraded & {*self.own, *self.others})
        return -min(self.memory, self.wanted), worn, self.radius, walked, -self.narrowest

    @cached_property
    def delivery(self) -> int:
        return solvers.reach.delivery(self.graph, self.others, self.own)
