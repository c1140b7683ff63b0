"""A seal that was noted elsewhere: where it is printed, and what is said where the database no longer has it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient
from tampering import tamper

from conftest import BACKENDS, Databases, Run
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.history.archive import archive_writer as archiving
from trninv.history.archive.archive_pruner import prune_events
from trninv.history.archive.archive_store import MANIFEST, open_for_writing
from trninv.inventory.state import hash_chain
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.service.application import create_app

D = "u-trn2x64/d0"
HISTORY = ("state_event", "event_seal", "history_start")


@pytest.fixture(params=BACKENDS)
def url(request: pytest.FixtureRequest, databases: Databases) -> str:
    return databases.seeded(request.param)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with temporary_engine(url) as made:
        for chip in range(3):
            _set(made, f"{D}/s0/c{chip}", "down")
        yield made


def _set(engine: Engine, address: str, state: str) -> None:
    with write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user(state), why="a test", who="tester")


def _newest(engine: Engine) -> str:
    with read_transaction(engine) as connection:
        seal = hash_chain.newest_seal(connection)
    return f"{seal.id}:{seal.sha256}"


def _history(run: Run, url: str, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit status, and what verify has against the history."""
    status, out, _ = run("verify", "--format", "json", *arguments, database=url)
    return status, [each for each in json.loads(out)["differences"] if each["table"] == "event_seal"]


@pytest.mark.slow
def test_a_seal_that_is_there_is_no_difference_however_much_came_after_it(run: Run, url: str, engine: Engine) -> None:
    noted = _newest(engine)
    assert _history(run, url, "--sealed", noted) == (0, [])
    _set(engine, f"{D}/s0/c0", "up")
    assert _history(run, url, "--sealed", noted) == (0, [])
    assert _history(run, url, "--sealed", noted.upper().replace("SHA", "sha")) == (0, [])


@pytest.mark.slow
def test_a_history_that_was_made_anew_is_not_the_one_that_was_noted(run: Run, url: str, engine: Engine) -> None:
    """Somebody who can write everything takes a failure and its repair out of the history, and seals it again."""
    _set(engine, f"{D}/s1/c0", "down")
    _set(engine, f"{D}/s1/c0", "up")
    noted = _newest(engine)
    tamper(engine, "DELETE FROM event_seal WHERE id > 3; DELETE FROM state_event WHERE id > 3", *HISTORY)
    assert _history(run, url) == (0, [])
    status, (fault,) = _history(run, url, "--sealed", noted)
    assert (status, fault["kind"]) == (1, "missing")
    assert fault["detail"].startswith("there is no seal of event 5: events or seals were removed")
    _set(engine, f"{D}/s1/c1", "down")
    _set(engine, f"{D}/s1/c1", "up")
    assert _history(run, url) == (0, [])
    status, (fault,) = _history(run, url, "--sealed", noted)
    assert (status, fault["kind"]) == (1, "changed")
    assert fault["detail"].startswith("the seal of event 5 is ")


@pytest.mark.slow
def test_a_seal_that_an_archive_took_is_said_to_be_there(
    run: Run, url: str, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = _newest(engine)
    _set(engine, f"{D}/s1/c0", "down")
    _set(engine, f"{D}/s1/c0", "up")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    monkeypatch.setattr(archiving, "parse_time", lambda _: tomorrow)
    with open_for_writing(tmp_path) as store:
        archiving.archive_history(engine, store)
        assert prune_events(engine, store, "me").last_event == 4
    status, (fault,) = _history(run, url, "--sealed", noted)
    assert status == 1
    assert fault["detail"] == (f"seal 3 was moved with events up to 4 to the archive {tmp_path}: name a newer seal")
    assert _history(run, url, "--sealed", _newest(engine)) == (0, [])
    entries = [json.loads(line) for line in (tmp_path / MANIFEST).read_text().splitlines()]
    assert [each["said"]["sealed"] for each in entries if each["dataset"] == "events"] == [_newest(engine)]
    assert run("verify", database=url)[0] == 0


@pytest.mark.parametrize(
    "written", ["3", "3:abc", f"x:{'0' * 64}", f"{'9' * 19}:{'0' * 64}", f"3:{'g' * 64}", f"-3:{'0' * 64}"]
)
def test_what_is_no_seal_is_refused(run: Run, written: str) -> None:
    status, _, err = run("verify", f"--sealed={written}")
    assert status == 2
    assert "write N:SHA256" in err


def test_a_seal_is_of_the_whole_history(run: Run) -> None:
    status, _, err = run("verify", "u-trn2x64", "--sealed", f"3:{'0' * 64}")
    assert status == 2
    assert "omit CLUSTER" in err


@pytest.mark.slow_on_postgresql
def test_the_newest_seal_is_told_by_status_and_metrics(run: Run, url: str, engine: Engine) -> None:
    noted = _newest(engine)
    assert f"sealed: {noted}\n" in run("status", database=url)[1]
    assert json.loads(run("status", "--format", "json", database=url)[1])["sealed"] == noted
    event, digest = noted.split(":")
    with TestClient(create_app(url), base_url="http://127.0.0.1") as client:
        shown = client.get("/metrics").text
        assert f'trninv_history_sealed_event{{sha256="{digest}"}} {event}.0\n' in shown
        assert "trninv_history_unsealed_events 0.0\n" in shown
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE node SET state = 'down' WHERE id IN (7, 8)")
        assert "trninv_history_unsealed_events 2.0\n" in client.get("/metrics").text


def test_where_nothing_is_sealed_that_is_said(run: Run) -> None:
    assert "sealed: no events yet\n" in run("status")[1]
    assert json.loads(run("status", "--format", "json")[1])["sealed"] is None


@pytest.mark.slow_on_postgresql
def test_what_is_not_compared_is_told(run: Run, url: str, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO job (id, cluster_id, name, system, external_id, started_at, who) "
            "SELECT 1, id, 'p', 'x', 'p', '2026', 'me' FROM cluster WHERE slug = 'u-trn2x64'"
        )
    _, out, _ = run("verify", database=url)
    assert "not compared: u-trn2x64: chips of 1 job that no event names\n" in out
    assert json.loads(run("verify", "--format", "json", database=url)[1])["notCompared"]
