"""Lock migrations against each other, and the schema, so that running services are in no deadlock with a migration."""

import time
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from trninv.database.tables import TABLES

_MIGRATION_KEY: Final = 7474
"""The key of the advisory lock, which other versions of trninv take too."""
_ATTEMPTS: Final = 60
_ATTEMPT_SECONDS: Final = 0.5
"""How long an attempt waits for locks; less than PostgreSQL's deadlock_timeout (1 s), after which it ends one of the
transactions that wait for each other, which may be that of a request."""
_PAUSE_SECONDS: Final = 0.5
"""How long requests go on before the next attempt."""
LOCK_NOT_AVAILABLE: Final = "55P03"
"""PostgreSQL's error code for a lock that a statement did not get in time."""
_RELATIONS = """
SELECT quote_ident(relname) FROM pg_class
WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND pg_has_role(relowner, 'USAGE')
    AND (relname = ANY(:tables) OR relkind = 'v')
ORDER BY relkind, relname
"""


def lock_migrations(connection: Connection) -> None:
    """Wait on PostgreSQL for another migration or grant to end, and let none begin until the transaction ends.

    A GRANT beside another one would fail: "tuple concurrently updated".
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_KEY})"))


def lock_schema(connection: Connection) -> None:
    """Lock trninv's tables, and the views of their owner, on PostgreSQL until the transaction ends.

    A migration needs these locks in any case, because it drops triggers and views. After many attempts it goes on
    without them, and waits for each lock when it needs it.
    """
    if connection.dialect.name != "postgresql":
        return
    relations = ", ".join(connection.scalars(text(_RELATIONS), {"tables": list(TABLES)}))
    if not relations:
        return
    connection.execute(text(f"SET LOCAL lock_timeout = '{_ATTEMPT_SECONDS}s'"))
    for _ in range(_ATTEMPTS):
        try:
            with connection.begin_nested():  # the failure would end the whole transaction
                connection.execute(text(f"LOCK TABLE {relations} IN ACCESS EXCLUSIVE MODE"))
            break
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", "") != LOCK_NOT_AVAILABLE:
                raise
            time.sleep(_PAUSE_SECONDS)
    connection.execute(text("SET LOCAL lock_timeout TO DEFAULT"))
