"""Workers of one service get the same number of connections, are replaced when they die, and end with their parent."""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from uvicorn.config import STARTUP_FAILURE

WORKERS = 3
PROGRAM = """
import os, socket, sys, uvicorn
from trninv.service.worker_processes import WorkerProcesses

async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        if sys.argv[1] == "fails":
            raise RuntimeError
        for answer in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{answer}.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})

config = uvicorn.Config(application, workers=3, ws="none", log_level="critical", lifespan="on",
                        http="trninv.service.connection_limits:TimeoutProtocol")
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    WorkerProcesses(config, listener).run()
"""


@contextmanager
def _service(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    command = [sys.executable, "-c", PROGRAM, *(arguments or ("starts",))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.terminate()


@contextmanager
def _connected(port: int, number: int) -> Iterator[list[http.client.HTTPConnection]]:
    """Connections that are opened one right after another."""
    with ExitStack() as stack:
        connections = []
        for _ in range(number):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            stack.callback(connection.close)
            connection.connect()
            connections.append(connection)
        yield connections


def _ask(connection: http.client.HTTPConnection) -> int:
    connection.request("GET", "/")
    return int(connection.getresponse().read())


def _wait_until_gone(process: int) -> None:
    for _ in range(600):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.1)
    pytest.fail(f"process {process} has not ended")


def test_connections_opened_at_once_are_spread_evenly() -> None:
    with _service() as (_, port), _connected(port, 10 * WORKERS) as connections:
        processes = Counter(map(_ask, connections))
        assert [*processes.values()] == [10] * WORKERS
        assert Counter(map(_ask, connections)) == processes  # kept alive


def test_a_worker_that_dies_is_replaced_and_others_keep_serving() -> None:
    with _service() as (_, port), _connected(port, WORKERS) as first:
        victim, *others = map(_ask, first)
        os.kill(victim, signal.SIGKILL)
        _wait_until_gone(victim)
        assert [_ask(connection) for connection in first[1:]] == others
        seen = set[int]()
        for _ in range(600):
            # a connection that was passed to the worker before its end was noticed is lost
            with suppress(OSError, http.client.HTTPException), _connected(port, 1) as (connection,):
                seen.add(_ask(connection))
            if len(seen) == WORKERS:
                break
            time.sleep(0.1)
        assert len(seen) == WORKERS
        assert victim not in seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(number: int) -> None:
    with _service() as (parent, port):
        with _connected(port, WORKERS) as connections:
            workers = [*map(_ask, connections)]
        parent.send_signal(number)
        assert parent.wait(60) == (-number if number == signal.SIGKILL else 0)
        for worker in workers:
            _wait_until_gone(worker)


def test_a_service_that_cannot_start_ends() -> None:
    with _service("fails") as (parent, _):
        assert parent.wait(60) == STARTUP_FAILURE
