"""Select every part with its state, model, rack and cluster, for the datasets `states` and `parts` of an archive."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, FromClause, Select, Table, Text, case, cast, func, literal, null, select

from trninv.database.as_of import maybe_unhealthy
from trninv.database.tables import TABLES, is_unhealthy
from trninv.inventory.address.expressions import address_expression, concat, node_address_expression, node_addresses


def part_queries() -> Iterator[tuple[Table, Select[Any]]]:
    """Yield, for servers, nodes and links, the table that has their states, and the query that selects them.

    All queries select the columns of `_row`.
    """
    server, node, link, rack = (TABLES[name] for name in ("server", "node", "link", "rack"))
    rack_address = case((rack.c.id.is_not(None), address_expression("rack"))).label("rack")
    joined = server.join(TABLES["domain"]).join(TABLES["cluster"]).join(rack, rack.c.id == server.c.rack_id)
    model = TABLES["server_model"]
    server_row = _row(server, literal("server"), address_expression("server"), rack_address, model.c.slug)
    yield server, server_row.select_from(joined.join(model, model.c.id == server.c.server_model_id))
    yield node, _node_query(rack_address)
    end, model = node.alias("end_a"), TABLES["link_model"]
    address = concat(node_address_expression(link.c.a_id), "--", node_address_expression(link.c.b_id))
    joined_link: FromClause = link.join(end, end.c.id == link.c.a_id).join(
        TABLES["cluster"], TABLES["cluster"].c.id == end.c.cluster_id
    )
    link_row = _row(link, literal("link"), address, literal(None), model.c.slug)
    yield link, link_row.select_from(joined_link.join(model, model.c.id == link.c.link_model_id))


def part_rows(connection: Connection) -> Iterator[Any]:
    """Yield all parts in their states at the time that the connection reads."""
    for table, query in part_queries():
        yield from _stream(connection, query.order_by(table.c.id))


def unhealthy_rows(connection: Connection, known_by: str) -> Iterator[Any]:
    """Yield the unhealthy parts of clusters whose history begins at or before `known_by`."""
    for table, query in part_queries():
        # `maybe_unhealthy` excludes no unhealthy part, but an index supports it
        unhealthy = query.where(is_unhealthy(table), maybe_unhealthy(connection, table))
        unhealthy = unhealthy.where(TABLES["cluster"].c.known_since <= known_by)
        yield from _stream(connection, unhealthy.order_by(table.c.id + 0))  # + 0: not by the index of all ids


def _node_query(rack_address: Any) -> Select[Any]:
    """Select chips, switches, NICs and network nodes; NICs and network nodes have no model."""
    node, chip, switch, server, rack = (TABLES[name] for name in ("node", "chip", "switch", "server", "rack"))
    query, models = node_addresses(), (TABLES["chip_model"], TABLES["switch_model"])
    row = _row(
        node,
        node.c.kind,
        query.selected_columns.address,
        rack_address,
        func.coalesce(*(model.c.slug for model in models)),
    )
    for part, model in zip((chip, switch), models, strict=True):
        query = query.outerjoin(model, model.c.id == part.c[f"{model.name}_id"])
    query = query.outerjoin(rack, rack.c.id == func.coalesce(server.c.rack_id, switch.c.rack_id))
    return query.with_only_columns(*row.selected_columns)


def _row(table: Table, kind: Any, address: Any, rack: Any, model: Any) -> Select[Any]:
    """Select the columns of a part; `table` has the part's id and state."""
    return select(
        kind.label("kind"),
        table.c.id.label("part_id"),
        address.label("address"),
        TABLES["cluster"].c.slug.label("cluster"),
        rack.label("rack"),
        model.label("model"),
        table.c.state,
        table.c.factor_ppm,
        (table.c.own_state if table is TABLES["node"] else cast(null(), Text)).label("own_state"),
    )


def _stream(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    with connection.execute(query, execution_options={"yield_per": 10_000}) as rows:
        yield from rows
