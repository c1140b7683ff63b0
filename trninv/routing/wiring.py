"""Load the wiring of scale-up domains from the tables; `trninv.routing.revision_cache` caches it by revision.

A wiring has only nodes and links that carry traffic, each with a dictionary of attributes:

- A node has ``kind``, ``address``, ``rack`` and ``server`` (ordinals; a rack's switch has no server), ``memory`` and
  ``model`` (chips: bytes, slug), ``domain`` and ``domain_id`` (slug of the model and row id; None for a network node),
  ``position`` (chips: coordinates, if the wiring's pattern has any), ``vendor_id`` (observed network nodes),
  ``ordinal``, and from its domain's model ``wiring`` (name of the wiring pattern) and ``sides`` (sizes that the pattern
  needs, such as the sides of a torus).
- A link has ``id``, ``capacity`` (bytes per second, one direction), ``model``, ``technology`` and ``latency``
  (nanoseconds; None if no fact states it).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select

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


MAX_DOMAINS = 64
"""Most domains of one wiring; larger scopes are solved by classes of equal domains (`cluster_islands`)."""
Attributes = dict[str, Any]
"""Attributes of a node or link, by name; the module's docstring lists them."""
_FIRST_NETWORK_NODE = 1_000_000
"""Local number of the first network node in `pattern_graph`; no domain has so many nodes."""


@dataclass(frozen=True)
class Wiring:
    """The nodes and links that carry traffic in some domains, by node id.

    ``failed`` has the ids of the chips that carry no traffic. ``links`` maps each node to its neighbors, so it has each
    link twice, once from each end.
    """

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
        """Return the links from ``side``, a set of nodes and NIC ports, to all others, in the order of their ids."""
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
        nodes = {node: attributes for node, attributes in self.nodes.items() if node not in down}
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


def domains_of_nodes(connection: Connection, nodes: Iterable[int]) -> list[int]:
    """Return the ids of the domains of some nodes, in ascending order."""
    node = TABLES["node"]
    query = select(node.c.domain_id).distinct().where(node.c.id.in_(list(nodes))).order_by(node.c.domain_id)
    return list(connection.scalars(query))


def domains_in_same_clusters(connection: Connection, domains: Iterable[int]) -> list[int]:
    """Return the ids of all domains in the clusters of some domains, in ascending order."""
    domain = TABLES["domain"]
    clusters = select(domain.c.cluster_id).where(domain.c.id.in_(list(domains)))
    query = select(domain.c.id).where(domain.c.cluster_id.in_(clusters)).order_by(domain.c.id)
    return list(connection.scalars(query))


def domains_in_cluster(connection: Connection, cluster: Place) -> list[int]:
    """Return the ids of a cluster's domains, in ascending order."""
    domain = TABLES["domain"]
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
    network_nodes = _read_network_nodes(connection, domain_ids) if fabric else []
    nodes: dict[int, Attributes] = {}
    degraded: dict[int, Condition] = {}
    failed = set()
    node, link = TABLES["node"], TABLES["link"]
    kinds = ("chip", "switch", "nic") if nics or fabric else ("chip", "switch")
    in_domains = and_(node.c.domain_id.in_(list(domain_ids)), node.c.kind.in_(kinds))
    for row in connection.execute(nodes_query(or_(in_domains, node.c.id.in_(network_nodes)))):
        condition = UP if row.id in up_overrides.nodes else Condition(row.state, row.factor_ppm)
        if condition.factor_ppm is not None:
            degraded[row.id] = condition
        if condition.carries:
            nodes[row.id] = node_attributes(row)
        elif row.kind == "chip":
            failed.add(row.id)
    links: dict[int, dict[int, Attributes]] = {node: {} for node in nodes}
    latencies = read_latencies(connection)
    carrying = link.c.state.in_(CARRYING_STATES)
    is_included = or_(carrying, link.c.id.in_(sorted(up_overrides.links))) if up_overrides.links else carrying
    is_in_or_above = or_(link.c.domain_id.in_(list(domain_ids)), link.c.a_id.in_(network_nodes))
    for row in connection.execute(links_query(and_(is_in_or_above, is_included))):
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
                "latency": link_latency(latencies, row.scope, row.technology),
            }
    return Wiring(nodes, links, frozenset(failed))


