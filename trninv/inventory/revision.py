"""Tells one state of a database from another, for caches that must never be stale, whoever else writes.

SQLite: ``PRAGMA data_version`` of a connection that never writes changes with every commit of any other connection. It
is asked without waiting for a lock, of the file that is in place now.
PostgreSQL: server, timeline and snapshot; trninv.inventory.postgresql says why.
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

from trninv.inventory.database import file_of, reading
from trninv.inventory.past import moment, time_of, unknown
from trninv.inventory.postgresql import SNAPSHOT
from trninv.inventory.sqlite import place

_AGAIN = 3
"""How often a reading begins anew that a commit of another connection came upon."""


def name_of(revision: Hashable | None) -> str | None:
    """A revision's name for those outside: other states have other names."""
    return None if revision is None else sha256(repr(revision).encode()).hexdigest()[:16]


class Revision:
    """Watches an engine's database over a connection of its own. Thread safe."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._lock, self._file = engine, Lock(), file_of(engine)
        self._moment = moment(engine), time_of(engine), unknown(engine)
        self._lite = engine.dialect.name == "sqlite"
        self._connection: Any = None  # the driver's
        self._born: Any = None  # what was noted at its birth

    def current(self) -> Hashable | None:
        """A value that is equal for equal states; None if they can't be told apart. It never waits for a writer."""
        if self._lite and (self._file is None or place(self._file) is None):
            return None
        with self._lock:
            try:
                return self._at_moment(self._ask())
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    self._close()
                return None
            except (DBAPIError, self.engine.dialect.loaded_dbapi.Error):
                self._close()
                return None

    def at_hand(self) -> Hashable | None:
        """As `current`, of a file that is watched already; None where that would wait for anything."""
        return self.current() if self._lite and self._connection is not None and not self._lock.locked() else None

    @contextmanager
    def reading(self) -> Iterator[tuple[Connection, Hashable | None]]:
        """A connection that sees a single state of the database, and the value of `current` in that state."""
        before = self.current() if self._lite else None
        with reading(self.engine) as connection:
            if not self._lite:
                found = of_snapshot(connection.info, connection.exec_driver_sql(SNAPSHOT).scalar())
                yield connection, self._at_moment(found)
                return
            for _ in range(_AGAIN):
                # nothing changed while the connection's state was fixed, so that is the state of this revision
                if before is None or before == (after := self.current()):
                    break
                connection.rollback()
                before = after
                connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
            else:
                before = None
            yield connection, before

    def _at_moment(self, found: Hashable | None) -> Hashable | None:
        """A state's revision, told apart from those of the same state at other moments."""
        return found if found is None or self._moment[0] is None else (found, self._moment)

    def _ask(self) -> Hashable:
        if self._file and self._connection and place(self._file) != self._born[1]:
            self._close()
        if self._connection is None:
            self._open()
        cursor = self._connection.cursor()
        try:
            cursor.execute("PRAGMA data_version" if self._lite else SNAPSHOT)
            (found,) = cursor.fetchone() or (None,)
        finally:
            cursor.close()
        return (*self._born, found) if self._lite else of_snapshot(self._born, found)

    def _open(self) -> None:
        opened = self.engine.raw_connection()
        self._connection, info = opened.driver_connection, dict(opened.info)  # the pool's record is used again
        opened.detach()
        if self._lite:
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._born = os.urandom(8), info.get("place")
        else:
            self._connection.autocommit = True
            self._born = info

    def close(self) -> None:
        """Close the connection that watches."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def of_snapshot(born: Any, snapshot: str | None) -> Hashable | None:
    """The revision of what PostgreSQL's connection sees, by what was noted at its birth."""
    return (born["server"], snapshot) if born["server"] and snapshot else None
