"""The wiring of scale-up domains as a networkx graph of node ids, read from the tables as they are now.

Nodes have ``kind``, ``address``, ``rack``, ``server`` (ordinals; None for a rack's switch), ``memory`` (chips: bytes),
``domain`` (its model; None for a network node) and ``position`` (torus chips: coordinates); edges ``id``, ``capacity``
(bytes per second, one direction), ``model`` and ``technology``. What is down is not in the graph.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx
from sqlalchemy import Connection, and_, func, or_, select

from trninv.errors import ScopeTooLargeError
from trninv.inventory.address import Place, node_addresses
from trninv.inventory.schema import CARRYING, Base
from trninv.routing.results import LinkRef
from trninv.topology.torus import coordinates
from trninv.units import Bandwidth

if TYPE_CHECKING:
    Graph = nx.Graph[Any]
else:
    Graph = nx.Graph

_T = Base.metadata.tables
MAX_DOMAINS = 64
"""Domains that one graph may span; a larger question belongs to the quotient of the cluster."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """A graph of what is up, and the chips that are not."""

    graph: Graph
    failed: frozenset[int]


def domains_of(connection: Connection, nodes: Iterable[int]) -> list[int]:
    node = _T["node"]
    wanted = select(node.c.domain_id).distinct().where(node.c.id.in_(list(nodes))).order_by(node.c.domain_id)
    return list(connection.scalars(wanted))


def domains_in(connection: Connection, cluster: Place) -> list[int]:
    domain = _T["domain"]
    return list(connection.scalars(select(domain.c.id).where(domain.c.cluster_id == cluster.id).order_by(domain.c.id)))


def load(connection: Connection, domain_ids: Collection[int], *, nics: bool = False, fabric: bool = False) -> Wiring:
    """The wiring of domains: their scale-up links, which no path within a domain leaves.

    Parameters
    ----------
    nics
        The EFA devices too.
    fabric
        The EFA devices and the slice of the fabric above the domains.

    Raises
    ------
    ScopeTooLargeError
        More than MAX_DOMAINS domains.

    """
    if len(domain_ids) > MAX_DOMAINS:
        raise ScopeTooLargeError(f"{len(domain_ids)} domains in one graph: ask about at most {MAX_DOMAINS}")
    above = _network_nodes(connection, domain_ids) if fabric else []
    graph = Graph()
    failed = set()
    for row in connection.execute(_nodes(domain_ids, above, nics=nics or fabric)):
        if row.state in CARRYING:
            graph.add_node(
                row.id,
                kind=row.kind,
                address=row.address,
                rack=row.rack,
                server=row.server,
                memory=row.memory,
                domain=row.domain,
                position=_position(row),
            )
        elif row.kind == "chip":
            failed.add(row.id)
    for row in connection.execute(_links(domain_ids, above)):
        if row.a_id in graph and row.b_id in graph:
            graph.add_edge(
                row.a_id,
                row.b_id,
                id=row.id,
                capacity=row.bandwidth_bytes_per_s,
                model=row.model,
                technology=row.technology,
            )
    return Wiring(graph, frozenset(failed))


def _network_nodes(connection: Connection, domain_ids: Collection[int]) -> list[int]:
    """The slice of the fabric above some domains: their network nodes of every tier."""
    link = _T["link"]
    below = select(link.c.b_id).distinct().where(link.c.domain_id.in_(list(domain_ids)), link.c.scope == "fabric")
    found: list[int] = []
    while tier := list(connection.scalars(below)):
        found += tier
        below = select(link.c.b_id).distinct().where(link.c.a_id.in_(tier), link.c.scope == "fabric")
    return sorted(found)


def capacities(graph: Graph) -> list[tuple[int, int, int]]:
    """Both ends of every edge, and what it carries in one direction."""
    return [(a, b, edge["capacity"]) for a, b, edge in graph.edges(data=True)]


def without(graph: Graph, nodes: Collection[int], links: Collection[int]) -> Graph:
    """A copy that lacks these nodes and these links (by id)."""
    kept = graph.copy()
    kept.remove_nodes_from(nodes)
    kept.remove_edges_from([(a, b) for a, b, edge in graph.edges(data=True) if edge["id"] in links])
    return kept


def link_ref(graph: Graph, a: int, b: int) -> LinkRef:
    low, high = min(a, b), max(a, b)
    edge = graph.edges[low, high]
    return LinkRef(edge["id"], graph.nodes[low]["address"], graph.nodes[high]["address"], Bandwidth(edge["capacity"]))


def cut_links(graph: Graph, side: Collection[int]) -> tuple[LinkRef, ...]:
    """Links between a set of nodes and the rest, by id."""
    inside = set(side)
    crossing = (link_ref(graph, a, b) for a, b in graph.edges if (a in inside) != (b in inside))
    return tuple(sorted(crossing, key=lambda link: link.id))


def _nodes(domain_ids: Collection[int], above: Collection[int], *, nics: bool) -> Any:  # noqa: ANN401 # a Select
    node, chip, switch, model, domain, domain_model, server, rack = (
        _T[name] for name in ("node", "chip", "switch", "chip_model", "domain", "domain_model", "server", "rack")
    )
    of_switch = server.alias("of_switch")
    query = node_addresses().add_columns(
        node.c.kind,
        node.c.state,
        rack.c.ordinal.label("rack"),
        func.coalesce(server.c.ordinal, of_switch.c.ordinal).label("server"),
        chip.c.ordinal.label("chip"),
        model.c.device_memory_bytes.label("memory"),
        domain_model.c.slug.label("domain"),
        domain_model.c.sides,
    )
    query = query.outerjoin(model, model.c.id == chip.c.chip_model_id)
    query = query.outerjoin(of_switch, of_switch.c.id == switch.c.server_id)
    query = query.outerjoin(rack, rack.c.id == func.coalesce(server.c.rack_id, switch.c.rack_id))
    query = query.outerjoin(domain_model, domain_model.c.id == domain.c.domain_model_id)
    kinds = ("chip", "switch", "nic") if nics else ("chip", "switch")
    inside = and_(node.c.domain_id.in_(list(domain_ids)), node.c.kind.in_(kinds))
    return query.where(or_(inside, node.c.id.in_(list(above)))).order_by(node.c.id)


def _links(domain_ids: Collection[int], above: Collection[int]) -> Any:  # noqa: ANN401 # a Select of six columns
    link, model = _T["link"], _T["link_model"]
    query = select(
        link.c.id,
        link.c.a_id,
        link.c.b_id,
        link.c.bandwidth_bytes_per_s,
        link.c.technology,
        model.c.slug.label("model"),
    ).join(model, model.c.id == link.c.link_model_id)
    ours = or_(link.c.domain_id.in_(list(domain_ids)), link.c.a_id.in_(list(above)))
    return query.where(ours, link.c.state.in_(CARRYING)).order_by(link.c.id)


def _position(row: Any) -> tuple[int, ...] | None:  # noqa: ANN401 # a row of _nodes
    """Torus coordinates: of a 4×4 (row, column), of a 4×4×4 (server, row, column)."""
    if row.kind != "chip" or not row.sides:
        return None
    sides = [int(side) for side in row.sides.split("x")]
    per_server = sides[-1] * sides[-2]
    return coordinates(row.server * per_server + row.chip, sides)
