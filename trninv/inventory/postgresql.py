"""What tells PostgreSQL's servers and their states apart.

Two equal snapshots (documentation, 9.27) of one server see the same transactions, hence the same rows. Another server
may have given the same numbers to other transactions: a standby that was promoted, or this one after a crash in which
it lost some. So a connection knows its server by the system identifier, by when the server started, and by when its
statistics began, which a crash resets; the timeline is asked with the snapshot. A standby's snapshot does not say which
transactions it sees: the states of a standby can't be told apart.
"""

from typing import Any

from sqlalchemy.pool import ConnectionPoolEntry

SNAPSHOT = (
    "SELECT CASE WHEN NOT pg_is_in_recovery() "
    "THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || ' ' || pg_current_snapshot() END"
)
"""Timeline and snapshot of what a statement sees; null on a standby."""

_SERVER = (
    "SELECT system_identifier, pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(), current_database() "
    "FROM pg_control_system()"
)


def record_server_identity(connection: Any, entry: ConnectionPoolEntry) -> None:
    """Note at a connection's birth which server it leads to; None where that may not be asked."""
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
