"""Stream a scope (the exported place) as a graph, for the graph formats.

The nodes are chips, switches, NICs and network nodes; then come the links between them.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, FromClause, Select, func, select

from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.errors import NotExpressibleError
from trninv.exporters.export_source import ExportSource
from trninv.inventory.address.expressions import node_address_expression, node_addresses
from trninv.inventory.address.rows_in import rows_in
from trninv.inventory.state.condition import carried_bandwidth_expression

_NODE, _LINK = TABLES["node"], TABLES["link"]
_FETCH_SIZE: Final = 10_000
"""Rows in memory at a time."""


class GraphNode(NamedTuple):
    """A node of the graph, named by its address."""

    address: str
    kind: str
    state: str


class GraphEdge(NamedTuple):
    """A link with the bandwidth that it carries now, in one direction.

    ``scope`` is what the link joins, such as fabric, and not the exported scope.
    """

    a: str
    b: str
    bandwidth_bytes_per_s: int
    scope: str
    technology: str
    state: str

    @property
    def address(self) -> str:
        """The link's address."""
        return f"{self.a}--{self.b}"


def read_nodes(source: ExportSource) -> Iterator[GraphNode]:
    """Yield the scope's nodes that are up or degraded, or all with --include-down, in the order of ids."""
    query = node_addresses().add_columns(_NODE.c.kind, _NODE.c.state).where(rows_in(source.place, "node"))
    if not source.include_down:
        query = query.where(_NODE.c.state.in_(CARRYING_STATES))
    for _, address, kind, state in _stream_rows(source, query.order_by(_NODE.c.id)):
        yield GraphNode(address, kind, state)


def read_edges(source: ExportSource) -> Iterator[GraphEdge]:
    """Yield the links between the nodes of `read_nodes`, in the order of ids.

    Links that are down or in maintenance are omitted without --include-down.
    """
    endpoints = end_a, end_b = _NODE.alias("end_a"), _NODE.alias("end_b")
    query = (
        select(
            node_address_expression(_LINK.c.a_id),
            node_address_expression(_LINK.c.b_id),
            carried_bandwidth_expression(_LINK, *endpoints),
            _LINK.c.scope,
            _LINK.c.technology,
            _LINK.c.state,
        )
        .join(end_a, end_a.c.id == _LINK.c.a_id)
        .join(end_b, end_b.c.id == _LINK.c.b_id)
        .where(*_scope_conditions(source, *endpoints))
        .order_by(_LINK.c.id)
    )
    if not source.include_down:
        query = query.where(*(part.c.state.in_(CARRYING_STATES) for part in (_LINK, *endpoints)))
    for row in _stream_rows(source, query):
        yield GraphEdge(*row)


def count_links(source: ExportSource) -> dict[tuple[str, str], int]:
    """Return the number of links in the exported scope, by the link's own scope (such as fabric) and state."""
    endpoints = end_a, end_b = _NODE.alias("end_a"), _NODE.alias("end_b")
    query = (
        select(_LINK.c.scope, _LINK.c.state, func.count())
        .join(end_a, end_a.c.id == _LINK.c.a_id)
        .join(end_b, end_b.c.id == _LINK.c.b_id)
        .where(*_scope_conditions(source, *endpoints))
        .group_by(_LINK.c.scope, _LINK.c.state)
    )
    return {(scope, state): count for scope, state, count in source.snapshot.connection.execute(query)}


def require_one_domain(source: ExportSource) -> None:
    """Refuse a scope of several domains, for formats that describe a single scale-up network.

    Raises
    ------
    NotExpressibleError
        The scope has several domains.

    """
    domains = {server.domain_address for server in source.all_servers}
    if len(domains) > 1:
        raise NotExpressibleError(
            f"{source.place.address} has {len(domains):,} domains, and the format describes only one; "
            f"name one, such as {source.all_servers[0].domain_address}"
        )


def _scope_conditions(source: ExportSource, *endpoints: FromClause) -> list[ColumnElement[bool]]:
    """Return the conditions that both ends of a link are in the exported scope."""
    level = source.place.level
    if level in ("cluster", "domain"):
        return [endpoint.c[f"{level}_id"] == source.place.id for endpoint in endpoints]
    node_ids = select(_NODE.c.id).where(rows_in(source.place, "node"))
    return [endpoint.c.id.in_(node_ids) for endpoint in endpoints]


def _stream_rows(source: ExportSource, query: Select[Any]) -> Iterator[Any]:
    with source.snapshot.connection.execute(query, execution_options={"yield_per": _FETCH_SIZE}) as rows:
        yield from rows


ATTRIBUTES: Final = {
    "node": {"kind": "string", "state": "string"},
    "edge": {"bandwidth_bytes_per_s": "long", "scope": "string", "technology": "string", "state": "string"},
}
"""The attributes of nodes and edges, with their types in graph formats."""
