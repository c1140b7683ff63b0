"""Databases for the tests: each test gets its own, copied from its worker's seeded template."""

import asyncio
import atexit
import gc
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import settings
from sqlalchemy import Engine

import postgres
import trninv
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings

pytest.register_assert_rewrite("serving")
pytest_plugins = ["compiled", "reruns", "browsing", "selection"]  # browsing imports reruns

BACKENDS = ["sqlite", "postgresql"]

SYSTEMS = [system for system in default_systems().systems if system.domains == 1 and not system.is_by_name]
"""What a seeded database holds in these tests: one domain of each kind that a plain ``seed`` loads."""

settings.register_profile("trninv", deadline=None)  # the machine is shared: only benchmarks measure time
settings.register_profile("quick", settings.get_profile("trninv"), max_examples=10, derandomize=True)
settings.load_profile("trninv")


def pytest_configure(config: pytest.Config) -> None:
    """Draw few examples, the same in each run, where slow tests are left out."""
    if config.getoption("markexpr") == "not slow":
        settings.load_profile("quick")
    atexit.register(_hide_leaks_of_duckdb)


def _hide_leaks_of_duckdb() -> None:
    """Discard what a process prints when it ends: nanobind, with which DuckDB is bound, lists objects still alive."""
    if "duckdb" in sys.modules:
        sys.stderr.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def examples(most: int) -> settings:
    """How many examples a test draws at most: a tenth of them where slow tests are left out."""
    return settings(max_examples=max(most // 10, 4) if is_quick() else most)


def is_quick() -> bool:
    """Whether slow tests are left out."""
    return settings.get_current_profile_name() == "quick"


def seeds(count: int, quick: int = 1) -> list[Any]:
    """Parameters from 0 on, of which only the first few are no slow tests."""
    return mostly_slow(range(count), quick)


def mostly_slow(values: Iterable[Any], quick: int) -> list[Any]:
    """Single values as parameters, of which only the first few are no slow tests."""
    listed = list(values)
    return [*listed[:quick], *(pytest.param(value, marks=pytest.mark.slow) for value in listed[quick:])]


def seed_everything(url: str) -> None:
    with temporary_engine(url) as engine:
        migration.migrate(engine)
        for system in SYSTEMS:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), system)


def _migrate(url: str) -> None:
    with temporary_engine(url) as engine:
        migration.migrate(engine)


_ROOM = 8 * 2**30
"""More bytes than all workers' databases take at any time."""


def _in_memory() -> str | None:
    """A directory in memory, whose files wait for no disk; None where it has no room or runs no programs."""
    memory = "/dev/shm"  # noqa: S108 # holds directories with names of their own
    try:
        of = os.statvfs(memory)
    except OSError:
        return None
    return None if of.f_flag & os.ST_NOEXEC or of.f_bavail * of.f_frsize < _ROOM else memory


def _directory(prefix: str) -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix=prefix, dir=_in_memory(), ignore_cleanup_errors=True)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """URL of the worker's PostgreSQL server, with {} for the database."""
    with _directory("pg") as path, postgres.server(Path(path)) as url:
        yield url


@pytest.fixture(scope="session", autouse=True)
def _graph_cache() -> Iterator[None]:
    """Graphs of the tests stay out of the user's cache."""
    with _directory("graphs") as path, pytest.MonkeyPatch.context() as patched:
        patched.setenv("TRNINV_GRAPH_CACHE", path)
        yield


