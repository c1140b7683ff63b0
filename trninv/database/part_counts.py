# ruff: noqa: S608 # statements contain only our own names
"""Write the SQL that counts parts by cluster, kind, model, scope and state: the rows of ``part_count``.

Triggers keep ``part_count`` current (`trninv.inventory.triggers.count_triggers`); `recount_query` counts from scratch,
for `trninv verify` and after bulk loads. Lists, reports and metrics read a few rows there instead of counting millions
(docs/decisions/part-counts.md).

All values come from correlated subqueries by primary key, so that PostgreSQL plans them the same for one changed row
and for a million.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sqlalchemy import Connection

KEYS: Final = ("cluster_id", "kind", "model_id", "scope", "state")
"""The primary key of ``part_count``."""
SUMS: Final = ("number", "cables", "bandwidth_bytes_per_s")
"""The columns of ``part_count`` that are sums over parts."""
COUNTED_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "domain": ("cluster_id", "domain_model_id"),
    "rack": ("cluster_id",),
    "server": ("domain_id", "server_model_id", "state"),
    "node": ("kind", "cluster_id", "domain_id", "state"),
    "chip": ("chip_model_id",),
    "nic": ("server_id", "bandwidth_bytes_per_s"),
    "core": ("chip_id",),
    "link": ("a_id", "link_model_id", "scope", "state", "cables", "bandwidth_bytes_per_s"),
    "allocation": ("ended_at",),
}
"""The columns of each table that decide where its rows, or the parts that they belong to, are counted.

`MOVED_COLUMNS` has those that decide where yet other rows are counted.
"""
_WHOLE: Final = ("domain", "rack", "server", "node", "link")
"""The tables from which every part is counted once.

