"""`trninv serve` with a file of checks: refused if malformed, evaluated beside the service, in any worker the same."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from flaky_receiver import SECRET_TEXT, flaky_receiver
from hearing import change

from conftest import Databases, Run
from serving import is_running, serving, workers
from trninv.database.engine import temporary_engine

CHECKS = "checks:\n- {name: up, incidents: {severity: medium}}\n"


def test_a_malformed_file_is_refused_before_anything_starts(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text("checks:\n- incidents: {older_than: soon}\n")
    monkeypatch.setenv("TRNINV_CHECKS", str(file))
    status, out, err = run("serve", "--port", "0")
    assert (status, out) == (2, "")
    assert ":2: older_than 'soon': write seconds, minutes or hours" in " ".join(err.split())
    file.unlink()
    status, _, err = run("serve", "--port", "0")
    assert (status, "is not a file" in err) == (2, True)


def test_a_watch_is_of_the_latest_state(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text(CHECKS)
    status, _, err = run("check", str(file), "--watch", str(tmp_path / "results"), "--at", "1")
    assert (status, "omit --at" in err) == (2, True)


def _verdict(url: str) -> str | None:
    body = json.dumps({"query": "{ checks { verdict } }"}).encode()
    request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        checks = json.load(answer)["data"]["checks"]
    return str(checks[0]["verdict"]) if checks else None


def _await_verdict(url: str, verdict: str, workers: int) -> None:
    """Wait until every worker answers with a verdict; connections go to the workers in turn."""
    _await(lambda: [_verdict(url) for _ in range(workers)] == [verdict] * workers)


def _await(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end, "it did not come within a minute"
        time.sleep(0.1)


@pytest.mark.slow
def test_a_service_evaluates_its_checks_once_for_all_workers_after_each_change(
    databases: Databases, tmp_path: Path
) -> None:
    url, file, begun = databases.seeded("sqlite"), tmp_path / "checks.yaml", list[subprocess.Popen[bytes]]()
    file.write_text(CHECKS)
    receivers = tmp_path / "receivers.yaml"
    with ExitStack() as stack:
        flaky = stack.enter_context(flaky_receiver())
        receivers.write_bytes(flaky.file(selections="checks: {}"))
        service = stack.enter_context(
            serving(
                url,
                begun=begun.append,
                options=("--workers", "2"),
                TRNINV_CHECKS=str(file),
                TRNINV_SERVICE="https://elsewhere.example",  # which processes beside the service must not ask
                TRNINV_WEBHOOKS=str(receivers),
                PAGER=SECRET_TEXT,
            )
        )
        _await_verdict(service, "PASSED", 2)
        with temporary_engine(url) as engine:
            change(engine, "u-trn2x64/d0/s0/c1", "down")
        _await_verdict(service, "FAILED", 2)
        _await(lambda: bool(flaky.accepted))
        children = {child: (child / "cmdline").read_bytes() for child in workers(begun[0].pid)}
        (watch,) = [child for child, command in children.items() if b"--watch" in command]
        results = Path(os.fsdecode((watch / "cmdline").read_bytes().split(b"\0")[-2]))
        assert results.is_file()
    assert [(body["type"], body["data"]["name"]) for body in flaky.accepted] == [("check.failed", "up")]
    assert not is_running(watch)
    assert not results.parent.exists()
