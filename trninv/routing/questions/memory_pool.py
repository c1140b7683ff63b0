"""Answer how much memory a place can reach, and by how many hops.

A ring is the set of chips at one number of hops from the place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Self

from sqlalchemy import Connection

from trninv import solvers
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.inventory.address.syntax import Address, parse
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, AnswerDifference, WiringSource, bandwidth_range
from trninv.routing.endpoints import resolve_nodes
from trninv.routing.link_selection import LinkSelection
from trninv.routing.path_cache import CachedChip, PathCache
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import MAX_DOMAINS, Attributes, Wiring, domains_in_same_clusters, merge_wirings
from trninv.solvers.adjacency import join_links
from trninv.solvers.shortest_paths import widest_capacities
from trninv.units import Bandwidth, Capacity, pluralize

_DEFINITION = (
    "memory of the healthy chips within reach; widest path, and the combined bandwidth of a whole ring, one direction"
)
_LINKS_CLAUSES = {
    LinkSelection.SCALE_UP: LinkSelection.SCALE_UP.definition_suffix,
    LinkSelection.ANY: (
        f"{LinkSelection.ANY.definition_suffix}; a ring's combined bandwidth uses the domains of its chips and "
        "of the place"
    ),
}


@dataclass(frozen=True, slots=True)
class ReachedChip:
    """A chip within reach."""

    address: Annotated[AddressText, "Its address."]
    memory: Annotated[Capacity, "Its HBM."]
    widest: Annotated[Bandwidth, "Bandwidth of the widest path from it, one direction."]


@dataclass(frozen=True, slots=True)
class HopRing:
    """The chips at one distance."""

    hops: Annotated[int, "Hops to each of them."]
    reached: Annotated[tuple[ReachedChip, ...], "The chips."]
    memory: Annotated[Capacity, "Their total HBM."]
    delivery: Annotated[Bandwidth, "Their combined bandwidth into the place, one direction."]

    @property
    def chips(self) -> int:
        """Number of chips."""
        return len(self.reached)


@dataclass(frozen=True, kw_only=True)
class PoolAnswer(Answer):
    """Memory that a place can reach."""

    scope: Annotated[AddressText, "The place."]
    chips: Annotated[int, "Number of chips, its own included."]
    own: Annotated[Capacity, "Memory of its own chips."]
    remote: Annotated[Capacity, "Memory of other chips."]
    by_hops: Annotated[tuple[HopRing, ...], "Other chips by distance."]

    @property
    def memory(self) -> Capacity:
        """Total memory."""
        return Capacity(self.own + self.remote)

    def difference_from(self, other: Self) -> AnswerDifference:
        return AnswerDifference(chips=self.chips - other.chips, bytes=self.memory - other.memory)

    def render(self) -> Rendered:
        chips = pluralize(self.chips, "chip")
        yield f"{self.scope}: {self.memory} on {chips} ({self.own} own, {self.remote} remote)"
        if self.by_hops:
            yield RenderedTable(
                ["hops", "chips", "memory", "widest path", "combined bandwidth"],
                (
                    [
                        ring.hops,
                        ring.chips,
                        ring.memory,
                        bandwidth_range(chip.widest for chip in ring.reached),
                        ring.delivery,
                    ]
                    for ring in self.by_hops
                ),
            )

    def value_lines(self) -> Sequence[object]:
        return [self.memory]


def _answer_from_cache(
    cache: PathCache, scope: str, max_hops: int | None, min_bandwidth: Bandwidth | None, via: LinkSelection
) -> Answer | None:
    """Answer for a chip over scale-up links from the cache; None for other places, EFA or a minimum bandwidth."""
    if via is not LinkSelection.SCALE_UP or min_bandwidth is not None:
        return None
    return cache.answer_for_chips((address := parse(scope),), partial(_pool_around, address, max_hops))


def _pool_around(address: Address, max_hops: int | None, chip: CachedChip) -> PoolAnswer:
    """Return the memory pool of a cached chip over the scale-up links of its domain."""
    own = [chip.number]
    reachable = chip.get_or_search(
        ("reachable", chip.number), partial(_ReachableChips.from_wiring, chip.wiring, {}, own)
    )
    link_models = chip.get_or_search("links", lambda: frozenset(link["model"] for _, _, link in chip.wiring.edges()))
    distances = [hops for hops in reachable.rings if max_hops is None or hops <= max_hops]
    by_hops = tuple(
        _with_full_addresses(chip, chip.get_or_search(("ring", chip.number, hops), partial(reachable.ring, hops)))
        for hops in distances
    )
    return PoolAnswer(
        scope=str(address),
        chips=1 + sum(ring.chips for ring in by_hops),
        own=total_memory(chip.wiring.nodes, own),
        remote=Capacity(sum(ring.memory for ring in by_hops)),
        by_hops=by_hops,
        definition=_DEFINITION + _LINKS_CLAUSES[LinkSelection.SCALE_UP],
        via=LinkSelection.SCALE_UP,
        facts=chip.facts(link_models) + chip.memory_facts(),
        wiring_source=WiringSource.from_observed(is_observed=chip.domain.is_wiring_observed),
    )


def _with_full_addresses(center: CachedChip, ring: HopRing) -> HopRing:
    """Return a ring whose addresses include that of the domain, which cached wirings lack."""
    domain_address = center.domain.stored.address
    reached = tuple(ReachedChip(domain_address + chip.address, chip.memory, chip.widest) for chip in ring.reached)
    return replace(ring, reached=reached)


@question(
    cost=ROUTED_COST,
    command="pool",
    examples=("pool u-trn2x64/d0/s0/c0 --hops 2", "pool u-trn2x64/d0/s0/c0 --via any"),
    answer_from_cache=_answer_from_cache,
)
def memory_pool(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="ADDRESS")],
    max_hops: Annotated[int | None, Argument("Omit chips farther away.", option="--hops")] = None,
    min_bandwidth: Annotated[
        Bandwidth | None, Argument("Omit chips with a narrower widest path, such as 64 GB/s.", metavar="X")
    ] = None,
    via: Annotated[
        LinkSelection, Argument(f"Links to use; ANY is for clusters of up to {MAX_DOMAINS} domains.")
    ] = LinkSelection.SCALE_UP,
) -> PoolAnswer:
    """Find the memory that a place reaches over scale-up links, or over EFA as well."""
    address, chips, domains = resolve_nodes(snapshot, scope, _chip_nodes)
    across_domains = via is LinkSelection.ANY
    wiring_by_domain = snapshot.parts(
        domains_in_same_clusters(snapshot.connection, domains) if across_domains else sorted(domains),
        fabric=across_domains,
    )
    # pop leaves the other domains
    wiring = merge_wirings([wiring_by_domain.pop(domain) for domain in sorted(domains)])
    own = sorted(chips & wiring.nodes.keys())
    reachable = _ReachableChips.from_wiring(wiring, wiring_by_domain, own, min_bandwidth or 0)
    by_hops = tuple(reachable.ring(hops) for hops in reachable.rings if max_hops is None or hops <= max_hops)
    wirings = wiring, *wiring_by_domain.values()
    nodes = [node for domain_wiring in wirings for node in domain_wiring.nodes.values()]
    links = (link for domain_wiring in wirings for _, _, link in domain_wiring.edges())
    return PoolAnswer(
        scope=address,
        chips=len(own) + sum(ring.chips for ring in by_hops),
        own=total_memory(wiring.nodes, own),
        remote=Capacity(sum(ring.memory for ring in by_hops)),
        by_hops=by_hops,
        definition=_DEFINITION + _LINKS_CLAUSES[via],
        via=via,
        facts=evidence.cite_wiring(snapshot, nodes, links) + evidence.cite_memory(snapshot, chips),
    )


def _chip_nodes(connection: Connection, place: Place) -> frozenset[int]:
    """Return the node ids of a place's chips."""
    return frozenset(connection.scalars(row_ids_in(place, "chip")))


