"""Measure a service's first answers to questions about a whole fleet, over HTTP, and the service's memory."""

import json
from collections.abc import Iterator, Sequence
from statistics import median

from bench.api import FLAT, NESTED, peak_memory
from bench.measure import NAME, Row, chip_pairs, sample_domains
from bench.server import Request, Server, run_trninv
from bench.web import QUESTIONS, question_requests
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
_SMALL_DOCUMENTS = (
    "{ clusters { nodes { slug } aggregates { count } } links(first: 1) { nodes { address } } }",
    f"{{ bisection({_SERVER}) {{ definition }} collectives({_SERVER}) {{ definition }} }}",
    '{ report(name: "disputed") { rows } }',
)
_PATH_OPTIONS = ("by: TIME", "by: BANDWIDTH, k: 4", "shape: LINK_DISJOINT", "shape: NODE_DISJOINT")


def whole_rows(name: str, url: str) -> Iterator[Row]:
    """Measure questions and reports about the whole fleet."""
    documents = _DOCUMENTS | {f"report {report}": (_report_document(report), 1.0) for report in read_reports()}
    measurements = [
        _measure_first_answers(url, [document for document, _ in documents.values()]) for _ in range(_TIMES)
    ]
    for (question, (_, mark)), value in zip(documents.items(), zip(*measurements, strict=True), strict=True):
        yield Row(f"HTTP, {question}, {name}", median(value), mark, "the mark", 1.0)


def _report_document(name: str) -> str:
    return f'{{ report(name: "{name}") {{ rows }} }}'


def _measure_first_answers(url: str, documents: Sequence[str]) -> list[float]:
    """Measure the seconds of each document in a service that has only answered similar questions about few parts."""
    with run_trninv(url, **_LIMITS) as server:
        server.responses([Request("/graphql", {"query": document}) for document in _SMALL_DOCUMENTS])
        return [_measure_request(server, Request("/graphql", {"query": document})) for document in documents]


def _measure_request(server: Server, request: Request) -> float:
    ((seconds, body),) = server.send([request])
    assert "errors" not in json.loads(body), body
    return seconds


def memory_row(url: str, domains: int) -> Row:
    """Measure the peak memory of a service that answers every question."""
    with run_trninv(url, **_LIMITS) as server:
        for request in _all_requests(domains):
            _measure_request(server, request)
        peak = peak_memory(server.process)
    return Row("peak memory of a service after every question, SQLite", peak, _MEGABYTES, "the mark", 1.0, "MB")


def _all_requests(domains: int) -> Iterator[Request]:
    for place in ("server", "domain", "across"):
        for question in QUESTIONS:
            yield from question_requests(question, chip_pairs(domains, 40, place))
    for a, b in chip_pairs(domains, 20):
        fields = [
            f'p{index}: path(from: "{a}", to: "{b}", {option}) {{ tiedPaths }}'
            for index, option in enumerate(_PATH_OPTIONS)
        ]
        fields.append(f'bandwidth(from: "{a}", to: "{b}") {{ definition }}')
        yield Request("/graphql", {"query": f"{{ {' '.join(fields)} }}"})
    domain = f'scope: "{NAME}/d{sample_domains(domains)[0]}"'
    for field in ("bisection", "collectives", "cutTree", "distances", "splitProfile"):
        yield Request("/graphql", {"query": f"{{ {field}({domain}) {{ definition }} }}"})
    yield Request("/graphql", {"query": f'{{ memoryPlacement(scope: "{NAME}", bytes: "{2**40}") {{ definition }} }}'})
    lists = [document for document, _ in _DOCUMENTS.values()] + [NESTED, FLAT]
    for document in [*lists, *map(_report_document, read_reports())]:
        yield Request("/graphql", {"query": document})
