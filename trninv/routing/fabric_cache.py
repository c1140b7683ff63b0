"""Answer path questions between two chips from cached domain graphs.

If two domains each touch the fabric at one network node, a best path between them consists of a best path to the first
one's network node, the way through the tree above, and a best path from the second one's network node. Domains with
equal wiring share one graph in local numbers and its search results. Everything is dropped when the database changes.
Answers equal those computed on the graph of both domains.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from sqlalchemy import select

from trninv.inventory.address import Address
from trninv.inventory.schema import TABLES
from trninv.routing import evidence
from trninv.routing.answer import CitedFact, LinkRef, Path, WiringSource
from trninv.routing.basis import has_observed_wiring
from trninv.routing.wiring import SnapshotReader, Wiring, WiringCache, link_ref
from trninv.solvers.arcs import node_of_port
from trninv.solvers.paths import Links, NodePath, PathMetric
from trninv.solvers.toward import PathsToTarget, widest_capacities
from trninv.units import Bandwidth

A = TypeVar("A")

_TABLES = TABLES
MAX_DOMAINS_CACHED = 20_000
"""Domains cached; an entry of a healthy domain takes a few hundred bytes."""
MAX_SEARCHES_CACHED = 4_096
"""Searches cached for one revision, each of some kilobytes; healthy domains of a model share theirs."""

Facts = tuple[CitedFact, ...]
PathResult = tuple[Path, int, Facts]
"""The best path, the number of equally good paths, and the facts that it depends on."""


@dataclass(frozen=True, slots=True)
class DomainClassEntry:
    """The wiring of domains that are equal, in local numbers, and the searches in it.

    Attributes
    ----------
    network_node
        Local number of the network node above; None unless there is exactly one.
    chips
        Local number of each chip, by its address without the domain's part.
    scale_up
        The wiring without NICs and network nodes.

    """

    wiring: Wiring
    network_node: int | None
    chips: dict[str, int]
    scale_up: Wiring
    searches: "SearchCache"

    @property
    def inner_links(self) -> Links:
        """Scale-up links of the domain."""
        return self.scale_up.links

    def paths_to(self, target: int, floor: int, *, inner_only: bool = False) -> PathsToTarget:
        """Return the shortest paths to a node over links of at least ``floor`` bytes per second."""
        successors, predecessors = (self.inner_links, self.inner_links) if inner_only else self.wiring.adjacency
        return self.searches.get_or_search(
            (id(successors), target, floor), lambda: PathsToTarget.from_links(successors, target, floor, predecessors)
        )

    def widest_to(self, target: int, *, inner_only: bool = False) -> dict[int, int]:
        """Return the capacity of the widest path to a node from each other node."""
        predecessors = self.inner_links if inner_only else self.wiring.adjacency.predecessors
        return self.searches.get_or_search(
            (id(predecessors), target), lambda: widest_capacities(predecessors, [target])
        )


class SearchCache:
    """Results of searches; keys may use the ids of graphs, which the cache must not outlive."""

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}

    def get_or_search(self, key: Hashable, search: Callable[[], A]) -> A:
        """Return the result cached under a key, or search and cache it; refuse to search under `cached_only`."""
        if (cached := self._results.get(key)) is None:
            if is_cached_only.get():
                raise NotCachedError
            if len(self._results) >= MAX_SEARCHES_CACHED:
                self._results.clear()
            cached = self._results[key] = search()
        result: A = cached
        return result


@dataclass(frozen=True, slots=True)
class CachedDomain:
    """A domain: its class's shared wiring, and what is its own.

    Attributes
    ----------
    first_link
        Id of its first link; local link ids count from it.
    chain
        Addresses of the network nodes from the domain to the top of the fabric; empty unless it touches exactly one.
    uplinks, uplink_models
        The links between the nodes of the chain, and their models.
    is_fabric_observed
        Whether the fabric was observed rather than designed.
    is_wiring_observed
        Whether the domain's wiring was observed.

    """

    class_entry: DomainClassEntry
    address: str
    model: str
    first_link: int
    chain: tuple[str, ...]
    uplinks: tuple[LinkRef, ...]
    uplink_models: tuple[str, ...]
    is_fabric_observed: bool
    is_wiring_observed: bool

    def address_of(self, node: int) -> str:
        """Return the full address of a node in local numbers."""
        return (
            self.chain[0]
            if node == self.class_entry.network_node
            else self.address + self.class_entry.wiring.nodes[node]["address"]
        )


@dataclass(slots=True)
class RevisionCache:
    """Data cached for one revision of the database; None stands for a domain without healthy nodes."""

    revision: Hashable
    domains: dict[tuple[str, int], CachedDomain | None] = field(default_factory=dict)
    class_entries: dict[Hashable, DomainClassEntry] = field(default_factory=dict)
    facts: dict[Hashable, Facts] = field(default_factory=dict)
    search_cache: SearchCache = field(default_factory=SearchCache)


class NotCachedError(Exception):
    """The answer needs a read or search that is not allowed now, or the database has changed since."""


is_cached_only: ContextVar[bool] = ContextVar("is_cached_only", default=False)


@contextmanager
def cached_only() -> Iterator[None]:
    """Answer only from cached reads and searches, which takes microseconds; other answers are None."""
    token = is_cached_only.set(True)
    try:
        yield
    finally:
        is_cached_only.reset(token)


class PathCache:
    """A cache of the latest revision's domains; thread-safe."""

    def __init__(self, wirings: WiringCache) -> None:
        self._wiring_cache, self._revision_cache = wirings, [RevisionCache(None)]

    def with_wirings(self, wirings: WiringCache) -> "PathCache":
        """Return a view of this cache that reads through another cache of wirings."""
        copied = copy(self)
        copied._wiring_cache = wirings  # noqa: SLF001 # its own
        return copied

    def path(self, source: Address, target: Address, metric: PathMetric) -> PathResult | None:
        """Return the best path, or None if it takes the graph of both domains to find it."""
        if metric is PathMetric.TIME:
            return None
        by_bandwidth = metric is PathMetric.BANDWIDTH

        def find(first: CachedChip, second: CachedChip) -> PathResult | None:
            return (
                first.path(second, by_bandwidth=by_bandwidth)
                if first.domain is second.domain
                else self._path_across(first, second, by_bandwidth=by_bandwidth)
            )

        return self.answer_for_chips((source, target), find)

    def wiring_source(self, *places: Address) -> WiringSource | None:
        """Return the source of the wiring of the chips' domains, or None if it takes the tables to tell."""
        return self.answer_for_chips(
            places,
            lambda *chips: WiringSource.from_observed(
                is_observed=any(chip.domain.is_wiring_observed for chip in chips)
            ),
        )

    def answer_for_chips(self, addresses: Sequence[Address], answer: "Callable[..., A | None]") -> A | None:
        """Return ``answer`` of healthy chips of one cluster; None for other places, or if only the tables can tell."""
        revision = self._wiring_cache.current_revision()
        if revision is None or any(
            address.level != "chip" or address.cluster != addresses[0].cluster for address in addresses
        ):
            return None
        cache = self._revision_cache[0]
        if cache.revision != revision or len(cache.domains) > MAX_DOMAINS_CACHED:
            cache = self._revision_cache[0] = RevisionCache(revision)
        try:
            chips = [self._chip(cache, address) for address in addresses]
            return answer(*chips) if all(chips) else None
        except NotCachedError:
            return None

    def _chip(self, cache: RevisionCache, address: Address) -> "CachedChip | None":
        """Return the chip at an address, or None if it carries nothing."""
        if (domain := self._domain(cache, address)) is None:
            return None
        number = domain.class_entry.chips.get(_address_suffix(address))
        return None if number is None else CachedChip(self, cache, domain, number)

    def _path_across(self, source: "CachedChip", target: "CachedChip", *, by_bandwidth: bool) -> PathResult | None:
        (source_domain, start), (target_domain, end) = (source.domain, source.number), (target.domain, target.number)
        common = next((node for node in source_domain.chain if node in target_domain.chain), None)
        source_top, target_top = source_domain.class_entry.network_node, target_domain.class_entry.network_node
        if common is None or source_top is None or target_top is None:
            return None
        source_height, target_height = source_domain.chain.index(common), target_domain.chain.index(common)
        uplinks = source_domain.uplinks[:source_height] + target_domain.uplinks[:target_height][::-1]
        floor = 0
        if by_bandwidth:
            widths = (
                source_domain.class_entry.widest_to(source_top).get(start, 0),
                target_domain.class_entry.widest_to(target_top).get(end, 0),
            )
            floor = min(*widths, *(link.bandwidth for link in uplinks))
        paths_up, paths_down = (
            source_domain.class_entry.paths_to(source_top, floor),
            target_domain.class_entry.paths_to(end, floor),
        )
        up, down = (tuple(map(node_of_port, path)) for path in (paths_up.path(start), paths_down.path(target_top)))
        if not up or not down:
            return None
        links = [*link_references(source_domain, up), *uplinks, *link_references(target_domain, down)]
        nodes = [
            *((node_kind(source_domain, node), source_domain.address_of(node)) for node in up),
            *(
                ("network_node", node)
                for node in (*source_domain.chain[1 : source_height + 1], *target_domain.chain[:target_height][::-1])
            ),
            *((node_kind(target_domain, node), target_domain.address_of(node)) for node in down[1:]),
        ]
        models = {
            link_model(domain, a, b)
            for domain, segment in ((source_domain, up), (target_domain, down))
            for a, b in pairwise(segment)
        }
        models |= {*source_domain.uplink_models[:source_height], *target_domain.uplink_models[:target_height]}
        count = paths_up.path_counts[start] * paths_down.path_counts[target_top]
        return Path.from_nodes(nodes, links), count, source.facts(models, {source_domain.model, target_domain.model})

    def _domain(self, cache: RevisionCache, address: Address) -> CachedDomain | None:
        key = address.cluster, address.steps[0][1]
        if key not in cache.domains:
            with self._open_reader(cache) as reader:
                cache.domains[key] = read_cached_domain(reader, cache, *key)
        return cache.domains[key]

    def cached_facts(
        self, cache: RevisionCache, key: Hashable, read: Callable[[SnapshotReader], tuple[CitedFact, ...]]
    ) -> Facts:
        """Return the facts cached under a key, or read and cache them."""
        if key not in cache.facts:
            with self._open_reader(cache) as reader:
                cache.facts[key] = read(reader)
        return cache.facts[key]

    @contextmanager
    def _open_reader(self, cache: RevisionCache) -> Iterator[SnapshotReader]:
        """Open a reader of a cache's revision; refuse if the database has changed or nothing may be read."""
        if is_cached_only.get():
            raise NotCachedError
        with self._wiring_cache.open_reader() as reader:
            if reader.revision != cache.revision:
                raise NotCachedError
            yield reader


