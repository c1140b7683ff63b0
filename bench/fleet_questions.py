"""Measure questions about a whole fleet over HTTP, each the first of its kind to a service, and the service's memory."""

import json
from collections.abc import Iterator, Sequence
from statistics import median

from bench.api import FLAT, NESTED, memory
from bench.measure import NAME, Row, sample_domains, chip_pairs
from bench.server import Request, Served, ours
from bench.web import ROUTED, routed
from trninv.reports.report_library import read_reports

_TIMES = 3
_MEGABYTES = 150.0
_LIMITS = {"TRNINV_REQUEST_SECONDS": "280", "TRNINV_MAX_COST": "1000000000"}
"""Wide limits, so that slow answers are measured and not refused."""

_DOCUMENTS = {
    "aggregates of links": ("{ links { aggregates(by: [STATE, MODEL]) { state model count } } }", 0.3),
    "links filtered by current bandwidth": (
        "{ links(first: 50, filter: {bandwidth: {lt: {gigabytesPerSecond: 50}}}) { totalCount nodes { address } } }",
        0.3,
    ),
    "bisection of the cluster": (f'{{ bisection(scope: "{NAME}") {{ lower {{ bytesPerSecond }} }} }}', 0.5),
    "collectives of the cluster": (f'{{ collectives(scope: "{NAME}") {{ chips }} }}', 0.5),
}
_SERVER = f'scope: "{NAME}/d0/s0"'
_LITTLE = (
    "{ clusters { nodes { slug } aggregates { count } } links(first: 1) { nodes { address } } }",
    f"{{ bisection({_SERVER}) {{ definition }} collectives({_SERVER}) {{ definition }} }}",
    '{ report(name: "disputed") { rows } }',
)
_SHAPES = ("by: TIME", "by: BANDWIDTH, k: 4", "shape: LINK_DISJOINT", "shape: NODE_DISJOINT")


def whole_rows(name: str, url: str) -> Iterator[Row]:
    asked = _DOCUMENTS | {f"report {each}": (_report(each), 1.0) for each in read_reports()}
    taken = [_first_answers(url, [document for document, _ in asked.values()]) for _ in range(_TIMES)]
    for (what, (_, mark)), took in zip(asked.items(), zip(*taken, strict=True), strict=True):
        yield Row(f"HTTP, {what}, {name}", median(took), mark, "the mark", 1.0)


def _report(name: str) -> str:
    return f'{{ report(name: "{name}") {{ rows }} }}'


def _first_answers(url: str, documents: Sequence[str]) -> list[float]:
    """Measure the seconds of each document in a service that has only answered similar questions about few parts."""
    with ours(url, **_LIMITS) as server:
        server.answers([Request("/graphql", {"query": each}) for each in _LITTLE])
        return [_answered(server, Request("/graphql", {"query": each})) for each in documents]


def _answered(server: Served, request: Request) -> float:
    ((taken, body),) = server.timed([request])
    assert "errors" not in json.loads(body), body
    return taken


def memory_row(url: str, domains: int) -> Row:
    """Measure the peak memory of a service that answers every question."""
    with ours(url, **_LIMITS) as server:
        for request in _everything(domains):
            _answered(server, request)
        peak = memory(server.process)
    return Row("peak memory of a service after every question, SQLite", peak, _MEGABYTES, "the mark", 1.0, "MB")


def _everything(domains: int) -> Iterator[Request]:
    for place in ("server", "domain", "across"):
        for question in ROUTED:
            yield from routed(question, chip_pairs(domains, 40, place))
    for a, b in chip_pairs(domains, 20):
        fields = [f'p{at}: path(from: "{a}", to: "{b}", {how}) {{ tiedPaths }}' for at, how in enumerate(_SHAPES)]
        fields.append(f'bandwidth(from: "{a}", to: "{b}") {{ definition }}')
        yield Request("/graphql", {"query": f"{{ {' '.join(fields)} }}"})
    domain = f'scope: "{NAME}/d{sample_domains(domains)[0]}"'
    for field in ("bisection", "collectives", "cutTree", "distances", "splitProfile"):
        yield Request("/graphql", {"query": f"{{ {field}({domain}) {{ definition }} }}"})
    yield Request("/graphql", {"query": f'{{ memoryPlacement(scope: "{NAME}", bytes: "{2**40}") {{ definition }} }}'})
    lists = [document for document, _ in _DOCUMENTS.values()] + [NESTED, FLAT]
    for document in [*lists, *map(_report, read_reports())]:
        yield Request("/graphql", {"query": document})
