"""GraphQL and exports over HTTP: compiled documents against field-by-field execution, and against hand-written routes.

Requests are made in process, at the ASGI interface, so that the client costs nothing. The tail and the export are
measured on a separate server.
"""

import asyncio
import http.client
import json
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from bench.measure import Row, seeded
from trninv.service.app import app
from trninv.settings import Settings

TRIVIAL = "{ clusters { nodes { slug } } }"
_CHIPS = (
    "{ chips(first: 100) { nodes { address ordinal state memory { gibibytes } server { address state rack { address } }"
)
NESTED = f"{_CHIPS} links {{ nodes {{ technology scope nominal {{ gigabytesPerSecond }} }} }} }} }} }}"
NAMED = f"{_CHIPS} links {{ nodes {{ address technology nominal {{ gigabytesPerSecond }} }} }} }} }} }}"
"""Includes link addresses: a hand-written route makes each once, the compiled document at both of its ends."""
FLAT = "{ chips(first: 1000) { nodes { id address ordinal state memory { gibibytes } } } }"
CLIENTS = 8
CHIPS = "/export/v_chip.ndjson?columns=address,model,state,hbm_gib"


def api_rows(directory: Path, domains: int) -> Iterator[Row]:
    url = f"sqlite:///{directory}/ours.db"
    seeded(url, domains)
    yield from asyncio.run(_in_process(url, directory / "ours.db"))
    yield from _served(url)


async def _in_process(url: str, file: Path) -> list[Row]:
    compiled, executed = (app(url, Settings(database_url=url, log="off", compiled=how)) for how in (True, False))
    hand = _by_hand(file)
    rows = []
    cases: list[tuple[str, str, str, float | None]] = [
        ("100 chips nested", NESTED, "/nested", 1.35),
        ("100 chips nested, links named", NAMED, "/named", None),
        ("1,000 flat rows", FLAT, "/flat", 1.0),
    ]
    for name, document, path, mark in cases:
        answered, wanted = await _answer(compiled, "/graphql", document), await _answer(hand, path, "")
        assert json.loads(answered)["data"] == json.loads(wanted), name
        ours = compiled, "/graphql", document
        fast, by_hand = await _medians(ours, (hand, path, ""), times=101)
        (slow,) = await _medians((executed, "/graphql", document), times=9)
        rows.append(Row(f"GraphQL, {name}", fast, slow, "field by field with DataLoaders", 1 / 20))
        rows.append(Row(f"GraphQL, {name}", fast, by_hand, "a route by hand", mark))
    fast, bare = await _medians((compiled, "/graphql", TRIVIAL), (hand, "/bare", ""), times=301)
    rows.append(Row("GraphQL, trivial", fast, bare, "a bare route", 5.0))
    return rows


async def _answer(served: ASGIApp, path: str, document: str) -> bytes:
    """The body of one request."""
    sent: list[Message] = []
    body = [{"type": "http.request", "body": orjson.dumps({"query": document}), "more_body": False}]

    async def receive() -> Message:
        if body:
            return body.pop()
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers, "state": {}}
    await served(scope, receive, send)
    assert sent[0]["status"] == HTTPStatus.OK, sent
    return b"".join(message.get("body", b"") for message in sent)


async def _medians(*asked: tuple[ASGIApp, str, str], times: int) -> list[float]:
    """Seconds per request of each kind, taken in turn so that other load on the machine affects them all."""
    taken: list[list[float]] = [[] for _ in asked]
    for _ in range(times):
        for one, times_of in zip(asked, taken, strict=True):
            start = time.perf_counter()
            await _answer(*one)
            times_of.append(time.perf_counter() - start)
    return [statistics.median(some) for some in taken]