@dataclass(frozen=True, slots=True)
class CachedChip:
    """A healthy chip, by its local number in its domain's class."""

    _cache: PathCache
    _revision_cache: RevisionCache
    domain: CachedDomain
    number: int

    @property
    def wiring(self) -> Wiring:
        """Scale-up wiring of its domain in local numbers; its addresses lack the domain's part."""
        return self.domain.class_entry.scale_up

    def address_of(self, node: int) -> str:
        """Return the full address of a node of the domain."""
        return self.domain.address_of(node)

    def get_or_search(self, key: Hashable, search: Callable[[], A]) -> A:
        """Return the cached result of a search in the wiring, shared by all domains of the class."""
        return self.domain.class_entry.searches.get_or_search((id(self.domain.class_entry), key), search)

    def facts(self, models: AbstractSet[str], domain_models: AbstractSet[str] = frozenset()) -> Facts:
        """Return the facts about link models, and about the fabric above domain models if any are given."""

        def read(reader: SnapshotReader) -> Facts:
            fabric_facts = (
                evidence.cite_fabric_above(reader, domain_models, is_observed=is_fabric_observed)
                if domain_models
                else ()
            )
            return evidence.cite_links(reader, models) + fabric_facts

        is_fabric_observed = self.domain.is_fabric_observed
        return self._cache.cached_facts(
            self._revision_cache, (frozenset(models), frozenset(domain_models), is_fabric_observed), read
        )

    def memory_facts(self) -> Facts:
        """Return the memory facts of the chip's model."""
        model = self.wiring.nodes[self.number]["model"]
        return self._cache.cached_facts(
            self._revision_cache, model, lambda reader: evidence.cite_memory_models(reader, [model])
        )

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

    def link(self, a: int, b: int) -> LinkRef:
        """Return the link between two nodes of the domain."""
        return link_references(self.domain, (a, b))[0]


