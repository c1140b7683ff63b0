"""List how fast each server can be, for health checks and Prometheus (`expected`)."""

from collections.abc import Iterator
from typing import Any, Final

import click

from trninv.cli.output import print_revision
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import ask_and_print, build_command, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.routing.questions import find
from trninv.routing.questions.expected_bandwidth import ExpectedBandwidthAnswer

_EXPECTED = find("expected_bandwidth")
_LABELS: Final = ("address", "machine", "operation")
_BANDWIDTH, _SECONDS = "trninv_expected_bytes_per_second", "trninv_expected_seconds"
_HELP: Final = {
    _BANDWIDTH: "Limit of the wiring as bus, algorithm or nccom-test's bus bandwidth, and the requested minimum.",
    _SECONDS: "Shortest time of an operation on so many bytes.",
}


class _Collector:
    """Metrics of an answer, as prometheus_client collects them."""

    def __init__(self, answer: ExpectedBandwidthAnswer) -> None:
        self._answer = answer

    def collect(self) -> Iterator[Any]:
        """Yield both metrics."""
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 # slow, and only --prometheus needs it

        bandwidth = GaugeMetricFamily(_BANDWIDTH, _HELP[_BANDWIDTH], labels=(*_LABELS, "measure"))
        seconds = GaugeMetricFamily(_SECONDS, _HELP[_SECONDS], labels=(*_LABELS, "bytes"))
        for expected in self._answer.operations:
            labels = (expected.address, expected.machine or "", expected.operation)
            measures = {
                "bus": expected.limit,
                "algorithm": expected.algorithm_limit,
                "nccom": expected.nccom_limit,
                "minimum": expected.minimum,
            }
            for measure, value in measures.items():
                if value is not None:
                    bandwidth.add_metric((*labels, measure), value)
            for shortest in expected.times:
                seconds.add_metric((*labels, str(int(shortest.size))), shortest.time / 10**9)
        yield from (bandwidth, seconds)


@click.pass_obj
def _run_expected(
    database: str,
    /,
    down: tuple[str, ...],
    derate: tuple[str, ...],
    as_of: str | None,
    style: str,
    prometheus: bool,
    **arguments: Any,  # the question's parameters
) -> None:
    with open_scenario(database, down, derate, as_of) as fleet:
        if not prometheus:
            ask_and_print(fleet, _EXPECTED, arguments, style)
            return
        with fleet.snapshot() as snapshot:
            with Progress("expected"):
                answer = snapshot.ask(_EXPECTED, **question_arguments(_EXPECTED, arguments))
            print_revision(snapshot.as_of())
        click.echo(_metrics(answer), nl=False)


def _metrics(answer: ExpectedBandwidthAnswer) -> str:
    """Return an answer in the text format of Prometheus."""
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 # as above

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(answer))
    return generate_latest(registry).decode()


expected = build_command(
    _EXPECTED,
    _run_expected,
    click.Option(["--prometheus"], is_flag=True, help="Print metrics for the textfile collector of node_exporter."),
)
