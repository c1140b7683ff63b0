"""Single reading statements, straight to the driver: each sees one state of the database by itself."""

from collections.abc import Hashable, Mapping
from contextvars import ContextVar
from typing import Any

from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError

from trninv.errors import DatabaseError
from trninv.inventory.database import exists, failing, file_of, reaching, reading
from trninv.inventory.postgresql import SNAPSHOT
from trninv.inventory.revision import Revision, of_snapshot

counted: ContextVar[list[int] | None] = ContextVar("statements", default=None)
"""How many SQL statements the current request has sent, in its only item."""


class Statements:
    """Runs compiled statements of one row over an engine's pool; thread safe."""

    def __init__(self, engine: Engine, revision: Revision) -> None:
        self._engine, self._file, self._checked = engine, file_of(engine), False
        self._revision = revision

    def one(self, sql: str, parameters: Mapping[str, Any]) -> tuple[tuple[Any, ...], Hashable | None]:
        """The only row of a statement, and the revision that it is of.

        Raises
        ------
        TimeLimitError
            It took too long.
        DatabaseError
            It failed, or the database is not one of this revision.

        """
        if not self._checked or (self._file and not exists(self._file)):
            with reading(self._engine):
                self._checked = True
        with reaching(self._engine):
            pooled = self._engine.raw_connection()
        try:
            with failing(self._engine):
                found = self._row(pooled, sql, parameters)
        except DatabaseError:
            self._checked = False
            raise
        finally:
            pooled.close()
        if (seen := counted.get()) is not None:
            seen[0] += 1
        return found

    def _row(
        self, pooled: PoolProxiedConnection, sql: str, parameters: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Hashable | None]:
        driver = pooled.driver_connection
        assert driver is not None
        ask = self._of_postgresql if self._engine.dialect.name == "postgresql" else self._of_sqlite
        try:
            return ask(pooled, driver, sql, parameters)
        except self._engine.dialect.loaded_dbapi.Error as error:
            pooled.invalidate()
            raise DBAPIError(sql, None, error) from error

    def _of_postgresql(
        self, pooled: PoolProxiedConnection, driver: Any, sql: str, parameters: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Hashable | None]:
        driver.autocommit = True  # one statement needs no transaction around it
        with_snapshot = f"SELECT found.*, ({SNAPSHOT}) FROM ({sql}) AS found"  # noqa: S608 # compiled
        found = driver.execute(with_snapshot, parameters).fetchone()
        driver.autocommit = False
        return found[:-1], of_snapshot(pooled.info, found[-1])

    def _of_sqlite(
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