def _address_suffix(address: Address) -> str:
    return "".join(f"/{letters}{ordinal}" for letters, ordinal in address.steps[1:])


def node_kind(domain: CachedDomain, node: int) -> str:
    """Return the kind of a node in local numbers."""
    return str(domain.class_entry.wiring.nodes[node]["kind"])


def link_model(domain: CachedDomain, a: int, b: int) -> str:
    """Return the model of the link between two nodes in local numbers."""
    return str(domain.class_entry.wiring.links[a][b]["model"])


def link_references(domain: CachedDomain, nodes: NodePath) -> list[LinkRef]:
    """Return the links along a path in local numbers."""
    references = []
    for a, b in pairwise(nodes):
        low, high = min(a, b), max(a, b)
        link = domain.class_entry.wiring.links[low][high]
        references.append(
            LinkRef(
                domain.first_link + link["id"],
                domain.address_of(low),
                domain.address_of(high),
                Bandwidth(link["capacity"]),
            )
        )
    return references


def read_cached_domain(reader: SnapshotReader, cache: RevisionCache, cluster: str, ordinal: int) -> CachedDomain | None:
    """Read a domain from the tables; None if it does not exist or no node of it carries traffic."""
    table, clusters, models = _TABLES["domain"], _TABLES["cluster"], _TABLES["domain_model"]
    query = select(table.c.id, models.c.slug).join(clusters, clusters.c.id == table.c.cluster_id)
    query = query.join(models, models.c.id == table.c.domain_model_id)
    row = reader.connection.execute(query.where(clusters.c.slug == cluster, table.c.ordinal == ordinal)).first()
    if row is None:
        return None
    wiring = reader.load([row.id], fabric=True)
    nodes, links = wiring.nodes, wiring.links
    domain_nodes = [node for node, attributes in nodes.items() if attributes["kind"] != "network_node"]
    if not domain_nodes:
        return None
    chain = _network_nodes_above(wiring, domain_nodes)
    domain_address = f"{cluster}/d{ordinal}"
    first_link = min((attributes["id"] for node in domain_nodes for attributes in links[node].values()), default=0)
    local_wiring, network_node = _to_local_numbers(wiring, domain_nodes, chain[:1], first_link, len(domain_address))
    key = repr(
        (
            network_node,
            local_wiring.nodes,
            sorted((a, sorted(neighbors.items())) for a, neighbors in local_wiring.links.items()),
        )
    )
    if key not in cache.class_entries:
        cache.class_entries[key] = _class_entry(local_wiring, network_node, cache.search_cache)
    names = tuple(nodes[node]["address"] for node in chain)
    uplinks = tuple(link_ref(nodes, links, a, b) for a, b in pairwise(chain))
    uplink_models = tuple(links[a][b]["model"] for a, b in pairwise(chain))
    is_fabric_observed = any(nodes[node]["vendor_id"] for node in chain)
    is_wiring_observed = has_observed_wiring(reader.connection, domain_address)
    return CachedDomain(
        cache.class_entries[key],
        domain_address,
        row.slug,
        first_link,
        names,
        uplinks,
        uplink_models,
        is_fabric_observed,
        is_wiring_observed,
    )


