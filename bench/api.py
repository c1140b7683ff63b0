"""Measure GraphQL and exports: compiled documents against hand-written routes.

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

from queries import snapshot_of, stream_query
from starlette.types import ASGIApp, Message

from bench.handwritten_routes import routes
from bench.measure import Row, seed_cluster
from bench.server import Request, Server, encode_body, run_trninv
from trninv.database.engine import temporary_engine
from trninv.reports.row_formats import encode_lines, stream_rows
from trninv.service.application import create_app
from trninv.settings import Settings

TRIVIAL = "{ clusters { nodes { slug } } }"
_CHIPS = (
    "{ chips(first: 100) { nodes { address ordinal state memory { gibibytes } server { address state rack { address } }"
)
NESTED = f"{_CHIPS} links {{ nodes {{ technology scope nominal {{ gigabytesPerSecond }} }} }} }} }} }}"
NAMED = f"{_CHIPS} links {{ nodes {{ address technology nominal {{ gigabytesPerSecond }} }} }} }} }} }}"
"""Includes link addresses: a hand-written route builds each one once, the compiled document once for either end."""
FLAT = "{ chips(first: 1000) { nodes { id address ordinal state memory { gibibytes } } } }"
LINK_DOCUMENTS = {
    "links aggregated": "{ links { aggregates { count bandwidth { bytesPerSecond } } } }",
    "links aggregated by model": "{ links { aggregates(by: [MODEL]) { model count bandwidth { bytesPerSecond } } } }",
    "links below 1 GB/s": (
        "{ links(filter: {bandwidth: {lt: {gigabytesPerSecond: 1}}}, first: 5) { nodes { address } } }"
    ),
}
"""Documents that read every link; at the size of Project Rainier the mark is 0.3 s."""
SEARCHES = {
    "a partial domain address": '{ search(text: "rainier/d1") { kind name target { address } } }',
    "a chip near a server": '{ search(text: "s1/c5", near: "rainier/d0/s3") { kind name target { address } } }',
    "no match": '{ search(text: "nowhere", near: "rainier/d0/s3") { kind name } }',
}
"""Searches of the command palette; at the size of Project Rainier the mark is 0.05 s."""
CLIENTS = 8
"""Concurrent clients of the tail latency."""
CHIPS = "/export/v_chip.ndjson?columns=address,model,state,hbm_gib"


def api_rows(directory: Path, domains: int) -> Iterator[Row]:
    url = f"sqlite:///{directory}/fleet.db"
    seed_cluster(url, domains)
    yield from asyncio.run(_measure_in_process(url, directory / "fleet.db"))
    yield from _measure_server(url)
    yield _measure_writing(url)


async def _measure_in_process(url: str, file: Path) -> list[Row]:
    compiled = create_app(url, Settings(database_url=url, log="off"))
    handwritten = routes(file)
    rows = []
    cases: list[tuple[str, str, str, float | None]] = [
        ("100 chips nested", NESTED, "/nested", 1.35),
        ("100 chips nested, with link addresses", NAMED, "/named", None),
        ("1,000 flat rows", FLAT, "/flat", 1.0),
    ]
    for name, document, path, mark in cases:
        body, expected = await _post(compiled, "/graphql", document), await _post(handwritten, path, "")
        assert json.loads(body)["data"] == json.loads(expected), name
        case = compiled, "/graphql", document
        compiled_seconds, handwritten_seconds = await _median_seconds(case, (handwritten, path, ""), times=101)
        rows.append(Row(f"GraphQL, {name}", compiled_seconds, handwritten_seconds, "a hand-written route", mark))
    compiled_seconds, baseline = await _median_seconds(
        (compiled, "/graphql", TRIVIAL), (handwritten, "/bare", ""), times=301
    )
    rows.append(Row("GraphQL, trivial", compiled_seconds, baseline, "a bare route", 5.0))
    for name, document in LINK_DOCUMENTS.items():
        (value,) = await _median_seconds((compiled, "/graphql", document), times=3)
        rows.append(Row(f"GraphQL, {name}", value, 0.3, "the mark", 1.0))
    for name, document in SEARCHES.items():
        (value,) = await _median_seconds((compiled, "/graphql", document), times=21)
        rows.append(Row(f"GraphQL, search, {name}", value, 0.05, "the mark", 1.0))
    return rows


async def _post(application: ASGIApp, path: str, document: str) -> bytes:
    """Return the body of one response."""
    sent: list[Message] = []
    body = [{"type": "http.request", "body": encode_body({"query": document}), "more_body": False}]

    async def receive() -> Message:
        if body:
            return body.pop()
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers, "state": {}}
    await application(scope, receive, send)
    assert sent[0]["status"] == HTTPStatus.OK, sent
    return b"".join(message.get("body", b"") for message in sent)


async def _median_seconds(*cases: tuple[ASGIApp, str, str], times: int) -> list[float]:
    """Measure the median seconds of each kind of request, in turn, so that other load on the machine affects all."""
    samples: list[list[float]] = [[] for _ in cases]
    for _ in range(times):
        for case, durations in zip(cases, samples, strict=True):
            start = time.perf_counter()
            await _post(*case)
            durations.append(time.perf_counter() - start)
    return [statistics.median(durations) for durations in samples]


def _measure_server(url: str) -> Iterator[Row]:
    with run_trninv(url) as server:
        p50, p99 = sorted((_measure_tail(server) for _ in range(5)), key=lambda tail: tail[1] / tail[0])[2]
        yield Row(f"GraphQL, 100 chips nested, {CLIENTS} clients: p99", p99, p50, "p50", 5.0)
        _export_seconds(server.port, "/export/v_server.ndjson")
        baseline = peak_memory(server.process)
        yield Row(
            "export of chips as NDJSON, per million rows",
            _export_seconds(server.port, CHIPS),
            10.0,
            "100,000 rows/s",
            1.0,
        )
        yield Row(
            "server memory after exporting chips",
            peak_memory(server.process),
            baseline,
            "after exporting servers",
            1.1,
            "MB",
        )


def _measure_writing(url: str) -> Row:
    """Compare NDJSON written by SQLite with NDJSON written by Python, in processor seconds of this process."""
    query = "SELECT address, model, state, hbm_gib FROM v_chip"

    def write_in_python() -> None:
        with temporary_engine(url) as engine, stream_query(engine, query, seconds=600) as rows:
            deque(encode_lines(rows, "ndjson"), maxlen=0)

    def write_in_sqlite() -> None:
        with (
            temporary_engine(url) as engine,
            snapshot_of(engine) as snapshot,
            stream_rows(snapshot, query, "ndjson", seconds=600) as pieces,
        ):
            deque(pieces, maxlen=0)

    measurements = [(_process_seconds(write_in_sqlite), _process_seconds(write_in_python)) for _ in range(5)]
    value, baseline = map(statistics.median, zip(*measurements, strict=True))
    return Row("export of chips, NDJSON written by SQLite", value, baseline, "NDJSON written by Python", 0.7)


def _process_seconds(run: Callable[[], None]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _export_seconds(port: int, path: str) -> float:
    """Export a file and return the seconds per million rows."""
    start, rows = time.perf_counter(), 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", path)
    response = connection.getresponse()
    while piece := response.read(1 << 20):
        rows += piece.count(b"\n")
    return 1e6 * (time.perf_counter() - start) / rows


def _measure_tail(server: Server) -> tuple[float, float]:
    """Measure the median and the 99th percentile of seconds per request, with concurrent clients."""
    durations = sorted(server.response_seconds([Request("/graphql", {"query": NESTED})] * 60 * CLIENTS, CLIENTS))
    return durations[len(durations) // 2], durations[int(len(durations) * 0.99)]


def peak_memory(process: int) -> float:
    """Return a process's peak memory in megabytes."""
    return int(Path(f"/proc/{process}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
