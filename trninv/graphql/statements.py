"""Single reading statements, straight to the driver: each sees one state of the database by itself."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import DBAPIError

from trninv.errors import DatabaseError
from trninv.inventory.database import exists, failing, file_of, reaching, reading

counted: ContextVar[list[int] | None] = ContextVar("statements", default=None)
"""How many SQL statements the current request has sent, in its only item."""


class Statements:
    """Runs compiled statements of one row over an engine's pool; thread safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._file, self._checked = engine, file_of(engine), False

    def one(self, sql: str, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        """The only row of a statement.

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
                row = self._row(pooled, sql, parameters)
        except DatabaseError:
            self._checked = False
            raise
        finally:
            pooled.close()
        if (seen := counted.get()) is not None:
            seen[0] += 1
        return row

    def _row(self, pooled: PoolProxiedConnection, sql: str, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        driver = pooled.driver_connection
        assert driver is not None
        try:
            if self._file is None:
                driver.autocommit = True  # one statement needs no transaction around it
            cursor = pooled.cursor()
            cursor.execute(sql, parameters)
            row: tuple[Any, ...] = cursor.fetchone()  # type: ignore[assignment] # there is one
            cursor.close()
            if self._file is None:
                driver.autocommit = False
        except self._engine.dialect.loaded_dbapi.Error as error:
            pooled.invalidate()
            raise DBAPIError(sql, None, error) from error
        return row
