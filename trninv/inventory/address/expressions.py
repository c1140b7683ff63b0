"""Build SQL expressions that compute addresses.

Addresses are computed from ordinals, never stored, and stay the same when a cluster is seeded again.

cluster[/dD[/sS[/cC[/ncK]]]]    cluster/dD/swN    cluster/dD/sS/efaN    cluster/rR    cluster/fabric/tT/nN
A--B (a link)    @i-0abc, @hostname (the server to which that instance or host is bound), @hostname/cC
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, Table, and_, case, func, select, true

from trninv.database.sql_constructs import Concat
from trninv.database.tables import TABLES
from trninv.inventory.address.syntax import LEVELS, STEP_NAMES, format_letters


def node_addresses(id_condition: Callable[[ColumnElement[int]], ColumnElement[bool]] | None = None) -> Select[Any]:
    """Return a query of the id and address of every node; narrow it with conditions on ``node``.

    Parameters
    ----------
    id_condition
        A condition that the requested ids meet. With it PostgreSQL joins chips and NICs without reading their whole
        tables.
    """
    node, domain, cluster = TABLES["node"], TABLES["domain"], TABLES["cluster"]
    chip, switch, nic, server, network_node = (
        TABLES["chip"],
        TABLES["switch"],
        TABLES["nic"],
        TABLES["server"],
        TABLES["network_node"],
    )

    def same(table: Table) -> ColumnElement[bool]:
        return and_(table.c.id == node.c.id, true() if id_condition is None else id_condition(table.c.id))

    address = case(
        *((node.c.kind == kind, address_expression(kind)) for kind in ("chip", "nic", "switch")),
        else_=address_expression("network_node"),
    )
    joined = (
        node.outerjoin(domain, domain.c.id == node.c.domain_id)
        .join(cluster, cluster.c.id == node.c.cluster_id)
        .outerjoin(chip, same(chip))
        .outerjoin(switch, same(switch))
        .outerjoin(nic, same(nic))
        .outerjoin(network_node, same(network_node))
        .outerjoin(server, server.c.id == func.coalesce(chip.c.server_id, nic.c.server_id))
    )
    return select(node.c.id.label("id"), address.label("address")).select_from(joined)


def address_expression(level: str, tables: Mapping[str, FromClause] = TABLES) -> ColumnElement[str]:
    """Return the address, as a SQL expression, of a row joined with the rows of all its containers.

    Parameters
    ----------
    level
        One of the values of LEVELS.
    tables
        Tables or their aliases, by the tables' names.
    """
    letters = next(letters for letters, name in LEVELS.items() if name == level)
    steps = ((format_letters(letters_), ordinal_column(tables[STEP_NAMES[letters_]], letters_)) for letters_ in letters)
    slug = tables["cluster"].c.slug
    return concat(slug, *(part for step in steps for part in step)) if letters else slug


_CONTAINERS: Final = {
    "chip": ("server", "domain", "cluster"),
    "nic": ("server", "domain", "cluster"),
    "switch": ("node", "domain", "cluster"),
    "network_node": ("node", "cluster"),
}
"""The tables from a node up to its cluster, which hold the ordinals of the node's address."""


def node_address_expression(key: ColumnElement[int]) -> ColumnElement[str]:
    """Return the address, as a SQL expression, of the node with this id: one scalar, without a join in the outer query.

    Each kind of node is tried in turn; chips come first because they are the most.
    """
    names = {name for kind, containers in _CONTAINERS.items() for name in (kind, *containers)}
    aliases = {name: TABLES[name].alias(f"at_{name}") for name in names}

    def address_subquery(kind: str) -> ColumnElement[str]:
        joined: FromClause = aliases[kind]
        for child, parent in pairwise((kind, *_CONTAINERS[kind])):
            parent_id = aliases[child].c["id" if parent == "node" else f"{parent}_id"]
            joined = joined.join(aliases[parent], aliases[parent].c.id == parent_id)
        query = select(address_expression(kind, aliases)).select_from(joined).where(aliases[kind].c.id == key)
        return query.correlate_except(*aliases.values()).scalar_subquery()

    return func.coalesce(*map(address_subquery, _CONTAINERS))


def concat(*parts: str | ColumnElement[Any]) -> ColumnElement[str]:
    """Concatenate constant text and ordinals in SQL that both databases accept."""
    return Concat(parts)


def ordinal_column(table: FromClause, letters: str) -> ColumnElement[int]:
    return table.c.tier if letters == "fabric-t" else table.c.ordinal
