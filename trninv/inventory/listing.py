"""Lists of the inventory: one SELECT a kind of thing, with address and containment, paged by id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, Select, func, or_, select

from trninv.inventory.address import words
from trninv.inventory.schema import TABLES

_T = TABLES
_cluster, _domain, _server, _rack, _tray = (_T[name] for name in ("cluster", "domain", "server", "rack", "tray"))
_node, _chip, _switch, _nic, _above = (_T[name] for name in ("node", "chip", "switch", "nic", "network_node"))
_core, _link = _T["core"], _T["link"]
_end = _node.alias("end_a")


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows of one kind.

    Attributes
    ----------
    query
        Every row: id, address (but for links), ordinal, ids of what contains it, and its own columns.
    key
        The id that rows are ordered and paged by.
    within
        Containment columns that lists filter by: cluster, domain, server, rack.

    """

    query: Select[Any]
    key: Column[Any]
    within: Mapping[str, ColumnElement[Any]]


def _listing(key: Column[Any], query: Select[Any], **within: ColumnElement[Any]) -> Listing:
    ids = [column.label(f"{name}_id") for name, column in within.items()]
    return Listing(query.add_columns(key.label("id"), *ids), key, within)


_in_server = words(_cluster.c.slug, "/d", _domain.c.ordinal, "/s", _server.c.ordinal)
_in_domain = words(_cluster.c.slug, "/d", _domain.c.ordinal)
_places = _server.join(_domain, _domain.c.id == _server.c.domain_id).join(
    _cluster, _cluster.c.id == _domain.c.cluster_id
)
_of_server = {
    "cluster": _cluster.c.id,
    "domain": _domain.c.id,
    "server": _server.c.id,
    "rack": _server.c.rack_id,
}


def _on_server(table: Any, *columns: Any, address: ColumnElement[str]) -> Listing:  # noqa: ANN401 # tables, columns
    source = table.join(_node, _node.c.id == table.c.id).join(_places, _server.c.id == table.c.server_id)
    query = select(address.label("address"), table.c.ordinal, _node.c.state, _node.c.factor_ppm, *columns).select_from(
        source
    )
    return _listing(table.c.id, query, **_of_server)


LISTINGS: Final[Mapping[str, Listing]] = {
    "cluster": _listing(
        _cluster.c.id,
        select(_cluster.c.slug.label("address"), _cluster.c.slug, _cluster.c.system, _cluster.c.domains),
        cluster=_cluster.c.id,
    ),
    "domain": _listing(
        _domain.c.id,
        select(_in_domain.label("address"), _domain.c.ordinal, _domain.c.domain_model_id).join_from(
            _domain, _cluster, _cluster.c.id == _domain.c.cluster_id
        ),
        cluster=_cluster.c.id,
        domain=_domain.c.id,
    ),
    "rack": _listing(
        _rack.c.id,
        select(
            words(_cluster.c.slug, "/r", _rack.c.ordinal).label("address"),
            _rack.c.ordinal,
            _rack.c.rack_units,
        ).join_from(_rack, _cluster, _cluster.c.id == _rack.c.cluster_id),
        cluster=_cluster.c.id,
        rack=_rack.c.id,
    ),
    "server": _listing(
        _server.c.id,
        select(
            _in_server.label("address"),
            _server.c.ordinal,
            _server.c.server_model_id,
            _server.c.state,
            _server.c.factor_ppm,
        ).select_from(_places),
        **_of_server,
    ),
    "chip": _on_server(_chip, _chip.c.chip_model_id, _chip.c.tray_id, address=words(_in_server, "/c", _chip.c.ordinal)),
    "nic": _on_server(_nic, _nic.c.bandwidth_bytes_per_s, address=words(_in_server, "/efa", _nic.c.ordinal)),
    "switch": _listing(
        _switch.c.id,
        select(
            words(_in_domain, "/sw", _switch.c.ordinal).label("address"),
            _switch.c.ordinal,
            _node.c.state,
            _node.c.factor_ppm,
        )
        .join_from(_switch, _node, _node.c.id == _switch.c.id)
        .join(_domain, _domain.c.id == _node.c.domain_id)
        .join(_cluster, _cluster.c.id == _domain.c.cluster_id),
        cluster=_cluster.c.id,
        domain=_domain.c.id,
        server=_switch.c.server_id,
        rack=_switch.c.rack_id,
    ),
    "network_node": _listing(
        _above.c.id,
        select(
            words(_cluster.c.slug, "/fabric/t", _above.c.tier, "/n", _above.c.ordinal).label("address"),
            _above.c.tier,
            _above.c.ordinal,
            _node.c.state,
            _node.c.factor_ppm,
        )
        .join_from(_above, _node, _node.c.id == _above.c.id)
        .join(_cluster, _cluster.c.id == _node.c.cluster_id),
        cluster=_cluster.c.id,
    ),
    "core": _listing(
        _core.c.id,
        select(
            words(_in_server, "/c", _chip.c.ordinal, "/nc", _core.c.ordinal).label("address"),
            _core.c.ordinal,
            _core.c.chip_id,
        ).select_from(
            _core.join(_chip, _chip.c.id == _core.c.chip_id).join(_places, _server.c.id == _chip.c.server_id)
        ),
        **_of_server,
    ),
    "link": _listing(
        _link.c.id,
        select(
            _link.c.a_id,
            _link.c.b_id,
            _link.c.link_model_id,
            _link.c.bandwidth_bytes_per_s,
            _link.c.lanes,
            _link.c.technology,
            _link.c.scope,
            _link.c.state,
            _link.c.factor_ppm,
            _link.c.cables,
        ).join_from(_link, _end, _end.c.id == _link.c.a_id),
        cluster=_end.c.cluster_id,
        domain=_link.c.domain_id,
    ),
}

