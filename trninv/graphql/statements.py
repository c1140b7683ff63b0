"""Single reading statements, straight to the driver: each sees one state of the database by itself."""

from collections.abc import Hashable, Mapping
from contextvars import ContextVar
from typing import Any

from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError

from trninv.errors import DatabaseError
from trninv.inventory.database import (
    database_file,
    file_exists,
    read_transaction,
    translate_connect_errors,
    translate_statement_errors,
)
from trninv.inventory.postgresql import SNAPSHOT
from trninv.inventory.revision import RevisionTracker, revision_of_snapshot

statement_counter: ContextVar[list[int] | None] = ContextVar("statements", default=None)
"""How many SQL statements the current request has sent, in its only item."""


class StatementRunner:
    """Runs compiled statements of one row over an engine's pool; thread safe."""

    def __init__(self, engine: Engine, revision: RevisionTracker) -> None:
        self._engine, self._file, self._is_checked = engine, database_file(engine), False
        self._revision = revision

    def fetch_row(self, sql: str, parameters: Mapping[str, Any]) -> tuple[tuple[Any, ...], Hashable | None]:
        """The only row of a statement, and the revision that it is of.

        Raises
        ------
        TimeLimitError
            It took too long.
        DatabaseError
            It failed, or the database is not one of this revision.

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
        driver.autocommit = True  # one statement needs no transaction around it
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
            driver.execute("SELECT 1 FROM alembic_version").fetchone()  # fixes the state
            after = self._revision.current()
            row: tuple[Any, ...] = driver.execute(sql, parameters).fetchone()
        finally:
            driver.execute("ROLLBACK")
        return row, before if before == after else None
