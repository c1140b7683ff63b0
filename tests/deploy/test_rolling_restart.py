"""deploy/rolling-restart behind nginx, as deploy/nginx/trninv.conf sets it up: no request fails, no event is lost."""

import json
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event, Thread

import pytest
from rolling import STOP, Proxy, answers, proxied, wait

from conftest import Databases
from examples import ROOT
from trninv.database.engine import read_transaction, temporary_engine
from trninv.history.events import last_event_number

pytestmark = pytest.mark.slow

_REQUESTS = 3_000  # ./run bench --section upgrade sends 10,000
_THREADS = 6
_CLUSTERS = "/graphql?query=%7B%20clusters%20%7B%20totalCount%20%7D%20%7D"
_SET = (
    'mutation {{ setState(input: {{addresses: ["u-trn2x64/d0/s0/c{chip}"], state: {state}, why: "test", who: "me"}}) '
    "{{ __typename }} }}"
)


@pytest.fixture
def proxy(databases: Databases, tmp_path: Path) -> Iterator[Proxy]:
    with proxied(tmp_path, databases.seeded("sqlite")) as made:
        yield made


@dataclass
class _Load:
    """Clients that send requests until they are told to stop.

    Attributes
    ----------
    answered
        The number of answers by thread.
    failures
        What was not answered with 200 and data.
    changes
        The number of changes that were acknowledged.
    events
        The numbers of the events that the listener received, in their order.
    streams
        How often the listener connected.
    last_event
        The number of the event after which the listener is done.

    """

    port: int
    stop: Event = field(default_factory=Event)
    answered: list[int] = field(default_factory=lambda: [0] * _THREADS)
    failures: list[str] = field(default_factory=list)
    changes: int = 0
    events: list[int] = field(default_factory=list)
    streams: int = 0
    last_event: int | None = None

    def _send(self, method: str, path: str, body: str | None = None) -> None:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", "Connection": "close"})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or b'"errors"' in content:
                self.failures.append(f"{method} {path}: {answer.status} {content[:200]!r}")
        except (OSError, HTTPException) as error:
            self.failures.append(f"{method} {path}: {error!r}")
        finally:
            connection.close()

    def ask(self, thread: int) -> None:
        question = json.dumps({"query": '{ resolve(address: "u-trn2x64/d0/s0") { address } }'})
        requests = ("GET", _CLUSTERS), ("POST", "/graphql", question), ("GET", "/chips/u-trn2x64"), ("GET", "/readyz")
        while not self.stop.is_set():
            self._send(*requests[self.answered[thread] % len(requests)])
            self.answered[thread] += 1

    def change(self) -> None:
        while not self.stop.wait(0.2):
            state = "DOWN" if self.changes // 16 % 2 == 0 else "UP"
            self._send("POST", "/graphql", json.dumps({"query": _SET.format(chip=self.changes % 16, state=state)}))
            self.changes += 1

    def listen(self) -> None:
        """As EventSource does: connect again when a stream ends, and continue after the last event."""
        while not self._has_all_events():
            connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
            headers = {"Last-Event-ID": str(self.events[-1] if self.events else 0), "Accept": "text/event-stream"}
            try:
                connection.request("GET", "/changes", headers=headers)
                answer = connection.getresponse()
            except (OSError, HTTPException) as error:
                self.failures.append(f"/changes: {error!r}")
                continue
            if answer.status != 200:
                self.failures.append(f"/changes: {answer.status}")
                continue
            self.streams += 1
            with suppress(OSError, HTTPException):  # a stream may end in the middle of a heartbeat
                self._read_events(answer)
            connection.close()

    def _read_events(self, lines: Iterator[bytes]) -> None:
        number = 0
        for line in lines:
            if line.startswith(b"id: "):
                number = int(line.removeprefix(b"id: "))
            elif line.startswith(b"data: "):
                self.events.append(number)
            if self._has_all_events():
                return

    def _has_all_events(self) -> bool:
        return self.last_event is not None and self.events[-1:] >= [self.last_event]


def test_no_request_fails_while_both_processes_restart(proxy: Proxy) -> None:
    load = _Load(proxy.plain)
    before = proxy.process_ids()
    clients = [Thread(target=load.ask, args=(number,)) for number in range(_THREADS)]
    clients.append(Thread(target=load.change))
    listener = Thread(target=load.listen)
    for thread in (*clients, listener):
        thread.start()
    try:
        with proxy.restart() as restart:
            out, error = restart.communicate(timeout=300)
        assert restart.returncode == 0, error
        wait(lambda: sum(load.answered) >= _REQUESTS, 300)
    finally:
        load.stop.set()
        for thread in clients:
            thread.join()
        with (
            temporary_engine(proxy.environment["TRNINV_DATABASE_URL"]) as engine,
            read_transaction(engine) as connection,
        ):
            load.last_event = last_event_number(connection)
        listener.join(60)
    assert out == "".join(f"restarted the process on port {port}\n" for port in proxy.processes)
    assert not set(before) & set(proxy.process_ids())
    assert load.failures == []
    assert sum(load.answered) >= _REQUESTS
    assert load.streams >= 2  # the first stream was of one of the two processes
    assert load.last_event
    assert load.last_event >= load.changes > 10
    assert load.events == list(range(1, load.last_event + 1))
    assert " down" not in (proxy.directory / "trninv-upstream.inc").read_text()


def test_tls_and_what_the_proxy_keeps_to_itself(proxy: Proxy) -> None:
    trusted = ssl.create_default_context(cafile=str(proxy.directory / "trninv.pem"))
    with (
        socket.create_connection(("127.0.0.1", proxy.secure)) as plain,
        trusted.wrap_socket(plain, server_hostname="trninv.example") as secured,
    ):
        secured.sendall(b"GET /healthz HTTP/1.1\r\nHost: trninv.example\r\nConnection: close\r\n\r\n")
        assert secured.makefile("rb").read().startswith(b"HTTP/1.1 200")
    for path, status in (("/metrics", 403), ("/readyz", 200)):
        connection = HTTPConnection("127.0.0.1", proxy.plain)
        connection.request("GET", path)
        assert connection.getresponse().status == status
        connection.close()


def test_a_process_that_does_not_come_back_stops_the_restart(proxy: Proxy) -> None:
    (proxy.directory / "restart").write_text(STOP.format(directory=proxy.directory))
    proxy.environment |= {"READY_SECONDS": "1", "DRAIN": "1"}
    with proxy.restart() as restart:
        _, error = restart.communicate(timeout=60)
    assert (restart.returncode, f"port {proxy.processes[0]} is not ready" in error) == (1, True)
    assert answers(f"http://127.0.0.1:{proxy.plain}/readyz")
    with proxy.restart() as again:
        _, error = again.communicate(timeout=60)
    assert (again.returncode, "put it back" in error) == (1, True)


def test_one_process_alone_is_not_restarted(tmp_path: Path) -> None:
    upstream = tmp_path / "upstream.inc"
    upstream.write_text("server 127.0.0.1:8001;\n")
    environment = os.environ | {"UPSTREAM": str(upstream), "RELOAD": "false", "RESTART": "false "}
    done = subprocess.run(
        [ROOT / "deploy" / "rolling-restart"], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "fewer than two" in done.stderr) == (1, True)
