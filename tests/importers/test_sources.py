"""Sources are found by their files, and the pages say of them what their declarations say.

``python tests/importers/test_sources.py`` writes the page anew.
"""

import re
from pathlib import Path

import pytest

from conftest import Run
from examples import ROOT
from trninv.importers import sources
from trninv.importers.source_register import all_sources

PAGE = ROOT / "docs/how-to/import-what-machines-report.md"
_HEAD = "| `trninv import` | reads the output of | and learns about each instance |\n| --- | --- | --- |\n"


def with_sources(page: str) -> str:
    """Return the page with the table of the declarations, and the managers that it names."""
    rows = [f"| `{each.name}` | {each.commands} | {each.content} |\n" for each in all_sources().values()]
    table = _HEAD + "".join(rows)
    managers = ", ".join(each.title or each.name for each in all_sources().values() if each.is_manager)
    page = re.sub(re.escape(_HEAD) + r"(\|.*\n)*", lambda _: table, page)
    return re.sub(r"(?<=listings of managers \()[^)]*", lambda _: managers, page)


def test_the_page_has_the_sources_and_managers_of_the_declarations() -> None:
    page = PAGE.read_text()
    assert _HEAD in page
    assert "listings of managers (EC2, " in page
    assert with_sources(page) == page


def test_each_file_of_a_source_declares_the_one_it_is_called_for() -> None:
    files = {path.stem.replace("_", "-") for path in Path(sources.__path__[0]).glob("[!_]*.py")}
    assert files == all_sources().keys()
    assert all(each.commands and each.content and each.expected for each in all_sources().values())


@pytest.mark.parametrize("name", all_sources())
def test_import_takes_each(run: Run, name: str) -> None:
    _, out, _ = run("import", "--help")
    assert name in re.sub(r"-\s+", "-", out)


if __name__ == "__main__":
    PAGE.write_text(with_sources(PAGE.read_text()))
