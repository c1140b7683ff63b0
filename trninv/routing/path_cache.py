"""Answer path questions between two chips from cached domain graphs.

If two domains each have links to one network node, a best path between them consists of a best path up to the first
domain's network node, the only path through the fabric's tree above, and a best path down from the second domain's
network node. Domains with equal wiring share one graph and its search results (`trninv.routing.cached_domain`). The
cache is dropped when the database changes. The answers equal those computed on the graph of both domains.

A question that this cache can answer names a function as its ``answer_from_cache``, which `BaseFleet` calls first.
"""

from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from trninv import solvers
from trninv.inventory.address.syntax import Address
from trninv.routing import evidence
from trninv.routing.answer import LinkRef, Path, WiringSource
from trninv.routing.cached_domain import (
    CachedDomain,
    Facts,
    link_model,
    link_references,
    node_kind,
    read_cached_domain,
    read_scale_up_graph,
)
from trninv.routing.revision_cache import NotCachedError, RevisionCache
from trninv.routing.snapshot import Snapshot, SnapshotSource
from trninv.routing.wiring import Wiring
from trninv.solvers.adjacency import node_of_port
from trninv.solvers.shortest_paths import PathMetric, PathsToTarget

if TYPE_CHECKING:
    from trninv.solvers.pair_flows import PairFlow, PairFlows

A = TypeVar("A")
PathResult = tuple[Path, int, Facts]
"""The best path, the number of equally good paths, and the facts that it depends on."""


@dataclass(frozen=True, slots=True)
class PathCache:
    """The domains cached for one revision; others are read from the database if it still has that revision."""

    _source: SnapshotSource
    _cache: RevisionCache

    def path(self, source: Address, target: Address, metric: PathMetric) -> PathResult | None:
        """Return the best path between two chips, or None if it takes more than cached domains to find it."""
        if metric is PathMetric.TIME:
            return None
        by_bandwidth = metric is PathMetric.BANDWIDTH

        def find(source_chip: CachedChip, target_chip: CachedChip) -> PathResult | None:
            return (
                source_chip.path(target_chip, by_bandwidth=by_bandwidth)
                if source_chip.domain is target_chip.domain
                else self._path_across(source_chip, target_chip, by_bandwidth=by_bandwidth)
            )

        return self.answer_for_chips((source, target), find)

    def wiring_source(self, *places: Address) -> WiringSource | None:
        """Return whether the wiring of some chips' domains is designed or observed; None if the cache can't tell."""
        return self.answer_for_chips(
            places,
            lambda *chips: WiringSource.from_observed(
                is_observed=any(chip.domain.is_wiring_observed for chip in chips)
            ),
        )

    def answer_for_chips(self, addresses: Sequence[Address], answer: "Callable[..., A | None]") -> A | None:
        """Call ``answer`` with the chips at some addresses, and return its result.

        Return None if an address is not that of a chip that carries traffic, if the clusters differ, or if the result
        is not cached and `cached_only` forbids computing it.
        """
        if any(address.level != "chip" or address.cluster != addresses[0].cluster for address in addresses):
            return None
        try:
            chips = [self._chip(address) for address in addresses]
            return answer(*chips) if all(chips) else None
        except NotCachedError:
            return None

    def _chip(self, address: Address) -> "CachedChip | None":
        """Return the chip at an address, or None if it does not exist or carries nothing."""
        if (domain := self._domain(address)) is None:
            return None
        number = domain.class_entry.chips.get(_address_suffix(address))
        return None if number is None else CachedChip(self, domain, number)

    def _path_across(self, source: "CachedChip", target: "CachedChip", *, by_bandwidth: bool) -> PathResult | None:
        """Return the best path between chips of two domains over the fabric.

        Return None if there is no path, or if a domain is not below exactly one network node.
        """
        (source_domain, start), (target_domain, end) = (source.domain, source.number), (target.domain, target.number)
        source_chain, target_chain = source_domain.chain, target_domain.chain
        common = next((node for node in source_chain.addresses if node in target_chain.addresses), None)
        source_exit, target_exit = source_domain.class_entry.network_node, target_domain.class_entry.network_node
        if common is None or source_exit is None or target_exit is None:
            return None
        source_height, target_height = source_chain.addresses.index(common), target_chain.addresses.index(common)
        uplinks = source_chain.uplinks[:source_height] + target_chain.uplinks[:target_height][::-1]
        floor = 0  # bytes per second that each link of the path must carry
        if by_bandwidth:
            widths = (
                source_domain.class_entry.widest_to(source_exit).get(start, 0),
                target_domain.class_entry.widest_to(target_exit).get(end, 0),
            )
            floor = min(*widths, *(link.bandwidth for link in uplinks))
        paths_up = source_domain.class_entry.paths_to(source_exit, floor)
        paths_down = target_domain.class_entry.paths_to(end, floor)
        up, down = (tuple(map(node_of_port, path)) for path in (paths_up.path(start), paths_down.path(target_exit)))
        if not up or not down:
            return None
        links = [*link_references(source_domain, up), *uplinks, *link_references(target_domain, down)]
        nodes = [
            *((node_kind(source_domain, node), source_domain.address_of(node)) for node in up),
            *(
                ("network_node", node)
                for node in (
                    *source_chain.addresses[1 : source_height + 1],
                    *target_chain.addresses[:target_height][::-1],
                )
            ),
            *((node_kind(target_domain, node), target_domain.address_of(node)) for node in down[1:]),
        ]
        models = {
            link_model(domain, a, b)
            for domain, segment in ((source_domain, up), (target_domain, down))
            for a, b in pairwise(segment)
        }
        models |= {*source_chain.uplink_models[:source_height], *target_chain.uplink_models[:target_height]}
        count = paths_up.path_counts[start] * paths_down.path_counts[target_exit]
        return (
            Path.from_nodes(nodes, links),
            count,
            source.facts(models, {source_domain.stored.model, target_domain.stored.model}),
        )

    def _domain(self, address: Address) -> CachedDomain | None:
        key = address.cluster, address.steps[0][1]
        return self._cache.domains.get_or_compute(
            key, lambda: self._read(lambda snapshot: read_cached_domain(snapshot, *key))
        )

    def facts(self, key: Hashable, read: Callable[[Snapshot], Facts]) -> Facts:
        """Return the facts cached under a key, or read and cache them."""
        return self._cache.results.get_or_compute(("path facts", key), lambda: self._read(read))

    def pair_flows(self, domain: CachedDomain) -> "PairFlows | None":
        """Return the table of a domain's maximum flows by symmetry.

        Return None if the total link capacities of its chips differ, because symmetries are then unlikely.
        """
        graph = self._read(lambda snapshot: read_scale_up_graph(snapshot, domain))
        kind_of = graph.nodes(data="kind")
        chip_capacities = {
            sum(link["capacity"] for link in graph[node].values()) for node in graph if kind_of[node] == "chip"
        }
        if len(chip_capacities) > 1:
            return None
        return solvers.symmetry.share_by_wiring(solvers.pair_flows.PairFlows, graph)

    def _read(self, read: Callable[[Snapshot], A]) -> A:
        """Read from a snapshot of the cache's revision.

        Raises
        ------
        NotCachedError
            The database has changed since that revision.

        """
        with self._source.open_without_scenario() as snapshot:
            if snapshot.revision != self._cache.revision:
                raise NotCachedError
            return read(snapshot)


