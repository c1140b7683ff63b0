"""Recognize that a database has only got new observations, so that what does not read them can stay cached.

The machines of a large fleet report all the time. Each batch of observations that a service stores is a commit, hence
a new revision, by which responses and tokens are cached. `ObservationCommits` gives all revisions between which nothing
but batches of this process were committed the same key.

SQLite: the batch's transaction keeps all others from committing. Afterwards, ``PRAGMA data_version`` on its connection
shows whether another has committed since.
PostgreSQL: two snapshots tell which transactions one of them sees and the other does not. A transaction that is not
known to be a batch, such as a savepoint's, counts as another change.
"""

import re
from collections.abc import Hashable
from threading import Lock
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from trninv.database.revision import RevisionTracker

TABLES_WRITTEN: Final = ("observation", "observed_server", "observed_chip", "observed_link", "principal")
"""The tables that `trninv.importers.report_batches` writes; of ``principal``, the quota that is used."""
_MAX_KNOWN: Final = 1_000
"""Maximum number of batches that are known; a cache that was not used for longer is useless."""
_MAX_LATER: Final = 10_000
"""Maximum number of transactions between two snapshots that are compared."""
_SNAPSHOT: Final = re.compile(r"(\S+ )\d+:(\d+):([\d,]*)(.*)")
"""Matches what `trninv.database.postgresql.snapshot_query` selects: timeline, snapshot and, of a pooler, the server."""


def reads_observations(sql: str) -> bool:
    """Return whether a statement may read a table that a batch of observations writes."""
    return any(table in sql for table in TABLES_WRITTEN)


class _Snapshot(NamedTuple):
    """A snapshot of PostgreSQL: it sees the transactions below ``end``, except those that were running."""

    server: Hashable
    end: int
    running: frozenset[int]

    @classmethod
    def parse(cls, server: Hashable, text: str) -> "_Snapshot":
        match = _SNAPSHOT.fullmatch(text)
        assert match, text
        timeline, end, running, pooled_server = match.groups()
        numbers = frozenset(map(int, filter(None, running.split(","))))
        return cls((server, timeline, pooled_server), int(end), numbers)

    def sees(self, transaction: int) -> bool:
        return transaction < self.end and transaction not in self.running


class ObservationCommits:
    """The commits of this process that stored observations and changed nothing else; thread safe."""

    def __init__(self, tracker: RevisionTracker) -> None:
        self._tracker, self._lock = tracker, Lock()
        self._is_sqlite = tracker.engine.dialect.name == "sqlite"
        self._begun: tuple[Hashable, int] | None = None  # on SQLite: the revision, and the connection's data_version
        self._keys = dict[Hashable, Hashable]()  # on SQLite: by revision
        self._batches = dict[int, None]()  # on PostgreSQL: transactions, in the order of their numbers
        self._newest: tuple[_Snapshot, Hashable] | None = None  # on PostgreSQL: the newest snapshot, and its key

    def begin(self, connection: Connection) -> None:
        """Note that a transaction will store observations only; call it first in the transaction."""
        if self._is_sqlite:
            self._begun = self._tracker.current(), _data_version(connection)
            return
        transaction = int(connection.exec_driver_sql("SELECT pg_current_xact_id()::text").scalar_one())
        with self._lock:
            self._batches[transaction] = None
            _drop_oldest(self._batches)

    def end(self, connection: Connection) -> None:
        """Note that the transaction was committed, on the same connection."""
        if not self._is_sqlite or self._begun is None:
            return
        (before, version), after = self._begun, self._tracker.current()
        # read last: it is unchanged if nobody else has committed before `after` was read
        if before is not None and after is not None and _data_version(connection) == version:
            with self._lock:
                self._keys[after] = self._keys.get(before, before)
                _drop_oldest(self._keys)

    def key(self, revision: Hashable | None) -> Hashable | None:
        """Return the key of a revision, which is no revision itself; None if the revision is unknown."""
        if revision is None:
            return None
        with self._lock:
            key = self._keys.get(revision, revision) if self._is_sqlite else self._key_of_snapshot(revision)
        return "without observations", key

    def _key_of_snapshot(self, revision: Hashable) -> Hashable:
        assert isinstance(revision, tuple)
        snapshot = _Snapshot.parse(*revision)
        if self._newest is None or self._newest[0].server != snapshot.server:
            self._newest = snapshot, revision
            return revision
        newest, key = self._newest
        is_newer, is_equal = snapshot.end >= newest.end, self._differ_by_batches(newest, snapshot)
        if is_newer:
            self._newest = snapshot, key if is_equal else revision
        return key if is_equal else revision

    def _differ_by_batches(self, one: _Snapshot, other: _Snapshot) -> bool:
        """Return whether only batches are visible in one snapshot and not in the other."""
        later = range(min(one.end, other.end), max(one.end, other.end))
        return len(later) <= _MAX_LATER and all(
            number in self._batches
            for number in (*later, *one.running, *other.running)
            if one.sees(number) != other.sees(number)
        )


def _data_version(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())


def _drop_oldest(items: dict[Any, Any]) -> None:
    """Drop the oldest item if one more than the maximum is known."""
    if len(items) > _MAX_KNOWN:
        del items[next(iter(items))]
