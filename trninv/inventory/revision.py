"""Tells one state of a database from another, for caches that must never be stale, whoever else writes.

SQLite: ``PRAGMA data_version`` of a connection that never writes changes with every commit of any other connection.
PostgreSQL: two equal snapshots (documentation, 9.27) see the same transactions, hence the same rows.
"""

from collections.abc import Hashable
from threading import Lock

from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError

from trninv.inventory.database import file_of

_QUERIES = {"sqlite": "PRAGMA data_version", "postgresql": "SELECT pg_current_snapshot()::text"}


class Revision:
    """Watches an engine's database over a connection of its own. Thread safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._lock = engine, Lock()
        self._connection: PoolProxiedConnection | None = None

    def current(self) -> Hashable | None:
        """A value that is equal for equal states; None if they can't be told apart (no file, no server)."""
        if self._engine.dialect.name == "sqlite":
            file = file_of(self._engine)
            if file is None or not file.exists():
                return None
        with self._lock:
            try:
                return self._ask()
            except (DBAPIError, self._engine.dialect.loaded_dbapi.Error):
                self._close()
                return None

    def _ask(self) -> Hashable:
        if self._connection is None:
            self._connection = self._engine.raw_connection()
            if (driver := self._connection.driver_connection) and self._engine.dialect.name == "postgresql":
                driver.autocommit = True
            self._connection.detach()
        cursor = self._connection.cursor()
        try:
            cursor.execute(_QUERIES[self._engine.dialect.name])
            return str(cursor.fetchone())
        finally:
            cursor.close()

    def close(self) -> None:
        """Close the connection that watches."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
