"""Let one process of a database send webhooks, however many services it has.

The lock ends with its process. On PostgreSQL it is an advisory lock of a transaction that stays open, which also works
through a connection pooler; the transaction has no snapshot, so that it keeps nothing from being vacuumed. On SQLite it
is the lock of a file beside the database's.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine, text

from trninv.database.engine import database_file, translate_connect_errors, translate_statement_errors

_KEY: Final = 7_746_001
"""Number of the advisory lock, any that nothing else uses."""

_TRY_LOCK: Final = "SELECT pg_try_advisory_xact_lock(:key, hashtext(current_schema()))"
"""A lock of the schema, because several installations may share a database."""

LockCheck = Callable[[], None]
"""Raises a DatabaseError if the lock is lost."""


@contextmanager
def sender_lock(engine: Engine) -> Iterator[LockCheck | None]:
    """Hold the lock in this context; yield None if another process has it.

    Raises
    ------
    DatabaseError
        The database does not answer.

    """
    if engine.dialect.name == "postgresql":
        with translate_connect_errors(engine):
            connection = engine.connect().execution_options(isolation_level="READ COMMITTED")
        with connection:
            with translate_statement_errors(engine):
                is_acquired = connection.scalar(text(_TRY_LOCK), {"key": _KEY})
            yield (lambda: _ping(engine, connection)) if is_acquired else None
        return
    file = database_file(engine)
    if file is None:
        yield lambda: None
        return
    with file.with_name(f"{file.name}-webhooks").open("ab") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield lambda: None


def _ping(engine: Engine, connection: Connection) -> None:
    with translate_statement_errors(engine):
        connection.execute(text("SELECT 1"))
