"""Under a limit of memory (`ulimit -v`), commands end with words and a status, and a service answers 503 and lives."""

import json
import os
import resource
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from serving import serving

pytestmark = pytest.mark.slow

_MEGABYTE = 2**20


def _limit(megabytes: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * _MEGABYTE, megabytes * _MEGABYTE))


@pytest.mark.parametrize(
    ("arguments", "megabytes"),
    [
        (["status"], 64),
        (["bisection", "u-trn2x64"], 128),
        (["bisection", "u-trn2x64"], 256),
        (["sql", "SELECT count(*) FROM v_chip"], 192),
        (["serve", "--help"], 192),
        (["serve", "--help"], 256),
    ],
)
def test_a_command_answers_or_says_that_memory_is_short(lite: str, arguments: list[str], megabytes: int) -> None:
    command = [sys.executable, "-P", "-m", "trninv", "--database", lite, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_limit(megabytes))
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0 or (done.returncode == 1 and "emory" in done.stderr), (done.returncode, done.stderr)
    if megabytes == 256:  # enough for these
        assert done.returncode == 0, done.stderr


def test_a_service_without_memory_for_a_request_answers_503_and_goes_on(lite: str) -> None:
    begun = list[subprocess.Popen[bytes]]()
    with serving(lite, begun=begun.append, TRNINV_LOG="off") as url:
        assert _status(url, "/readyz") == 200
        (process,) = begun
        pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0])
        used = pages * os.sysconf("SC_PAGESIZE")
        resource.prlimit(process.pid, resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
        statuses = {_ask(url) for _ in range(5)}
        assert statuses <= {200, 503}
        assert process.poll() is None
        resource.prlimit(process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert _status(url, "/readyz") == 200
        assert _ask(url) == 200  # no failure has taken a thread for ever


def _status(url: str, path: str, body: bytes | None = None) -> int:
    request = urllib.request.Request(f"{url}{path}", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def _ask(url: str) -> int:
    """Ask a question that loads solvers."""
    document = '{ bisection(scope: "u-trn2x64") { __typename } }'
    return _status(url, "/graphql", json.dumps({"query": document}).encode())
