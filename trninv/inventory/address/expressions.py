"""Build SQL expressions that compute addresses.

An address such as ``rainier/d17/s2/c5`` consists of a cluster's slug and steps, each with letters and an ordinal.
A part's address is computed from ordinals, not stored with the part, and stays the same if its cluster is seeded again.
`trninv.inventory.address.syntax` describes all forms.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import ColumnElement, FromClause, Select, Table, and_, case, func, select, true

from trninv.database.sql_constructs import Concat
from trninv.database.tables import NODE_KINDS, TABLES
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

    def has_node_id(table: Table) -> ColumnElement[bool]:
        return and_(table.c.id == node.c.id, true() if id_condition is None else id_condition(table.c.id))

    address = case(
        *((node.c.kind == kind, address_expression(kind)) for kind in ("chip", "nic", "switch")),
        else_=address_expression("network_node"),
    )
    joined = (
        node.outerjoin(domain, domain.c.id == node.c.domain_id)
        .join(cluster, cluster.c.id == node.c.cluster_id)
        .outerjoin(chip, has_node_id(chip))
        .outerjoin(switch, has_node_id(switch))
        .outerjoin(nic, has_node_id(nic))
        .outerjoin(network_node, has_node_id(network_node))
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
    steps = next(steps for steps, name in LEVELS.items() if name == level)
    parts = list[str | ColumnElement[Any]]()
    for letters in steps:
        parts += (format_letters(letters), ordinal_column(tables[STEP_NAMES[letters]], letters))
    slug = tables["cluster"].c.slug
    return concat(slug, *parts) if parts else slug


_CONTAINERS: Final = {
    "cluster": (),
    "rack": ("cluster",),
    "domain": ("cluster",),
    "server": ("domain", "cluster"),
    "chip": ("server", "domain", "cluster"),
    "nic": ("server", "domain", "cluster"),
    "switch": ("node", "domain", "cluster"),
    "network_node": ("node", "cluster"),
}
"""For each kind, the tables to join for the ordinals and the slug in its addresses, from the inside out."""
_ALIASES: Final = {
    name: TABLES[name].alias(f"at_{name}")
    for name in {*_CONTAINERS, *(name for names in _CONTAINERS.values() for name in names)}
}
"""Aliases of these tables, for subqueries within queries that read the tables themselves."""


def node_address_expression(key: ColumnElement[int]) -> ColumnElement[str]:
    """Return the address, as a SQL expression, of the node with this id: one scalar, without a join in the outer query.

    Each kind of node is tried in turn; chips come first because most nodes are chips.
    """
    return func.coalesce(*(address_by_id(kind, key) for kind in NODE_KINDS))


def address_by_id(kind: str, key: ColumnElement[int]) -> ColumnElement[str]:
    """Return the address, as a scalar subquery, of the server or node of a kind with this id; null if there is none."""
    query = select(address_expression(kind, _ALIASES)).select_from(join_containers(kind, _ALIASES))
    query = query.where(_ALIASES[kind].c.id == key)
    return query.correlate_except(*_ALIASES.values()).scalar_subquery()


def join_containers(kind: str, tables: Mapping[str, FromClause] = TABLES) -> FromClause:
    """Join the table of a kind with the tables of its containers, for the ordinals and the slug in its addresses."""
    joined = tables[kind]
    for child, parent in pairwise((kind, *_CONTAINERS[kind])):
        parent_id = tables[child].c["id" if parent == "node" else f"{parent}_id"]
        joined = joined.join(tables[parent], tables[parent].c.id == parent_id)
    return joined


def concat(*parts: str | ColumnElement[Any]) -> ColumnElement[str]:
    """Concatenate constant texts and expressions in SQL that both databases accept."""
    return Concat(parts)


def ordinal_column(table: FromClause, letters: str) -> ColumnElement[int]:
    """Return the column with the ordinal of a step; for ``fabric/tT`` it is the tier."""
    return table.c.tier if letters == "fabric-t" else table.c.ordinal
