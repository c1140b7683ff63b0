"""Measure GraphQL and exports: compiled documents against field-by-field execution and hand-written routes.

Requests are made in process at the ASGI interface, so that the client costs nothing. The tail latency and the export
are measured on a separate server.
"""

import asyncio
import http.client
import json
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path

import orjson
from starlette.types import ASGIApp, Message

from bench.handwritten_routes import routes
from bench.measure import Row, seed_cluster
from bench.server import Request, Served, ours
from trninv.database.engine import temporary_engine
from trninv.reports.query_runner import stream_query
from trninv.reports.row_formats import encode_lines, stream_rows
from trninv.service.application import create_app
from trninv.settings import Settings

TRIVIAL = "{ clusters { nodes { slug } } }"
_CHIPS = (
    "{ chips(first: 100) { nodes { address ordinal state memory { gibibytes } server { address state rack { address } }"
)
NESTED = f"{_CHIPS} links {{ nodes {{ technology scope nominal {{ gigabytesPerSecond }} }} }} }} }} }}"
NAMED = f"{_CHIPS} links {{ nodes {{ address technology nominal {{ gigabytesPerSecond }} }} }} }} }} }}"
"""Includes link addresses: a hand-written route builds each one once, the compiled document at both of its ends."""
FLAT = "{ chips(first: 1000) { nodes { id address ordinal state memory { gibibytes } } } }"
SEARCHES = {
    "links aggregated": "{ links { aggregates { count bandwidth { bytesPerSecond } } } }",
    "links aggregated by model": "{ links { aggregates(by: [MODEL]) { model count bandwidth { bytesPerSecond } } } }",
    "links below 1 GB/s": (
        "{ links(filter: {bandwidth: {lt: {gigabytesPerSecond: 1}}}, first: 5) { nodes { address } } }"
    ),
}
"""Documents that read every link; at the size of Project Rainier the mark is 0.3 s."""
FINDS = {
    "a partial domain address": '{ search(text: "rainier/d1") { kind name target { address } } }',
    "a chip near a server": '{ search(text: "s1/c5", near: "rainier/d0/s3") { kind name target { address } } }',
    "no match": '{ search(text: "nowhere", near: "rainier/d0/s3") { kind name } }',
}
"""Searches of the command palette; at the size of Project Rainier the mark is 0.05 s."""
CLIENTS = 8
CHIPS = "/export/v_chip.ndjson?columns=address,model,state,hbm_gib"


def api_rows(directory: Path, domains: int) -> Iterator[Row]:
    url = f"sqlite:///{directory}/ours.db"
    seed_cluster(url, domains)
    yield from asyncio.run(_in_process(url, directory / "ours.db"))
    yield from _served(url)
    yield _written(url)


async def _in_process(url: str, file: Path) -> list[Row]:
    compiled, executed = (create_app(url, Settings(database_url=url, log="off", compiled=how)) for how in (True, False))
    hand = routes(file)
    rows = []
    cases: list[tuple[str, str, str, float | None]] = [
        ("100 chips nested", NESTED, "/nested", 1.35),
        ("100 chips nested, with link addresses", NAMED, "/named", None),
        ("1,000 flat rows", FLAT, "/flat", 1.0),
    ]
    for name, document, path, mark in cases:
        answered, wanted = await _answer(compiled, "/graphql", document), await _answer(hand, path, "")
        assert json.loads(answered)["data"] == json.loads(wanted), name
        asked = compiled, "/graphql", document
        fast, by_hand = await _medians(asked, (hand, path, ""), times=101)
        (slow,) = await _medians((executed, "/graphql", document), times=9)
        rows.append(Row(f"GraphQL, {name}", fast, slow, "field by field with DataLoaders", 1 / 20))
        rows.append(Row(f"GraphQL, {name}", fast, by_hand, "a hand-written route", mark))
    fast, bare = await _medians((compiled, "/graphql", TRIVIAL), (hand, "/bare", ""), times=301)
    rows.append(Row("GraphQL, trivial", fast, bare, "a bare route", 5.0))
    for name, document in SEARCHES.items():
        (took,) = await _medians((compiled, "/graphql", document), times=3)
        rows.append(Row(f"GraphQL, {name}", took, 0.3, "the mark", 1.0))
    for name, document in FINDS.items():
        (took,) = await _medians((compiled, "/graphql", document), times=21)
        rows.append(Row(f"GraphQL, search, {name}", took, 0.05, "the mark", 1.0))
    return rows


async def _answer(served: ASGIApp, path: str, document: str) -> bytes:
    """Return the body of one response."""
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
    """Measure seconds per request of each kind, in turn so that other load on the machine affects them all."""
    taken: list[list[float]] = [[] for _ in asked]
    for _ in range(times):
        for one, times_of in zip(asked, taken, strict=True):
            start = time.perf_counter()
            await _answer(*one)
            times_of.append(time.perf_counter() - start)
    return [statistics.median(some) for some in taken]


def _served(url: str) -> Iterator[Row]:
    with ours(url) as server:
        p50, p99 = sorted((_tail(server) for _ in range(5)), key=lambda tail: tail[1] / tail[0])[2]
        yield Row(f"GraphQL, 100 chips nested, {CLIENTS} clients: p99", p99, p50, "p50", 5.0)
        _exported(server.port, "/export/v_server.ndjson")
        few = memory(server.process)
        yield Row(
            "export of chips as NDJSON, per million rows", _exported(server.port, CHIPS), 10.0, "100,000 rows/s", 1.0
        )
        yield Row(
            "server memory after exporting chips", memory(server.process), few, "after exporting servers", 1.1, "MB"
        )


def _written(url: str) -> Row:
    """Compare NDJSON written by SQLite with NDJSON written by Python, in processor seconds of this process."""
    query = "SELECT address, model, state, hbm_gib FROM v_chip"

    def by_python() -> None:
        with temporary_engine(url) as engine, stream_query(engine, query, seconds=600) as found:
            deque(encode_lines(found, "ndjson"), maxlen=0)

    def ours() -> None:
        with temporary_engine(url) as engine, stream_rows(engine, query, "ndjson", seconds=600) as found:
            deque(found, maxlen=0)

    taken = [(_used(ours), _used(by_python)) for _ in range(5)]
    took, baseline = map(statistics.median, zip(*taken, strict=True))
    return Row("export of chips, NDJSON written by SQLite", took, baseline, "NDJSON written by Python", 0.7)


def _used(run: Callable[[], None]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _exported(port: int, path: str) -> float:
    """Export a file and return the seconds per million rows."""
    start, rows = time.perf_counter(), 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", path)
    answer = connection.getresponse()
    while piece := answer.read(1 << 20):
        rows += piece.count(b"\n")
    return 1e6 * (time.perf_counter() - start) / rows


def _tail(server: Served) -> tuple[float, float]:
    """Measure the median and the 99th percentile of seconds per request, with concurrent clients."""
    taken = sorted(server.each([Request("/graphql", {"query": NESTED})] * 60 * CLIENTS, CLIENTS))
    return taken[len(taken) // 2], taken[int(len(taken) * 0.99)]


def memory(process: int) -> float:
    """Return a process's peak memory in megabytes."""
    return int(Path(f"/proc/{process}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
