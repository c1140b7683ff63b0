"""Build the statements that `trninv.routing.stored_domain` reads a domain with, once per process.

Each returns the rows of one table as JSON, with ids that count from the domain's first ones.
"""

from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
)

from trninv.database.sql_constructs import JsonRows
from trninv.database.tables import TABLES, is_unhealthy
from trninv.inventory.address.expressions import address_expression
from trninv.routing.wiring import links_query

_ZERO = literal_column("0", Integer)
_KINDS = tuple(literal_column(f"'{kind}'", Text) for kind in ("chip", "switch", "nic"))


@cache
def domain_query(*, by_address: bool) -> Select[Any]:
    """Select a domain with its model, its servers and racks as JSON, and its first and last node."""
    domain, cluster, model, server, rack, node = (
        TABLES[name] for name in ("domain", "cluster", "domain_model", "server", "rack", "node")
    )
    servers = select(cast(JsonRows(server.c.id, server.c.ordinal, rack.c.id, rack.c.ordinal), Text))
    servers = servers.join(rack, rack.c.id == server.c.rack_id).where(server.c.domain_id == domain.c.id)
    query = select(
        domain.c.id,
        domain.c.cluster_id,
        domain.c.ordinal,
        cluster.c.slug.label("cluster"),
        model.c.slug.label("model"),
        model.c.wiring,
        model.c.sides,
        servers.correlate(domain).scalar_subquery().label("servers"),
        *(
            # + 0 keeps PostgreSQL from searching the index of all ids
            select(bound(node.c.id + _ZERO)).where(node.c.domain_id == domain.c.id).scalar_subquery().label(name)
            for name, bound in (("first_node", func.min), ("last_node", func.max))
        ),
    )
    query = query.join(cluster, cluster.c.id == domain.c.cluster_id)
    query = query.join(model, model.c.id == domain.c.domain_model_id)
    if by_address:
        return query.where(cluster.c.slug == bindparam("cluster"), domain.c.ordinal == bindparam("ordinal"))
    return query.where(domain.c.id == bindparam("domain"))


@cache
def domain_nodes_query() -> Select[Any]:
    """Select the text of a domain's nodes, the conditions of the unhealthy ones, and their first and last cluster."""
    node, chip, switch, nic = (TABLES[name] for name in ("node", "chip", "switch", "nic"))
    first_node, first_server, first_rack = (_parameter(name) for name in ("first_node", "first_server", "first_rack"))
    number = node.c.id - first_node
    rows = JsonRows(
        number,
        node.c.kind,
        chip.c.server_id - first_server,
        chip.c.chip_model_id,
        chip.c.ordinal,
        switch.c.server_id - first_server,
        switch.c.rack_id - first_rack,
        switch.c.ordinal,
        nic.c.server_id - first_server,
        nic.c.ordinal,
    )
    joined: FromClause = node
    for table in (chip, switch, nic):
        # the range is that of the domain's nodes; without it, PostgreSQL would look up each row
        in_range = table.c.id.between(first_node, _parameter("last_node"))
        joined = joined.outerjoin(table, and_(table.c.id == node.c.id, in_range))
    is_in_domain = node.c.domain_id == bindparam("domain"), node.c.kind.in_(_KINDS)
    clusters = [func.min(node.c.cluster_id).label("first_cluster"), func.max(node.c.cluster_id).label("last_cluster")]
    columns = [*_texts(rows, number, node), *clusters]
    return select(*columns).select_from(joined).where(*is_in_domain)


@cache
def domain_links_query() -> Select[Any]:
    """Select the text of a domain's links, the conditions of the unhealthy ones, and what their numbers count from."""
    # on PostgreSQL, the links of a domain may lie in as many blocks of the table, so they are read once
    link = select(TABLES["link"]).where(TABLES["link"].c.domain_id == bindparam("domain")).cte("domain_link")
    link = link.prefix_with("NOT MATERIALIZED", dialect="sqlite")
    is_uplink = _is_uplink(link)
    network_node = func.min(case((is_uplink, link.c.b_id))).label("network_node")
    first = select(func.min(link.c.id).label("id"), network_node).subquery("first")
    first_node = _parameter("first_node")
    number = link.c.id - first.c.id
    rows = JsonRows(
        number,
        link.c.a_id - first_node,
        link.c.b_id - case((is_uplink, first.c.network_node), else_=first_node),
        link.c.bandwidth_bytes_per_s,
        link.c.link_model_id,
        link.c.technology,
        link.c.scope,
    )
    first_ids = [
        func.min(column).label(name)
        for name, column in (("first_id", first.c.id), ("first_network_node", first.c.network_node))
    ]
    columns = [*_texts(rows, number, link), *first_ids]
    return select(*columns).join_from(first, link, true())


def _texts(rows: JsonRows, number: ColumnElement[int], part: FromClause) -> list[ColumnElement[Any]]:
    """Return all rows of a table as JSON text, and number, state and factor of those parts that are not up."""
    is_unhealthy_part = or_(is_unhealthy(part), part.c.factor_ppm.is_not(None))
    unhealthy = JsonRows(number, part.c.state, part.c.factor_ppm).filter(is_unhealthy_part)
    return [cast(rows, Text).label("rows"), cast(unhealthy, Text).label("unhealthy")]


@cache
def network_queries() -> tuple[Select[Any], Select[Any], Select[Any]]:
    """Return the queries of the ids of some nodes and all above them, of nodes by id, and of links by their lower end.

    Their parameter is ``ids``. Only network nodes have an address in the result.
    """
    node, network_node, cluster, link = (TABLES[name] for name in ("node", "network_node", "cluster", "link"))
    ids = bindparam("ids", type_=Integer(), expanding=True)
    above = select(node.c.id).where(node.c.id.in_(ids)).cte("above", recursive=True)
    higher = select(link.c.b_id).join(above, link.c.a_id == above.c.id).where(_is_uplink(link))
    address = address_expression("network_node").label("address")
    columns = [node.c.id, node.c.kind, node.c.domain_id, node.c.state, node.c.factor_ppm, network_node.c.vendor_id]
    nodes = select(*columns, case((network_node.c.id.is_not(None), address)).label("address"))
    nodes = nodes.join(cluster, cluster.c.id == node.c.cluster_id)
    nodes = nodes.outerjoin(network_node, network_node.c.id == node.c.id).where(node.c.id.in_(ids)).order_by(node.c.id)
    return select(above.union(higher).c.id), nodes, links_query(link.c.a_id.in_(ids))


def _parameter(name: str) -> BindParameter[int]:
    return bindparam(name, type_=Integer())


def _is_uplink(link: FromClause) -> ColumnElement[bool]:
    return link.c.scope == literal_column("'fabric'")
