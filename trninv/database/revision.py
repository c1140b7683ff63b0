"""Identify the current state of a database, for cache keys.

SQLite: ``PRAGMA data_version``, on a connection that never writes, changes with every commit of any other connection.
It is read without waiting for a lock, and from the file that is in place now.
PostgreSQL: server, timeline and snapshot; see trninv.database.postgresql.
"""

import os
import sqlite3
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from trninv.database.as_of import as_of_event, as_of_time, omitted_clusters
from trninv.database.engine import database_file, read_transaction
from trninv.database.postgresql import SNAPSHOT
from trninv.database.sqlite import file_identity

_MAX_RETRIES = 3
"""How often a read starts again after another connection committed meanwhile."""


def revision_id(revision: Hashable | None) -> str | None:
    """Return a short id of a revision for users; different states have different ids."""
    return None if revision is None else sha256(repr(revision).encode()).hexdigest()[:16]


class RevisionTracker:
    """Tracks the revision of an engine's database over its own connection. Thread safe."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._lock, self._file = engine, Lock(), database_file(engine)
        self._as_of = as_of_event(engine), as_of_time(engine), omitted_clusters(engine)
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._connection: Any = None  # the driver's
        self._connection_identity: Any = None  # recorded when it was opened

    def current(self) -> Hashable | None:
        """Return a value that is equal for equal states, without waiting for writers; None if it is unknown."""
        if self._is_sqlite and (self._file is None or file_identity(self._file) is None):
            return None
        with self._lock:
            try:
                return self._with_as_of(self._query())
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    self._close()
                return None
            except (DBAPIError, self.engine.dialect.loaded_dbapi.Error):
                self._close()
                return None

    def current_if_cheap(self) -> Hashable | None:
        """Return `current` if its connection is open and idle, else None."""
        return self.current() if self._is_sqlite and self._connection is not None and not self._lock.locked() else None

    @contextmanager
    def read(self) -> Iterator[tuple[Connection, Hashable | None]]:
        """Open a connection that reads one snapshot, together with the value of `current` in it."""
        before = self.current() if self._is_sqlite else None
        with read_transaction(self.engine) as connection:
            if not self._is_sqlite:
                revision = revision_of_snapshot(connection.info, connection.exec_driver_sql(SNAPSHOT).scalar())
                yield connection, self._with_as_of(revision)
                return
            for _ in range(_MAX_RETRIES):
                # nothing changed while the connection took its snapshot, so the snapshot has this revision
                if before is None or before == (after := self.current()):
                    break
                connection.rollback()
                before = after
                connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
            else:
                before = None
            yield connection, before

    def _with_as_of(self, revision: Hashable | None) -> Hashable | None:
        """Return a revision that differs from that of other points in time of the same state."""
        return revision if revision is None or self._as_of[0] is None else (revision, self._as_of)

    def _query(self) -> Hashable:
        if self._file and self._connection and file_identity(self._file) != self._connection_identity[1]:
            self._close()
        if self._connection is None:
            self._open()
        cursor = self._connection.cursor()
        try:
            cursor.execute("PRAGMA data_version" if self._is_sqlite else SNAPSHOT)
            (version,) = cursor.fetchone() or (None,)
        finally:
            cursor.close()
        return (
            (*self._connection_identity, version)
            if self._is_sqlite
            else revision_of_snapshot(self._connection_identity, version)
        )

    def _open(self) -> None:
        opened = self.engine.raw_connection()
        self._connection, info = opened.driver_connection, dict(opened.info)  # the pool reuses its own record
        opened.detach()
        if self._is_sqlite:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection_identity = os.urandom(8), info.get("place")
        else:
            self._connection.autocommit = True
            self._connection_identity = info

    def close(self) -> None:
        """Close the tracker's connection."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def revision_of_snapshot(connection_identity: Any, snapshot: str | None) -> Hashable | None:
    """Return the revision of what a PostgreSQL connection sees, from its recorded server and its snapshot."""
    return (connection_identity["server"], snapshot) if connection_identity["server"] and snapshot else None
