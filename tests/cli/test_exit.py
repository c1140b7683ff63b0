"""The end of a command's process, which does not free its memory object by object."""

import atexit
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from trninv.cli import main

_PROGRAM = """
import atexit, sys, trninv.cli.main as commands
atexit.register(print, "handler")
sys.argv = ["trninv", *sys.argv[1:]]
commands.run()
"""


def _run(*arguments: str, stdout: int = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False
    )


@pytest.mark.slow
def test_output_and_exit_handlers_are_complete(lite: str, tmp_path: Path) -> None:
    shutil.copy(lite.removeprefix("sqlite:///"), tmp_path / "fleet.db")
    url = f"sqlite:///{tmp_path}/fleet.db"
    shown = _run("--database", url, "status")
    assert shown.stdout.endswith("handler\n")
    assert [file.name for file in tmp_path.iterdir()] == ["fleet.db"]  # connections are closed: no file of the WAL
    missing = _run("--database", url, "show", "nowhere")
    assert (missing.returncode, missing.stdout) == (1, "handler\n")
    assert "nowhere" in missing.stderr
    assert _run("--nonsense").returncode == 2


def test_a_full_disk_is_a_failure() -> None:
    with Path("/dev/full").open("w") as full:
        completed = _run("--version", stdout=full.fileno())
    assert completed.returncode
    assert "No space left on device" in completed.stderr


@pytest.mark.parametrize(
    "closed", [">&- 2>&-", *(pytest.param(one, marks=pytest.mark.slow) for one in (">&-", "2>&-"))]
)
def test_a_closed_stream_is_no_failure(lite: str, closed: str) -> None:
    """As cron jobs and daemons close them."""
    command = f'exec "$0" -m trninv --database "$1" systems {closed}'
    completed = subprocess.run(["sh", "-c", command, sys.executable, lite], capture_output=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, b"")


def test_a_process_with_threads_ends_in_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = list[int]()
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(sys, "argv", ["trninv", "--version"])
    monkeypatch.setattr(atexit, "_run_exitfuncs", lambda: None)
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    with pytest.raises(SystemExit):
        main.run()
    release.set()
    thread.join()
    assert not ended
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest has threads
    with pytest.raises(AssertionError):
        main.run()
    assert ended == [0]
