"""How much memory a place can reach."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Self

from sqlalchemy import Connection

from trninv import solvers
from trninv.inventory.address import Address, Place, chips_of, parse
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Basis, Difference, Table, Told, span
from trninv.routing.ends import nodes_at
from trninv.routing.fabric_cache import Chip, FabricCache
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.via import Via
from trninv.routing.wiring import MAX_DOMAINS, Attributes, Reader, Wiring, domains_beside, join
from trninv.solvers.arcs import join_links
from trninv.solvers.toward import widths
from trninv.units import Bandwidth, Capacity, counted

_DEFINED = "memory of the healthy chips within reach; widest path and what a whole ring delivers at once, one direction"
_OVER = {
    Via.SCALE_UP: Via.SCALE_UP.over,
    Via.ANY: f"{Via.ANY.over}; a ring delivers over the domains of its chips and of the place",
}


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
    """Memory that a place can reach."""

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


def _remembered(
    cache: FabricCache, of: str, max_hops: int | None, min_bandwidth: Bandwidth | None, via: Via
) -> Answer | None:
    """The answer around a chip in its domain, as far as it goes, from what is known of domains like that."""
    if via is not Via.SCALE_UP or min_bandwidth is not None:
        return None
    return cache.ask((address := parse(of),), partial(_around, address, max_hops))


def _around(address: Address, max_hops: int | None, chip: Chip) -> PoolAnswer:
    own, far = [chip.number], chip.found(("far", chip.number), partial(_Far.of, chip.wiring, {}, [chip.number]))
    links = chip.found("links", lambda: frozenset(of["model"] for _, _, of in chip.wiring.edges()))
    at = [hops for hops in far.rings if max_hops is None or hops <= max_hops]
    by_hops = tuple(_named(chip, chip.found(("ring", chip.number, hops), partial(far.ring, hops))) for hops in at)
    return PoolAnswer(
        of=str(address),
        chips=1 + sum(ring.chips for ring in by_hops),
        own=memory_of(chip.wiring.nodes, own),
        remote=Capacity(sum(ring.memory for ring in by_hops)),
        by_hops=by_hops,
        definition=_DEFINED + _OVER[Via.SCALE_UP],
        via=Via.SCALE_UP,
        facts=chip.facts(links) + chip.facts_of_memory(),
        basis=Basis.of(is_observed=chip.domain.is_observed),
    )


def _named(chip: Chip, ring: PoolRing) -> PoolRing:
    """With whole addresses."""
    above = chip.domain.address
    reached = tuple(ReachedChip(above + each.address, each.memory, each.widest) for each in ring.reached)
    return replace(ring, reached=reached)


@question(
    price=ROUTED,
    command="pool",
    examples=("pool u-trn2x64/d0/s0/c0 --hops 2", "pool u-trn2x64/d0/s0/c0 --via any"),
    remembered=_remembered,
)
def memory_pool(
    reader: Reader,
    of: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="ADDRESS")],
    max_hops: Annotated[int | None, Argument("Leave out chips further away.", option="--hops")] = None,
    min_bandwidth: Annotated[
        Bandwidth | None, Argument("Leave out chips with a narrower widest path: 64 GB/s.", metavar="X")
    ] = None,
    via: Annotated[
        Via, Argument(f"Over which links; ANY is of clusters of up to {MAX_DOMAINS} domains.")
    ] = Via.SCALE_UP,
) -> PoolAnswer:
    """How much memory a place can reach over scale-up links, or over EFA as well."""
    address, chips, domains = nodes_at(reader, of, _chips)
    wide = via is Via.ANY
    parts = reader.parts(domains_beside(reader.connection, domains) if wide else sorted(domains), fabric=wide)
    wiring = join([parts.pop(domain) for domain in sorted(domains)])
    own = sorted(chips & wiring.nodes.keys())
    far = _Far.of(wiring, parts, own, min_bandwidth or 0)
    by_hops = tuple(far.ring(hops) for hops in far.rings if max_hops is None or hops <= max_hops)
    every = wiring, *parts.values()
    nodes = [of for part in every for of in part.nodes.values()]
    links = evidence.of_wiring(reader, nodes, (of for part in every for _, _, of in part.edges()))
    return PoolAnswer(
        of=address,
        chips=len(own) + sum(ring.chips for ring in by_hops),
        own=memory_of(wiring.nodes, own),
        remote=Capacity(sum(ring.memory for ring in by_hops)),
        by_hops=by_hops,
        definition=_DEFINED + _OVER[via],
        via=via,
        facts=links + evidence.of_memory(reader, chips),
    )


def _chips(connection: Connection, place: Place) -> frozenset[int]:
    return frozenset(connection.scalars(chips_of(place)))


def memory_of(nodes: Mapping[int, Attributes], chips: Iterable[int]) -> Capacity:
    """What some chips hold together."""
    return Capacity(sum(nodes[chip]["memory"] for chip in chips))


@dataclass(frozen=True, slots=True)
class _Far:
    """The other chips from which ``widest`` is enough, by their hops.

    Attributes
    ----------
    wiring
        Of the place's domains.
    beside
        Of the other domains, by their ids.

    """

    wiring: Wiring
    beside: Mapping[int, Wiring]
    own: Sequence[int]
    rings: Mapping[int, Sequence[int]]
    widest: Mapping[int, int]

    @classmethod
    def of(cls, wiring: Wiring, beside: Mapping[int, Wiring], own: Sequence[int], least: int = 0) -> Self:
        """Of the place's domains over these alone, of every other one over these and itself, as `path` does."""
        found: dict[int, list[int]] = {}
        widest: dict[int, int] = {}
        for near in ([wiring], *([wiring, part] for part in beside.values())):
            behind = join_links([part.arcs.behind for part in near])
            hops, wide = solvers.reach.hops_over(behind, own), widths(behind, own)
            for node in (hops.keys() & near[-1].nodes.keys()).difference(own):
                if near[-1].nodes[node]["kind"] == "chip" and wide[node] >= least:
                    found.setdefault(hops[node], []).append(node)
                    widest[node] = wide[node]
        return cls(wiring, beside, own, {at: sorted(found[at]) for at in sorted(found)}, widest)

    def ring(self, hops: int) -> PoolRing:
        """The chips so many hops away, and what they deliver."""
        chips = self.rings[hops]
        senders = (part for part in self.beside.values() if not part.nodes.keys().isdisjoint(chips))
        parts = [self.wiring, *senders]
        nodes = {chip: part.nodes[chip] for part in parts for chip in part.nodes.keys() & set(chips)}
        reached = (
            ReachedChip(nodes[chip]["address"], Capacity(nodes[chip]["memory"]), Bandwidth(self.widest[chip]))
            for chip in chips
        )
        ahead = join_links([part.arcs.ahead for part in parts])
        delivered, _ = solvers.flow.least_cut(ahead, chips, self.own)
        return PoolRing(hops, tuple(reached), memory_of(nodes, chips), Bandwidth(delivered))