@dataclass(frozen=True, slots=True)
class CachedChip:
    """A chip of a cached domain that carries traffic; ``number`` is its local number."""

    _cache: PathCache
    domain: CachedDomain
    number: int

    @property
    def wiring(self) -> Wiring:
        """Scale-up wiring of the chip's domain in local numbers; the addresses in it lack the domain's part."""
        return self.domain.class_entry.scale_up

    def address_of(self, node: int) -> str:
        """Return the full address of a node of the domain, by its local number."""
        return self.domain.address_of(node)

    def get_or_search(self, key: Hashable, search: Callable[[], A]) -> A:
        """Return the cached result of a search in the wiring, shared by all domains of the class."""
        return self.domain.class_entry.get_or_search(key, search)

    def facts(self, models: AbstractSet[str], domain_models: AbstractSet[str] = frozenset()) -> Facts:
        """Return the facts about link models, and about the fabric above ``domain_models`` if it names any."""

        def read(snapshot: Snapshot) -> Facts:
            fabric_facts = (
                evidence.cite_fabric_above(snapshot, domain_models, is_observed=is_fabric_observed)
                if domain_models
                else ()
            )
            return evidence.cite_links(snapshot, models) + fabric_facts

        is_fabric_observed = self.domain.chain.is_observed
        return self._cache.facts((frozenset(models), frozenset(domain_models), is_fabric_observed), read)

    def memory_facts(self) -> Facts:
        """Return the memory facts of the chip's model."""
        model = self.wiring.nodes[self.number]["model"]
        return self._cache.facts(model, lambda snapshot: evidence.cite_memory_models(snapshot, [model]))

    def paths_to(self, other: "CachedChip", *, by_bandwidth: bool) -> PathsToTarget:
        """Return the best paths to another chip of the domain over scale-up links."""
        class_entry = self.domain.class_entry
        floor = class_entry.widest_to(other.number, inner_only=True).get(self.number, 0) if by_bandwidth else 0
        return class_entry.paths_to(other.number, floor, inner_only=True)

    def path(self, other: "CachedChip", *, by_bandwidth: bool) -> PathResult | None:
        """Return the best path to another chip of the domain; None if there is none."""
        paths = self.paths_to(other, by_bandwidth=by_bandwidth)
        if not (nodes := paths.path(self.number)):
            return None
        path = Path.from_nodes(
            [(node_kind(self.domain, node), self.address_of(node)) for node in nodes],
            link_references(self.domain, nodes),
        )
        return (
            path,
            paths.path_counts[self.number],
            self.facts({link_model(self.domain, a, b) for a, b in pairwise(nodes)}),
        )

    @property
    def address(self) -> str:
        """Full address of the chip."""
        return self.domain.address_of(self.number)

    @property
    def link_models(self) -> frozenset[str]:
        """Models of all scale-up links of the domain."""
        return self.get_or_search("link models", lambda: frozenset(link["model"] for _, _, link in self.wiring.edges()))

    def minimum_cut(self, other: "CachedChip") -> "PairFlow":
        """Return the maximum flow to another chip of the domain over scale-up links, and the links of a minimum cut.

        In a regular wiring, such as an undamaged one, the result is looked up by symmetry (`PathCache.pair_flows`).
        """
        if flows := self.get_or_search("pair flows", lambda: self._cache.pair_flows(self.domain)):
            return flows.minimum_cut(self.number, other.number)
        network = self.get_or_search("network", lambda: solvers.max_flow.FlowNetwork(self.wiring.links))
        return network.cut_links([self.number], [other.number])

    def link(self, a: int, b: int) -> LinkRef:
        """Return the link between two nodes of the domain, by their local numbers."""
        return link_references(self.domain, (a, b))[0]


def _address_suffix(address: Address) -> str:
    """Return an address without the cluster's and the domain's part."""
    return "".join(f"/{letters}{ordinal}" for letters, ordinal in address.steps[1:])
