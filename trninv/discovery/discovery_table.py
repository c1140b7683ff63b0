"""Record the targets of discovery: which process pulls one now, and how its latest pull ended.

A process leases a target while it pulls. Leases are measured by the database's clock, because discovery may run on
several machines. A lease that lies in the future, since that clock was set back, has expired.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Engine, Row, cast, delete, extract, func, insert, select, update

from trninv.database.engine import write_transaction
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import BusyError, NotFoundError, TrninvError
from trninv.units import format_timestamp

LEASE_SECONDS: Final = 120
"""Seconds after which another process may pull a target whose process has not renewed its lease."""
RENEWAL_SECONDS: Final = 20
LATE_INTERVALS: Final = 2
"""A target is late if it has not been read for so many intervals."""
_DISCOVERY: Final = TABLES["discovery"]
_MAX_ERROR: Final = 2_000
_NOW: Final = cast(extract("epoch", func.now()), BigInteger)
_IS_LEASED: Final = _DISCOVERY.c.holder.is_not(None) & (func.abs(_NOW - _DISCOVERY.c.renewed) < LEASE_SECONDS)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of a process to pull a target.

    Attributes
    ----------
    previous
        The target's row before this pull; None if it was never pulled.

    """

    engine: Engine
    target: str
    holder: str
    previous: Row[Any] | None

    def renew(self) -> None:
        """Keep other processes from pulling the target."""
        with write_transaction(self.engine, lock="discovery", is_change=False) as connection:
            connection.execute(self._update().values(renewed=_NOW))

    def finish(self, connection: Connection, **values: Any) -> None:
        """Record the result within the caller's transaction, and end the lease.

        Raises
        ------
        BusyError
            Another process has pulled the target meanwhile.

        """
        ended = connection.execute(self._update().values(error=None, holder=None, renewed=None, **values))
        if not ended.rowcount:
            raise BusyError(f"{self.target} was pulled by another process meanwhile; nothing was imported")

    def fail(self, error: str) -> None:
        """Record an error, and end the lease; nothing if another process has it."""
        with write_transaction(self.engine, lock="discovery", is_change=False) as connection:
            connection.execute(self._update().values(error=error[:_MAX_ERROR], holder=None, renewed=None))

    def release(self) -> None:
        """End the lease of a pull that only checked, as if it had not been."""
        with write_transaction(self.engine, lock="discovery", is_change=False) as connection:
            if self.previous is None:
                connection.execute(delete(_DISCOVERY).where(_DISCOVERY.c.target == self.target))
            else:
                started, error = self.previous.started_at, self.previous.error
                values = {"started_at": started, "error": error, "holder": None, "renewed": None}
                connection.execute(self._update().values(**values))

    def _update(self) -> Any:
        return update(_DISCOVERY).where(_DISCOVERY.c.target == self.target, _DISCOVERY.c.holder == self.holder)


@contextmanager
def lease_target(engine: Engine, target: str, started: datetime, every_seconds: int | None) -> Iterator[Lease]:
    """Lease a target for the code in this context, and record why it failed if it raises.

    Raises
    ------
    BusyError
        Another process is pulling it.

    """
    holder = f"{platform.node()}:{os.getpid()}:{os.urandom(4).hex()}"
    with write_transaction(engine, lock="discovery", is_change=False) as connection:
        previous = find_discovery(connection, target)
        if connection.scalar(select(_DISCOVERY.c.holder).where(_DISCOVERY.c.target == target, _IS_LEASED)):
            host, process, _ = str(previous and previous.holder).rsplit(":", 2)
            raise BusyError(f"{target} is being pulled by process {process} on {host}; this pull is skipped")
        interval = every_seconds or (previous and previous.every_seconds)
        values = {"every_seconds": interval, "started_at": format_timestamp(started), "holder": holder, "renewed": _NOW}
        if previous is None:
            values |= {"late_at": late_time(started, interval)}
            connection.execute(insert(_DISCOVERY).values(id=next_id(connection, _DISCOVERY), target=target, **values))
        else:
            connection.execute(update(_DISCOVERY).where(_DISCOVERY.c.target == target).values(**values))
    lease = Lease(engine, target, holder, previous)
    try:
        yield lease
    except BaseException as error:
        message = str(error) if isinstance(error, TrninvError) else f"interrupted ({type(error).__name__})"
        with suppress(TrninvError):  # the database may be what failed
            lease.fail("\n".join([message, *getattr(error, "errors", ())]))
        raise


def late_time(read: datetime, every_seconds: int | None) -> str | None:
    """Return from when a target is late that was read at a time; None if it has no interval."""
    return format_timestamp(read + timedelta(seconds=LATE_INTERVALS * every_seconds)) if every_seconds else None


def find_discovery(connection: Connection, target: str) -> Row[Any] | None:
    """Return the row of a target, or None."""
    return connection.execute(select(_DISCOVERY).where(_DISCOVERY.c.target == target)).first()


def forget_target(connection: Connection, target: str) -> None:
    """Remove a target's row; what it reported stays.

    Raises
    ------
    NotFoundError
        It was never pulled.

    """
    if not connection.execute(delete(_DISCOVERY).where(_DISCOVERY.c.target == target)).rowcount:
        raise NotFoundError(f"{target} was never pulled; trninv status lists the targets")
