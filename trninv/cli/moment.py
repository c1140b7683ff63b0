"""--at: the fleet as it was at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
from sqlalchemy import Connection, Engine

from trninv.characters import plain
from trninv.cli.progress import Progress
from trninv.cli.prose import say
from trninv.history.moment import at as as_it_was
from trninv.inventory.database import connect, reading, writing
from trninv.inventory.past import unknown

AT: Final[dict[str, Any]] = {
    "metavar": "TIME",
    "help": "As it was then: an ISO time with its zone, or the number of an event.",
}
at_option = click.option("--at", **AT)


@contextmanager
def connected(database: str, at: str | None, of: str | None = None) -> Iterator[Engine]:
    """The database, now or at a time; unless one place is asked of, what that leaves out is said on stderr."""
    with connect(database) as engine:
        seen = as_it_was(engine, at)
        for each in () if of else unknown(seen):
            say(f"left out: {plain(str(each))}", err=True)
        yield seen


@contextmanager
def looking(database: str, at: str | None, of: str | None = None) -> Iterator[Connection]:
    """A connection that sees one state of the database, now or at a time; as `connected`. What takes long is shown."""
    with connected(database, at, of) as engine, reading(engine) as connection, Progress(_command()):
        yield connection


@contextmanager
def changing(database: str) -> Iterator[Connection]:
    """A connection that changes the database; where it has to wait for others, that is shown."""
    with Progress(_command()) as progress, connect(database) as engine:
        progress("waiting for whoever writes now")
        with writing(engine) as connection:
            progress("")
            yield connection


def _command() -> str:
    return click.get_current_context().info_name or ""
