"""A scope as a graph, streamed: chips, switches, NICs and network nodes, then the links between them."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, FromClause, Select, func, select

from trninv.errors import NotExpressibleError
from trninv.exporters.format import Record
from trninv.exporters.source import Source
from trninv.inventory.address import address_of_node, node_addresses, nodes_of
from trninv.inventory.schema import CARRYING, TABLES
from trninv.inventory.state import carried_in_sql

_T = TABLES
_NODE, _LINK = _T["node"], _T["link"]
_AT_ONCE: Final = 10_000
"""Rows that are in memory at a time."""


class Node(NamedTuple):
    """A vertex; its address is its name."""

    address: str
    kind: str
    state: str


class Edge(NamedTuple):
    """A link; what it carries now, in one direction."""

    a: str
    b: str
    bandwidth_bytes_per_s: int
    scope: str
    technology: str
    state: str

    @property
    def address(self) -> str:
        """Its name."""
        return f"{self.a}--{self.b}"


def nodes(source: Source) -> Iterator[Node]:
    """Those in the scope that carry, or all of them with --include-down, in the order of ids."""
    addressed = node_addresses().add_columns(_NODE.c.kind, _NODE.c.state).where(nodes_of(source.place))
    if not source.include_down:
        addressed = addressed.where(_NODE.c.state.in_(CARRYING))
    for _, address, kind, state in _rows(source, addressed.order_by(_NODE.c.id)):
        yield Node(address, kind, state)


def edges(source: Source) -> Iterator[Edge]:
    """Those between nodes that are yielded, in the order of ids."""
    ends = end_a, end_b = _NODE.alias("end_a"), _NODE.alias("end_b")
    query = (
        select(
            address_of_node(_LINK.c.a_id),
            address_of_node(_LINK.c.b_id),
            carried_in_sql(_LINK, *ends),
            _LINK.c.scope,
            _LINK.c.technology,
            _LINK.c.state,
        )
        .join(end_a, end_a.c.id == _LINK.c.a_id)
        .join(end_b, end_b.c.id == _LINK.c.b_id)
        .where(*_within(source, *ends))
        .order_by(_LINK.c.id)
    )
    if not source.include_down:
        query = query.where(*(each.c.state.in_(CARRYING) for each in (_LINK, *ends)))
    for row in _rows(source, query):
        yield Edge(*row)


def counted_links(source: Source) -> dict[tuple[str, str], int]:
    """How many links there are within the scope, by scope and state."""
    ends = end_a, end_b = _NODE.alias("end_a"), _NODE.alias("end_b")
    query = (
        select(_LINK.c.scope, _LINK.c.state, func.count())
        .join(end_a, end_a.c.id == _LINK.c.a_id)
        .join(end_b, end_b.c.id == _LINK.c.b_id)
        .where(*_within(source, *ends))
        .group_by(_LINK.c.scope, _LINK.c.state)
    )
    return {(scope, state): number for scope, state, number in source.connection.execute(query)}


def one_domain(source: Source) -> None:
    """Hold a scope to what a simulator of one scale-up network takes.

    Raises
    ------
    NotExpressibleError
        It is of several domains.

    """
    domains = {server.domain_address for server in source.all_servers}
    if len(domains) > 1:
        raise NotExpressibleError(
            f"{source.place.address} has {len(domains):,} domains, and the format says one network of links alike: "
            f"name one, such as {source.all_servers[0].domain_address}"
        )


def records(source: Source) -> Iterator[Record]:
    """What every graph format says, in the order of ids."""
    yield from nodes(source)
    yield from edges(source)


def _within(source: Source, *ends: FromClause) -> list[ColumnElement[bool]]:
    level = source.place.level
    if level in ("cluster", "domain"):
        return [each.c[f"{level}_id"] == source.place.id for each in ends]
    inside = select(_NODE.c.id).where(nodes_of(source.place))
    return [each.c.id.in_(inside) for each in ends]


def _rows(source: Source, query: Select[Any]) -> Iterator[Any]:
    with source.connection.execute(query, execution_options={"yield_per": _AT_ONCE}) as found:
        yield from found
