"""Record results in bench/results-SECTION-DOMAINS.json, format them, and compare them with recorded results."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from bench.measure import Row

COLUMNS = ("measurement", "trninv", "baseline", "baseline is", "ratio", "mark", "verdict")

_SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
_WORSE = 1.2
"""A ratio is reported as worse from this many times the recorded one."""


def file(section: str, domains: int) -> Path:
    return Path(__file__).with_name(f"results-{section}-{domains}.json")


def read(path: Path) -> list[Row]:
    """Read the rows of a file; return none if the file doesn't exist."""
    if not path.exists():
        return []
    rows = json.loads(path.read_text())["rows"]
    return [Row(**{key: value for key, value in row.items() if key != "ratio"}) for row in rows]


def write(path: Path, domains: int, rows: Iterable[Row]) -> None:
    content = {"domains": domains, "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}
    path.write_text(json.dumps(content, indent=2) + "\n")


def regressions(rows: Iterable[Row], before: Iterable[Row]) -> Iterator[str]:
    """Yield a line for each row whose ratio is more than a fifth worse than the recorded one."""
    recorded = {(row.name, row.baseline_name): row.ratio for row in before}
    for row in rows:
        recorded_ratio = recorded.get((row.name, row.baseline_name))
        if row.ratio is not None and recorded_ratio is not None and row.ratio > recorded_ratio * _WORSE:
            yield f"{row.name}, to {row.baseline_name}: worse than recorded: {recorded_ratio:.2g} → {row.ratio:.2g}"


def summary(rows: Iterable[Row]) -> str:
    """Return one line with the marks met, the marks missed and the rows not measured; ignore recorded rows."""
    rows = [row for row in rows if not row.recorded]
    with_mark = [row for row in rows if row.verdict in {"met", "MISSED"}]
    missed = [f"{row.name} (to {row.baseline_name})" for row in with_mark if row.verdict == "MISSED"]
    unmeasured = [f"{row.name} (to {row.baseline_name})" for row in rows if row.verdict == "not measured"]
    text = f"{len(with_mark) - len(missed)} of {len(with_mark)} marks met"
    text += f"; MISSED: {'; '.join(missed)}" if missed else ""
    return text + (f"; not measured: {'; '.join(unmeasured)}" if unmeasured else "")


def cells(row: Row) -> list[str]:
    """Return a row's cells in the order of `COLUMNS`."""
    return [
        f"{row.name} ({row.note})" if row.note else row.name,
        quantity(row.value, row.unit),
        "" if row.baseline is None else quantity(row.baseline, row.unit),
        f"{row.baseline_name}, recorded" if row.recorded else row.baseline_name,
        "" if row.ratio is None else f"{row.ratio:.2g}" if row.ratio < 10 else f"{row.ratio:.0f}",  # noqa: PLR2004
        "" if row.mark is None else f"≤ {row.mark:.3g}",
        row.verdict,
    ]


def quantity(value: float, unit: str) -> str:
    """Format a value with three significant digits; seconds may become milliseconds or microseconds."""
    if unit == "s" and value:
        unit, size = next(((name, size) for name, size in _SECONDS if value >= size), _SECONDS[-1])
        value /= size
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"  # noqa: PLR2004
