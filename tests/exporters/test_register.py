"""Every format reads back what it writes, notices what is changed, and names its file."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from io import StringIO

import pytest

import exporting
import trninv
from conftest import Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import InternalError, ScopeTooLargeError, TrninvError
from trninv.exporters import format as topology_format
from trninv.exporters import formats
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import find_format, format_names, topology_text
from trninv.inventory.address.lookup import resolve_place
from trninv.placement.changes.reserve import reserve
from trninv.routing.snapshot import Snapshot


@pytest.fixture(scope="module")
def snapshot(databases: Databases) -> Iterator[Snapshot]:
    url = databases.migrated("sqlite")
    exporting.seed(url)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        reserve(connection, "patch", ["lab/d2/s0"], from_="2126-01-01T00:00:00Z", until="12h", who="tests")
    with trninv.open(url) as fleet, fleet.open_snapshot() as opened:
        yield opened


def source_of(snapshot: Snapshot, name: str) -> ExportSource:
    return ExportSource(snapshot, resolve_place(snapshot.connection, exporting.scope_of(name)))


def verify(snapshot: Snapshot, name: str, text: str) -> None:
    find_format(name).verify(source_of(snapshot, name), StringIO(text))


def text_of(snapshot: Snapshot, name: str) -> str:
    return "".join(f"{line}\n" for line in find_format(name).lines(source_of(snapshot, name)))


@pytest.mark.parametrize("name", format_names())
def test_a_file_that_says_something_else_does_not_pass(snapshot: Snapshot, name: str) -> None:
    text = text_of(snapshot, name)
    verify(snapshot, name, text)
    *_, digit = re.finditer(r"(?<![A-Za-z])\d(?!\w*>)", text)
    changed = f"{text[: digit.start()]}{9 - int(digit[0])}{text[digit.end() :]}"
    with pytest.raises(InternalError, match=f"{name} reads back as .*, not as .*; please report this"):
        verify(snapshot, name, changed)


@pytest.mark.parametrize("name", format_names())
def test_a_file_that_ends_early_or_goes_on_does_not_pass(snapshot: Snapshot, name: str) -> None:
    text = text_of(snapshot, name)
    for other in (text[: len(text) // 2], text + text):
        with pytest.raises(InternalError, match=rf"{name} (reads back as|can't be read back)"):
            verify(snapshot, name, other)


@pytest.mark.parametrize("name", ["jgf", "node-link"])
def test_json_between_members_is_read_too(snapshot: Snapshot, name: str) -> None:
    text = text_of(snapshot, name)
    for was, becomes in ((",\n", "\n"), ('}\n}, "edges', '},\n}, "edges'), ("]}", "]")):
        with pytest.raises(InternalError, match=f"{name} can't be read back"):
            verify(snapshot, name, text.replace(was, becomes, 1).replace('}\n], "edges', '},\n], "edges'))


def test_a_difference_is_named_by_its_place(snapshot: Snapshot) -> None:
    text = text_of(snapshot, "kubernetes")
    says = r"kubernetes reads back as 1, not as '1', at \['metadata'\]\['labels'\]\['trninv.dev/server'\]"
    with pytest.raises(InternalError, match=says):
        verify(snapshot, "kubernetes", text.replace('server: "1"', "server: 1", 1))


_BOMB = "a: &a0 [x, x]\n" + "".join(f"b{n}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(60))


@pytest.mark.parametrize("text", [_BOMB, "&a [*a]", "[" * 100_000, "- " * 100_000, "{a: " * 9_999, "!!python/name:x 1"])
def test_yaml_of_any_size_is_refused_at_once(snapshot: Snapshot, text: str) -> None:
    with pytest.raises(InternalError) as refused:
        verify(snapshot, "kubernetes", text)
    assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize(
    "text",
    [
        "<a>" * 100_000,
        '<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]><a>&c;</a>',
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    ],
)
def test_xml_of_any_depth_is_refused(snapshot: Snapshot, text: str) -> None:
    with pytest.raises(InternalError, match=r"graphml (reads back as|can't be read back)"):
        verify(snapshot, "graphml", text)


def test_json_of_any_depth_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(InternalError, match="aws can't be read back"):
        verify(snapshot, "aws", '{"Instances": [\n' + "[" * 100_000 + "0\n]}")


@pytest.mark.parametrize("name", format_names())
def test_a_comment_says_what_was_written_and_from_when(snapshot: Snapshot, name: str) -> None:
    form, source = find_format(name), source_of(snapshot, name)
    said = f"{source.place.address} as {name}, written by trninv as of event 1"
    template = form.syntax.comment_template
    assert (template.format(said) in list(form.lines(source))[:2]) == bool(template)


@pytest.mark.parametrize("checks", [False, True])
def test_a_text_in_memory_has_a_limit(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, *, checks: bool) -> None:
    scope, text = exporting.scope_of("gexf"), text_of(snapshot, "gexf")
    monkeypatch.setattr(topology_format, "MAX_TEXT", len(text))
    assert topology_text(snapshot, scope, "gexf", check=checks) == text
    monkeypatch.setattr(topology_format, "MAX_TEXT", len(text) - 1)
    with pytest.raises(ScopeTooLargeError, match="name a smaller place"):
        topology_text(snapshot, scope, "gexf", check=checks)


def test_what_is_refused_leaves_no_line_behind(snapshot: Snapshot) -> None:
    refused = ExportSource(snapshot, resolve_place(snapshot.connection, "trn3-gen2"))
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
