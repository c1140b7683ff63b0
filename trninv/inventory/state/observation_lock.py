"""Serialize the writers of observations, apart from the writers of the inventory.

On PostgreSQL, who stores observations takes an advisory lock of its own, so that neither waits for the other: a drift
over a whole fleet holds the inventory's lock (`trninv.database.engine.write_transaction`) for seconds. A table lock on
``observation`` would cancel autovacuum there. SQLite has one writer at a time in any case.

Observations may be added under this lock alone. To delete some, the inventory's lock is needed too, because findings
cite them: an inventory writer, such as a drift, relies on the observations that it has read. Whoever takes both takes
the inventory's first, or only tries to.
"""

from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from trninv.database.migration_lock import LOCK_NOT_AVAILABLE

LOCK: Final = 7476
"""The key of PostgreSQL's advisory lock for writers of observations."""


def lock_observations(connection: Connection) -> None:
    """Wait until no other transaction stores observations, and keep others from it until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))


def try_lock_inventory(connection: Connection) -> bool:
    """Take the inventory's lock until this transaction ends; return whether it is free and this login may take it."""
    if connection.dialect.name != "postgresql":
        return True
    try:
        with connection.begin_nested():  # the failure would end the whole transaction
            connection.execute(text("LOCK TABLE cluster IN SHARE ROW EXCLUSIVE MODE NOWAIT"))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", "") not in _NOT_LOCKED:
            raise
        return False
    return True


_NOT_LOCKED: Final = (LOCK_NOT_AVAILABLE, "42501")
"""PostgreSQL's error codes for a lock that another transaction has, and for one that a collector may not take."""
