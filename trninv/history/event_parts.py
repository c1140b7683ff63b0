"""Return SQL about the part of an event: whether it still exists, and the container that it is listed by."""

from sqlalchemy import ColumnElement, FromClause, and_, case, or_, select

from trninv.database.tables import NODE_KINDS, TABLES
from trninv.inventory.address.expressions import concat
from trninv.inventory.state.state_change import server_address

_NODE, _SERVER, _LINK, _DOMAIN, _CLUSTER = (TABLES[name] for name in ("node", "server", "link", "domain", "cluster"))


def part_exists(event: FromClause) -> ColumnElement[bool]:
    """Return the condition that the part of an event has not been deleted."""
    tables = ((("server",), _SERVER), (("link",), _LINK), (NODE_KINDS, _NODE))
    return or_(
        *(
            and_(event.c.kind.in_(kinds), select(table.c.id).where(table.c.id == event.c.part_id).exists())
            for kinds, table in tables
        )
    )


def container_address(event: FromClause) -> ColumnElement[str]:
    """Return the address of the container of an event's part.

    Subqueries, unlike joins, are run only for the rows that need them.
    """
    kind, part_id, address = event.c.kind, event.c.part_id, event.c.address
    domain_address = concat(_CLUSTER.c.slug, "/d", _DOMAIN.c.ordinal)
    of_link = (
        select(case((_DOMAIN.c.id.is_not(None), domain_address), else_=_CLUSTER.c.slug))
        .select_from(_LINK)
        .join(_NODE, _NODE.c.id == _LINK.c.a_id)
        .join(_CLUSTER, _CLUSTER.c.id == _NODE.c.cluster_id)
        .outerjoin(_DOMAIN, _DOMAIN.c.id == _LINK.c.domain_id)
        .where(_LINK.c.id == part_id)
    )
    of_network_node = (
        select(_CLUSTER.c.slug).join(_NODE, _NODE.c.cluster_id == _CLUSTER.c.id).where(_NODE.c.id == part_id)
    )
    return case(
        (kind == "server", address),
        (kind == "link", of_link.scalar_subquery()),
        (kind == "network_node", of_network_node.scalar_subquery()),
        else_=server_address(address),
    )
