"""Results: how a row is shown, recorded, and compared with what was recorded before."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from bench.measure import Row

COLUMNS = ("what", "trninv", "baseline", "which is", "ratio", "mark", "verdict")

_SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
_WORSE = 1.2
"""A ratio so many times the recorded one is worth a word."""


def file(section: str, domains: int) -> Path:
    return Path(__file__).with_name(f"results-{section}-{domains}.json")


def read(path: Path) -> list[Row]:
    """The rows of a file, if it is there."""
    if not path.exists():
        return []
    rows = json.loads(path.read_text())["rows"]
    return [Row(**{key: value for key, value in row.items() if key != "ratio"}) for row in rows]


def write(path: Path, domains: int, rows: Iterable[Row]) -> None:
    told = {"domains": domains, "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}
    path.write_text(json.dumps(told, indent=2) + "\n")


def worse(rows: Iterable[Row], before: Iterable[Row]) -> Iterator[str]:
    """A line for each row whose ratio is worse by more than a fifth than that of the same row before."""
    recorded = {(row.name, row.against): row.ratio for row in before}
    for row in rows:
        past = recorded.get((row.name, row.against))
        if row.ratio is not None and past is not None and row.ratio > past * _WORSE:
            yield f"{row.name}, to {row.against}: worse than recorded: {past:.2g} → {row.ratio:.2g}"


def summary(rows: Iterable[Row]) -> str:
    """One line: which marks were missed, and which rows could not be measured, of those that were not just recorded."""
    rows = [row for row in rows if not row.recorded]
    with_mark = [row for row in rows if row.verdict in {"held", "MISSED"}]
    missed = [f"{row.name} (to {row.against})" for row in with_mark if row.verdict == "MISSED"]
    without = [f"{row.name} (to {row.against})" for row in rows if row.verdict == "not measured"]
    told = f"{len(with_mark) - len(missed)} of {len(with_mark)} marks held"
    told += f"; MISSED: {'; '.join(missed)}" if missed else ""
    return told + (f"; not measured: {'; '.join(without)}" if without else "")


def cells(row: Row) -> list[str]:
    """A row of the table."""
    return [
        f"{row.name} ({row.note})" if row.note else row.name,
        quantity(row.ours, row.unit),
        "" if row.baseline is None else quantity(row.baseline, row.unit),
        f"{row.against}, recorded" if row.recorded else row.against,
        "" if row.ratio is None else f"{row.ratio:.2g}" if row.ratio < 10 else f"{row.ratio:.0f}",  # noqa: PLR2004
        "" if row.mark is None else f"≤ {row.mark:.3g}",
        row.verdict,
    ]


def quantity(value: float, unit: str) -> str:
    """Three significant digits, in seconds, milliseconds or microseconds."""
    if unit == "s" and value:
        unit, size = next(((name, size) for name, size in _SECONDS if value >= size), _SECONDS[-1])
        value /= size
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"  # noqa: PLR2004