def read_latencies(connection: Connection) -> dict[str, int]:
    """Return the latency of a link in nanoseconds, by technology or, for EFA, by the link's scope.

    A link's scope is ``host`` between chip and NIC, and ``fabric`` above. The fact for EFA is the latency from HBM to
    HBM: half of it counts at each of the two hosts, none in the fabric.
    """
    fact = TABLES["fact"]
    query = select(fact.c.subject, fact.c.value).where(fact.c.attribute == "latency", fact.c.preference == 0)
    latencies = {row.subject: int(row.value) for row in connection.execute(query)}
    efa_latency = latencies.pop(EFA_FABRIC, None)
    return latencies if efa_latency is None else latencies | {"host": efa_latency // 2, "fabric": 0}


def link_latency(latencies: Mapping[str, int], scope: str, technology: str) -> int | None:
    """Return the latency of a link from the result of `read_latencies`."""
    return latencies.get(scope, latencies.get(technology.lower()))


def check_domain_count(domain_ids: Collection[int]) -> None:
    """Refuse more than MAX_DOMAINS domains."""
    if len(domain_ids) > MAX_DOMAINS:
        raise ScopeTooLargeError(
            f"{len(domain_ids)} domains are too many for one graph; ask about at most {MAX_DOMAINS}"
        )


def link_ref(nodes: Mapping[int, Attributes], links: Links, a: int, b: int) -> LinkRef:
    """Return the link between two nodes of a wiring.

    If network nodes were merged into one, the attribute ``above`` of a link has the address of its real upper end.
    """
    low, high = min(a, b), max(a, b)
    link = links[low][high]
    return LinkRef(
        link["id"], nodes[low]["address"], link.get("above", nodes[high]["address"]), Bandwidth(link["capacity"])
    )


def pattern_graph(wiring: Wiring, first_node: int) -> "Graph":
    """Return a domain's wiring in local numbers, with the nodes' positions in its wiring pattern.

    Node ids count from ``first_node``, racks from the domain's first rack, and network nodes from _FIRST_NETWORK_NODE,
    in the order of their ids. So domains of equal wiring have equal graphs, whatever cluster or database they are in,
    except for the ids of links, which are kept.
    """
    in_domain = {node: attributes for node, attributes in wiring.nodes.items() if attributes["kind"] != "network_node"}
    first_rack = min(attributes["rack"] or 0 for attributes in in_domain.values())
    number = {node: node - first_node for node in in_domain}
    number |= {
        node: _FIRST_NETWORK_NODE + rank for rank, node in enumerate(sorted(wiring.nodes.keys() - in_domain.keys()))
    }
    graph = solvers.graph.Graph()
    for node, attributes in wiring.nodes.items():
        graph.add_node(number[node], kind=attributes["kind"])
        if node in in_domain:
            position = {key: attributes[key] for key in ("server", "ordinal", "wiring", "sides")}
            graph.add_node(number[node], **position, rack=(attributes["rack"] or 0) - first_rack)
    graph.add_edges_from(
        (number[a], number[b], {"capacity": link["capacity"], "id": link["id"]}) for a, b, link in wiring.edges()
    )
    return graph


def cut_links(graph: "Graph", side: Collection[int]) -> tuple[LinkRef, ...]:
    """Return the links between a set of nodes and all others, in the order of their ids."""
    crossing = (link_ref(graph.nodes, graph.adj, a, b) for a, b in solvers.graph.cut_edges(graph, side))
    return tuple(sorted(crossing, key=lambda link: link.id))


def _read_network_nodes(connection: Connection, domain_ids: Collection[int]) -> list[int]:
    """Return the ids of the network nodes above some domains, of every tier."""
    link = TABLES["link"]
    query = select(link.c.b_id).distinct().where(link.c.domain_id.in_(list(domain_ids)), link.c.scope == "fabric")
    nodes: list[int] = []
    while tier := list(connection.scalars(query)):
        nodes += tier
        query = select(link.c.b_id).distinct().where(link.c.a_id.in_(tier), link.c.scope == "fabric")
    return sorted(nodes)


def nodes_query(condition: ColumnElement[bool]) -> Select[Any]:
    """Select nodes whatever their state, by id."""
    node, chip, switch, model, domain, domain_model, server, rack = (
        TABLES[name] for name in ("node", "chip", "switch", "chip_model", "domain", "domain_model", "server", "rack")
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
        TABLES["network_node"].c.vendor_id,
    )
    query = query.outerjoin(model, model.c.id == chip.c.chip_model_id)
    query = query.outerjoin(switch_server, switch_server.c.id == switch.c.server_id)
    query = query.outerjoin(rack, rack.c.id == func.coalesce(server.c.rack_id, switch.c.rack_id))
    query = query.outerjoin(domain_model, domain_model.c.id == domain.c.domain_model_id)
    return query.where(condition).order_by(node.c.id)


def links_query(condition: ColumnElement[bool]) -> Select[Any]:
    """Select links, by id."""
    link, model = TABLES["link"], TABLES["link_model"]
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
    return query.where(condition).order_by(link.c.id)


def node_attributes(row: Any) -> Attributes:  # Any: a row of nodes_query
    """Return the attributes of a node."""
    return {
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


def _position(row: Any) -> Position | None:  # Any: a row of nodes_query
    """Return a chip's coordinates in its domain's wiring pattern; None for other nodes and without coordinates."""
    if row.kind != "chip":
        return None
    return get_pattern(row.wiring).position(
        BlueprintNode("chip", row.server, row.rack, row.ordinal), parse_sides(row.sides)
    )
