"""Start servers in separate processes, send requests over kept-alive connections, and read processor times."""

import asyncio
import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson

TRNINV = (sys.executable, "-m", "trninv")
"""The command line."""
_TICKS = os.sysconf("SC_CLK_TCK")


_numbers = itertools.count()


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Encode a body as JSON; a variable that no document uses makes each GraphQL request new.

    A service would answer a repeated request with the response that it kept.
    """
    if "query" in body:
        body = {**body, "variables": {**body.get("variables", {}), "request": next(_numbers)}}
    return orjson.dumps(body)


@dataclass(frozen=True)
class Request:
    """A path and the body to post to it as JSON; a repeated request may get the response that was kept."""

    path: str
    body: dict[str, object]
    is_repeated: bool = False
    token: str = ""

    def encode(self) -> bytes:
        """Encode the request as HTTP/1.1."""
        body = orjson.dumps(self.body) if self.is_repeated else encode_body(self.body)
        head = f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass(frozen=True)
class Server:
    """The port and the process of a running server."""

    port: int
    process: int

    def seconds(self, requests: Sequence[Request], connections: int = 1) -> float:
        """Send requests over some connections, one after another on each, and return the seconds per request."""
        start = time.perf_counter()
        self.responses(requests, connections)
        return (time.perf_counter() - start) / len(requests)

    def response_seconds(self, requests: Sequence[Request], connections: int = 1) -> list[float]:
        """Send requests and return the seconds of every request."""
        return [seconds for seconds, _ in self.send(requests, connections)]

    def responses(self, requests: Sequence[Request], connections: int = 1) -> list[bytes]:
        """Send requests and return the bodies of the responses."""
        return [body for _, body in self.send(requests, connections)]

    def send(self, requests: Sequence[Request], connections: int = 1) -> list[tuple[float, bytes]]:
        """Send requests and return seconds and body of each.

        A single connection uses a blocking socket, as the drivers of the peers do.
        """
        if connections == 1:
            return self._send_blocking(requests)

        async def send_all() -> list[tuple[float, bytes]]:
            connection_results = (self._send_async(requests[number::connections]) for number in range(connections))
            return [response for results in await asyncio.gather(*connection_results) for response in results]

        return asyncio.run(send_all())

    def _send_blocking(self, requests: Iterable[Request]) -> list[tuple[float, bytes]]:
        results = []
        with socket.create_connection(("127.0.0.1", self.port)) as connection, connection.makefile("rb") as stream:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for request in requests:
                encoded = request.encode()
                start = time.perf_counter()
                connection.sendall(encoded)
                status = int(stream.readline().split()[1])
                size = 0
                while (line := stream.readline()) != b"\r\n":
                    name, _, value = line.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                body = stream.read(size)
                results.append((time.perf_counter() - start, body))
                assert status == HTTPStatus.OK, body
        return results

    async def _send_async(self, requests: Iterable[Request]) -> list[tuple[float, bytes]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        results = []
        for request in requests:
            encoded = request.encode()
            start = time.perf_counter()
            writer.write(encoded)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            body = await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
            results.append((time.perf_counter() - start, body))
            assert int(head.split()[1]) == HTTPStatus.OK, body
        writer.close()
        return results


@contextmanager
def run_server(command: Sequence[str], **environment: str) -> Iterator[Server]:
    """Run a server until the context ends; ``{port}`` in its command is replaced by a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [word.format(port=port) for word in command]
    with subprocess.Popen(words, env=os.environ | environment, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for_port(port, process)
            yield Server(port, process.pid)
        finally:
            process.terminate()


def _wait_for_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert process.poll() is None, "the server has ended"
            time.sleep(0.02)
        else:
            return


@contextmanager
def run_trninv(url: str, **environment: str) -> Iterator[Server]:
    """Run ``trninv serve`` on a database until the context ends."""
    command = [*TRNINV, "--database", url, "serve", "--port", "{port}"]
    with run_server(command, TRNINV_LOG="off", **environment) as server:
        yield server


def processor_time(processes: Iterable[int], *, ended: bool = False) -> float:
    """Return the processor seconds used so far by processes, or by those of their children that have ended."""
    return sum(_ticks(process, 13 if ended else 11) for process in processes) / _TICKS


def _ticks(process: int, field: int) -> int:
    """Return user time plus system time, which is the next field in /proc/PID/stat after the process's name."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(after_name[field]) + int(after_name[field + 1])


def scheduled_seconds(process: int) -> float:
    """Return the seconds that a process of one thread ran on a processor, to the microsecond."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9


def child_processes(parent: int, name: str) -> list[int]:
    """Return the child processes whose command line contains a name."""
    processes = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [child for child in processes if _is_child(child, parent, name)]


def _is_child(process: int, parent: int, name: str) -> bool:
    try:
        parent_process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        return parent_process == parent and name in Path(f"/proc/{process}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
