"""Two servers of PostgreSQL: all that reads works on a standby, and a service goes on with it when it is promoted."""

import json
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

import postgres
from conftest import Databases, Run, seed_everything, wear
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import ReadOnlyError, UnreachableError
from trninv.inventory.transfer import copy_database
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow  # a standby is a server of its own to start

U = "u-trn2x64/d0"
_SET = "mutation ($i: SetStateInput!) { setState(input: $i) { changes { after } } }"


class Pair:
    """A primary with fleets in its database, and a standby that has all that is committed."""

    def __init__(self, primary: postgres.Server, standby: postgres.Server) -> None:
        self.primary, self.standby = primary, standby
        primary.make()
        primary.start()
        self._execute("CREATE DATABASE fleet")
        seed_everything(primary.url.format("fleet"))
        wear(primary.url.format("fleet"))
        standby.follow(primary)
        standby.start()
        self._execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self._execute("SELECT pg_reload_conf()")
        # either of them, in the order in which they are named
        self.both = f"postgresql://trninv@/fleet?host={primary.sockets},{standby.sockets}"

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.primary.url.format("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    kind = tempfile.TemporaryDirectory
    with kind(prefix="pg", ignore_cleanup_errors=True) as one, kind(prefix="pg", ignore_cleanup_errors=True) as other:
        servers = [postgres.Server(Path(each), synchronous_commit="remote_apply") for each in (one, other)]
        try:
            yield Pair(*servers)
        finally:
            for server in servers:
                if (server.data / "postmaster.pid").exists():
                    server.stop()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["status"], "u-trn2x64"),
        (["verify"], "matches the catalog"),
        (["migrate", "--check"], "up to date"),
        (["show", "u-trn2x64"], "6,144 GiB"),
        (["events"], "worn"),
        (["path", f"{U}/s0/c0", f"{U}/s1/c0"], "64 GB/s"),
        (["bisection", "trn3-gen2"], "9,216 GB/s"),
        (["facts", "rainier"], "400,000"),
        (["report", "capacity"], "u-trn2x64"),
        (["sql", "SELECT count(*) FROM v_chip"], "305"),
        (["query", "{ clusters { nodes { slug } } }"], "u-trn2x64"),
        (["token", "list"], "scope"),
    ],
)
def test_all_that_reads_works_on_a_standby(run: Run, pair: Pair, arguments: list[str], says: str) -> None:
    status, out, error = run(*arguments, database=pair.standby.url.format("fleet"))
    assert (status, error) == (0, "")
    assert says in out


def test_a_standby_is_exported_and_copied(run: Run, pair: Pair, tmp_path: Path) -> None:
    url = pair.standby.url.format("fleet")
    assert run("export", str(tmp_path / "out"), "--format", "csv", database=url)[0] == 0
    with temporary_engine(url) as source, temporary_engine(f"sqlite:///{tmp_path}/copy.db") as target:
        migration.create_tables_if_missing(target)
        with read_transaction(source) as found, write_transaction(target) as made:
            assert copy_database(found, made) > 1_000


@pytest.mark.parametrize(
    "arguments",
    [
        ["set", f"{U}/s0/c0", "down", "--why", "x"],
        ["seed", "trn1", "--name", "lab"],
        ["token", "create", "x"],
        ["migrate", "--to", "base", "--yes"],
    ],
)
def test_a_change_of_a_standby_is_refused_in_one_line(run: Run, pair: Pair, arguments: list[str]) -> None:
    status, _, error = run(*arguments, database=pair.standby.url.format("fleet"))
    assert (status, error.count("\n")) == (1, 1)
    assert "can only be read here" in error


def test_set_state_on_a_standby_is_a_conflict(pair: Pair) -> None:
    with _served(pair.standby.url.format("fleet")) as client:
        asked = client.post("/graphql", json={"query": "{ clusters { nodes { slug } } }"})
        assert asked.status_code == 200
        refused = _set(client, 1)
    assert refused == (409, ReadOnlyError.code)


def _served(url: str) -> TestClient:
    settings = Settings(url, log="off", allowed_hosts=("testserver",))
    return TestClient(create_app(url, settings), raise_server_exceptions=False)


def _set(client: TestClient, millionths: int) -> tuple[int, str | None]:
    given = {"addresses": [f"{U}/s3/c0"], "state": "DEGRADED", "factor": millionths / 1_000_000, "who": "tests"}
    given["why"] = f"change {millionths}"
    answer = client.post("/graphql", json={"query": _SET, "variables": {"i": given}})
    errors = json.loads(answer.text).get("errors")
    return answer.status_code, errors[0]["extensions"]["code"] if errors else None


def test_a_service_goes_on_with_the_promoted_standby_and_nothing_is_lost(pair: Pair) -> None:
    """Load while the primary crashes. What was acknowledged is there, and what was not was told as not reachable."""
    acknowledged: list[str] = []
    told: list[tuple[int, str | None]] = []
    crashed, again = threading.Event(), threading.Event()

    def write(client: TestClient) -> None:
        number = 0
        end = time.monotonic() + 60
        while not again.is_set() and time.monotonic() < end:
            number += 1
            late = crashed.is_set()
            found = _set(client, number)
            told.append(found)
            if found == (200, None):
                acknowledged.append(f"change {number}")
                if late:
                    again.set()

    with _served(f"{pair.both}&target_session_attrs=read-write") as client:
        writer = threading.Thread(target=write, args=(client,))
        writer.start()
        while len(acknowledged) < 20 and writer.is_alive():
            time.sleep(0.01)
        pair.primary.stop()
        while (503, "DATABASE_NOT_REACHABLE") not in told and writer.is_alive():
            time.sleep(0.01)
        paths = {
            "/readyz": client.get("/readyz"),
            "/reports/capacity.json": client.get("/reports/capacity.json"),
            "/export/rack.csv": client.get("/export/rack.csv"),
            "/graphql": client.post("/graphql", json={"query": "{ clusters { nodes { slug } } }"}),
        }
        assert {path: answer.status_code for path, answer in paths.items()} == dict.fromkeys(paths, 503)
        assert all("INTERNAL" not in answer.text for answer in paths.values())
        pair.standby.promote()
        crashed.set()
        writer.join()
        assert again.is_set()
        assert client.get("/readyz").status_code == 200
        asked = client.post("/graphql", json={"query": "{ clusters { nodes { slug } } }"})
        assert asked.status_code == 200
    assert set(told) == {(200, None), (503, "DATABASE_NOT_REACHABLE")}
    with temporary_engine(pair.standby.url.format("fleet")) as engine, read_transaction(engine) as connection:
        kept = set(connection.scalars(text("SELECT why FROM state_event")))
    assert set(acknowledged) <= kept


def test_a_server_that_stops_before_a_reader_is_done_is_not_reachable(databases: Databases) -> None:
    """The last statement went well; closing the connection does not."""
    url = databases.seeded("postgresql")

    def read() -> None:
        with (
            temporary_engine(url) as engine,
            temporary_engine(url) as other,
            read_transaction(engine) as connection,
            other.begin() as ending,
        ):
            session = connection.scalar(text("SELECT pg_backend_pid()"))
            ending.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": session})

    with pytest.raises(UnreachableError):
        read()
