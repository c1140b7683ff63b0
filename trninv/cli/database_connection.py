"""Open the database that commands read, now or as of a time, or change."""

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click
from sqlalchemy import Connection, Engine

import trninv
from trninv.characters import escape_controls
from trninv.cli.messages import print_wrapped
from trninv.cli.progress_line import Progress
from trninv.database.as_of import OmittedCluster, omitted_clusters
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.query_result import MAX_LISTED_ROWS, QueryResult
from trninv.errors import BusyError, UnreachableError
from trninv.history.point_in_time import engine_at
from trninv.placement.placement_fleet import Fleet
from trninv.settings import is_service

if TYPE_CHECKING:
    from trninv.remote.remote_fleet import RemoteFleet

AT_OPTION: Final[dict[str, Any]] = {
    "metavar": "TIME",
    "help": "Read the fleet as of this time: an ISO time with its zone, or an event number.",
}
at_option = click.option("--at", "as_of", **AT_OPTION)


def open_fleet(target: str) -> Fleet:
    """Open the database or the service at a URL; the token of a service is in TRNINV_TOKEN or TRNINV_TOKEN_FILE."""
    return trninv.connect(target) if is_service(target) else trninv.open(target)


NOT_ANSWERING: Final = (UnreachableError, BusyError)
"""Errors after which a command that follows changes asks again."""


def read_revision(fleet: Fleet) -> Hashable | None:
    """Return the revision, or None if it is unknown, as while nothing answers."""
    try:
        return fleet.revision()
    except NOT_ANSWERING:
        return None


@contextmanager
def open_service(
    url: str, as_of: str | None, scope: str | None = None, *, seconds: float = 60.0
) -> Iterator["RemoteFleet"]:
    """Yield a fleet of a service, now or as of a time, and show progress.

    Without a scope, clusters that have no history at that time are printed to stderr as omitted.
    """
    with trninv.connect(url, seconds=seconds) as current_fleet, Progress(_command_name()):
        fleet = current_fleet if as_of is None else current_fleet.at(as_of)
        if as_of is not None and scope is None:
            fleet.drift_compared_at()  # the shortest call that says what is omitted
            read = fleet.as_of()
            _print_omitted(read.omitted if read else ())
        yield fleet


def read_service_list(url: str, as_of: str | None, kind: str, *, limit: int, **options: Any) -> QueryResult:
    """Return up to ``limit`` rows of a kind from a service; see `RemoteFleet.list_things`."""
    with open_service(url, as_of, options.get("place")) as fleet:
        return fleet.list_things(kind, limit=min(limit, MAX_LISTED_ROWS), **options)


@contextmanager
def open_engine(database: str, as_of: str | None, scope: str | None = None) -> Iterator[Engine]:
    """Yield an engine that reads the database now or as of a time.

    Without a scope, clusters that have no history at that time are printed to stderr as omitted.
    """
    with temporary_engine(database) as engine:
        reading_engine = engine_at(engine, as_of)
        _print_omitted(() if scope else omitted_clusters(reading_engine))
        yield reading_engine


def _print_omitted(clusters: Iterable[OmittedCluster]) -> None:
    for cluster in clusters:
        print_wrapped(f"omitted: {escape_controls(str(cluster))}", err=True)


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
def write_connection(database: str, *, commits: bool = True) -> Iterator[tuple[Connection, Progress]]:
    """Yield a connection that can change the database, and its progress line, which shows waits for another writer.

    If `commits` is False, the changes are rolled back at the end.
    """
    with Progress(_command_name()) as progress, temporary_engine(database) as engine:
        progress("waiting for another writer")
        with write_transaction(engine, commits=commits) as connection:
            progress("")
            yield connection, progress


def _command_name() -> str:
    return click.get_current_context().info_name or ""
