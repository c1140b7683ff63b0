"""Every format reads back what it writes, notices what is changed, and names its file."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from sqlalchemy import Connection

import exporting
from conftest import Databases
from trninv.database.engine import read_transaction, temporary_engine
from trninv.errors import InternalError, TrninvError
from trninv.exporters import formats
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import find_format, format_names
from trninv.inventory.address.lookup import resolve_place

CHANGES = {
    "astra-sim": ("119.", "118."),
    "aws": ("d1-s1", "d1-s9"),
    "booksim": (" router 1 1", " router 2 1"),
    "gexf": ("128000000000", "128000000001"),
    "graphml": ("128000000000", "128000000001"),
    "hwloc": ("128000 ", "64000 "),
    "jgf": ("128000000000", "128000000001"),
    "kubernetes": ("lab-d1\n", "lab-d2\n"),
    "kueue": ("trninv.dev/domain", "trninv.dev/rack"),
    "node-link": ("128000000000", "128000000001"),
    "openmetrics": (" 192\n", " 191\n"),
    "slurm-block": ("[0-3]", "[0-2]"),
    "slurm-nodes": (":16 ", ":15 "),
    "slurm-tree": ("[0-3]", "[0-2]"),
    "slurm-yaml": ("[0-3]", "[0-2]"),
    "topograph": ("[0-3]", "[0-2]"),
}
"""A text of each format's file, and another instead of it that says something else."""


@pytest.fixture(scope="module")
def connection(databases: Databases) -> Iterator[Connection]:
    url = databases.migrated("sqlite")
    exporting.seed(url)
    with temporary_engine(url) as engine, read_transaction(engine) as opened:
        yield opened


def source_of(connection: Connection, name: str) -> ExportSource:
    return ExportSource(connection, resolve_place(connection, exporting.SCOPES.get(name, "lab")))


def test_every_format_has_a_file_and_a_change() -> None:
    files = Path(formats.__path__[0]).glob("[!_]*.py")
    assert tuple(sorted(file.stem.replace("_", "-") for file in files)) == format_names() == tuple(sorted(CHANGES))


@pytest.mark.parametrize("name", format_names())
def test_a_file_that_says_something_else_does_not_pass(connection: Connection, name: str) -> None:
    form, source = find_format(name), source_of(connection, name)
    text = "".join(f"{line}\n" for line in form.lines(source))
    form.verify(source, text.splitlines())
    was, becomes = CHANGES[name]
    assert was in text
    with pytest.raises(InternalError, match=f"{name} reads back as"):
        form.verify(source, text.replace(was, becomes, 1).splitlines())


@pytest.mark.parametrize("name", format_names())
def test_a_file_that_ends_early_does_not_pass(connection: Connection, name: str) -> None:
    form, source = find_format(name), source_of(connection, name)
    lines = list(form.lines(source))
    with pytest.raises((TrninvError, ValueError, LookupError, SyntaxError)):
        form.verify(source, lines[: len(lines) // 2])


@pytest.mark.parametrize("name", format_names())
def test_a_comment_says_what_was_written_and_from_when(connection: Connection, name: str) -> None:
    form, source = find_format(name), source_of(connection, name)
    said = f"{source.place.address} as {name}, written by trninv as of event 0"
    assert (form.comment_template.format(said) in list(form.lines(source))[:2]) == bool(form.comment_template)


def test_what_is_refused_leaves_no_line_behind(connection: Connection) -> None:
    refused = ExportSource(connection, resolve_place(connection, "trn3-gen2"))
    with pytest.raises(TrninvError, match="EC2 has no instance type"):
        next(find_format("aws").lines(refused))


def test_a_file_with_another_name_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(f"{formats.__name__}.jgf")
    monkeypatch.setattr(module, "FORMAT", replace(find_format("jgf"), name="other"))
    find_format.cache_clear()
    with pytest.raises(InternalError, match="not a Format called 'jgf'"):
        find_format("jgf")
    find_format.cache_clear()


def test_names_of_formats_are_known_without_importing_one() -> None:
    code = (
        "import sys, trninv.exporters.format as r; r.format_names(); print(*(m for m in sys.modules if "
        "'formats.' in m))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