def _by_hand(file: Path) -> Starlette:
    """Routes as one would write them for just these answers: SQL, rows, dicts, orjson."""
    connection = sqlite3.connect(file, check_same_thread=False)
    address = "cluster.slug || '/d' || domain.ordinal || '/s' || server.ordinal"
    chips = f"""SELECT chip.id, {address} || '/c' || chip.ordinal, chip.ordinal, upper(node.state), device_memory_bytes,
            {address}, upper(server.state), cluster.slug || '/r' || rack.ordinal
        FROM chip JOIN node ON node.id = chip.id JOIN server ON server.id = chip.server_id
        JOIN domain ON domain.id = server.domain_id JOIN cluster ON cluster.id = domain.cluster_id
        JOIN rack ON rack.id = server.rack_id JOIN chip_model ON chip_model.id = chip.chip_model_id
        ORDER BY chip.id LIMIT ?"""  # noqa: S608 # constants
    on_server = f"SELECT {address} || '%s' || of.ordinal FROM %s AS of JOIN server ON server.id = of.server_id"  # noqa: S608
    joined = "JOIN domain ON domain.id = server.domain_id JOIN cluster ON cluster.id = domain.cluster_id WHERE of.id"
    ends = {
        end: f"coalesce(({on_server % ('/c', 'chip')} {joined} = link.{end}_id), "
        f"({on_server % ('/efa', 'nic')} {joined} = link.{end}_id))"
        for end in "ab"
    }
    links = "SELECT link.a_id, link.b_id, %s, technology, upper(scope), bandwidth_bytes_per_s FROM link "
    links += "WHERE a_id IN (%s) OR b_id IN (%s) ORDER BY link.id"

    def below(ids: list[int], *, named: bool) -> dict[int, list[dict[str, Any]]]:
        name = f"{ends['a']} || '--' || {ends['b']}" if named else "NULL"
        marks = ",".join("?" * len(ids))
        found: dict[int, list[dict[str, Any]]] = {key: [] for key in ids}
        for a, b, address, technology, scope, rate in connection.execute(links % (name, marks, marks), [*ids, *ids]):
            link: dict[str, Any] = {"address": address} if named else {}
            link |= {"technology": technology} if named else {"technology": technology, "scope": scope}
            link["nominal"] = {"gigabytesPerSecond": rate / 10**9}
            for end in (a, b):
                if end in found:
                    found[end].append(link)
        return found

    def nested(request: Request) -> Response:
        rows = connection.execute(chips, [100]).fetchall()
        lists = below([row[0] for row in rows], named=request.url.path == "/named")
        nodes = [
            {
                "address": name,
                "ordinal": ordinal,
                "state": state,
                "memory": {"gibibytes": memory / 2**30},
                "server": {"address": server, "state": of_server, "rack": {"address": rack}},
                "links": {"nodes": lists[key]},
            }
            for key, name, ordinal, state, memory, server, of_server, rack in rows
        ]
        return Response(orjson.dumps({"chips": {"nodes": nodes}}), media_type="application/json")

    def flat(_request: Request) -> Response:
        nodes = [
            {
                "id": f"chip:{key}",
                "address": name,
                "ordinal": o,
                "state": state,
                "memory": {"gibibytes": memory / 2**30},
            }
            for key, name, o, state, memory, *_ in connection.execute(chips, [1000])
        ]
        return Response(orjson.dumps({"chips": {"nodes": nodes}}), media_type="application/json")

    def bare(_request: Request) -> Response:
        return Response(orjson.dumps({"status": "ok"}), media_type="application/json")

    routes: dict[str, Callable[[Request], Response]] = {
        "/nested": nested,
        "/named": nested,
        "/flat": flat,
        "/bare": bare,
    }
    return Starlette(routes=[Route(path, route, methods=["POST"]) for path, route in routes.items()])


@contextmanager
def _server(url: str) -> Iterator[tuple[int, int]]:
    """Port and process of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "TRNINV_LOG": "off"}
    command = [sys.executable, "-m", "trninv", "--database", url, "serve", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(100):
                try:
                    _post(http.client.HTTPConnection("127.0.0.1", port), TRIVIAL)
                    break
                except OSError:
                    time.sleep(0.1)
            yield port, process.pid
        finally:
            process.terminate()


def _post(connection: http.client.HTTPConnection, document: str) -> bytes:
    connection.request("POST", "/graphql", orjson.dumps({"query": document}), {"Content-Type": "application/json"})
    return connection.getresponse().read()


def _served(url: str) -> Iterator[Row]:
    with _server(url) as (port, process):
        p50, p99 = sorted((_tail(port) for _ in range(5)), key=lambda tail: tail[1] / tail[0])[2]
        yield Row(f"GraphQL, 100 chips nested, {CLIENTS} clients: p99", p99, p50, "p50", 5.0)
        _exported(port, "/export/v_server.ndjson")
        few = _memory(process)
        yield Row("export of chips as NDJSON, s for a million", _exported(port, CHIPS), 10.0, "100,000 rows/s", 1.0)
        yield Row("server's memory after exporting the chips", _memory(process), few, "after the servers", 1.1, "MB")


def _exported(port: int, path: str) -> float:
    """Seconds per million exported rows."""
    start, rows = time.perf_counter(), 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", path)
    answer = connection.getresponse()
    while piece := answer.read(1 << 20):
        rows += piece.count(b"\n")
    return 1e6 * (time.perf_counter() - start) / rows


def _tail(port: int) -> tuple[float, float]:
    """Median and 99th percentile of the seconds per request, with concurrent clients."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        taken = sorted(each for some in clients.map(lambda _: _client(port), range(CLIENTS)) for each in some)
    return taken[len(taken) // 2], taken[int(len(taken) * 0.99)]


def _client(port: int) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    taken = []
    for _ in range(60):
        start = time.perf_counter()
        _post(connection, NESTED)
        taken.append(time.perf_counter() - start)
    return taken


def _memory(process: int) -> float:
    """A process's peak memory in megabytes."""
    return int(Path(f"/proc/{process}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
