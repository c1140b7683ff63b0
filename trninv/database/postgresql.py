"""Configure PostgreSQL connections, identify servers and snapshots, and pass rows inside a statement.

Two equal snapshots (PostgreSQL documentation, 9.27) of one server see the same transactions, hence the same rows. A
promoted standby, or the same server after a crash that lost transactions, may have assigned the same numbers to other
transactions. A connection therefore identifies its server by system identifier, start time and the start of its
statistics, which a crash resets; the timeline is read with the snapshot. A standby's snapshot does not show which
transactions it sees, so two states of a standby cannot be compared.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import CTE, JSON, Connection, Table, Text, cast, column, func, literal, select, text
from sqlalchemy.engine.interfaces import ExceptionContext
from sqlalchemy.pool import ConnectionPoolEntry

from trninv.database.pooler import transaction_setup

SNAPSHOT_QUERY = (
    "SELECT CASE WHEN NOT pg_is_in_recovery() "
    "THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || ' ' || pg_current_snapshot() END"
)
"""Selects timeline and snapshot of the statement; null on a standby."""
_SERVER_IDENTITY_QUERY = (
    "SELECT system_identifier, pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(), current_database(), "
    "current_schema() FROM pg_control_system()"
)
_POOLED_SNAPSHOT_QUERY = f"SELECT ({SNAPSHOT_QUERY}) || identity::text FROM ({_SERVER_IDENTITY_QUERY}) AS identity"  # noqa: S608 # constants
"""Selects the server's identity too, since a pooler may have connected to another server meanwhile."""


def snapshot_query(info: Mapping[Any, Any]) -> str:
    """Return the query that identifies a snapshot on a connection with this info."""
    return _POOLED_SNAPSHOT_QUERY if info["server"] and transaction_setup(info) else SNAPSHOT_QUERY


def record_server_identity(connection: Any, entry: ConnectionPoolEntry) -> None:
    """Record the server's identity when a connection opens; None if the login may not read it."""
    import psycopg  # noqa: PLC0415 # SQLite does not need it

    try:
        row = connection.execute(_SERVER_IDENTITY_QUERY).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        row = None
    connection.rollback()
    entry.info["server"] = row and tuple(map(str, row))


def close_lost_cursor(context: ExceptionContext) -> None:
    """Close the cursor of a lost connection, which SQLAlchemy leaves open and psycopg would warn about."""
    if context.is_disconnect and context.execution_context is not None:
        context.execution_context.cursor.close()


def is_read_only(connection: Connection) -> bool:
    """Return whether not even a temporary table can be created, as on a standby."""
    if connection.dialect.name != "postgresql":
        return False
    return connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on"


def hash_in_memory(connection: Connection) -> None:
    """Let statements of this transaction hash and sort a million events in memory; SQLite needs no setting."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL work_mem = '64MB'"))


def rows_as_cte(table: Table, rows: Sequence[Mapping[str, Any]]) -> CTE:
    """Return rows as a CTE under the name of a temporary table, for a server on which it cannot be created."""
    recordset = func.json_to_recordset(cast(literal(json.dumps(rows), Text), JSON))
    columns = (column(column_.name, column_.type) for column_ in table.c)
    return select(recordset.table_valued(*columns).render_derived(with_types=True)).cte(table.name)
