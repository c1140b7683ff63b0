"""Hand out standby connections only when the standby has caught up.

An answer is therefore never older than its request, whoever wrote last and through whichever process. Positions in the
write-ahead log are compared within one history: the same system identifier and the primary's timeline. A standby learns
of a new timeline with its first restart point, so for some minutes after a fail-over no standby is read.

A commit is visible once it is flushed, and flushed records are sent; later records (of a page that a read tidied) may
wait for the next commit. Only where commits do not wait to be flushed does every record count.
"""

import time
from typing import Any, Final

from sqlalchemy import Engine, PoolProxiedConnection, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from trninv.database.engine import translate_connect_errors, translate_statement_errors
from trninv.errors import DatabaseError

CATCH_UP_SECONDS: Final = 0.1
"""Seconds that a standby has to catch up."""
_PAUSE: Final = 0.005

_PRIMARY_POSITION = """
SELECT left(pg_walfile_name(position), 8), position::text
FROM (SELECT CASE current_setting('synchronous_commit')
             WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END AS position) AS written"""
_STANDBY_POSITION = """
SELECT pg_is_in_recovery() AND lpad(upper(to_hex(timeline_id)), 8, '0') = %s, pg_last_wal_replay_lsn() >= %s::pg_lsn
FROM pg_control_checkpoint()"""


def require_caught_up(standby: Engine, primary: Engine) -> None:
    """Make connecting to a standby fail with a DatabaseError unless it has caught up with the primary."""

    def check_position(connection: Any, entry: ConnectionPoolEntry, _proxy: object) -> None:
        server, position = _position(primary)
        with translate_statement_errors(standby):
            is_current = _is_current(standby, connection, position)
        if not (is_current and server and _system_identifier(entry) == server):
            raise DatabaseError("the server of TRNINV_READ_URL is not a standby of the primary")

    event.listen(standby, "checkout", check_position)


def _position(primary: Engine) -> tuple[str | None, tuple[str, str]]:
    """Return the primary's system identifier, and the timeline and position of its log."""
    with translate_connect_errors(primary):
        pooled = primary.raw_connection()
    try:
        with translate_statement_errors(primary):
            return _system_identifier(pooled), _row(primary, pooled.driver_connection, _PRIMARY_POSITION, ())
    except DatabaseError:
        pooled.invalidate()
        raise
    finally:
        pooled.close()


def _is_current(engine: Engine, driver: Any, position: tuple[str, str]) -> bool:
    end = time.monotonic() + CATCH_UP_SECONDS
    while True:
        is_on_timeline, has_all = _row(engine, driver, _STANDBY_POSITION, position)
        if has_all or not is_on_timeline:
            return bool(is_on_timeline)
        if time.monotonic() >= end:
            raise DatabaseError("the standby has not replayed all that its primary has written")
        time.sleep(_PAUSE)


def _row(engine: Engine, driver: Any, sql: str, values: tuple[str, ...]) -> Any:
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
