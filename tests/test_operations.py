"""The page for operators: its alerts are about metrics and codes that there are, its commands are commands."""

import re

from examples import ROOT
from trninv.errors import TrninvError
from trninv.service.telemetry import Metrics

PAGE = (ROOT / "docs/how-to/operations.md").read_text()


def _codes(kind: type[TrninvError]) -> set[str]:
    return {kind.code}.union(*map(_codes, kind.__subclasses__()))


def test_alerts_are_about_metrics_and_codes_that_there_are() -> None:
    alerts = PAGE.partition("groups:")[2].partition("```")[0]
    kinds = re.findall(r"^# TYPE (\w+) (\w+)", Metrics().text().decode(), re.MULTILINE)
    known = {f"{name}_bucket" if kind == "histogram" else name for name, kind in kinds}
    used = set(re.findall(r"\btrninv_\w+", alerts))
    assert used
    assert used <= known
    assert set(re.findall(r'code="(\w+)"', alerts)) <= _codes(TrninvError)
