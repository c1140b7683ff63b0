"""A service in its own process, started as users start it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def await_answer(url: str) -> None:
    """Wait until a service answers, for a minute at most."""
    for _ in range(1_200):
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5):
                return
        except OSError:
            time.sleep(0.05)


@contextmanager
def serving(
    database: str,
    log: IO[bytes] | int = subprocess.DEVNULL,
    *,
    begun: Callable[[subprocess.Popen[bytes]], object] = lambda _: None,
    options: Sequence[str] = (),
    **environment: str,
) -> Iterator[str]:
    """Its URL, once it answers; what it logs goes to a file, if one is given. Who wants it gets the process."""
    port = free_port()
    command = [sys.executable, "-m", "trninv", "--database", database, "serve", "--port", str(port), *options]
    process = subprocess.Popen(command, stderr=log, env=os.environ | environment)
    begun(process)
    url = f"http://127.0.0.1:{port}"
    try:
        await_answer(url)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def workers(parent: int) -> list[Path]:
    """The child processes of a process, as directories of /proc."""
    tasks = Path(f"/proc/{parent}/task").iterdir()
    return [Path("/proc", process) for task in tasks for process in (task / "children").read_text().split()]


def is_running(process: Path) -> bool:
    """Whether a process runs; one that nobody waits for may stay as a zombie."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
