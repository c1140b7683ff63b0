"""Show the results of checks to Prometheus."""

from typing import Final

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily

from trninv.checks.check_report import CheckReport, CheckStatus
from trninv.checks.measure import BOUNDS

_UNIT: Final = ("check", "unit")
_VALUE: Final = (
    "What the check measures, in bytes per second, bytes or a number of things, such as hops. Of a value that is "
    "proven only within bounds, the bound that decides. Absent if there is no value."
)


class CheckMetrics:
    """Gauges of the results in a report, as `generate_latest` collects them."""

    def __init__(self, report: CheckReport) -> None:
        self._report = report

    def collect(self) -> list[GaugeMetricFamily]:
        """Return the metrics of all checks."""
        report = self._report
        passed = GaugeMetricFamily(
            "trninv_check_passed",
            "1 if the check passes; 0 if it fails, is not proven, or cannot be answered.",
            labels=["check"],
        )
        value = GaugeMetricFamily("trninv_check_value", _VALUE, labels=_UNIT)
        bound = GaugeMetricFamily(
            "trninv_check_bound", "The bound of the file, at_least or at_most.", labels=[*_UNIT, "bound"]
        )
        for status in report.statuses:
            passed.add_metric([status.name], status.passed)
            if (number := _judged_value(status)) is not None:
                value.add_metric([status.name, status.unit], number)
            for name in BOUNDS:
                if (limit := getattr(status, name)) is not None:
                    bound.add_metric([status.name, status.unit, name], limit)
        return [
            passed,
            value,
            bound,
            GaugeMetricFamily(
                "trninv_checks_evaluated_timestamp_seconds", "When all checks were last evaluated.", report.evaluated_at
            ),
            GaugeMetricFamily("trninv_checks_evaluation_seconds", "How long that took.", report.seconds),
        ]


def _judged_value(status: CheckStatus) -> int | None:
    """Return the value; if only bounds of it are proven, the bound that decides whether the check passes."""
    return status.upper if status.at_least is None else status.lower


def render_check_metrics(report: CheckReport | None) -> bytes:
    """Return the metrics in Prometheus' text format; nothing without a report."""
    return generate_latest(CheckMetrics(report)) if report else b""
