"""Run a single compiled statement on the driver."""

from collections.abc import Hashable, Mapping
from contextvars import ContextVar
from typing import Any

from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError

from trninv.database.engine import (
    database_file,
    file_exists,
    read_transaction,
    translate_connect_errors,
    translate_statement_errors,
)
from trninv.database.postgresql import SNAPSHOT
from trninv.database.revision import RevisionTracker, revision_of_snapshot
from trninv.errors import DatabaseError

statement_counter: ContextVar[list[int] | None] = ContextVar("statements", default=None)
"""One-item list with the number of SQL statements of the current request; a list, so that threads share it."""


class StatementRunner:
    """Runs compiled statements that return one row on an engine's pool; thread safe."""

    def __init__(self, engine: Engine, revision: RevisionTracker) -> None:
        self._engine, self._file, self._is_checked = engine, database_file(engine), False
        self._revision = revision

    def fetch_row(self, sql: str, parameters: Mapping[str, Any]) -> tuple[tuple[Any, ...], Hashable | None]:
        """Run a statement and return its row with the revision it saw, or None if the database changed meanwhile.

        Raises
        ------
        TimeLimitError
            The statement took too long.
        DatabaseError
            The statement failed, or the schema version is not this release's.

        """
        if not self._is_checked or (self._file and not file_exists(self._file)):
            with read_transaction(self._engine):
                self._is_checked = True
        with translate_connect_errors(self._engine):
            pooled = self._engine.raw_connection()
        try:
            with translate_statement_errors(self._engine):
                row = self._fetch(pooled, sql, parameters)
        except DatabaseError:
            self._is_checked = False
            raise
        finally:
            pooled.close()
        if (counter := statement_counter.get()) is not None:
            counter[0] += 1
        return row

    def _fetch(
        self, pooled: PoolProxiedConnection, sql: str, parameters: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Hashable | None]:
        driver = pooled.driver_connection
        assert driver is not None
        fetch = self._fetch_postgresql if self._engine.dialect.name == "postgresql" else self._fetch_sqlite
        try:
            return fetch(pooled, driver, sql, parameters)
        except self._engine.dialect.loaded_dbapi.Error as error:
            pooled.invalidate()
            raise DBAPIError(sql, None, error) from error

    def _fetch_postgresql(
        self, pooled: PoolProxiedConnection, driver: Any, sql: str, parameters: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Hashable | None]:
        driver.autocommit = True  # no BEGIN and COMMIT
        with_snapshot = f"SELECT found.*, ({SNAPSHOT}) FROM ({sql}) AS found"  # noqa: S608 # compiled
        row = driver.execute(with_snapshot, parameters).fetchone()
        driver.autocommit = False
        return row[:-1], revision_of_snapshot(pooled.info, row[-1])

    def _fetch_sqlite(
        self, _pooled: PoolProxiedConnection, driver: Any, sql: str, parameters: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Hashable | None]:
        before = self._revision.current()
        driver.execute("BEGIN")
        try:
            driver.execute("SELECT 1 FROM alembic_version").fetchone()  # BEGIN alone takes no snapshot
            after = self._revision.current()
            row: tuple[Any, ...] = driver.execute(sql, parameters).fetchone()
        finally:
            driver.execute("ROLLBACK")
        return row, before if before == after else None
