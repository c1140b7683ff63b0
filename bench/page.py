"""Write the recorded results into docs/explanation/scale.md, between its markers: ``./run bench --write-docs``."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench import results
from bench.measure import RAINIER, Row

PAGE = Path(__file__).parents[1] / "docs/explanation/scale.md"
_MARKER = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MARKS = "marks"
_DOMAINS = {"scale": 10 * RAINIER}
"""The sizes of sections that are not shown at the size of Project Rainier."""
_SYSTEMS = ("networkx", "ladybug", "FalkorDB", "PostGraphile", "Mercurius", "scipy", "sqlite3", "a hand-written route")
"""Beginnings of the names of baselines that are other systems."""
_COLUMNS = ("measurement", "trninv", "compared with", "ratio")


def write() -> None:
    PAGE.write_text(fill(PAGE.read_text()))


def fill(text: str) -> str:
    """Return the page's text with the results recorded at the size of Project Rainier."""
    return _MARKER.sub(lambda match: f"{match[1]}\n{_content(match[2], text)}\n\n{match[3]}", text)


def sections(text: str) -> list[str]:
    """Return the names of the sections that the page shows."""
    return [match[2] for match in _MARKER.finditer(text) if match[2] != _MARKS]


def is_shown(row: Row) -> bool:
    """Return whether a row is on the page.

    It is if it has a mark for its ratio to another system, to a limit or to a smaller size; if another system is
    faster; or if it misses any mark. Rows that only meet a mark of our own are measured, but say nothing to a reader.
    """
    is_own_mark = row.baseline_name == "the mark"
    loses = row.baseline_name.startswith(_SYSTEMS) and (row.ratio is None or row.ratio > 1)
    return row.verdict in {"MISSED", "not measured"} or loses or (row.mark is not None and not is_own_mark)


def _shown_rows(section: str) -> list[Row]:
    return [row for row in results.read(_file(section)) if is_shown(row)]


def _file(section: str) -> Path:
    return results.file(section, _DOMAINS.get(section, RAINIER))


def _content(name: str, text: str) -> str:
    if name == _MARKS:
        recorded = [row for section in sections(text) for row in _shown_rows(section)]
        return results.summary(recorded).replace("; ", "\n- ") + "."
    return _table(name)


def _table(section: str) -> str:
    if not (rows := _shown_rows(section)):
        is_recorded = bool(results.read(_file(section)))
        return (
            f"All rows meet marks of our own: `bench/{_file(section).name}`."
            if is_recorded
            else f"No row to show: `./run bench --section {section}` records them."
        )
    lines = [_COLUMNS, ("---",) * len(_COLUMNS), *_lines(rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _lines(rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each row: the measurement once, then a line for each baseline; a missed mark is bold."""
    before = None
    for row in rows:
        name, value, baseline, baseline_name, ratio, mark, verdict = results.cells(row)
        measurement = ("", "") if name == before else (name, value)
        before = name
        bold = "**" if verdict == "MISSED" else ""
        compared = f"{bold}{ratio}{bold} {mark.replace('≤', '>') if bold else mark}".strip() or verdict
        yield *measurement, f"{baseline}, {baseline_name}", compared
