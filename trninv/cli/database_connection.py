"""Open the database now or as of a time, to read it or to change it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click
from sqlalchemy import Connection, Engine

from trninv.characters import escape_controls
from trninv.cli.messages import print_wrapped
from trninv.cli.progress_line import Progress
from trninv.database.as_of import omitted_clusters
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.history.point_in_time import engine_at as as_it_was

AT_OPTION: Final[dict[str, Any]] = {
    "metavar": "TIME",
    "help": "Read the fleet as of this time: an ISO time with its zone, or an event number.",
}
at_option = click.option("--at", "as_of", **AT_OPTION)


@contextmanager
def open_engine(database: str, as_of: str | None, scope: str | None = None) -> Iterator[Engine]:
    """Yield the database now or as of a time; without a scope, print the clusters omitted at that time on stderr."""
    with temporary_engine(database) as engine:
        past = as_it_was(engine, as_of)
        for cluster in () if scope else omitted_clusters(past):
            print_wrapped(f"omitted: {escape_controls(str(cluster))}", err=True)
        yield past


@contextmanager
def read_connection(database: str, as_of: str | None, scope: str | None = None) -> Iterator[Connection]:
    """Yield a connection to one snapshot of the database, now or as of a time, and show progress."""
    with (
        open_engine(database, as_of, scope) as engine,
        read_transaction(engine) as connection,
        Progress(_command_name()),
    ):
        yield connection


@contextmanager
def write_connection(database: str) -> Iterator[Connection]:
    """Yield a connection that can change the database, and show if it waits for another writer."""
    with Progress(_command_name()) as progress, temporary_engine(database) as engine:
        progress("waiting for another writer")
        with write_transaction(engine) as connection:
            progress("")
            yield connection


def _command_name() -> str:
    return click.get_current_context().info_name or ""
