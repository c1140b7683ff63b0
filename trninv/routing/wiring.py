"""Load the wiring of scale-up domains from the tables.

A wiring has only nodes and links that carry traffic, each with a dictionary of attributes:

- A node has ``kind``, ``address``, ``rack`` and ``server`` (ordinals; a rack's switch has no server), ``memory`` and
  ``model`` (chips: bytes, slug), ``domain`` and ``domain_id`` (slug of the model and row id; None for a network node),
  ``position`` (chips: coordinates, if the pattern has any), ``vendor_id`` (observed network nodes), and for the
  pattern ``ordinal``, ``wiring`` and ``sides``.
- A link has ``id``, ``capacity`` (bytes per second, one direction), ``model``, ``technology`` and ``latency``
  (nanoseconds; None if no fact states it).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, func, or_, select

from trninv import solvers
from trninv.catalog.facts import EFA_FABRIC
from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.errors import ScopeTooLargeError
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.lookup import Place
from trninv.inventory.state.condition import PPM, UP, Condition, carried_bandwidth
from trninv.routing.answer import LinkRef
from trninv.routing.scenario import ScenarioChanges
from trninv.solvers.adjacency import Adjacency, Links, directed_adjacency, join_links, node_of_port
from trninv.topology.blueprint import BlueprintNode
from trninv.topology.pattern import Position
from trninv.topology.registry import get_pattern, parse_sides
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph


_TABLES = TABLES
MAX_DOMAINS = 64
"""Domains that one wiring may span; larger scopes are solved on the quotient of the cluster."""
Attributes = dict[str, Any]


@dataclass(frozen=True)
class Wiring:
    """Nodes and links that carry traffic, by node id, and the ids of the chips that do not."""

    nodes: dict[int, Attributes]
    links: Mapping[int, Mapping[int, Attributes]]
    failed: frozenset[int]

    @cached_property
    def graph(self) -> "Graph":
        """The wiring as a networkx graph."""
        graph = solvers.graph.Graph()
        graph.add_nodes_from(self.nodes.items())
        graph.add_edges_from(self.edges())
        return graph

    @cached_property
    def adjacency(self) -> Adjacency:
        """Directed successors and predecessors of each node, with each NIC split into its two ports."""
        return directed_adjacency(self.nodes, self.links)

    def cut_links(self, side: Collection[int]) -> tuple[LinkRef, ...]:
        """Return the links from one side, a set of nodes and ports, to all others, in the order of their ids."""
        successors, side_nodes = self.adjacency.successors, set(side)
        crossing = ((a, b) for a in side_nodes for b in successors[a] if b not in side_nodes)
        references = (link_ref(self.nodes, self.links, node_of_port(a), node_of_port(b)) for a, b in crossing)
        return tuple(sorted(references, key=lambda link: link.id))

    def edges(self) -> Iterator[tuple[int, int, Attributes]]:
        """Iterate over the links, each once: its lower end, its higher end and its attributes."""
        return ((a, b, link) for a, neighbors in self.links.items() for b, link in neighbors.items() if a < b)

    def chips(self) -> dict[str, tuple[int, int]]:
        """Return node id and domain id of each chip, by address."""
        return {
            attributes["address"]: (node, attributes["domain_id"])
            for node, attributes in self.nodes.items()
            if attributes["kind"] == "chip"
        }

    def with_scenario(self, changes: ScenarioChanges) -> "Wiring":
        """Return a copy with the changes of a scenario applied."""
        down = changes.down
        nodes = {node: link for node, link in self.nodes.items() if node not in down}
        links: dict[int, dict[int, Attributes]] = {node: {} for node in nodes}
        for a, b, link in self.edges():
            factor = changes.link_capacity_ppm(link["id"], a, b)
            if factor == PPM:
                links[a][b] = links[b][a] = link
            elif remaining := link["capacity"] * factor // PPM:
                links[a][b] = links[b][a] = link | {"capacity": remaining}
        failed_chips = {node for node in down & self.nodes.keys() if self.nodes[node]["kind"] == "chip"}
        return Wiring(nodes, links, self.failed | failed_chips)


def merge_wirings(wirings: Sequence[Wiring]) -> Wiring:
    """Merge the wirings of several domains; their parts of the fabric may overlap."""
    if len(wirings) == 1:
        return wirings[0]
    nodes: dict[int, Attributes] = {}
    for wiring in wirings:
        nodes |= wiring.nodes
    failed = frozenset[int]().union(*(wiring.failed for wiring in wirings))
    return Wiring(nodes, join_links([wiring.links for wiring in wirings]), failed)


@dataclass(frozen=True, slots=True)
class UpOverrides:
    """Ids of nodes and links that count as up, whatever their state."""

    nodes: frozenset[int] = frozenset()
    links: frozenset[int] = frozenset()


NO_OVERRIDES = UpOverrides()
"""Results cached for one revision; when there are more, all of them are dropped."""


def domains_of_nodes(connection: Connection, nodes: Iterable[int]) -> list[int]:
    """Return the ids of the domains of some nodes, in ascending order."""
    node = _TABLES["node"]
    query = select(node.c.domain_id).distinct().where(node.c.id.in_(list(nodes))).order_by(node.c.domain_id)
    return list(connection.scalars(query))


def domains_in_same_clusters(connection: Connection, domains: Iterable[int]) -> list[int]:
    """Return the ids of all domains in the clusters of the given ones, in ascending order."""
    domain = _TABLES["domain"]
    clusters = select(domain.c.cluster_id).where(domain.c.id.in_(list(domains)))
    query = select(domain.c.id).where(domain.c.cluster_id.in_(clusters)).order_by(domain.c.id)
    return list(connection.scalars(query))


def domains_in_cluster(connection: Connection, cluster: Place) -> list[int]:
    """Return the ids of a cluster's domains, in ascending order."""
    domain = _TABLES["domain"]
    return list(connection.scalars(select(domain.c.id).where(domain.c.cluster_id == cluster.id).order_by(domain.c.id)))


