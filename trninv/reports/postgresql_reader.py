"""Read PostgreSQL with a time limit, in a session that can only read; `query_runner` opens it.

Queries run in a read-only transaction as the role trninv_read, which has SELECT and nothing else. At the time limit,
the query is canceled; if that fails, the connection is closed and the backend terminated. A session is never reused.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import psycopg.sql
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from sqlalchemy import Engine, text

from trninv.database.engine import translate_connect_errors, translate_statement_errors
from trninv.database.pooler import backend_pid
from trninv.database.snapshot import SharedSnapshot
from trninv.database.tables import PRIVATE_TABLES
from trninv.database.url import parse_url
from trninv.errors import SqlError
from trninv.reports.views import ROLE, as_of_statements

FIRST_ROWS = 64
"""Rows that are fetched when a statement is executed."""

_GRACE = 1.0
"""Seconds that a query may take to react to its cancellation before its session is terminated."""


class _NumericLoader(Loader):
    """A loader of numeric as an integer if it is whole and fits in 63 bits, because sums of bigint are numeric."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        is_whole = "." not in text and text.lstrip("-").isdigit()
        return int(text) if is_whole and abs(int(text)) < 2**63 else float(text)


class _BooleanLoader(Loader):
    """A loader of boolean as 1 or 0, as in SQLite."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


@contextmanager
def open_session(
    snapshot: SharedSnapshot, seconds: float, timed_out: threading.Event, login: Engine | None = None
) -> Iterator[Any]:
    """Open a cursor that only reads a snapshot; at the time limit ``timed_out`` is set and the cursor's calls fail.

    Parameters
    ----------
    login
        The engine of TRNINV_SQL_URL, whose login must have no right but to read; None uses the snapshot's engine.

    Raises
    ------
    SqlError
        The role is missing or not granted, the login can do more than read, or its server is not that of the
        snapshot.

    """
    engine = login or snapshot.engine
    with translate_connect_errors(engine):
        pooled = engine.connect()
    driver: psycopg.Connection[Any] = pooled.connection.driver_connection  # type: ignore[assignment] # psycopg's
    driver.adapters.register_loader("numeric", _NumericLoader)
    driver.adapters.register_loader("bool", _BooleanLoader)
    finished = threading.Event()
    try:
        driver.execute("SET TRANSACTION READ ONLY")
        with snapshot.read() as (connection, _):
            _import_snapshot(driver, str(connection.exec_driver_sql("SELECT pg_export_snapshot()").scalar()))
        if login:
            _check_read_only(driver)
        _set_role(driver)
        # the server's own limit is a second longer: it counts only if this process cannot cancel the query
        driver.execute(_SETTINGS.format(milliseconds=int(seconds * 1000) + 1000))
        for statement in as_of_statements(snapshot.engine):
            driver.execute(statement.encode())
        late_session = (driver, backend_pid(driver), seconds, timed_out, finished)
        threading.Thread(target=_terminate_when_late, args=late_session, daemon=True).start()
        with driver.cursor(name="trninv_read") as cursor:
            yield _NamedCursor(cursor)
    finally:
        finished.set()
        pooled.invalidate()  # end the session, and its role and settings with it
        pooled.close()


_SETTINGS = """
SET LOCAL statement_timeout = {milliseconds}; SET LOCAL standard_conforming_strings = on; SET LOCAL timezone = 'UTC';
SET LOCAL DateStyle = 'ISO'; SET LOCAL extra_float_digits = 1"""
_EXCESS_RIGHTS_SQL = """
SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
    OR EXISTS (SELECT FROM unnest(%s::text[]) AS name WHERE has_table_privilege(login.oid, to_regclass(name), 'SELECT'))
    OR EXISTS (SELECT FROM pg_class WHERE relowner = login.oid)
    OR EXISTS (SELECT FROM pg_auth_members WHERE member = login.oid AND roleid <> to_regrole(%s))
FROM pg_roles AS login WHERE rolname = session_user"""
"""Selects whether the session's login has more rights than those of a role.

The parameters are the names of the tables that it may not read, and the name of the role.
"""


def _check_read_only(driver: psycopg.Connection[Any]) -> None:
    """Refuse a login that can do more than the role: a statement that undoes SET ROLE would run as the login."""
    if driver.execute(_EXCESS_RIGHTS_SQL, [sorted(PRIVATE_TABLES), ROLE]).fetchone() != (0,):
        raise SqlError(
            f"the login of TRNINV_SQL_URL owns something or has more rights than {ROLE}; give it nothing but "
            f"CREATE ROLE … LOGIN PASSWORD '…' IN ROLE {ROLE}"
        )


def make_login(engine: Engine, url: str) -> None:
    """Create the login of a URL unless it exists or the URL names none.

    Raises
    ------
    DatabaseError
        The user of the engine may not create roles.

    """
    login_url = parse_url(url)
    with translate_statement_errors(engine), engine.begin() as connection:
        exists = connection.scalar(text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": login_url.username})
        if login_url.username and not exists:
            driver: Any = connection.connection.driver_connection
            name, password = psycopg.sql.Identifier(login_url.username), psycopg.sql.Literal(login_url.password)
            statement = psycopg.sql.SQL(f"CREATE ROLE {{}} LOGIN PASSWORD {{}} IN ROLE {ROLE}").format(name, password)
            driver.execute(statement)


def _import_snapshot(driver: psycopg.Connection[Any], snapshot: str) -> None:
    try:
        driver.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        driver.execute(psycopg.sql.SQL("SET TRANSACTION SNAPSHOT {}").format(snapshot))
    except (psycopg.errors.InvalidParameterValue, psycopg.errors.UndefinedObject):
        raise SqlError(
            "TRNINV_SQL_URL leads to another server than TRNINV_DATABASE_URL; give it the same hosts and database"
        ) from None


def _set_role(driver: psycopg.Connection[Any]) -> None:
    try:
        driver.execute(f"SET LOCAL ROLE {ROLE}")
    except psycopg.Error:
        raise SqlError(
            f"the read-only role {ROLE} is missing or not granted to you; run trninv grant as the owner of the tables"
        ) from None


def _terminate_when_late(
    driver: psycopg.Connection[Any], backend: int, seconds: float, timed_out: threading.Event, finished: threading.Event
) -> None:
    """End a session at its time limit: cancel its query, then close the socket, then terminate the backend."""
    if finished.wait(seconds):
        return
    timed_out.set()
    with suppress(psycopg.Error):
        driver.cancel_safe(timeout=_GRACE)
    if finished.wait(_GRACE):
        return
    with suppress(OSError, psycopg.Error), socket.socket(fileno=driver.fileno()) as client_socket:
        try:
            client_socket.shutdown(socket.SHUT_RDWR)
        finally:
            client_socket.detach()
    with suppress(psycopg.Error), _reconnect(driver) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [backend])


def _reconnect(driver: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """Open another connection of the same login."""
    password = driver.info.password or None
    return psycopg.connect(driver.info.dsn, password=password, connect_timeout=2, autocommit=True)


class _NamedCursor:
    """A server-side cursor that fetches its first rows on execute, so that its columns and errors are known then."""

    def __init__(self, cursor: Any) -> None:
        self._cursor, self._first_rows = cursor, list[tuple[Any, ...]]()

    @property
    def description(self) -> Any:
        return self._cursor.description

    def execute(self, sql: str) -> None:
        self._cursor.execute(sql)
        self._first_rows = self._cursor.fetchmany(FIRST_ROWS)  # errors of the query occur here

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        rows, self._first_rows = self._first_rows, []
        return rows or self._cursor.fetchmany(size)