Row = RowMapping


def by_ids(connection: Connection, kind: str, ids: Sequence[int]) -> dict[int, Row]:
    """Rows of these ids, in one statement."""
    listing = LISTINGS[kind]
    return {row["id"]: row for row in connection.execute(listing.query.where(listing.key.in_(ids))).mappings()}


def page(connection: Connection, kind: str, where: Sequence[ColumnElement[bool]], first: int, after: int) -> list[Row]:
    """Up to ``first`` + 1 rows with ids above ``after``: one more than asked tells whether there is a next page."""
    listing = LISTINGS[kind]
    query = listing.query.where(listing.key > after, *where).order_by(listing.key).limit(first + 1)
    return list(connection.execute(query).mappings())


def count(connection: Connection, kind: str, where: Sequence[ColumnElement[bool]]) -> int:
    query = LISTINGS[kind].query.where(*where).with_only_columns(func.count())
    return int(connection.scalar(query) or 0)


def pages_of(
    connection: Connection, kind: str, parent: str, parents: Sequence[int], first: int, after: int
) -> dict[int, list[Row]]:
    """As `page`, for many parents in one statement."""
    rows = _numbered(kind, parent, parents, after)
    numbered = connection.execute(select(rows).where(rows.c.position <= first + 1).order_by(rows.c.id)).mappings()
    found: dict[int, list[Row]] = {key: [] for key in parents}
    for row in numbered:
        found[row["parent"]].append(row)
    return found


def counts_of(connection: Connection, kind: str, parent: str, parents: Sequence[int]) -> dict[int, int]:
    """As `count`, for many parents in one statement."""
    rows = _numbered(kind, parent, parents, 0)
    found = connection.execute(select(rows.c.parent, func.count()).group_by(rows.c.parent)).all()
    return dict.fromkeys(parents, 0) | {row.parent: row[1] for row in found}


def _numbered(kind: str, parent: str, parents: Sequence[int], after: int) -> Any:  # noqa: ANN401 # a subquery
    """Rows below each parent, numbered within it; a link is below both of its ends."""
    listing = LISTINGS[kind]
    if kind == "link" and parent == "node":
        ends = _node.c.id.in_(parents)
        query = listing.query.join(_node, or_(_node.c.id == _link.c.a_id, _node.c.id == _link.c.b_id)).where(ends)
        column: ColumnElement[Any] = _node.c.id
    else:
        column = _core.c.chip_id if parent == "chip" else listing.within[parent]
        query = listing.query.where(column.in_(parents))
    position = func.row_number().over(partition_by=column, order_by=listing.key)
    return (
        query.where(listing.key > after)
        .add_columns(column.label("parent"), position.label("position"))
        .subquery("numbered")
    )
