"""Each format's whole file, of a fleet with parts that are degraded, down, cordoned or without an instance.

TRNINV_WRITE_BASELINE=1 rewrites tests/golden/exporters and the table of docs/reference/formats.md.
"""

import os
import re

import pytest

import exporting
from conftest import BACKENDS, Databases, Run
from examples import ROOT
from exporting import exported
from trninv.exporters.format import find_format, format_names

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

GOLDEN = ROOT / "tests/golden/exporters"
PAGE = ROOT / "docs/reference/formats.md"
_TABLE = re.compile(r"(?<=what it contains \|\n\| --- \| --- \| --- \| --- \|\n)(\|.*\n)*")


@pytest.fixture(scope="module", params=BACKENDS)
def worn(request: pytest.FixtureRequest, databases: Databases) -> str:
    return databases.copied(request.param, exporting.worn_fleet)


@pytest.mark.parametrize("name", format_names())
def test_a_file_is_the_same_to_the_byte(run: Run, worn: str, name: str) -> None:
    file = GOLDEN / f"{name}{find_format(name).suffix}"
    written = exported(run, worn, exporting.scope_of(name, "u-trn2x64"), name, "--include-down")
    if os.environ.get("TRNINV_WRITE_BASELINE"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(written)
    assert written == file.read_text()


def test_there_is_no_file_of_a_format_that_is_gone() -> None:
    assert sorted(file.stem for file in GOLDEN.iterdir()) == list(format_names())


def test_the_page_of_formats_lists_the_register() -> None:
    rows = ""
    for each in map(find_format, format_names()):
        comments = "yes" if each.syntax.comment_template else "no"
        rows += f"| `{each.name}` | `{each.suffix}` | {comments} | {each.description} |\n"
    page = PAGE.read_text()
    written, tables = _TABLE.subn(rows, page)
    if os.environ.get("TRNINV_WRITE_BASELINE"):
        PAGE.write_text(written)
    assert (PAGE.read_text(), tables) == (written, 1)