def _network_nodes_above(wiring: Wiring, domain_nodes: list[int]) -> list[int]:
    """Return the network nodes from a domain to the top; none unless the domain touches exactly one."""
    fabric = wiring.nodes.keys() - set(domain_nodes)
    touched = {neighbor for node in domain_nodes for neighbor in wiring.links[node] if neighbor in fabric}
    if len(touched) != 1:
        return []
    chain = [touched.pop()]
    while higher := [neighbor for neighbor in wiring.links[chain[-1]] if neighbor in fabric and neighbor > chain[-1]]:
        chain.append(min(higher))
    return chain


def _class_entry(local_wiring: Wiring, network_node: int | None, searches: SearchCache) -> DomainClassEntry:
    inner_nodes = {node for node, attributes in local_wiring.nodes.items() if attributes["kind"] in ("chip", "switch")}
    inner_links = {
        node: {
            neighbor: attributes for neighbor, attributes in local_wiring.links[node].items() if neighbor in inner_nodes
        }
        for node in inner_nodes
    }
    chips = {
        attributes["address"]: node for node, attributes in local_wiring.nodes.items() if attributes["kind"] == "chip"
    }
    scale_up = Wiring(
        {node: attributes for node, attributes in local_wiring.nodes.items() if node in inner_nodes},
        inner_links,
        frozenset(),
    )
    return DomainClassEntry(local_wiring, network_node, chips, scale_up, searches)


def _to_local_numbers(
    wiring: Wiring, domain_nodes: list[int], network_nodes: list[int], first_link: int, prefix_length: int
) -> tuple[Wiring, int | None]:
    """Renumber a domain's wiring from 0, and return it with the number of its network node, the last one, if any.

    Addresses lose their first ``prefix_length`` characters, the domain's part.
    """
    first = min(domain_nodes)
    number_of = {node: node - first for node in domain_nodes}
    nodes = {
        number_of[node]: {key: wiring.nodes[node][key] for key in ("kind", "memory", "model")}
        | {"address": wiring.nodes[node]["address"][prefix_length:]}
        for node in domain_nodes
    }
    for node in network_nodes:
        number_of[node] = max(nodes) + 1
        nodes[number_of[node]] = {"kind": "network_node", "address": ""}
    links = {
        number_of[a]: {
            number_of[b]: {"id": link["id"] - first_link, "capacity": link["capacity"], "model": link["model"]}
            for b, link in wiring.links[a].items()
            if b in number_of
        }
        for a in number_of
    }
    return Wiring(nodes, links, frozenset()), (max(nodes) if network_nodes else None)
