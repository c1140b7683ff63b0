"""Provide databases for the commands to kill: copies of templates, on SQLite and on PostgreSQL."""

import itertools
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import psycopg

import postgres
from bench.faults.process import LONGEST


class DatabaseHost(Protocol):
    """A directory or server with databases of one kind."""

    kind: str

    def copy(self, template: str) -> str:
        """Copy a database, or create an empty one, and return its URL."""

    def settle(self, url: str) -> None:
        """Wait until no process uses a database."""

    def drop(self, url: str) -> None:
        """Remove a database."""


class SqliteFiles:
    """SQLite databases in a directory."""

    kind = "sqlite"

    def __init__(self, directory: Path) -> None:
        self._directory, self._numbers = directory, itertools.count()

    def copy(self, template: str = "") -> str:
        file = self._directory / f"f{next(self._numbers)}.db"
        if template and _file(template).exists():
            shutil.copy(_file(template), file)
        return f"sqlite:///{file}"

    def settle(self, url: str) -> None:
        """Do nothing: an SQLite file has no server that outlives the process."""

    def drop(self, url: str) -> None:
        for end in ("", "-wal", "-shm", "-journal"):
            _file(url + end).unlink(missing_ok=True)


def _file(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


class PostgresServer:
    """PostgreSQL databases; a backend notices only at its next write that its client was killed."""

    kind = "postgresql"

    def __init__(self, url: str) -> None:
        self._url, self._numbers = url, itertools.count()

    def copy(self, template: str = "") -> str:
        name = f"f{next(self._numbers)}"
        self._run(f"CREATE DATABASE {name} {f'TEMPLATE {_name(template)}' if template else ''}")
        return self._url.format(name)

    def settle(self, url: str) -> None:
        end = time.monotonic() + LONGEST
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        with psycopg.connect(self._url.format("postgres"), autocommit=True) as connection:
            while connection.execute(others, [_name(url)]).fetchone() != (0,):
                if time.monotonic() > end:
                    raise TimeoutError(f"a connection to {url} is still open")
                time.sleep(0.005)

    def drop(self, url: str) -> None:
        self._run(f"DROP DATABASE {_name(url)}")

    def _run(self, statement: str) -> None:
        with psycopg.connect(self._url.format("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def _name(url: str) -> str:
    return url.split("@/")[1].split("?", maxsplit=1)[0]


@contextmanager
def open_databases() -> Iterator[dict[str, DatabaseHost]]:
    """Provide both kinds, each in a temporary directory with a short path."""
    with ExitStack() as stack:
        sqlite_directory, postgres_directory = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="f", ignore_cleanup_errors=True)))
            for _ in range(2)
        )
        server = stack.enter_context(postgres.server(postgres_directory))
        yield {host.kind: host for host in (SqliteFiles(sqlite_directory), PostgresServer(server))}
