"""trninv events --follow: what was, then what comes, through a restart of the database, until Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from hearing import change
from sqlalchemy import Engine

from conftest import Run
from trninv.errors import UnreachableError
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql

U = "u-trn2x64/d0"


@contextmanager
def _following(url: str, *options: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "trninv", "--database", url, "events", "--follow", "--format", "ndjson", *options]
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell started in the background ignores it
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, ours)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


def _next(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return str(json.loads(process.stdout.readline())["address"])


def test_it_follows_through_a_restart_of_the_database(seeded: str, engine: Engine) -> None:
    change(engine, f"{U}/s0/c0")
    change(engine, f"{U}/s1")
    with _following(seeded, U, "--why", "goes") as process:
        assert [_next(process), _next(process)] == [f"{U}/s0/c0", f"{U}/s1"]
        change(engine, "trn1.2xlarge/d0/s0/c0")
        change(engine, f"{U}/s0/c1")
        assert _next(process) == f"{U}/s0/c1"
        if engine.dialect.name == "postgresql":  # as a restart does
            with psycopg.connect(seeded, autocommit=True) as connection:
                others = (
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname"
                )
                connection.execute(f"{others} = current_database()".encode())
            engine.dispose()
        change(engine, f"{U}/s0/c2")
        assert _next(process) == f"{U}/s0/c2"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr
        assert "Traceback" not in process.stderr.read()


def test_it_waits_for_the_database_from_the_start(
    seeded: str, engine: Engine, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(engine, f"{U}/s0/c0")
    change(engine, f"{U}/s0/c1")
    failures = iter([True, True])

    list_events = Fleet.events

    def read(fleet: Fleet, *scope: str, **filters: Any) -> Any:
        if next(failures, False):
            raise UnreachableError("no database")
        return list_events(fleet, *scope, **filters)

    waits = iter([None, None])

    def sleep(_seconds: float) -> None:
        if next(waits, "over") == "over":
            raise KeyboardInterrupt

    monkeypatch.setattr(Fleet, "events", read)
    monkeypatch.setattr(time, "sleep", sleep)
    status, out, error = run("events", "--follow", "--last", "1", "--format", "ndjson", database=seeded)
    assert (status, error.count("no database: retrying")) == (0, 1)
    assert [json.loads(line)["address"] for line in out.splitlines()] == [f"{U}/s0/c1"]


@pytest.mark.parametrize("wrong", [["--until", "2026-01-01T00:00:00Z"], ["--format", "json"]])
def test_what_never_ends_can_not_be_printed_whole(run: Run, wrong: list[str]) -> None:
    status, _, error = run("events", "--follow", *wrong)
    assert (status, "--follow does not end" in error) == (2, True)


def test_the_filters_of_the_command(engine: Engine, run: Run) -> None:
    url = engine.url.render_as_string(hide_password=False)
    for address in (f"{U}/s1", f"{U}/s0/c0"):
        change(engine, address)

    def told(*options: str) -> list[str]:
        _, out, _ = run("events", "--format", "ndjson", *options, database=url)
        return [json.loads(line)["address"] for line in out.splitlines()]

    assert told("--kind", "server", "--who", "tester") == [f"{U}/s1"]
    assert told("--kind", "chip", "--source", "command", "--why", "so it") == [f"{U}/s0/c0"]
    assert told("--batch", "1") == [f"{U}/s1"]
    assert told("--who", "nobody") == told("--why", "so%goes") == []


@pytest.mark.parametrize("options", [[], ["--follow"]])
def test_a_place_that_never_was_has_no_silence(run: Run, options: list[str]) -> None:
    status, _, error = run("events", "nowhere/d0", *options)
    assert (status, "nowhere" in error) == (1, True)
