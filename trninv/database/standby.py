"""Refuse connections to a standby that has not caught up with its primary.

The service reads from the standbys of TRNINV_READ_URL. An answer from a standby contains every change that any process
committed before the request.

Positions in the write-ahead log are compared only if both servers have the same system identifier and timeline. A
standby reports a new timeline only after its next restart point, so for some minutes after a failover no standby is
read.

The standby must have replayed the log up to the primary's flush position: a commit is visible once it is flushed, and
later records may not be sent before the next commit. With synchronous_commit off, commits do not wait to be flushed, so
the insert position is used instead.
"""

import time
from typing import Any, Final

from sqlalchemy import Engine, PoolProxiedConnection, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from trninv.database.engine import translate_connect_errors, translate_statement_errors
from trninv.database.pooler import transaction_setup
from trninv.errors import DatabaseError

CATCH_UP_SECONDS: Final = 0.1
"""Seconds that a connection waits for the standby to catch up."""
_POLL_SECONDS: Final = 0.005

_PRIMARY_QUERY = """
SELECT left(pg_walfile_name(position), 8), position::text
FROM (SELECT CASE current_setting('synchronous_commit')
             WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END AS position) AS written"""
_STANDBY_QUERY = """
SELECT pg_is_in_recovery() AND lpad(upper(to_hex(timeline_id)), 8, '0') = %s, pg_last_wal_replay_lsn() >= %s::pg_lsn
FROM pg_control_checkpoint()"""


def require_caught_up(standby: Engine, primary: Engine) -> None:
    """Make connecting to a standby fail with a DatabaseError unless it has caught up with the primary."""

    def check_position(connection: Any, entry: ConnectionPoolEntry, _proxy: object) -> None:
        if transaction_setup(entry.info):
            raise DatabaseError(
                "TRNINV_READ_URL leads to a connection pooler, which may read from another server than the one that "
                "was checked; write the address of the standby itself"
            )
        server, position = _primary_position(primary)
        with translate_statement_errors(standby):
            is_caught_up = _wait_for_position(standby, connection, position)
        if not (is_caught_up and server and _system_identifier(entry) == server):
            raise DatabaseError(
                "the server of TRNINV_READ_URL is not a standby of the primary, or a login may not run "
                "pg_control_system(); correct the URL or grant the permission"
            )

    event.listen(standby, "checkout", check_position)


def _primary_position(primary: Engine) -> tuple[str | None, tuple[str, str]]:
    """Return the primary's system identifier, and the timeline and position of its log."""
    with translate_connect_errors(primary):
        pooled = primary.raw_connection()
    try:
        with translate_statement_errors(primary):
            return _system_identifier(pooled), _fetch_row(primary, pooled.driver_connection, _PRIMARY_QUERY, ())
    except DatabaseError:
        pooled.invalidate()
        raise
    finally:
        pooled.close()


def _wait_for_position(engine: Engine, driver: Any, position: tuple[str, str]) -> bool:
    """Wait until a standby has replayed the log up to a position.

    Return False if its timeline differs, or if the server is not a standby at all.

    Raises
    ------
    DatabaseError
        The standby takes longer than `CATCH_UP_SECONDS`.
    """
    end = time.monotonic() + CATCH_UP_SECONDS
    while True:
        is_on_timeline, has_replayed = _fetch_row(engine, driver, _STANDBY_QUERY, position)
        if has_replayed or not is_on_timeline:
            return bool(is_on_timeline)
        if time.monotonic() >= end:
            raise DatabaseError("the standby has not replayed everything that its primary has written; try again")
        time.sleep(_POLL_SECONDS)


def _fetch_row(engine: Engine, driver: Any, sql: str, values: tuple[str, ...]) -> Any:
    try:
        driver.autocommit = True  # one statement needs no transaction around it
        row = driver.execute(sql, values).fetchone()
        driver.autocommit = False
    except engine.dialect.loaded_dbapi.Error as error:
        raise DBAPIError(sql, None, error) from error
    return row


def _system_identifier(entry: ConnectionPoolEntry | PoolProxiedConnection) -> str | None:
    identity = entry.info.get("server")
    return identity and identity[0]
