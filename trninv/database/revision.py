"""Identify the current state of a database, for cache keys.

SQLite: ``PRAGMA data_version``, on a connection that never writes, changes with every commit of any other connection.
It is read without waiting for a lock, and from the file that is in place now.
PostgreSQL: server, timeline and snapshot; see trninv.database.postgresql.
"""

import os
import sqlite3
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from math import inf
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from trninv.database.as_of import as_of_event, as_of_time, omitted_clusters
from trninv.database.engine import database_file, newest_schema_version, read_transaction
from trninv.database.postgresql import snapshot_query
from trninv.database.sqlite import file_identity

_MAX_RETRIES = 3
"""How often a read takes a new snapshot if another connection commits meanwhile, before its revision is None."""
_STEPS_PER_CHECK = 1_000
"""Instructions of SQLite's virtual machine after which it calls a progress handler."""


class StatementTooLargeError(Exception):
    """A statement takes more instructions than allowed."""


@lru_cache(maxsize=16)
def revision_id(revision: Hashable | None) -> str | None:
    """Return a short id of a revision for users; different states have different ids."""
    return None if revision is None else sha256(repr(revision).encode()).hexdigest()[:16]


class RevisionTracker:
    """Tracks the revision of an engine's database over a connection of its own. Thread safe."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._lock, self._file = engine, Lock(), database_file(engine)
        self._as_of = as_of_event(engine), as_of_time(engine), omitted_clusters(engine)
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._connection: Any = None  # the driver's
        self._is_closed = False
        self.close_callbacks = list[Callable[[], None]]()
        """Called by `close`, for others that keep a connection of the engine."""
        self._connection_identity: Any = None  # (random bytes, file identity) on SQLite, pool information on PostgreSQL
        self._checks_left = inf  # of a statement's instructions, before it is interrupted

    def current(self) -> Hashable | None:
        """Return the revision; if two revisions are equal, nothing was committed in between.

        It is None if reading it would wait or fails, for a database in memory, and after `close`.
        """
        if self._is_sqlite and self._file is None:
            return None
        with self._lock:
            if self._is_closed:
                return None
            try:
                return self._with_as_of(self._query())
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # the low byte: extended codes name the reason
                    self._close()
                return None
            except (DBAPIError, self.engine.dialect.loaded_dbapi.Error):
                self._close()
                return None

    def read_small_row(
        self, sql: str, parameters: Mapping[str, Any], max_steps: int
    ) -> tuple[tuple[Any, ...], Hashable] | None:
        """Read one row, and the revision it is of, on this tracker's SQLite connection, without waiting for a lock.

        Return None if that is not possible now or fails: run the statement on another connection, which reports errors.

        Raises
        ------
        StatementTooLargeError
            The statement takes more than about `max_steps` instructions of SQLite's virtual machine.

        """
        if not self._is_sqlite or self._connection is None or not self._lock.acquire(blocking=False):
            return None
        try:
            is_current = self._file and file_identity(self._file) == self._connection_identity[1]
            if self._as_of[0] is not None or not is_current:
                return None
            self._checks_left = max_steps // _STEPS_PER_CHECK
            self._connection.execute("BEGIN")
            (schema,) = self._connection.execute("SELECT version_num FROM alembic_version").fetchone()
            if schema != newest_schema_version():
                return None
            version = self._connection.execute("PRAGMA data_version").fetchone()
            row = self._connection.execute(sql, parameters).fetchone()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                raise StatementTooLargeError from error
            return None
        else:
            return row, (*self._connection_identity, *version)
        finally:
            self._checks_left = inf
            if self._connection is not None and self._connection.in_transaction:
                self._connection.rollback()
            self._lock.release()

    def _count_check(self) -> bool:
        """Return whether the statement has used up its instructions; SQLite then interrupts it."""
        self._checks_left -= 1
        return self._checks_left < 0

    def current_if_cheap(self) -> Hashable | None:
        """Return `current` if the database is SQLite and the tracker's connection is open and idle, else None."""
        return self.current() if self._is_sqlite and self._connection is not None and not self._lock.locked() else None

    @contextmanager
    def read(self) -> Iterator[tuple[Connection, Hashable | None]]:
        """Open a connection that reads one snapshot, together with the value of `current` in it."""
        expected = self.current() if self._is_sqlite else None
        with read_transaction(self.engine) as connection:
            if not self._is_sqlite:
                snapshot = connection.exec_driver_sql(snapshot_query(connection.info)).scalar()
                yield connection, self._with_as_of(revision_of_snapshot(connection.info, snapshot))
                return
            for _ in range(_MAX_RETRIES):
                # nothing changed while the connection took its snapshot, so the snapshot has this revision
                if expected is None or expected == (revision := self.current()):
                    break
                connection.rollback()
                expected = revision
                connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()  # takes a new snapshot
            else:
                expected = None
            yield connection, expected

    def _with_as_of(self, revision: Hashable | None) -> Hashable | None:
        """Add the point in time that the engine reads, if it is an earlier one, to the revision."""
        return revision if revision is None or self._as_of[0] is None else (revision, self._as_of)

    def _query(self) -> Hashable | None:
        """Read the revision, or None if there is no file; reopen the connection first if the file was replaced."""
        identity = file_identity(self._file) if self._file else None
        if self._file and identity is None:
            return None
        if self._connection and identity and identity != self._connection_identity[1]:
            self._close()
        if self._connection is None:
            self._open()
        cursor = self._connection.cursor()
        try:
            cursor.execute("PRAGMA data_version" if self._is_sqlite else snapshot_query(self._connection_identity))
            (version,) = cursor.fetchone() or (None,)
        finally:
            cursor.close()
        return (
            (*self._connection_identity, version)
            if self._is_sqlite
            else revision_of_snapshot(self._connection_identity, version)
        )

    def _open(self) -> None:
        pooled = self.engine.raw_connection()
        self._connection, info = pooled.driver_connection, dict(pooled.info)  # a copy: the pool reuses its dictionary
        pooled.detach()
        if self._is_sqlite:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.set_progress_handler(self._count_check, _STEPS_PER_CHECK)
            # random, since the data_version of one connection cannot be compared with that of another
            self._connection_identity = os.urandom(8), info.get("file_identity")
        else:
            self._connection.autocommit = True
            self._connection_identity = info

    def close(self) -> None:
        """Close the tracker's connection for good; `current` then returns None."""
        for callback in self.close_callbacks:
            callback()
        with self._lock:
            self._is_closed = True
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def revision_of_snapshot(connection_identity: Any, snapshot: str | None) -> Hashable | None:
    """Return the revision that a PostgreSQL connection reads, from the identity of its server and its snapshot."""
    return (connection_identity["server"], snapshot) if connection_identity["server"] and snapshot else None
