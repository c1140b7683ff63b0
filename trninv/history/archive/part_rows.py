"""Select every part with its state and groups."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, FromClause, Select, Table, Text, case, cast, func, literal, null, select

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import TABLES, is_unhealthy
from trninv.inventory.address.expressions import address_expression, concat, node_address_expression, node_addresses

_TABLES = TABLES


def part_queries() -> Iterator[tuple[Table, Select[Any]]]:
    """Yield for servers, nodes and links the table with the state, and a query; all queries have the same columns."""
    server, node, link, rack = (_TABLES[name] for name in ("server", "node", "link", "rack"))
    in_rack = case((rack.c.id.is_not(None), address_expression("rack"))).label("rack")
    joined = server.join(_TABLES["domain"]).join(_TABLES["cluster"]).join(rack, rack.c.id == server.c.rack_id)
    model = _TABLES["server_model"]
    of_server = _row(server, literal("server"), address_expression("server"), in_rack, model.c.slug)
    yield server, of_server.select_from(joined.join(model, model.c.id == server.c.server_model_id))
    yield node, _node_query(in_rack)
    end, model = node.alias("end_a"), _TABLES["link_model"]
    address = concat(node_address_expression(link.c.a_id), "--", node_address_expression(link.c.b_id))
    ended: FromClause = link.join(end, end.c.id == link.c.a_id).join(
        _TABLES["cluster"], _TABLES["cluster"].c.id == end.c.cluster_id
    )
    of_link = _row(link, literal("link"), address, literal(None), model.c.slug)
    yield link, of_link.select_from(ended.join(model, model.c.id == link.c.link_model_id))


def part_rows(connection: Connection) -> Iterator[Any]:
    """Yield all parts, in the state that the connection sees."""
    for table, query in part_queries():
        yield from _stream(connection, query.order_by(table.c.id))


def unhealthy_rows(connection: Connection, known_by: str) -> Iterator[Any]:
    """Yield the unhealthy parts of clusters whose history begins at or before `known_by`."""
    for table, query in part_queries():
        unhealthy = query.where(is_unhealthy(table), maybe_unhealthy(connection, table))
        yield from _stream(
            connection, unhealthy.where(_TABLES["cluster"].c.known_since <= known_by).order_by(table.c.id)
        )


def _node_query(in_rack: Any) -> Select[Any]:
    node, chip, switch, server, rack = (_TABLES[name] for name in ("node", "chip", "switch", "server", "rack"))
    query, models = node_addresses(), (_TABLES["chip_model"], _TABLES["switch_model"])
    row = _row(
        node, node.c.kind, query.selected_columns.address, in_rack, func.coalesce(*(model_.c.slug for model_ in models))
    )
    for part, model in zip((chip, switch), models, strict=True):
        query = query.outerjoin(model, model.c.id == part.c[f"{model.name}_id"])
    query = query.outerjoin(rack, rack.c.id == func.coalesce(server.c.rack_id, switch.c.rack_id))
    return query.with_only_columns(*row.selected_columns)


def _row(table: Table, kind: Any, address: Any, rack: Any, model: Any) -> Select[Any]:
    return select(
        kind.label("kind"),
        table.c.id.label("part_id"),
        address.label("address"),
        _TABLES["cluster"].c.slug.label("cluster"),
        rack.label("rack"),
        model.label("model"),
        table.c.state,
        table.c.factor_ppm,
        (table.c.own_state if table is _TABLES["node"] else cast(null(), Text)).label("own_state"),
    )


def _stream(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    with connection.execute(query, execution_options={"yield_per": 10_000}) as rows:
        yield from rows