def load_wiring(
    connection: Connection,
    domain_ids: Collection[int],
    *,
    nics: bool = False,
    fabric: bool = False,
    up_overrides: UpOverrides = NO_OVERRIDES,
) -> Wiring:
    """Load the wiring of domains from the tables: by default their chips, switches and scale-up links.

    Parameters
    ----------
    nics
        Include the EFA devices.
    fabric
        Include the EFA devices and all network nodes above the domains.
    up_overrides
        Parts to load as if they were up.

    Raises
    ------
    ScopeTooLargeError
        There are more than MAX_DOMAINS domains.

    """
    check_domain_count(domain_ids)
    network_nodes = _network_nodes(connection, domain_ids) if fabric else []
    nodes: dict[int, Attributes] = {}
    degraded: dict[int, Condition] = {}
    failed = set()
    for row in connection.execute(_nodes(domain_ids, network_nodes, nics=nics or fabric)):
        condition = UP if row.id in up_overrides.nodes else Condition(row.state, row.factor_ppm)
        if condition.factor_ppm is not None:
            degraded[row.id] = condition
        if condition.carries:
            nodes[row.id] = {
                "kind": row.kind,
                "address": row.address,
                "rack": row.rack,
                "server": row.server,
                "memory": row.memory,
                "model": row.model,
                "domain": row.domain,
                "domain_id": row.domain_id,
                "position": _position(row),
                "ordinal": row.ordinal,
                "wiring": row.wiring,
                "sides": parse_sides(row.sides or ""),
                "vendor_id": row.vendor_id,
            }
        elif row.kind == "chip":
            failed.add(row.id)
    links: dict[int, dict[int, Attributes]] = {node: {} for node in nodes}
    latency = _latencies(connection)
    for row in connection.execute(_links(domain_ids, network_nodes, up_overrides.links)):
        if row.a_id in nodes and row.b_id in nodes:
            end_conditions = (degraded[end] for end in (row.a_id, row.b_id) if end in degraded)
            link_condition = UP if row.id in up_overrides.links else Condition(row.state, row.factor_ppm)
            capacity = carried_bandwidth(row.bandwidth_bytes_per_s, link_condition, *end_conditions)
            if not capacity:
                continue
            links[row.a_id][row.b_id] = links[row.b_id][row.a_id] = {
                "id": row.id,
                "capacity": capacity,
                "model": row.model,
                "technology": row.technology,
                "latency": latency.get(row.scope, latency.get(row.technology.lower())),
            }
    return Wiring(nodes, links, frozenset(failed))


