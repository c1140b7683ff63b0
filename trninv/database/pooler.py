"""Work through a connection pooler such as PgBouncer, which may run each transaction in another session of the server.

In PgBouncer's transaction mode, whatever outlives a transaction stays in a session that other clients get next:
settings, prepared statements, temporary tables, session-level locks. Through a pooler, trninv therefore prepares no
statements and makes its settings at the start of each transaction. All its locks, roles and temporary tables end with
the transaction anyway, and it uses no LISTEN.

A pooler is recognized by the process id that it tells its client at login, which is not that of a server process. The
mode can't be recognized, so session mode is treated like transaction mode.
"""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.pool import ConnectionPoolEntry

_SETUP: Final = "transaction_setup"
"""The key of a connection's info: the statement that begins each transaction through a pooler; None without one."""


def apply_settings(engine: Engine, settings: Mapping[str, str | int]) -> None:
    """Give each connection of an engine settings of PostgreSQL: its session, or each transaction through a pooler."""
    calls = ", ".join(f"set_config('{name}', '{value}', {{is_local}})" for name, value in settings.items())

    def configure_connection(connection: Any, entry: ConnectionPoolEntry) -> None:
        is_pooled = backend_pid(connection) != connection.info.backend_pid
        entry.info[_SETUP] = f"SELECT {calls.format(is_local='true')}" if is_pooled else None
        if is_pooled:
            connection.prepare_threshold = None
        else:
            connection.execute(f"SELECT {calls.format(is_local='false')}")
        connection.commit()

    def begin(connection: Connection) -> None:
        if setup := transaction_setup(connection.info):
            connection.exec_driver_sql(setup)

    event.listen(engine, "connect", configure_connection)
    event.listen(engine, "begin", begin)


def transaction_setup(info: Mapping[Any, Any]) -> str | None:
    """Return the statement that must begin each transaction through a pooler, or None; `info` is a connection's."""
    setup: str | None = info[_SETUP]
    return setup


def backend_pid(connection: Any) -> int:
    """Return the id of the server process that runs the current transaction of a driver's connection."""
    ((pid,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
    return int(pid)
