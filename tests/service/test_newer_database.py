"""A running service whose database a newer trninv has migrated, and one whose database takes no changes."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from httpx2 import Response
from sqlalchemy import text
from starlette.testclient import TestClient

from conftest import BACKENDS, Databases
from serving import is_running, serving, workers
from trninv.database import write_health
from trninv.database.engine import error_class, newest_schema_version, temporary_engine
from trninv.errors import DiskFullError
from trninv.service.application import create_app
from trninv.settings import Settings

if TYPE_CHECKING:
    import subprocess

_LIST = "{ chips(first: 2) { nodes { address } } }"
_QUESTION = '{ bisection(scope: "u-trn2x64") { exact } }'
_RESOLVED = '{ viewer { name } clusters { nodes { slug } } bisection(scope: "u-trn2x64") { exact } }'
_SET = (
    'mutation { setState(input: {addresses: ["u-trn2x64/d0/s0/c0"], state: DOWN, who: "x", why: "y"}) '
    "{ changes { after } } }"
)


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, databases: Databases) -> Iterator[str]:
    made = databases.seeded(request.param)
    yield made
    databases.drop(made)


@pytest.fixture
def client(url: str) -> Iterator[TestClient]:
    settings = Settings(url, log="off", allowed_hosts=("testserver",))
    with TestClient(create_app(url, settings), raise_server_exceptions=False) as opened:
        yield opened


def _migrate(url: str, version: str, oldest_reader: str) -> None:
    """Let the database look as after a migration by another trninv."""
    with temporary_engine(url) as engine, engine.begin() as connection:
        connection.execute(
            text("UPDATE alembic_version SET version_num = :version, oldest_reader = :oldest_reader"),
            {"version": version, "oldest_reader": oldest_reader},
        )


def _document(query: str) -> Callable[[TestClient], Response]:
    return lambda client: client.post("/graphql", json={"query": query})


def _get(path: str) -> Callable[[TestClient], Response]:
    return lambda client: client.get(path)


_READS = {
    "a list, compiled": _document(_LIST),
    "a list by GET": lambda client: client.get("/graphql", params={"query": _LIST}),
    "a question": _document(_QUESTION),
    "several fields": _document(_RESOLVED),
    "the past": _document('{ asOf(time: "0") { chips(first: 1) { totalCount } } }'),
    "a report": _get("/reports/capacity.json"),
    "chips": _get("/chips/u-trn2x64"),
    "a picture": _get("/pictures/timeline?scope=u-trn2x64"),
    "an export": _get("/export/rack.csv"),
}


def _status(answer: Response) -> tuple[int, str | None]:
    errors = answer.json().get("errors") if "json" in answer.headers["content-type"] else None
    return answer.status_code, errors[0]["extensions"]["code"] if errors else None


@pytest.mark.slow_on_postgresql
def test_a_newer_database_is_refused_by_every_route(client: TestClient, url: str) -> None:
    """All of them have answered before, so that statements and responses are cached."""
    for read in _READS.values():
        assert [_status(read(client)) for _ in "ab"] == [(200, None)] * 2
    _migrate(url, "9999", "9999")
    found = {name: _status(read(client)) for name, read in _READS.items()} | {
        "a change": _status(client.post("/graphql", json={"query": _SET})),
        "an observation": _status(client.post("/observations", json={"host": "h", "neuron_ls": [], "sysfs": {}})),
        "events": _status(client.get("/changes")),
    }
    assert found == dict.fromkeys(found, (503, "NOT_MIGRATED"))
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["code"]) == (503, "NOT_MIGRATED")
    assert client.get("/healthz").status_code == 200


def test_an_older_database_is_refused_too(client: TestClient, url: str) -> None:
    _migrate(url, "0001", "0001")
    assert _status(_READS["a list, compiled"](client)) == (503, "NOT_MIGRATED")


@pytest.mark.slow_on_postgresql
def test_a_service_reads_a_newer_database_whose_migrations_keep_readers_but_changes_nothing(
    client: TestClient, url: str
) -> None:
    _migrate(url, "9999", newest_schema_version())
    found = {name: _status(read(client)) for name, read in _READS.items()}
    assert found == dict.fromkeys(found, (200, None))
    assert client.get("/readyz").json() == {"status": "reads only", "code": "NOT_MIGRATED"}
    assert _status(client.post("/graphql", json={"query": _SET})) == (503, "NOT_MIGRATED")
    with temporary_engine(url) as engine, engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM state_event")) == 0
    _migrate(url, newest_schema_version(), newest_schema_version())
    assert _status(client.post("/graphql", json={"query": _SET})) == (200, None)
    assert client.get("/readyz").json() == {"status": "ok"}


@pytest.mark.slow_on_postgresql
def test_a_failed_change_is_told_by_readyz_until_one_succeeds(
    client: TestClient, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/readyz").json() == {"status": "ok"}
    is_sqlite = url.startswith("sqlite")
    with temporary_engine(url) as engine, engine.begin() as connection:
        if is_sqlite:  # the file may not grow, as on a full disk
            full = "CREATE TRIGGER no_space BEFORE UPDATE ON node BEGIN SELECT raise(ABORT, 'x'); END"
        else:
            full = (
                "CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$; "
                "CREATE TRIGGER no_space BEFORE UPDATE ON node EXECUTE FUNCTION no_space()"
            )
        connection.exec_driver_sql(full)
    if is_sqlite:
        import sqlite3  # noqa: PLC0415 # only where it is used

        monkeypatch.setattr(
            "trninv.database.engine.error_class",
            lambda error: DiskFullError if isinstance(error, sqlite3.Error) else error_class(error),
        )
    assert _status(client.post("/graphql", json={"query": _SET})) == (503, "DISK_FULL")
    assert client.get("/readyz").json() == {"status": "reads only", "code": "DISK_FULL"}
    assert _status(_READS["a list, compiled"](client)) == (200, None)
    monkeypatch.setattr(write_health, "MEMORY_SECONDS", 0.0)
    assert client.get("/readyz").json() == {"status": "ok"}  # long ago
    monkeypatch.undo()
    assert client.get("/readyz").json() == {"status": "reads only", "code": "DISK_FULL"}
    with temporary_engine(url) as engine, engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER no_space" if is_sqlite else "DROP FUNCTION no_space CASCADE")
    assert _status(client.post("/graphql", json={"query": _SET})) == (200, None)
    assert client.get("/readyz").json() == {"status": "ok"}


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(lite: str) -> None:
    processes: list[subprocess.Popen[bytes]] = []
    with serving(lite, begun=processes.append, options=("--workers", "2")):
        (parent,) = processes
        children = workers(parent.pid)
        assert len(children) >= 2
        parent.kill()
        parent.wait(20)
        end = time.monotonic() + 60
        while any(map(is_running, children)):
            assert time.monotonic() < end, "a worker goes on"
            time.sleep(0.1)