def _latencies(connection: Connection) -> dict[str, int]:
    """Return the latency of a link in nanoseconds, by technology or scope.

    The fact for EFA is the latency from HBM to HBM: half of it counts at either host, none in the fabric.
    """
    fact = TABLES["fact"]
    query = select(fact.c.subject, fact.c.value).where(fact.c.attribute == "latency", fact.c.preference == 0)
    latencies = {row.subject: int(row.value) for row in connection.execute(query)}
    efa_latency = latencies.pop(EFA_FABRIC, None)
    return latencies if efa_latency is None else latencies | {"host": efa_latency // 2, "fabric": 0}


def check_domain_count(domain_ids: Collection[int]) -> None:
    """Refuse more than MAX_DOMAINS domains."""
    if len(domain_ids) > MAX_DOMAINS:
        raise ScopeTooLargeError(
            f"{len(domain_ids)} domains are too many for one graph; ask about at most {MAX_DOMAINS}"
        )


def link_ref(nodes: Mapping[int, Attributes], links: Links, a: int, b: int) -> LinkRef:
    """Return the link between two nodes of a wiring.

    Network nodes may have been merged into one; the attribute ``above`` keeps the address of the link's own upper end.
    """
    low, high = min(a, b), max(a, b)
    link = links[low][high]
    return LinkRef(
        link["id"], nodes[low]["address"], link.get("above", nodes[high]["address"]), Bandwidth(link["capacity"])
    )


def cut_links(graph: "Graph", side: Collection[int]) -> tuple[LinkRef, ...]:
    """Return the links between a set of nodes and all others, in the order of their ids."""
    crossing = (link_ref(graph.nodes, graph.adj, a, b) for a, b in solvers.graph.cut_edges(graph, side))
    return tuple(sorted(crossing, key=lambda link: link.id))


def _network_nodes(connection: Connection, domain_ids: Collection[int]) -> list[int]:
    """Return the ids of the network nodes above some domains, of every tier."""
    link = _TABLES["link"]
    query = select(link.c.b_id).distinct().where(link.c.domain_id.in_(list(domain_ids)), link.c.scope == "fabric")
    nodes: list[int] = []
    while tier := list(connection.scalars(query)):
        nodes += tier
        query = select(link.c.b_id).distinct().where(link.c.a_id.in_(tier), link.c.scope == "fabric")
    return sorted(nodes)


def _nodes(domain_ids: Collection[int], network_nodes: Collection[int], *, nics: bool) -> Any:
    node, chip, switch, model, domain, domain_model, server, rack = (
        _TABLES[name] for name in ("node", "chip", "switch", "chip_model", "domain", "domain_model", "server", "rack")
    )
    switch_server = server.alias("of_switch")
    query = node_addresses().add_columns(
        node.c.kind,
        node.c.domain_id,
        node.c.state,
        node.c.factor_ppm,
        rack.c.ordinal.label("rack"),
        func.coalesce(server.c.ordinal, switch_server.c.ordinal).label("server"),
        func.coalesce(chip.c.ordinal, switch.c.ordinal).label("ordinal"),
        model.c.device_memory_bytes.label("memory"),
        model.c.slug.label("model"),
        domain_model.c.slug.label("domain"),
        domain_model.c.wiring,
        domain_model.c.sides,
        _TABLES["network_node"].c.vendor_id,
    )
    query = query.outerjoin(model, model.c.id == chip.c.chip_model_id)
    query = query.outerjoin(switch_server, switch_server.c.id == switch.c.server_id)
    query = query.outerjoin(rack, rack.c.id == func.coalesce(server.c.rack_id, switch.c.rack_id))
    query = query.outerjoin(domain_model, domain_model.c.id == domain.c.domain_model_id)
    kinds = ("chip", "switch", "nic") if nics else ("chip", "switch")
    in_domains = and_(node.c.domain_id.in_(list(domain_ids)), node.c.kind.in_(kinds))
    return query.where(or_(in_domains, node.c.id.in_(list(network_nodes)))).order_by(node.c.id)


def _links(domain_ids: Collection[int], network_nodes: Collection[int], restored_links: Collection[int]) -> Any:
    link, model = _TABLES["link"], _TABLES["link_model"]
    query = select(
        link.c.id,
        link.c.a_id,
        link.c.b_id,
        link.c.bandwidth_bytes_per_s,
        link.c.technology,
        link.c.scope,
        link.c.state,
        link.c.factor_ppm,
        model.c.slug.label("model"),
    ).join(model, model.c.id == link.c.link_model_id)
    in_scope = or_(link.c.domain_id.in_(list(domain_ids)), link.c.a_id.in_(list(network_nodes)))
    carrying = link.c.state.in_(CARRYING_STATES)
    is_included = or_(carrying, link.c.id.in_(sorted(restored_links))) if restored_links else carrying
    return query.where(in_scope, is_included).order_by(link.c.id)


def _position(row: Any) -> Position | None:  # a row of _nodes
    if row.kind != "chip":
        return None
    return get_pattern(row.wiring).position(
        BlueprintNode("chip", row.server, row.rack, row.ordinal), parse_sides(row.sides)
    )