def total_memory(nodes: Mapping[int, Attributes], chips: Iterable[int]) -> Capacity:
    """Return the total memory of some chips."""
    return Capacity(sum(nodes[chip]["memory"] for chip in chips))


@dataclass(frozen=True, slots=True)
class _ReachableChips:
    """The chips that a place reaches, other than its own, by hops.

    Attributes
    ----------
    wiring
        The wiring of the place's domains.
    other_domains
        The wiring of each other domain, by its id.
    own
        Node ids of the place's chips.
    rings
        Node ids of the reached chips by hops, in ascending order of both.
    widest
        Capacity of the widest path from each reached chip, in bytes per second.

    """

    wiring: Wiring
    other_domains: Mapping[int, Wiring]
    own: Sequence[int]
    rings: Mapping[int, Sequence[int]]
    widest: Mapping[int, int]

    @classmethod
    def from_wiring(
        cls, wiring: Wiring, other_domains: Mapping[int, Wiring], own: Sequence[int], min_bandwidth: int = 0
    ) -> Self:
        """Search from a place; a path from another domain crosses only that domain and the place's domains."""
        chips_by_hops: dict[int, list[int]] = {}
        widest: dict[int, int] = {}
        for wirings in ([wiring], *([wiring, other_wiring] for other_wiring in other_domains.values())):
            predecessors = join_links([domain_wiring.adjacency.predecessors for domain_wiring in wirings])
            hops = solvers.distances.directed_hops(predecessors, own)
            capacities = widest_capacities(predecessors, own)
            target_nodes = wirings[-1].nodes
            for node in (hops.keys() & target_nodes.keys()).difference(own):
                if target_nodes[node]["kind"] == "chip" and capacities[node] >= min_bandwidth:
                    chips_by_hops.setdefault(hops[node], []).append(node)
                    widest[node] = capacities[node]
        return cls(
            wiring,
            other_domains,
            own,
            {distance: sorted(chips_by_hops[distance]) for distance in sorted(chips_by_hops)},
            widest,
        )

    def ring(self, hops: int) -> HopRing:
        """Return the chips at this number of hops, with the maximum flow from all of them into the place."""
        chips = self.rings[hops]
        others = (other for other in self.other_domains.values() if not other.nodes.keys().isdisjoint(chips))
        wirings = [self.wiring, *others]
        nodes = {chip: wiring.nodes[chip] for wiring in wirings for chip in wiring.nodes.keys() & set(chips)}
        reached = (
            ReachedChip(nodes[chip]["address"], Capacity(nodes[chip]["memory"]), Bandwidth(self.widest[chip]))
            for chip in chips
        )
        successors = join_links([wiring.adjacency.successors for wiring in wirings])
        flow, _ = solvers.max_flow.minimum_cut_directed(successors, chips, self.own)
        return HopRing(hops, tuple(reached), total_memory(nodes, chips), Bandwidth(flow))
