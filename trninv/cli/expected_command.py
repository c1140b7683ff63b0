"""List how fast each server can be, for health checks and Prometheus (`expected`)."""

from collections.abc import Iterator
from typing import Any, Final

import click

from trninv.cli.output import print_revision
from trninv.cli.progress_line import Progress
from trninv.cli.question_commands import ask_and_print, build_command, question_arguments
from trninv.cli.scenario_options import open_scenario
from trninv.errors import UsageError
from trninv.routing.questions import find
from trninv.routing.questions.expected_bandwidth import ExpectedBandwidthAnswer

_EXPECTED = find("expected_bandwidth")
_METRIC: Final = "trninv_expected_bytes_per_second"
_HELP: Final = "Limit of the wiring as bus, algorithm or nccom-test's bus bandwidth, and the requested minimum."


class _Collector:
    """The metric of an answer, as prometheus_client collects it."""

    def __init__(self, answer: ExpectedBandwidthAnswer) -> None:
        self._answer = answer

    def collect(self) -> Iterator[Any]:
        """Yield the metric."""
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 # slow, and only --prometheus needs it

        family = GaugeMetricFamily(_METRIC, _HELP, labels=("address", "machine", "operation", "measure"))
        for expected in self._answer.operations:
            measures = {
                "bus": expected.limit,
                "algorithm": expected.algorithm_limit,
                "nccom": expected.nccom_limit,
                "minimum": expected.minimum,
            }
            for measure, value in measures.items():
                if value is not None:
                    family.add_metric((expected.address, expected.machine or "", expected.operation, measure), value)
        yield family


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
    if prometheus and style != "table":
        raise UsageError("--prometheus is a format of its own; leave out --format")
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

    registry = CollectorRegistry()
    registry.register(_Collector(answer))
    return generate_latest(registry).decode()


expected = build_command(
    _EXPECTED,
    _run_expected,
    click.Option(["--prometheus"], is_flag=True, help="Print metrics for the textfile collector of node_exporter."),
)
