"""All that trninv does works through a real PgBouncer in transaction mode, and leaves nothing in the server's sessions.

All clients of the pooler share a few sessions of the server, so that whatever a transaction leaves behind is seen.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from hearing import Hearing, served
from poolers import pooler
from sqlalchemy import text
from starlette.testclient import TestClient

import postgres
from conftest import Run, seed_everything, wear
from trninv.database.engine import read_transaction, temporary_engine
from trninv.database.pooler import transaction_setup
from trninv.database.revision import RevisionTracker
from trninv.database.standby import require_caught_up
from trninv.errors import DatabaseError, UnreachableError
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow  # a server and a pooler of its own to start

U = "u-trn2x64/d0"
_LOGIN = "pooled_reader"
_SET = "mutation ($i: SetStateInput!) { setState(input: $i) { changes { after } } }"
_CHIPS = "{ chips(first: 3, filter: {state: {eq: DOWN}}) { totalCount nodes { address } } }"


class Pooled:
    """A server and a pooler; `url` leads through the pooler to a database with every system."""

    def __init__(self, server: postgres.Server, through: str) -> None:
        self.server, self.through, self.url = server, through, through.format("fleet")
        self.login = self.url.replace("trninv@", f"{_LOGIN}@")
        self.execute("CREATE DATABASE fleet", "postgres")
        seed_everything(self.url)
        wear(self.url)
        self.execute(f"CREATE ROLE {_LOGIN} LOGIN IN ROLE trninv_read")

    def execute(self, statement: str, database: str = "fleet") -> list[tuple[object, ...]]:
        """Run a statement without the pooler."""
        with psycopg.connect(self.server.url.format(database), autocommit=True) as connection:
            result = connection.execute(statement.encode())
            return result.fetchall() if result.description else []


@pytest.fixture(scope="module")
def pooled() -> Iterator[Pooled]:
    kind = tempfile.TemporaryDirectory
    with kind(prefix="pg", ignore_cleanup_errors=True) as one, kind(prefix="pb", ignore_cleanup_errors=True) as other:
        server = postgres.Server(Path(one))
        server.make()
        server.start()
        try:
            with pooler(Path(other), server.url, _LOGIN) as through:
                yield Pooled(server, through)
        finally:
            server.stop()


@pytest.fixture(autouse=True)
def _leaves_nothing(pooled: Pooled) -> Iterator[None]:
    """After each test, no session of the server differs from a new one."""
    yield
    query = "SELECT current_user, current_setting('jit'), current_setting('statement_timeout'), "
    query += "current_setting('search_path'), current_setting('transaction_read_only'), pg_backend_pid(), "
    query += (
        "(SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
    )
    connections = [psycopg.connect(pooled.url, prepare_threshold=None) for _ in range(4)]
    rows = [connection.execute(query.encode()).fetchone() for connection in connections]  # in a transaction each
    for connection in connections:
        connection.close()
    assert len({row[5] for row in rows if row}) == 4
    for row in rows:
        assert row
        assert (*row[:5], *row[6:]) == ("trninv", "on", "0", '"$user", public', "off", 0, 0)


def test_prepared_statements_fail_through_this_pooler(pooled: Pooled) -> None:
    """So that the other tests mean something."""
    clients = [psycopg.connect(pooled.url, autocommit=True, prepare_threshold=0) for _ in range(6)]
    errors = psycopg.errors.DuplicatePreparedStatement, psycopg.errors.InvalidSqlStatementName
    turns = (client.execute("SELECT 1") for client in clients * 3)
    with pytest.raises(errors):
        list(turns)
    for client in clients:
        client.close()
    pids = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
    pooled.execute(f"{pids} WHERE datname = 'fleet' AND pid <> pg_backend_pid()")  # sessions with those statements


def test_a_pooler_is_recognized(pooled: Pooled) -> None:
    for url, is_pooled in ((pooled.url, True), (pooled.server.url.format("fleet"), False)):
        with temporary_engine(url) as engine, engine.connect() as connection:
            assert bool(transaction_setup(connection.info)) is is_pooled
            assert connection.scalar(text("SELECT current_setting('jit')")) == "off"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["status"], "u-trn2x64"),
        (["verify"], "matches the catalog"),
        (["migrate"], "is at schema version"),
        (["migrate", "--check"], "up to date"),
        (["show", "u-trn2x64"], "6,144 GiB"),
        (["events"], "worn"),
        (["path", f"{U}/s0/c0", f"{U}/s1/c0"], "64 GB/s"),
        (["path", f"{U}/s0/c0", f"{U}/s1/c0", "--at", "1"], "64 GB/s"),
        (["report", "capacity"], "u-trn2x64"),
        (["report", "unhealthy", "--at", "1"], "u-trn2x64"),
        (["sql", "SELECT count(*) FROM v_chip"], "305"),
        (["incidents"], "worn"),
        (["query", "{ clusters { nodes { slug } } }"], "u-trn2x64"),
        (["token", "list"], "scope"),
        (["cordon", f"{U}/s3", "--why", "x"], "cordoned"),
        (["uncordon", f"{U}/s3", "--why", "x"], "uncordoned"),
        (["seed", "trn1", "--name", "lab"], "lab"),
        (["unseed", "lab", "--yes"], "lab"),
    ],
)
def test_commands_work_through_a_pooler(run: Run, pooled: Pooled, arguments: list[str], says: str) -> None:
    status, out, error = run(*arguments, database=pooled.url)
    assert (status, says in out + error) == (0, True), out + error


def test_a_fleet_is_exported_and_copied_through_a_pooler(run: Run, pooled: Pooled, tmp_path: Path) -> None:
    assert run("export", str(tmp_path / "out"), "--format", "csv", database=pooled.url)[0] == 0
    status, out, _ = run("copy", pooled.url, f"sqlite:///{tmp_path}/copy.db")
    assert (status, "all rows are identical" in out) == (0, True)
    pooled.execute("CREATE DATABASE copied", "postgres")
    assert run("copy", f"sqlite:///{tmp_path}/copy.db", pooled.through.format("copied"))[0] == 0
    status, _, error = run("copy", pooled.url, pooled.server.url.format("fleet"))
    assert (status, "is both FROM and TO" in error) == (2, True)


def test_migrations_run_through_a_pooler_one_at_a_time(run: Run, pooled: Pooled) -> None:
    pooled.execute("CREATE DATABASE moving", "postgres")
    url = pooled.through.format("moving")
    command = [sys.executable, "-m", "trninv", "--database", url, "migrate"]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in "ab"]
    assert [process.wait(300) for process in processes] == [0, 0]
    assert run("migrate", "--to", "base", "--yes", database=url)[0] == 0
    assert run("migrate", database=url)[0] == 0
    assert run("migrate", "--check", database=url)[0] == 0


def _settings(pooled: Pooled) -> Settings:
    return Settings(pooled.url, log="off", allowed_hosts=("testserver",), sql_url=pooled.login, request_seconds=20)


def test_no_request_fails_through_a_pooler(pooled: Pooled) -> None:
    """Mixed reads and writes of eight clients on four sessions, of which 1 in 70 failed with prepared statements."""
    requests = [
        ("/graphql", {"query": _CHIPS}),
        ("/graphql", {"query": f'{{ path(from: "{U}/s0/c0", to: "{U}/s1/c0") {{ paths {{ hops }} }} }}'}),
        ("/graphql", {"query": '{ asOf(time: "2") { chips { totalCount } } }'}),
        ("/sql", {"sql": "SELECT count(*) AS chips FROM v_chip WHERE state <> 'up'"}),
        ("/reports/capacity.json", None),
        ("/chips/u-trn2x64", None),
        ("/export/rack.csv", None),
    ]
    failures: list[str] = []

    def ask(number: int) -> None:
        path, body = requests[number % len(requests)]
        answer = client.get(path) if body is None else client.post(path, json=body)
        if answer.status_code != 200 or '"errors"' in answer.text[:20_000]:
            failures.append(f"{path}: {answer.status_code} {answer.text[:200]}")

    def change(number: int) -> None:
        given = {"addresses": [f"{U}/s3/c{number % 16}"], "state": "DEGRADED", "factor": 0.5, "who": "tests"}
        answer = client.post("/graphql", json={"query": _SET, "variables": {"i": given | {"why": f"change {number}"}}})
        if '"errors"' in answer.text:
            failures.append(answer.text)

    with (
        TestClient(create_app(pooled.url, _settings(pooled)), raise_server_exceptions=False) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        list(threads.map(lambda number: (change if number % 20 == 0 else ask)(number), range(700)))
        assert client.get("/readyz").json() == {"status": "ok"}
    assert failures == []
    assert pooled.execute("SELECT count(DISTINCT why) FROM state_event WHERE why LIKE 'change %'") != [(0,)]
    with temporary_engine(pooled.url) as engine, read_transaction(engine) as connection:
        assert connection.scalar(text("SELECT count(*) FROM alembic_version")) == 1


def test_changes_and_subscriptions_arrive_through_a_pooler(pooled: Pooled) -> None:
    subscription = json.dumps({"query": "subscription { changes { address after } }"}).encode()
    with (
        served(pooled.url) as url,
        Hearing(url) as changes,
        Hearing(url, "/graphql", subscription) as subscribed,
        temporary_engine(pooled.url),
    ):
        _set_down(pooled, f"{U}/s2/c9")
        frames = [*changes.events(1), next(frame for frame in subscribed if "data" in frame)]
    assert all(f"{U}/s2/c9" in str(frame) for frame in frames)


def _set_down(pooled: Pooled, address: str) -> None:
    given = {"addresses": [address], "state": "DOWN", "who": "tests", "why": "heard"}
    with TestClient(create_app(pooled.url, _settings(pooled))) as client:
        assert "errors" not in client.post("/graphql", json={"query": _SET, "variables": {"i": given}}).json()


def test_a_late_query_is_stopped_on_the_server(pooled: Pooled) -> None:
    slow = "SELECT count(*) AS n FROM core a, core b, core c"
    settings = Settings(pooled.url, log="off", allowed_hosts=("testserver",), sql_url=pooled.login, request_seconds=1)
    with TestClient(create_app(pooled.url, settings), raise_server_exceptions=False) as client:
        answer = client.post("/sql", json={"sql": slow})
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (503, "TIME_LIMIT")
    query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%core a%'"
    query += " AND pid <> pg_backend_pid()"
    end = time.monotonic() + 30
    while pooled.execute(query) != [(0,)]:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_restarted_server_behind_the_pooler_has_another_revision(pooled: Pooled) -> None:
    """The client's own connection outlives the server's, and the new server may give old numbers to new snapshots."""
    with temporary_engine(pooled.url) as engine:
        tracker = RevisionTracker(engine)
        before = tracker.current()
        assert before is not None
        assert tracker.current() == before
        pooled.server.stop()
        pooled.server.start()
        end = time.monotonic() + 60
        while (after := tracker.current()) is None:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert after != before
        tracker.close()


def test_a_standby_is_not_read_through_a_pooler(pooled: Pooled) -> None:
    with temporary_engine(pooled.url) as standby, temporary_engine(pooled.url) as primary:
        require_caught_up(standby, primary)
        with pytest.raises(DatabaseError, match="TRNINV_READ_URL leads to a connection pooler"), standby.connect():
            pass


def test_a_search_path_in_the_url_is_refused_in_words(pooled: Pooled) -> None:
    url = f"{pooled.url}&options=-csearch_path%3Dfleet"
    with (
        temporary_engine(url) as engine,
        pytest.raises(UnreachableError, match=r"ALTER ROLE … SET search_path"),
        read_transaction(engine),
    ):
        pass


def test_writers_take_turns_through_a_pooler(run: Run, pooled: Pooled) -> None:
    started = threading.Barrier(4)

    def write(number: int) -> None:
        started.wait(60)
        for part in range(5):
            _set_down(pooled, f"{U}/s1/c{number * 4 + part % 4}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert run("verify", database=pooled.url)[0] == 0
