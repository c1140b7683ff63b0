"""Run one compiled statement directly on the database driver, and find out which revision it saw.

`Api` uses it for documents that are compiled as a whole, to save SQLAlchemy's overhead for each statement.
"""

from collections.abc import Hashable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import PoolProxiedConnection
from sqlalchemy.exc import DBAPIError

from trninv.database.engine import (
    database_file,
    file_exists,
    newest_schema_version,
    read_transaction,
    translate_connect_errors,
    translate_statement_errors,
)
from trninv.database.pooler import transaction_setup
from trninv.database.postgresql import snapshot_query
from trninv.database.revision import RevisionTracker, StatementTooLargeError, revision_of_snapshot
from trninv.errors import DatabaseError

MAX_INLINE_STEPS: Final = 4_000
"""Most instructions of SQLite's virtual machine that a statement may take on the event loop; about 0.2 ms."""
MAX_INLINE_CHARACTERS: Final = 4_000
"""Maximum length of a statement on the event loop: preparing it takes time before its instructions are counted."""
_MAX_LARGE_STATEMENTS: Final = 1_000
_VERSION_QUERY: Final = "SELECT version_num FROM alembic_version"


@dataclass(slots=True)
class StatementCounter:
    """The number of SQL statements of one request, whose threads share it."""

    count: int = 0


statement_counter: ContextVar[StatementCounter | None] = ContextVar("statements", default=None)


def count_statement() -> None:
    """Count a statement for the request that sends it, if there is one."""
    if counter := statement_counter.get():
        counter.count += 1


class StatementRunner:
    """Runs compiled statements that return one row, each on the latest snapshot; thread safe."""

    def __init__(self, tracker: RevisionTracker) -> None:
        self._tracker, self._engine = tracker, tracker.engine
        self._file, self._is_checked = database_file(tracker.engine), False
        self._large_statements = set[str]()

    def fetch_small_row(self, sql: str, parameters: Mapping[str, Any]) -> tuple[tuple[Any, ...], Hashable] | None:
        """Run a small statement on SQLite without blocking the event loop; return None if `fetch_row` must run it.

        SQLite counts the rows of a whole table in one instruction, so a statement that counts is not small.
        """
        if (
            not self._is_checked
            or sql in self._large_statements
            or len(sql) > MAX_INLINE_CHARACTERS
            or "count(" in sql.lower()
        ):
            return None
        try:
            result = self._tracker.read_small_row(sql, parameters, MAX_INLINE_STEPS)
        except StatementTooLargeError:
            if len(self._large_statements) >= _MAX_LARGE_STATEMENTS:
                self._large_statements.clear()
            self._large_statements.add(sql)
            return None
        if result:
            count_statement()
        return result

    def fetch_row(self, sql: str, parameters: Mapping[str, Any]) -> tuple[tuple[Any, ...], Hashable | None]:
        """Run a statement; return its row and the revision it saw.

        The revision is None if it is unknown, for instance because the database changed meanwhile.

        Raises
        ------
        TimeLimitError
            The statement took too long.
        DatabaseError
            The statement failed, or the schema version is not this release's.

        """
        if not self._is_checked or (self._file and not file_exists(self._file)):
            self._check_schema_version()
        try:
            version, row, revision = self._run(sql, parameters)
        except DatabaseError as error:
            self._is_checked = False
            if type(error) is DatabaseError:  # the schema may have changed meanwhile, which explains the error
                self._check_schema_version()
            raise
        if version != newest_schema_version():
            self._check_schema_version()
        count_statement()
        return row, revision

    def _check_schema_version(self) -> None:
        with read_transaction(self._engine):  # fails if the schema version is another one
            self._is_checked = True

    def _run(self, sql: str, parameters: Mapping[str, Any]) -> tuple[str, tuple[Any, ...], Hashable | None]:
        """Run a statement; return the schema version, its row and the revision, all of one snapshot."""
        with translate_connect_errors(self._engine):
            pooled = self._engine.raw_connection()
        try:
            with translate_statement_errors(self._engine):
                return self._fetch(pooled, sql, parameters)
        finally:
            pooled.close()

    def _fetch(
        self, pooled: PoolProxiedConnection, sql: str, parameters: Mapping[str, Any]
    ) -> tuple[str, tuple[Any, ...], Hashable | None]:
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
    ) -> tuple[str, tuple[Any, ...], Hashable | None]:
        setup = transaction_setup(pooled.info)
        driver.autocommit = setup is None  # no BEGIN and COMMIT
        if setup:
            driver.execute(setup)
        snapshot = snapshot_query(pooled.info)
        query = f"SELECT result.*, ({_VERSION_QUERY}), ({snapshot}) FROM ({sql}) AS result"  # noqa: S608 # compiled
        *row, version, snapshot = driver.execute(query, parameters).fetchone()
        driver.rollback()  # ends the transaction, if there is one
        driver.autocommit = False
        return version, tuple(row), revision_of_snapshot(pooled.info, snapshot)

    def _fetch_sqlite(
        self, _pooled: PoolProxiedConnection, driver: Any, sql: str, parameters: Mapping[str, Any]
    ) -> tuple[str, tuple[Any, ...], Hashable | None]:
        before = self._tracker.current()
        driver.execute("BEGIN")
        try:
            (version,) = driver.execute(_VERSION_QUERY).fetchone()  # BEGIN alone takes no snapshot
            after = self._tracker.current()
            row: tuple[Any, ...] = driver.execute(sql, parameters).fetchone()
        finally:
            driver.execute("ROLLBACK")
        return version, row, before if before == after else None
