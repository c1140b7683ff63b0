"""Read a domain's wiring in a form that all equal domains share, for `trninv.routing.path_cache`.

A domain's nodes have consecutive ids, and so do its links. A local number is an id minus the lowest id of the domain's
nodes, or links. Domains with one blueprint (`trninv.routing.stored_domain`) and the same unhealthy parts form a class,
whose graph and search results are cached once. The cache is dropped when the database changes.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from trninv import solvers
from trninv.routing.answer import CitedFact, LinkRef
from trninv.routing.evidence import has_observed_wiring_in
from trninv.routing.revision_cache import BoundedCache
from trninv.routing.snapshot import Snapshot
from trninv.routing.stored_domain import NetworkPart, StoredDomain, read_domain
from trninv.routing.wiring import Wiring, link_ref, pattern_graph
from trninv.solvers.adjacency import Links
from trninv.solvers.shortest_paths import NodePath, PathsToTarget, widest_capacities
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph

A = TypeVar("A")
Facts = tuple[CitedFact, ...]


@dataclass(frozen=True, slots=True, eq=False)
class DomainClassEntry:
    """The wiring that all domains of a class share, in local numbers.

    An entry is equal only to itself, so that it is quick to compare as part of a cache key.

    Attributes
    ----------
    network_node
        Local number of the network node above the domain; None unless there is exactly one.
    chips
        Local number of each chip, by the part of its address below the domain, such as ``/s0/c5``.
    scale_up
        The wiring without NICs and network nodes.
    searches
        The cache of search results, which all classes share.

    """

    wiring: Wiring
    network_node: int | None
    chips: dict[str, int]
    scale_up: Wiring
    searches: BoundedCache

    @property
    def inner_links(self) -> Links:
        """Scale-up links of the domain: those between its chips and switches."""
        return self.scale_up.links

    def get_or_search(self, key: Hashable, search: Callable[[], A]) -> A:
        """Return the cached result of a search in the wiring, or call ``search`` and cache its result."""
        return self.searches.get_or_compute((self, key), search)

    def paths_to(self, target: int, floor: int, *, inner_only: bool = False) -> PathsToTarget:
        """Return the shortest paths to a node over links of at least ``floor`` bytes per second.

        ``inner_only`` limits them to scale-up links.
        """
        successors, predecessors = (self.inner_links, self.inner_links) if inner_only else self.wiring.adjacency
        return self.get_or_search(
            ("paths", target, floor, inner_only),
            lambda: PathsToTarget.from_links(successors, target, floor, predecessors),
        )

    def widest_to(self, target: int, *, inner_only: bool = False) -> dict[int, int]:
        """Return the capacity of the widest path to a node from each other node; ``inner_only`` as in `paths_to`."""
        predecessors = self.inner_links if inner_only else self.wiring.adjacency.predecessors
        return self.get_or_search(("widest", target, inner_only), lambda: widest_capacities(predecessors, [target]))


@dataclass(frozen=True, slots=True)
class NetworkChain:
    """The network nodes from a domain to the top of the fabric; empty unless it has links to exactly one.

    Attributes
    ----------
    addresses
        Addresses of the network nodes, from the domain upwards.
    uplinks, uplink_models
        The links between them, and the models of these links.
    is_observed
        Whether the fabric was observed rather than designed.

    """

    addresses: tuple[str, ...]
    uplinks: tuple[LinkRef, ...]
    uplink_models: tuple[str, ...]
    is_observed: bool


@dataclass(frozen=True, slots=True)
class CachedDomain:
    """A domain: the wiring that it shares with its class, and what differs from domain to domain."""

    class_entry: DomainClassEntry
    stored: StoredDomain
    chain: NetworkChain
    is_wiring_observed: bool

    def address_of(self, node: int) -> str:
        """Return the full address of a node, by its local number."""
        return (
            self.chain.addresses[0]
            if node == self.class_entry.network_node
            else self.stored.address + self.class_entry.wiring.nodes[node]["address"]
        )


def node_kind(domain: CachedDomain, node: int) -> str:
    """Return the kind of a node, by its local number."""
    return str(domain.class_entry.wiring.nodes[node]["kind"])


def link_model(domain: CachedDomain, a: int, b: int) -> str:
    """Return the model of the link between two nodes, by their local numbers."""
    return str(domain.class_entry.wiring.links[a][b]["model"])


def link_references(domain: CachedDomain, nodes: NodePath) -> list[LinkRef]:
    """Return the links along a path, whose nodes are local numbers, with their full addresses."""
    references = []
    for a, b in pairwise(nodes):
        low, high = min(a, b), max(a, b)
        link = domain.class_entry.wiring.links[low][high]
        references.append(
            LinkRef(
                domain.stored.first_link + link["id"],
                domain.address_of(low),
                domain.address_of(high),
                Bandwidth(link["capacity"]),
            )
        )
    return references


def read_cached_domain(snapshot: Snapshot, cluster: str, ordinal: int) -> CachedDomain | None:
    """Read a domain from the tables.

    Return None if it does not exist, if no node of it carries traffic, or if its rows have no common form.
    """
    stored = read_domain(snapshot.connection, snapshot.models(), cluster, ordinal)
    network = snapshot.network_part(stored.network_nodes) if stored else None
    if stored is None or network is None:
        return None
    conditions = [
        (node - stored.first_network_node, network.node_conditions.get(node)) for node in stored.network_nodes
    ]
    key = stored.blueprint, stored.node_conditions, stored.link_conditions, tuple(conditions)
    entry = snapshot.cache.domain_classes.get_or_compute(key, lambda: _read_class_entry(snapshot, stored, network))
    if entry is None:
        return None
    class_entry, network_node = entry
    chain = _NO_CHAIN
    if network_node is not None:
        first = stored.first_network_node + network_node
        chain = snapshot.cached(("chain", first), lambda: _chain_above(network.wiring(snapshot.latencies()), first))
    return CachedDomain(class_entry, stored, chain, has_observed_wiring_in(snapshot.connection, stored.id))


def read_scale_up_graph(snapshot: Snapshot, domain: CachedDomain) -> "Graph":
    """Return a domain's chips, switches and scale-up links in local numbers, with their positions in its pattern."""
    wiring = domain.stored.wiring(snapshot.latencies())
    return solvers.graph.Graph(pattern_graph(wiring, domain.stored.first_node).subgraph(domain.class_entry.inner_links))


