"""Write the recorded results into docs/explanation/scale.md, between its markers: ``./run bench --write-docs``."""

import re
from pathlib import Path

from bench import results
from bench.measure import RAINIER

PAGE = Path(__file__).parents[1] / "docs/explanation/scale.md"
_MARKER = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MARKS = "marks"


def write() -> None:
    PAGE.write_text(fill(PAGE.read_text()))


def fill(text: str) -> str:
    """Return the page's text with the results recorded at the size of Project Rainier."""
    return _MARKER.sub(lambda place: f"{place[1]}\n{_content(place[2], text)}\n\n{place[3]}", text)


def sections(text: str) -> list[str]:
    """Return the names of the sections that the page shows."""
    return [place[2] for place in _MARKER.finditer(text) if place[2] != _MARKS]


def _content(name: str, text: str) -> str:
    if name == _MARKS:
        recorded = [row for section in sections(text) for row in results.read(results.file(section, RAINIER))]
        return results.summary(recorded).replace("; ", "\n- ") + "."
    return _table(name)


def _table(section: str) -> str:
    rows = results.read(results.file(section, RAINIER))
    if not rows:
        return f"Not recorded yet at this size: `./run bench --section {section}`."
    lines = [results.COLUMNS, ["---"] * len(results.COLUMNS), *map(results.cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
