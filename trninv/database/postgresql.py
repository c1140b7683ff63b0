"""Identify PostgreSQL servers and snapshots, and pass rows inside a statement.

Two equal snapshots (documentation, 9.27) of one server see the same transactions, hence the same rows. Another server
may have given the same numbers to other transactions: a promoted standby, or the same server after a crash that lost
some. A connection therefore identifies its server by system identifier, start time and the start of its statistics,
which a crash resets; the timeline is read with the snapshot. A standby's snapshot does not show which transactions it
sees, so states of a standby cannot be compared.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import CTE, JSON, Connection, Table, Text, cast, column, func, literal, select
from sqlalchemy.engine.interfaces import ExceptionContext
from sqlalchemy.pool import ConnectionPoolEntry

SNAPSHOT = (
    "SELECT CASE WHEN NOT pg_is_in_recovery() "
    "THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || ' ' || pg_current_snapshot() END"
)
"""Selects timeline and snapshot of the statement; null on a standby."""
_SERVER = (
    "SELECT system_identifier, pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(), current_database() "
    "FROM pg_control_system()"
)


def record_server_identity(connection: Any, entry: ConnectionPoolEntry) -> None:
    """Record the server's identity when a connection opens; None if the login may not read it."""
    import psycopg  # noqa: PLC0415 # SQLite does without

    try:
        row = connection.execute(_SERVER).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        row = None
    connection.rollback()
    entry.info["server"] = row and tuple(map(str, row))


def disable_jit(connection: Any, _entry: ConnectionPoolEntry) -> None:
    """Turn just-in-time compilation off: it takes ten times as long as a nested list that names the ends of links."""
    connection.execute("SET jit = off")
    connection.commit()


def close_lost_cursor(context: ExceptionContext) -> None:
    """Close the cursor of a lost connection: SQLAlchemy leaves it open, and psycopg warns when it is collected."""
    if context.is_disconnect and context.execution_context is not None:
        context.execution_context.cursor.close()


def is_read_only(connection: Connection) -> bool:
    """Return whether not even a temporary table can be created, as on a standby."""
    if connection.dialect.name != "postgresql":
        return False
    return connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on"


def rows_as_cte(table: Table, rows: Sequence[Mapping[str, Any]]) -> CTE:
    """Return rows as a CTE that a statement reads in place of a table that does not exist."""
    recordset = func.json_to_recordset(cast(literal(json.dumps(rows), Text), JSON))
    columns = (column(column_.name, column_.type) for column_ in table.c)
    return select(recordset.table_valued(*columns).render_derived(with_types=True)).cte(table.name)
