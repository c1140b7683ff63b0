"""How much memory a place can reach."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

from sqlalchemy import Connection

from trninv import solvers
from trninv.inventory.address import Place, chips_of
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Difference, Table, Told, span
from trninv.routing.ends import nodes_at
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.wiring import Reader
from trninv.units import Bandwidth, Capacity, counted

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

_DEFINED = (
    "memory of the healthy chips within reach over scale-up links (no EFA); widest path and what a whole ring delivers "
    "at once, one direction"
)


@dataclass(frozen=True, slots=True)
class ReachedChip:
    """A chip within reach."""

    address: Annotated[At, "Its address."]
    memory: Annotated[Capacity, "Its HBM."]
    widest: Annotated[Bandwidth, "Of the widest path from it, one direction."]


@dataclass(frozen=True, slots=True)
class PoolRing:
    """The chips at one distance."""

    hops: Annotated[int, "Links to each of them."]
    reached: Annotated[tuple[ReachedChip, ...], "Each of them."]
    memory: Annotated[Capacity, "Their HBM together."]
    delivery: Annotated[Bandwidth, "What they can send at once into the asking place."]

    @property
    def chips(self) -> int:
        """How many."""
        return len(self.reached)


@dataclass(frozen=True, kw_only=True)
class PoolAnswer(Answer):
    """Memory that a place can reach over scale-up links."""

    of: Annotated[At, "The asking place."]
    chips: Annotated[int, "Chips in reach, its own among them."]
    own: Annotated[Capacity, "Its own."]
    remote: Annotated[Capacity, "Of other chips."]
    by_hops: Annotated[tuple[PoolRing, ...], "The other chips by distance."]

    @property
    def memory(self) -> Capacity:
        """All memory in reach."""
        return Capacity(self.own + self.remote)

    def less(self, other: Self) -> Difference:
        return Difference(chips=self.chips - other.chips, bytes=self.memory - other.memory)

    def told(self) -> Told:
        chips = counted(self.chips, "chip")
        yield f"{self.of}: {self.memory} on {chips} ({self.own} own, {self.remote} remote)"
        if self.by_hops:
            yield Table(
                ["hops", "chips", "memory", "widest path", "ring delivers at once"],
                (
                    [ring.hops, ring.chips, ring.memory, span(chip.widest for chip in ring.reached), ring.delivery]
                    for ring in self.by_hops
                ),
            )


@question(price=ROUTED, command="pool", examples=("pool u-trn2x64/d0/s0/c0 --hops 2",))
def memory_pool(
    reader: Reader,
    of: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="ADDRESS")],
    max_hops: Annotated[int | None, Argument("Leave out chips further away.", option="--hops")] = None,
    min_bandwidth: Annotated[
        Bandwidth | None, Argument("Leave out chips with a narrower widest path: 64 GB/s.", metavar="X")
    ] = None,
) -> PoolAnswer:
    """How much memory a place can reach over scale-up links."""
    address, chips, domains = nodes_at(reader, of, _chips)
    wiring = reader.load(sorted(domains))
    own = sorted(chips & wiring.nodes.keys())
    by_hops = _rings(wiring.graph, own, max_hops, min_bandwidth or 0)
    links = evidence.of_wiring(reader, wiring.nodes.values(), (of for _, _, of in wiring.edges()))
    return PoolAnswer(
        of=address,
        chips=len(own) + sum(ring.chips for ring in by_hops),
        own=memory_of(wiring.graph, own),
        remote=Capacity(sum(ring.memory for ring in by_hops)),
        by_hops=by_hops,
        definition=_DEFINED,
        facts=links + evidence.of_memory(reader, chips),
    )


def _chips(connection: Connection, place: Place) -> frozenset[int]:
    return frozenset(connection.scalars(chips_of(place)))


def memory_of(graph: "Graph", chips: Iterable[int]) -> Capacity:
    """What some chips hold together."""
    return Capacity(sum(graph.nodes[chip]["memory"] for chip in chips))


def _rings(graph: "Graph", own: Sequence[int], max_hops: int | None, least: int) -> tuple[PoolRing, ...]:
    """The other chips by hops, at most ``max_hops`` away and with a widest path of ``least`` or more."""
    hops, widest = solvers.reach.hops_from(graph, own), solvers.reach.widest_from(graph, own)
    found: dict[int, list[int]] = {}
    for node in sorted(hops.keys() - set(own)):
        near = max_hops is None or hops[node] <= max_hops
        if graph.nodes[node]["kind"] == "chip" and near and widest[node] >= least:
            found.setdefault(hops[node], []).append(node)
    return tuple(_ring(graph, own, at, found[at], widest) for at in sorted(found))


def _ring(graph: "Graph", own: Sequence[int], hops: int, chips: Sequence[int], widest: Mapping[int, int]) -> PoolRing:
    reached = (
        ReachedChip(graph.nodes[chip]["address"], Capacity(graph.nodes[chip]["memory"]), Bandwidth(widest[chip]))
        for chip in chips
    )
    delivered = Bandwidth(solvers.reach.delivery(graph, chips, own))
    return PoolRing(hops, tuple(reached), memory_of(graph, chips), delivered)