``node`` stands for chips, their cores and allocations, NICs, switches and network nodes.
"""


def _source(
    kind: str,
    model: str = "0",
    *,
    cluster: str = "part.cluster_id",
    state: str = "part.state",
    scope: str = "''",
    sums: tuple[str, str, str] = ("1", "0", "0"),
    further: str = "",
) -> str:
    """Return the SELECT of how the rows ``{rows}`` count: their keys and what they add to each sum.

    Parameters
    ----------
    further
        Joins and a condition.
    """
    model = model if model == "0" else f"coalesce({model}, 0)"  # some switches have no model
    values = zip(KEYS, (cluster, kind, model, scope, state), strict=True)
    keys = ", ".join(f"{value} AS {name}" for name, value in values)
    added = ", ".join(f"{{sign}}{value} AS {name}" for name, value in zip(SUMS, sums, strict=True))
    return f"SELECT {keys}, {added} FROM {{rows}} AS part{further}"


def _node(column: str, key: str = "part.id") -> str:
    return f"(SELECT node.{column} FROM {{prefix}}node AS node WHERE node.id = {key})"


def _node_source(kind: str, model: str = "0", sums: tuple[str, str, str] = ("1", "0", "0")) -> str:
    """Return the SELECT of how rows of a table of nodes count, whose cluster and state ``node`` has."""
    return _source(kind, model, cluster=_node("cluster_id"), state=_node("state"), sums=sums)


def _chip_source(kind: str, chip: str, further: str = "") -> str:
    """Return the SELECT of how rows count that have the cluster, state and model of a chip."""
    cluster, state = _node("cluster_id", chip), _node("state", chip)
    return _source(kind, _CHIP_MODEL.replace("part.id", chip), cluster=cluster, state=state, further=further)


_DOMAIN_MODEL: Final = "(SELECT domain.domain_model_id FROM {prefix}domain AS domain WHERE domain.id = {domain})"
_SERVER_MODEL: Final = "(SELECT server.server_model_id FROM {prefix}server AS server WHERE server.id = {server})"
_NIC_SERVER: Final = "(SELECT nic.server_id FROM {prefix}nic AS nic WHERE nic.id = part.id)"
_CHIP_MODEL: Final = "(SELECT chip.chip_model_id FROM {prefix}chip AS chip WHERE chip.id = part.id)"
_ALLOCATIONS: Final = """(SELECT count(*) FROM {prefix}allocation AS allocation
    WHERE allocation.chip_id = part.id AND allocation.ended_at IS NULL)"""
_NUMBER_OF_CORES: Final = "(SELECT count(*) FROM {prefix}core AS core WHERE core.chip_id = part.id)"
_NODE_MODEL: Final = f"""CASE part.kind WHEN 'chip' THEN {_CHIP_MODEL}
    WHEN 'nic' THEN {_SERVER_MODEL.replace("{server}", _NIC_SERVER)}
    WHEN 'switch' THEN {_DOMAIN_MODEL.replace("{domain}", "part.domain_id")} ELSE 0 END"""
_NIC_BANDWIDTH: Final = """CASE part.kind WHEN 'nic'
    THEN coalesce((SELECT nic.bandwidth_bytes_per_s FROM {prefix}nic AS nic WHERE nic.id = part.id), 0) ELSE 0 END"""
_SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "domain": (_source("'domain'", "part.domain_model_id", state="'up'"),),
    "rack": (_source("'rack'", state="'up'"),),
    "server": (
        _source(
            "'server'",
            "part.server_model_id",
            cluster="(SELECT domain.cluster_id FROM {prefix}domain AS domain WHERE domain.id = part.domain_id)",
        ),
    ),
    "node": (
        _source("part.kind", _NODE_MODEL, sums=("1", "0", _NIC_BANDWIDTH)),
        _source("'core'", _CHIP_MODEL, sums=(_NUMBER_OF_CORES, "0", "0"), further=" WHERE part.kind = 'chip'"),
        _source("'allocation'", _CHIP_MODEL, sums=(_ALLOCATIONS, "0", "0"), further=" WHERE part.kind = 'chip'"),
    ),
    "chip": (
        _node_source("'chip'", "part.chip_model_id"),
        _node_source("'core'", "part.chip_model_id", (_NUMBER_OF_CORES, "0", "0")),
        _node_source("'allocation'", "part.chip_model_id", (_ALLOCATIONS, "0", "0")),
    ),
    "switch": (_node_source("'switch'", _DOMAIN_MODEL.replace("{domain}", _node("domain_id"))),),
    "nic": (
        _node_source(
            "'nic'", _SERVER_MODEL.replace("{server}", "part.server_id"), ("1", "0", "part.bandwidth_bytes_per_s")
        ),
    ),
    "network_node": (_node_source("'network_node'"),),
    "core": (_chip_source("'core'", "part.chip_id"),),
    "allocation": (_chip_source("'allocation'", "part.chip_id", " WHERE part.ended_at IS NULL"),),
    "link": (
        _source(
            "'link'",
            "part.link_model_id",
            cluster=_node("cluster_id", "part.a_id"),
            scope="part.scope",
            sums=("1", "part.cables", "part.bandwidth_bytes_per_s"),
        ),
    ),
}
"""How the rows of each table count: one SELECT, and further ones for the cores and allocations of chips."""
MOVED_COLUMNS: Final[Mapping[tuple[str, str], str]] = {
    ("server", "server_model_id"): _source(
        "'nic'",
        "part.server_model_id",
        cluster="node.cluster_id",
        state="node.state",
        sums=("1", "0", "nic.bandwidth_bytes_per_s"),
        further=" JOIN nic ON nic.server_id = part.id JOIN node ON node.id = nic.id",
    ),
    ("domain", "domain_model_id"): _source(
        "'switch'",
        "part.domain_model_id",
        cluster="node.cluster_id",
        state="node.state",
        further=" JOIN node ON node.domain_id = part.id AND node.kind = 'switch'",
    ),
    ("domain", "cluster_id"): _source(
        "'server'",
        "server.server_model_id",
        state="server.state",
        further=" JOIN server ON server.domain_id = part.id",
    ),
    ("node", "cluster_id"): _source(
        "'link'",
        "link.link_model_id",
        state="link.state",
        scope="link.scope",
        sums=("1", "link.cables", "link.bandwidth_bytes_per_s"),
        further=" JOIN link ON link.a_id = part.id",
    ),
}
"""Columns that rows of another table are counted by, and how these count for a row with its id and this column."""
COUNTED_TABLES: Final = tuple(_SOURCES)
"""The tables whose rows are counted."""


def counted_rows(table: str, rows: str, sign: str = "", prefix: str = "") -> Iterator[str]:
    """Yield SELECTs of the keys of some rows of a table and of what they add to each sum.

    Parameters
    ----------
    rows
        The rows: the name of a table, or a query in parentheses.
    sign
        "-" for rows to subtract.
    prefix
        The schema of the tables, with a dot.
    """
    for source in _SOURCES[table]:
        yield source.replace("{rows}", rows).replace("{sign}", sign).replace("{prefix}", prefix)


def moved_rows(table: str, column: str) -> Iterator[str]:
    """Yield SELECTs of what an update of one of `MOVED_COLUMNS` adds to the sums, in a trigger of one row."""
    for row, sign in (("NEW", ""), ("OLD", "-")):
        rows = f"(SELECT {row}.id AS id, {row}.{column} AS {column})"
        yield MOVED_COLUMNS[table, column].replace("{rows}", rows).replace("{sign}", sign)


def used_columns(table: str) -> list[str]:
    """Return the columns of a table that its counts depend on."""
    return sorted({name for source in _SOURCES[table] for name in re.findall(r"\bpart\.(\w+)", source)})


def add_statement(changes: Iterable[str], *, grouped: bool) -> str:
    """Return the statement that adds changes, which are SELECTs of `counted_rows`, to ``part_count``.

    Parameters
    ----------
    grouped
        Whether to add up the changes first, as for many rows; SQLite's triggers have one or two.
    """
    change = "\n    UNION ALL ".join(changes)
    keys, merged = ", ".join(KEYS), ", ".join(f"{name} = part_count.{name} + excluded.{name}" for name in SUMS)
    query = sum_query(change) + f" HAVING {' OR '.join(f'sum({name}) <> 0' for name in SUMS)} ORDER BY {keys}"
    if not grouped:
        query = f"SELECT * FROM ({change}) AS change WHERE cluster_id IS NOT NULL AND number <> 0"
    return f"""INSERT INTO part_count ({keys}, {", ".join(SUMS)})
    {query}
    ON CONFLICT ({keys}) DO UPDATE SET {merged};"""


def sum_query(changes: str, where: str = "") -> str:
    """Return the query that adds up changes by their keys."""
    keys, sums = ", ".join(KEYS), ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in SUMS)
    return f"SELECT {keys}, {sums} FROM ({changes}) AS change WHERE cluster_id IS NOT NULL{where} GROUP BY {keys}"


def recount_query(cluster_id: int | None = None) -> str:
    """Return the query that counts all parts, or those of one cluster, from their rows."""
    rows = {table: table if cluster_id is None else f"({_cluster_rows(table)} = {cluster_id:d})" for table in _WHOLE}
    return sum_query("\n    UNION ALL ".join(query for table in _WHOLE for query in counted_rows(table, rows[table])))


def _cluster_rows(table: str) -> str:
    """Return a query of a table's rows up to the comparison of their cluster's id."""
    parents = {"server": "domain ON domain.id = server.domain_id", "link": "node ON node.id = link.a_id"}
    join = f" JOIN {parents[table]}" if table in parents else ""
    return f"SELECT {table}.* FROM {table}{join} WHERE cluster_id"


def as_of_query(prefix: str, event: str, condition: str) -> str:
    """Return the query of the counts after an event, from the present ones and the later events.

    It does not count allocations, whose changes are not among the events of parts.

    Parameters
    ----------
    condition
        The SQL condition that the cluster with the id ``part.id`` has a history at that event; empty: all have.
    """
    changes = [f"SELECT {', '.join((*KEYS, *SUMS))} FROM {prefix}part_count AS present"]
    for table in ("server", "node", "link"):
        kind = f"e.kind || '' = '{table}'" if table != "node" else "e.kind || '' NOT IN ('server', 'link')"
        columns = ", ".join(f"part.{name}" for name in used_columns(table) if name != "state")
        for state, sign in (("before", ""), ("state", "-")):
            rows = (
                f"(SELECT {columns}, e.{state} AS state FROM {prefix}state_event AS e "
                f"JOIN {prefix}{table} AS part ON part.id = e.part_id "
                f"WHERE e.id > {event} AND e.action IS NULL AND e.before <> e.state AND {kind})"
            )
            changes += counted_rows(table, rows, sign, prefix)
    where = condition and f" AND {condition.replace('part.id', 'cluster_id')}"
    return sum_query(" UNION ALL ".join(changes), f" AND kind <> 'allocation'{where}")


def store_counts(connection: Connection, cluster_id: int | None = None) -> None:
    """Count all parts, or those of one cluster, from their rows, and replace the stored counts."""
    where = "" if cluster_id is None else f" WHERE cluster_id = {cluster_id:d}"
    connection.exec_driver_sql(f"DELETE FROM part_count{where}")
    connection.exec_driver_sql(f"INSERT INTO part_count ({', '.join((*KEYS, *SUMS))}) {recount_query(cluster_id)}")


def is_uncounted(connection: Connection) -> bool:
    """Return whether there are clusters but no counts, as after a person deleted them to have them counted again."""
    query = "SELECT EXISTS (SELECT 1 FROM cluster) AND NOT EXISTS (SELECT 1 FROM part_count)"
    return bool(connection.exec_driver_sql(query).scalar())