class Databases:
    """Makes empty databases, and copies of one with tables and of one that is seeded, on either backend."""

    def __init__(self, directory: Path, request: pytest.FixtureRequest) -> None:
        self._directory, self._request = directory, request
        self._numbers = itertools.count()
        self._templates: dict[tuple[str, Callable[[str], None]], str] = {}

    def empty(self, backend: str) -> str:
        name = f"t{next(self._numbers)}"
        if backend == "sqlite":
            return f"sqlite:///{self._directory / name}.db"
        self._execute(f"CREATE DATABASE {name}")
        return self._postgres(name)

    def seeded(self, backend: str) -> str:
        return self.copied(backend, seed_everything)

    def migrated(self, backend: str) -> str:
        return self.copied(backend, _migrate)

    def copied(self, backend: str, make: Callable[[str], None]) -> str:
        """Copy a database that a function made of an empty one, which it does once; the copy's URL."""
        if (backend, make) not in self._templates:
            template = self.empty(backend) if make is _migrate else self.migrated(backend)
            make(template)
            self._templates[backend, make] = template
        template = self._templates[backend, make]
        if backend == "sqlite":
            url = self.empty(backend)
            shutil.copy(template.removeprefix("sqlite:///"), url.removeprefix("sqlite:///"))
            return url
        name = f"t{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {_name(template)} STRATEGY file_copy")
        return self._postgres(name)

    def drop(self, url: str) -> None:
        """Remove a database that nothing asks any more."""
        if url.startswith("sqlite"):
            Path(url.removeprefix("sqlite:///")).unlink(missing_ok=True)
        else:
            self._execute(f"DROP DATABASE IF EXISTS {_name(url)} WITH (FORCE)")

    def _postgres(self, name: str) -> str:
        url: str = self._request.getfixturevalue("postgres_url")
        return url.format(name)

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self._postgres("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def _name(url: str) -> str:
    """Of a PostgreSQL database."""
    return url.split("@/")[1].split("?", maxsplit=1)[0]


@pytest.fixture(scope="session")
def databases(request: pytest.FixtureRequest) -> Iterator[Databases]:
    with _directory("databases") as path:
        yield Databases(Path(path), request)


@pytest.fixture(params=BACKENDS)
def empty(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """URL of an empty database, on either backend."""
    url = databases.empty(request.param)
    yield url
    databases.drop(url)


@pytest.fixture(params=BACKENDS)
def tables(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """URL of a database that has tables and no rows, for one test alone, on either backend."""
    url = databases.migrated(request.param)
    yield url
    databases.drop(url)


@pytest.fixture(params=BACKENDS)
def seeded(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    """URL of a database with every system, for one test alone, on either backend."""
    url = databases.seeded(request.param)
    yield url
    databases.drop(url)


@pytest.fixture
def engine(seeded: str) -> Iterator[Engine]:
    with temporary_engine(seeded) as made:
        yield made


@pytest.fixture(scope="session", params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """A fleet with every system, which no test changes, on either backend."""
    with trninv.open(databases.seeded(request.param)) as opened:
        yield opened


def _seed_by_name(url: str) -> None:
    with temporary_engine(url) as engine:
        for system in default_systems().systems:
            if system.is_by_name:
                with write_transaction(engine) as connection:
                    cluster_seeding.seed(connection, default_catalog(), system)


@pytest.fixture(scope="session", params=BACKENDS)
def named(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """A fleet with every system that is seeded by name alone, which no test changes, on either backend."""
    with trninv.open(databases.copied(request.param, _seed_by_name)) as opened:
        yield opened


@pytest.fixture(scope="session")
def lite(databases: Databases) -> str:
    """URL of an SQLite database with every system, which no test changes."""
    return databases.seeded("sqlite")


@pytest.fixture(scope="session")
def lite_fleet(lite: str) -> Iterator[BaseFleet]:
    """The same, opened: for what does not depend on the kind of database."""
    with trninv.open(lite) as opened:
        yield opened


def wear(url: str) -> None:
    """Give some things of every kind a state other than up."""
    states = {
        "u-trn2x64/d0/s0/c3": Condition.from_user("down", None),
        "u-trn2x64/d0/s1/c5": Condition.from_user("degraded", 0.5),
        "u-trn2x64/d0/s2": Condition.from_user("maintenance", None),
        "trn3-gen1/d0/sw1": Condition.from_user("degraded", 0.25),
        "trn1.32xlarge/d0/s0/efa1": Condition.from_user("down", None),
        "trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1": Condition.from_user("degraded", 0.123456),
        "trn2-16.48xlarge/d0/s0/c1--trn2-16.48xlarge/d0/s0/c2": Condition.from_user("down", None),
    }
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for address, condition in states.items():
            set_state(connection, [address], condition, why="worn", who="tests")


@pytest.fixture(scope="session", params=BACKENDS)
def worn(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """A fleet in which not everything is up, which no test changes, on either backend."""
    url = databases.seeded(request.param)
    wear(url)
    with trninv.open(url) as opened:
        yield opened


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(lite: str, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line in this process; returns status, stdout, stderr."""
    from trninv.cli.main import main  # noqa: PLC0415 # only where it is used

    def call(*arguments: str, database: str = lite) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["--database", database, *arguments])
        out, err = capfd.readouterr()
        return int(str(ended.value.code)), out, err

    return call


Ask = Callable[..., dict[str, Any]]


def services(fleet: BaseFleet) -> dict[str, Any]:
    """A service that compiles whole documents and one that resolves each field, made once per fleet."""
    from trninv.graphql.api import Api  # noqa: PLC0415 # only where it is used

    class ResolvingApi(Api):
        async def _respond(self, *arguments: Any) -> Any:
            return await self._execute(*arguments)

        async def run_inline(self, *_: Any, **__: Any) -> None:
            return None

    if id(fleet) not in _SERVICES:
        settings = Settings(database_url=str(fleet.engine.url))
        _SERVICES[id(fleet)] = (
            fleet,
            {
                "compiled": Api(fleet, settings),
                "executed": ResolvingApi(fleet, settings),
            },
        )
    return _SERVICES[id(fleet)][1]


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """A scheduler and two workers, as an operator starts them."""
    pytest.importorskip("distributed")
    started: list[subprocess.Popen[bytes]] = []
    address = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(address)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def run(*arguments: str) -> None:
        command = [sys.executable, "-m", *arguments]
        started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL))

    run("distributed.cli.dask_scheduler", *common, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    for _ in range(2):
        run("distributed.cli.dask_worker", *common, "--nthreads", "1", "--no-nanny", "--no-dashboard")
    end = time.monotonic() + 60
    while not address.exists() or not address.read_text():
        assert time.monotonic() < end
        time.sleep(0.1)
    yield json.loads(address.read_text())["address"], started[1:]
    for process in started:
        process.kill()
        process.wait()


_SERVICES: dict[int, tuple[BaseFleet, dict[str, Any]]] = {}


def both_ways(fleet: BaseFleet) -> Ask:
    """Run a document as a whole and field by field, with the same bytes; data and errors as a client sees them."""
    from trninv.graphql.document_request import Request  # noqa: PLC0415 # only where it is used

    ways = services(fleet).values()

    def run(document: str, **variables: object) -> dict[str, Any]:
        request = Request(document, dict(variables))
        compiled, executed = (asyncio.run(service.run(request)) for service in ways)
        unnamed = [re.sub(rb',"asOf":{[^}]*}|[0-9a-f]{16}', b"", answer.body) for answer in (compiled, executed)]
        if not _fail_elsewhere(*(json.loads(answer.body) for answer in (compiled, executed))):
            assert unnamed[0] == unnamed[1]
        return {"data": None, "errors": [], **json.loads(compiled.body)}

    return run


def _fail_elsewhere(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether several fields that can't be null fail: the first to do so is told, which may be any."""
    told = [answer["errors"] for answer in (one, other) if answer.get("data", ...) is None]
    paths = [errors[0].get("path") for errors in told if len(errors) == 1]
    return len(paths) == 2 and paths[0] != paths[1]


@pytest.fixture
def ask(fleet: BaseFleet) -> Ask:
    """Run a document on a fleet which no test changes, on either backend."""
    return both_ways(fleet)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage from here on only, less often, and not among the modules and tests, which live to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 20, 20)
