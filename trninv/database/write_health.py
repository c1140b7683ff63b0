"""Remember for a while that an engine's database refused a change, so that /readyz can say so.

A full disk, a fail-over to a standby or a newer schema version stops all changes, while reads still work.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakKeyDictionary

from sqlalchemy import Engine
from sqlalchemy.pool import Pool

from trninv.errors import DatabaseError, DiskFullError, ReadOnlyError, SchemaOutdatedError

MEMORY_SECONDS: Final = 60.0
"""Seconds after which a failure is forgotten, as perhaps nobody has tried a change since."""
_FAILURES: Final = WeakKeyDictionary[Pool, tuple[float, DatabaseError]]()
"""The last failure of each engine that has failed since its last change, with its time."""


@contextmanager
def watch_change(engine: Engine, *, commits: bool) -> Iterator[None]:
    """Remember whether the change inside this context fails because the database takes no changes at all.

    Parameters
    ----------
    commits
        Whether success is remembered too: a dry run does not show that there is space on the disk.
    """
    try:
        yield
    except (ReadOnlyError, DiskFullError, SchemaOutdatedError) as error:
        _FAILURES[engine.pool] = time.monotonic(), error
        raise
    if commits:
        _FAILURES.pop(engine.pool, None)


def last_failure(engine: Engine) -> DatabaseError | None:
    """Return the error of the last change, unless it succeeded or is long ago."""
    failed_at, error = _FAILURES.get(engine.pool, (0.0, None))
    return error if time.monotonic() - failed_at < MEMORY_SECONDS else None
