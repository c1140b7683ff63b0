"""`collect --to` retries with backoff, jitter and the service's Retry-After, and spreads machines over an interval."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from printed import neuron_ls

from trninv.database.stored_changes import STORED
from trninv.errors import TrninvError, UnreachableError, UsageError
from trninv.importers.collection_schedule import CollectionSchedule, parse_duration
from trninv.importers.observation_sender import ObservationSender, read_token

Answer = tuple[int, Mapping[str, str]]
Asked = tuple[float, str, str]
OK: Answer = (202, {})
BODY = '{"errors": [{"message": "full", "extensions": {}}]}'


class Clock:
    """A clock that only sleeping moves on."""

    def __init__(self) -> None:
        self.now, self.pauses = 1000.0, list[float]()

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.pauses.append(seconds)
        self.now += seconds

    def __call__(self) -> float:
        return self.now


@contextmanager
def answering(
    *answers: Answer, when: tuple[int, Event] | None = None
) -> Iterator[tuple[str, list[tuple[float, str, str]]]]:
    """Serve answers one after another, the last one for ever; the URL, and age, token and body of each request.

    An event is set when so many requests were answered.
    """
    asked = list[Asked]()

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            age = float(parse_qs(urlsplit(self.path).query)["age"][0])
            asked.append((age, self.headers.get("Authorization", ""), body))
            status, headers = answers[min(len(asked), len(answers)) - 1]
            self.send_response_only(status)
            for name, value in {"Content-Length": str(len(BODY)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(BODY.encode())
            if when and len(asked) >= when[0]:
                when[1].set()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def sender(url: str, clock: Clock, said: list[str] | None = None, token: Callable[[], str] = str) -> ObservationSender:
    report = list[str]() if said is None else said
    return ObservationSender(url, token, report.append, clock.sleep, clock, random.Random(1))


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_what_may_pass_is_sent_again_with_its_age(status: int) -> None:
    clock, said = Clock(), list[str]()
    with answering((status, {}), (status, {}), OK) as (url, asked):
        assert sender(url, clock, said).send("x", 60) == BODY
    assert len(clock.pauses) == 2
    assert [age for age, _, _ in asked] == pytest.approx([0, clock.pauses[0], sum(clock.pauses)], abs=0.001)
    assert {body for _, _, body in asked} == {"x"}
    assert said[0] == f"{url} responded with {status}: full; retrying in {clock.pauses[0]:.1f} s"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 307])
def test_what_stays_refused_is_not_sent_again(status: int) -> None:
    clock = Clock()
    match = f"responded with {status}: full"
    with answering((status, {"Location": "/"}), OK) as (url, asked), pytest.raises(UsageError, match=match):
        sender(url, clock).send("x", 60)
    assert (len(asked), clock.pauses) == (1, [])


def test_pauses_grow_to_a_minute_and_are_random() -> None:
    clock = Clock()
    with answering(*[(503, {})] * 40, OK) as (url, _):
        sender(url, clock).send("x", 86_400)
    limits = [min(60, 2**attempt) for attempt in range(40)]
    assert all(0 <= pause <= limit for pause, limit in zip(clock.pauses, limits, strict=True))
    assert max(clock.pauses[:5]) < 16
    assert max(clock.pauses[6:]) > 30
    assert len(set(clock.pauses)) == 40


DATE = "Wed, 25 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0"}, 0),
        ({"Date": DATE, "Retry-After": "Wed, 25 Nov 2026 12:00:30 GMT"}, 30),
        ({"Date": DATE, "Retry-After": "Wed, 25 Nov 2026 11:00:00 GMT"}, 0),
        ({"Retry-After": "Wed, 25 Nov 2026 12:00:30 GMT"}, 0),
        ({"Date": DATE, "Retry-After": "soon"}, 0),
        ({"Retry-After": "-5"}, 0),
        ({"Retry-After": "9" * 400}, 0),
    ],
)
def test_the_service_says_how_long_to_wait(headers: Mapping[str, str], seconds: float) -> None:
    clock = Clock()
    with answering((503, headers), OK) as (url, _):
        sender(url, clock).send("x", 3_600)
    assert seconds <= clock.pauses[0] <= seconds + 1


def test_nobody_waits_longer_than_told() -> None:
    clock = Clock()
    with answering((429, {"Retry-After": "3600"})) as (url, asked):
        with pytest.raises(UsageError, match="429"):
            sender(url, clock).send("x", 3_599)
        assert (len(asked), clock.pauses) == (1, [])
        with pytest.raises(UsageError, match="429"):
            sender(url, clock).send("x", 3_602)
    assert len(clock.pauses) == 1


def test_a_service_that_does_not_answer_is_asked_again() -> None:
    clock, said = Clock(), list[str]()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=r"does not answer: .*Connection refused"):
            sender(url, clock, said).send("x", 20)
        assert not STORED.is_storing
    assert len(said) == len(clock.pauses) >= 3
    with pytest.raises(UnreachableError):
        sender(url, clock).send("x", 0)
    for wrong in ("http://[", "http://127.0.0.1:port"):
        with pytest.raises(TrninvError):
            sender(wrong, clock).send("x", 0)


def test_without_an_answer_nobody_knows_whether_it_was_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STORED, "count", 0)
    monkeypatch.setattr(STORED, "is_storing", False)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        def hang_up() -> None:
            silent.accept()[0].close()

        Thread(target=hang_up).start()
        with pytest.raises(UnreachableError):
            sender(url, Clock()).send("x", 0)
    assert "check whether it was stored" in STORED.describe()
    with pytest.raises(UnreachableError, match="refused"):  # this attempt stored nothing, but the one before may have
        sender(url, Clock()).send("x", 0)
    assert "check whether it was stored" in STORED.describe()
    with answering(OK) as (url, _):
        sender(url, Clock()).send("x", 0)
    assert STORED.describe() == "the change was already stored"


@pytest.mark.parametrize(("status", "is_unknown"), [(502, True), (503, False), (504, True)])
def test_a_proxy_may_have_passed_on_what_was_not_answered(
    monkeypatch: pytest.MonkeyPatch, status: int, is_unknown: bool
) -> None:
    monkeypatch.setattr(STORED, "is_storing", False)
    with answering((status, {})) as (url, _), pytest.raises(UsageError):
        sender(url, Clock()).send("x", 0)
    assert STORED.is_storing is is_unknown


def test_each_attempt_reads_the_token_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, tokens = tmp_path / "token", iter(["old", "new"])
    monkeypatch.setenv("TRNINV_TOKEN_FILE", str(file))
    monkeypatch.delenv("TRNINV_TOKEN", raising=False)

    def rotated() -> str:
        file.write_text(f"trninv_{next(tokens)}\n")
        return read_token()

    with answering((503, {}), OK) as (url, asked):
        sender(url, Clock(), token=rotated).send("x", 60)
    assert [token for _, token, _ in asked] == ["Bearer trninv_old", "Bearer trninv_new"]
    monkeypatch.setenv("TRNINV_TOKEN", "x")
    with pytest.raises(UsageError, match="both set"):
        read_token()
    monkeypatch.delenv("TRNINV_TOKEN")
    file.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="has no token"):
        read_token()
    file.unlink()
    with pytest.raises(UsageError, match="No such file"):
        read_token()
    monkeypatch.delenv("TRNINV_TOKEN_FILE")
    assert read_token() == ""


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("5m", 300), ("2h", 7_200), ("1d", 86_400), ("24h", 86_400), ("0s", 0)]
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text, "--every") == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "5 m", "1.5m", "86401s", "25h", "9999999s", "5w", "٥m", "5m\n"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError, match="--every"):
        parse_duration(text, "--every")


@pytest.mark.slow
def test_hosts_are_spread_evenly_and_stay_where_they_are() -> None:
    def second(host: str, now: float) -> float:
        return (now + CollectionSchedule(300, host, wall_clock=lambda: now).first_pause()) % 300

    seconds = [second(f"ip-10-0-{number // 256}-{number % 256}", 1_000_000.0) for number in range(25_000)]
    by_second = [sum(int(at) == number for at in seconds) for number in range(300)]
    assert max(by_second) < 150  # 83 on average
    assert min(by_second) > 40
    assert second("n0", 1_000_000.0) == pytest.approx(second("n0", 1_234_567.8))
    assert CollectionSchedule(300, None).first_pause() == 0


def test_a_machine_reports_at_its_times_and_skips_those_it_missed() -> None:
    clock = Clock()
    schedule = CollectionSchedule(60, "n0", clock.sleep, clock, lambda: 0.0)
    times, durations = list[float](), [1.0, 60.0, 61.0, 200.0, 0.0, 0.0]
    for left, duration in zip(schedule.wait(), durations, strict=False):
        times.append(clock.now)
        assert 0 < left <= 60
        clock.now += duration
    assert times[0] == 1000 + schedule.first_pause()
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps == pytest.approx([60, 60, 120, 240, 60])


def test_a_clock_that_is_set_back_delays_nobody() -> None:
    clock, wall = Clock(), iter([5_000.0])  # asked once
    schedule: Any = CollectionSchedule(60, "n0", clock.sleep, clock, lambda: next(wall)).wait()
    next(schedule), next(schedule)
    assert clock.pauses[1] == 60


@pytest.mark.slow
def test_a_machine_reports_until_it_is_stopped(tmp_path: Path) -> None:
    """The command itself, with a neuron-ls of ours: a busy service, a revoked token, and then an answer each second."""
    program = tmp_path / "neuron-ls"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(neuron_ls())}\nEND\n")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TRNINV_TOKEN": "trninv_x"}
    enough = Event()
    with answering((503, {}), (401, {}), OK, when=(5, enough)) as (url, asked):
        command = [sys.executable, "-m", "trninv", "collect", "--to", url, "--every", "1s", "--host", "n7"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert enough.wait(60)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.decode().splitlines()[:2] == [BODY, BODY]
    messages = err.decode()
    assert f"trninv: {url} responded with 401: full" in messages
    assert {json.loads(body)["host"] for _, _, body in asked} == {"n7"}
