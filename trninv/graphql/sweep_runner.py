"""Run sweeps in separate processes, with their progress and answers in the table ``sweep``.

A sweep finds the failures, of one part or of two, that cost most, which can take minutes. Failures that a symmetry of
the wiring maps onto each other form one failure class, which is solved only once.

While a process works on a sweep (`sweep_worker`), it renews its lease. If it dies, the lease expires, and any service
of the database starts the sweep again. Leases are measured by the database's clock, because services may run on several
machines.
"""

import json
import os
import subprocess
import sys
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Engine, Row, cast, delete, extract, func, insert, select, update

from trninv.database.engine import read_transaction, write_transaction
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import BusyError, InvalidArgumentError
from trninv.remote.json_codec import Json
from trninv.routing.questions import find
from trninv.routing.questions.sweep import MAX_CLASSES
from trninv.units import current_timestamp

MAX_RUNNING: Final = 2
"""Maximum number of concurrent sweeps of all services together."""
MAX_KEPT: Final = 20
"""Maximum number of stored sweeps; those that ended are removed first, from the oldest."""
MAX_ATTEMPTS: Final = 3
"""Maximum number of times that a sweep is started, because it may itself be what kills its processes."""
LEASE_SECONDS: Final = 60
"""Seconds after which a sweep whose process has not renewed its lease is started again."""
_MAX_ID_DIGITS: Final = 9
"""Digits of the longest id that is looked up; longer ones could exceed the column's type."""
_SWEEP: Final = TABLES["sweep"]
_NOW: Final = cast(extract("epoch", func.now()), BigInteger)
"""The time of the database's clock, in seconds since 1970."""
_IS_RUNNING: Final = _SWEEP.c.state == "running"
_IS_LEASED: Final = _SWEEP.c.renewed > _NOW - LEASE_SECONDS


class SweepRunner:
    """Starts the processes of a service's sweeps; thread-safe.

    Parameters
    ----------
    url
        The URL of the engine's database, which the processes open.

    """

    def __init__(self, engine: Engine, url: str) -> None:
        self._engine, self._url = engine, url
        self._children: list[subprocess.Popen[bytes]] = []

    def start(self, *, as_of: str | None = None, scenario: Json = None, **arguments: Any) -> Row[Any]:
        """Start a sweep and return its row.

        Parameters
        ----------
        as_of
            The time of the fleet to sweep; None for now.
        scenario
            The scenario to sweep in, encoded.

        Raises
        ------
        BusyError
            MAX_RUNNING sweeps run already.
        InvalidArgumentError
            The argument `limit` exceeds MAX_CLASSES failure classes.

        """
        values = find("sweep").coerce_values(**arguments)
        if values["limit"] > MAX_CLASSES:
            raise InvalidArgumentError(
                f"limit {values['limit']:,} is too high; a service solves at most {MAX_CLASSES:,} classes"
            )
        parameters = {parameter.name: values[parameter.name] for parameter in find("sweep").parameters}
        conditions = {name: value for name, value in (("as_of", as_of), ("scenario", scenario)) if value is not None}
        row = {"arguments": json.dumps(parameters | conditions), "started_at": current_timestamp(), "renewed": _NOW}
        with write_transaction(self._engine, lock="sweep") as connection:
            if _count_running(connection) >= MAX_RUNNING:
                raise BusyError(f"{MAX_RUNNING} sweeps are running; try again later, or cancel one")
            kept = select(_SWEEP.c.id).order_by(_IS_RUNNING.desc(), _SWEEP.c.id.desc()).limit(MAX_KEPT - 1)
            connection.execute(delete(_SWEEP).where(_SWEEP.c.id.not_in(kept)))
            sweep_id = next_id(connection, _SWEEP)
            connection.execute(insert(_SWEEP).values(id=sweep_id, **row))
            started = connection.execute(select(_SWEEP).where(_SWEEP.c.id == sweep_id)).one()
        self._start_process(started, started.attempt)
        return started

    def resume(self) -> None:
        """Restart the oldest sweep whose lease has expired, unless MAX_RUNNING others are running.

        If it has been started MAX_ATTEMPTS times, mark it as failed instead.
        """
        interrupted = select(_SWEEP).where(_IS_RUNNING, ~_IS_LEASED).order_by(_SWEEP.c.id).limit(1)
        with read_transaction(self._engine) as connection:
            if connection.execute(interrupted).first() is None:
                return
        with write_transaction(self._engine, lock="sweep") as connection:
            row = connection.execute(interrupted).first()  # another service may have started it meanwhile
            if row is None or _count_running(connection) >= MAX_RUNNING:
                return
            has_failed = row.attempt >= MAX_ATTEMPTS
            failure = {"state": "failed", "error": f"its process died {MAX_ATTEMPTS} times; narrow the scope"}
            changes = failure if has_failed else {"attempt": row.attempt + 1, "renewed": _NOW}
            connection.execute(update(_SWEEP).where(_SWEEP.c.id == row.id).values(**changes))
        if not has_failed:
            self._start_process(row, row.attempt + 1)

    def close(self) -> None:
        """Terminate the processes that this service started; another service, or the next one, starts them again."""
        for child in self._children:
            child.terminate()
            child.wait()

    def _start_process(self, row: Row[Any], attempt: int) -> None:
        safe_path = ["-P"] if sys.flags.safe_path else []
        module = "trninv.graphql.sweep_worker"
        command = [sys.executable, *safe_path, "-m", module, str(row.id), str(attempt), row.arguments]
        environment = os.environ | {"TRNINV_DATABASE_URL": self._url}
        child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)  # noqa: S603 # our own module
        self._children = [*(child for child in self._children if child.poll() is None), child]


class SweepLease:
    """The right of a process to work on a sweep, until the sweep is cancelled or started again.

    Attributes
    ----------
    done, total
        Number of solved failure classes, and of all (None if not known yet); stored when the lease is renewed.

    """

    def __init__(self, engine: Engine, sweep_id: int, attempt: int) -> None:
        self._engine, self._id, self._attempt = engine, sweep_id, attempt
        self.done: int = 0
        self.total: int | None = None

    def renew(self, **changes: object) -> bool:
        """Store the progress and other columns, and renew the lease.

        Return False, and change nothing, if the sweep has ended or another process has started it again.
        """
        is_mine = (_SWEEP.c.id == self._id) & (_SWEEP.c.attempt == self._attempt) & _IS_RUNNING
        values = {"done": self.done, "total": self.total, "renewed": _NOW} | changes
        with write_transaction(self._engine, lock="sweep") as connection:
            return connection.execute(update(_SWEEP).where(is_mine).values(**values)).rowcount > 0


def find_sweep(connection: Connection, sweep_id: str) -> Row[Any] | None:
    """Return a sweep's row by id, or None if it does not exist or was removed."""
    if not sweep_id.isdecimal() or len(sweep_id) > _MAX_ID_DIGITS:
        return None
    return connection.execute(select(_SWEEP).where(_SWEEP.c.id == int(sweep_id))).first()


def cancel_sweep(engine: Engine, sweep_id: str) -> Row[Any] | None:
    """Cancel a running sweep, whose process ends at its next renewal; return its row, or None if it does not exist."""
    with write_transaction(engine, lock="sweep") as connection:
        if row := find_sweep(connection, sweep_id):
            connection.execute(update(_SWEEP).where(_SWEEP.c.id == row.id, _IS_RUNNING).values(state="cancelled"))
        return find_sweep(connection, sweep_id)


def _count_running(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(_SWEEP).where(_IS_RUNNING, _IS_LEASED)) or 0
