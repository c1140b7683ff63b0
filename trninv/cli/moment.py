"""--at: the fleet as it was at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
from sqlalchemy import Connection, Engine

from trninv.history.moment import at as as_it_was
from trninv.inventory.database import connect, reading

AT: Final[dict[str, Any]] = {
    "metavar": "TIME",
    "help": "As it was then: an ISO time with its zone, or the number of an event.",
}
at_option = click.option("--at", **AT)


@contextmanager
def connected(database: str, at: str | None) -> Iterator[Engine]:
    """The database, now or at a time."""
    with connect(database) as engine:
        yield as_it_was(engine, at)


@contextmanager
def looking(database: str, at: str | None) -> Iterator[Connection]:
    """A connection that sees one state of the database, now or at a time."""
    with connected(database, at) as engine, reading(engine) as connection:
        yield connection