_NO_CHAIN = NetworkChain((), (), (), is_observed=False)


def _chain_above(wiring: Wiring, first: int) -> NetworkChain:
    """Return a network node and those above it; ``wiring`` is that of the fabric."""
    chain, nodes, links = [first], wiring.nodes, wiring.links
    # a network node has at most one parent, which has a higher id
    while higher := [neighbor for neighbor in links[chain[-1]] if neighbor > chain[-1]]:
        chain.append(min(higher))
    return NetworkChain(
        tuple(nodes[node]["address"] for node in chain),
        tuple(link_ref(nodes, links, a, b) for a, b in pairwise(chain)),
        tuple(links[a][b]["model"] for a, b in pairwise(chain)),
        is_observed=any(nodes[node]["vendor_id"] for node in chain),
    )


def _read_class_entry(
    snapshot: Snapshot, stored: StoredDomain, network: NetworkPart
) -> tuple[DomainClassEntry, int | None] | None:
    """Return the wiring that a domain shares with its class, and the network node above it; None if it carries nothing.

    The network node counts from the first one of the domain, and is None unless the domain has links to exactly one.
    """
    wiring = stored.wiring(snapshot.latencies(), network)
    domain_nodes = [node for node, attributes in wiring.nodes.items() if attributes["kind"] != "network_node"]
    if not domain_nodes:
        return None
    fabric = wiring.nodes.keys() - set(domain_nodes)
    touched = {neighbor for node in domain_nodes for neighbor in wiring.links[node] if neighbor in fabric}
    network_nodes = list(touched) if len(touched) == 1 else []
    local_wiring, local_number = _to_local_numbers(wiring, stored, domain_nodes, network_nodes)
    class_entry = _build_class_entry(local_wiring, local_number, snapshot.cache.searches)
    return class_entry, next((node - stored.first_network_node for node in network_nodes), None)


def _build_class_entry(local_wiring: Wiring, network_node: int | None, searches: BoundedCache) -> DomainClassEntry:
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
    wiring: Wiring, stored: StoredDomain, domain_nodes: list[int], network_nodes: list[int]
) -> tuple[Wiring, int | None]:
    """Renumber a domain's wiring from 0, and return it with the number of its network node, which is the highest.

    ``network_nodes`` holds the network node above the domain; if it is empty, the returned number is None. Addresses
    lose the domain's part.
    """
    number_of = {node: node - stored.first_node for node in domain_nodes}
    nodes = {
        number: {key: wiring.nodes[node][key] for key in ("kind", "memory", "model")}
        | {"address": stored.blueprint.nodes[number]["address"]}
        for node, number in number_of.items()
    }
    for node in network_nodes:
        number_of[node] = max(nodes) + 1
        nodes[number_of[node]] = {"kind": "network_node", "address": ""}
    links = {
        number_of[a]: {
            number_of[b]: {"id": link["id"] - stored.first_link, "capacity": link["capacity"], "model": link["model"]}
            for b, link in wiring.links[a].items()
            if b in number_of
        }
        for a in number_of
    }
    return Wiring(nodes, links, frozenset()), (max(nodes) if network_nodes else None)
