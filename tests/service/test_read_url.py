"""TRNINV_READ_URL: reads go to a standby, and never see less than the primary had when they were asked."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from starlette.testclient import TestClient

import postgres
from conftest import seed_everything
from trninv.database import standby
from trninv.database.tables import STATES
from trninv.errors import DatabaseError, UsageError
from trninv.routing import read_replicas
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow  # a standby is a server of its own to start

CHIP = "u-trn2x64/d0/s3/c0"
_SET = "mutation ($i: SetStateInput!) { setState(input: $i) { changes { after } } }"
_LOGIN = "stranger"


class Pair:
    """A primary with every system, and a standby that follows it without the primary waiting for it."""

    def __init__(self, primary: postgres.Server, standby: postgres.Server) -> None:
        self.primary, self.standby = primary, standby
        primary.make()
        primary.start()
        ask(primary, "CREATE DATABASE fleet", database="postgres")
        seed_everything(primary.url.format("fleet"))
        ask(primary, f"CREATE ROLE {_LOGIN} LOGIN IN ROLE trninv_read")
        standby.follow(primary)
        standby.start()

    def caught_up(self) -> None:
        """Wait until the standby has all."""
        ask(self.primary, "SELECT pg_current_xact_id()")  # a commit, so that what was written is flushed and sent
        written = ask(self.primary, "SELECT pg_current_wal_flush_lsn()::text")
        while not ask(self.standby, f"SELECT pg_last_wal_replay_lsn() >= '{written}'"):
            time.sleep(0.02)


def ask(server: postgres.Server, statement: str, database: str = "fleet") -> Any:
    with psycopg.connect(server.url.format(database), autocommit=True) as connection:
        found = connection.execute(statement.encode())
        row = found.fetchone() if found.description else None
        return row and row[0]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        places = [
            stack.enter_context(tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True)) for _ in "ab"
        ]
        servers = [postgres.Server(Path(place), synchronous_commit="on") for place in places]  # sent at once
        for server in servers:
            stack.callback(server.stop)
        yield Pair(*servers)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_replicas, "STANDBY_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(standby, "CATCH_UP_SECONDS", 10.0)  # however busy the machine is


@contextmanager
def served(primary: postgres.Server, standby: postgres.Server) -> Iterator[TestClient]:
    settings = Settings(
        primary.url.format("fleet"),
        log="off",
        allowed_hosts=("testserver",),
        read_url=standby.url.format("fleet"),
        sql_url=primary.url.format("fleet").replace("trninv@", f"{_LOGIN}@"),
    )
    with TestClient(create_app(None, settings), raise_server_exceptions=False) as client:
        yield client


def set_state(client: TestClient, state: str) -> None:
    given = {"addresses": [CHIP], "state": state, "who": "tests", "why": "to see it"}
    assert json.loads(client.post("/graphql", json={"query": _SET, "variables": {"i": given}}).text)["data"]


def _compiled(client: TestClient) -> str:
    return client.post(
        "/graphql", json={"query": f'{{ resolve(address: "{CHIP}") {{ ... on Chip {{ state }} }} }}'}
    ).text


def _listed(client: TestClient) -> str:
    query = "{ chips(filter: {state: {eq: DOWN}}) { nodes { address } } }"
    return "DOWN" if CHIP in client.post("/graphql", json={"query": query}).text else "UP"


def _in_cluster(client: TestClient) -> str:
    query = '{ chips(filter: {cluster: {eq: "u-trn2x64"}, state: {eq: DOWN}}) { nodes { address } } }'
    return "DOWN" if CHIP in client.post("/graphql", json={"query": query}).text else "UP"


def _exported(client: TestClient) -> str:
    return client.get("/export/v_chip.csv?columns=address,state").text.partition(f"{CHIP},")[2][:4].upper()


def _reported(client: TestClient) -> str:
    return "DOWN" if CHIP in client.get("/reports/unhealthy.csv").text else "UP"


def _selected(client: TestClient) -> str:
    sql = f"SELECT upper(state) AS state FROM v_chip WHERE address = '{CHIP}'"
    return client.post("/sql", json={"sql": sql}).text


def _packed(client: TestClient) -> str:
    first_of_server = 24 + 3 * 16  # the header has 24 bytes
    return STATES[client.get("/chips/u-trn2x64").content[first_of_server]].upper()


READS: dict[str, Callable[[TestClient], str]] = {
    "a list": _listed,
    "a list of a cluster": _in_cluster,
    "a look-up": _compiled,
    "an export": _exported,
    "a report": _reported,
    "SQL": _selected,
    "chips": _packed,
}


def _went_to(client: TestClient, read: Callable[[TestClient], str]) -> tuple[bool, str]:
    """Whether what a read sees is down, and which server it went to."""
    before = _reads(client)
    seen = "DOWN" in read(client)
    (server,) = {name for name, number in _reads(client).items() if number != before.get(name)} or {"primary"}
    return seen, server


def _each(client: TestClient) -> dict[str, tuple[bool, str]]:
    return {name: _went_to(client, read) for name, read in READS.items()}


def _reads(client: TestClient) -> dict[str, str]:
    lines = [line.split() for line in client.get("/metrics").text.splitlines() if "trninv_reads_total{" in line]
    return {name.split('"')[1]: number for name, number in lines}


def test_reads_go_to_the_standby_and_never_see_less_than_was_written(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(pair.primary, pair.standby) as client:
        set_state(client, "UP")
        pair.caught_up()
        assert _each(client) == dict.fromkeys(READS, (False, "standby"))
        ask(pair.standby, "SELECT pg_wal_replay_pause()")
        try:
            set_state(client, "DOWN")
            with monkeypatch.context() as now:
                now.setattr(standby, "CATCH_UP_SECONDS", 0.0)
                assert _each(client) == dict.fromkeys(READS, (True, "primary"))
        finally:
            ask(pair.standby, "SELECT pg_wal_replay_resume()")
        pair.caught_up()
        assert _each(client) == dict.fromkeys(READS, (True, "standby"))


def test_a_standby_that_follows_at_once_is_waited_for(pair: Pair) -> None:
    with served(pair.primary, pair.standby) as client:
        for state in ("UP", "DOWN") * 5:
            set_state(client, state)
            assert _listed(client) == state


def test_a_server_that_is_no_standby_of_the_primary_is_not_read(pair: Pair) -> None:
    """Such as an old primary that came back after a fail-over."""
    with served(pair.primary, pair.primary) as client:
        assert _went_to(client, _listed)[1] == "primary"


def test_without_its_standby_the_primary_is_read(pair: Pair) -> None:
    with served(pair.primary, pair.standby) as client:
        set_state(client, "UP")
        pair.caught_up()
        assert _went_to(client, _listed)[1] == "standby"
        pair.standby.stop()
        try:
            set_state(client, "DOWN")
            assert _each(client) == dict.fromkeys(READS, (True, "primary"))
        finally:
            pair.standby.start()
        pair.caught_up()
        assert _went_to(client, _listed) == (True, "standby")


def test_a_standby_that_failed_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_replicas, "STANDBY_PAUSE_SECONDS", 60.0)
    asked: list[str] = []

    def work(server: str) -> str:
        asked.append(server)
        if server == "standby":
            raise DatabaseError
        return server

    of: Any = read_replicas.ReadReplicas("primary", "standby")  # type: ignore[arg-type]
    assert [of.read(work) for _ in range(3)] == ["primary"] * 3
    assert asked == ["standby", *["primary"] * 3]


def test_a_standby_of_a_file_is_refused(lite: str) -> None:
    with pytest.raises(UsageError, match="TRNINV_READ_URL"):
        create_app(lite, Settings(lite, log="off", read_url="postgresql://h/d"))
    with pytest.raises(UsageError, match="TRNINV_READ_URL"):
        Settings.load({"TRNINV_READ_URL": "sqlite:///x.db"})
