"""What a notebook shows of answers and lists, and the tables that it makes of them."""

import pickle
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

import trninv
from conftest import BACKENDS, Databases, wear
from trninv.errors import InvalidArgumentError, SqlError, UnknownAddressError, UsageError, WrongLevelError
from trninv.placement import questions as placement_questions
from trninv.placement.changes.allocate import allocate
from trninv.placement.placement_fleet import Fleet
from trninv.routing.picture import Highlight
from trninv.routing.questions import all_questions
from trninv.routing.tabular import RowList
from trninv.units import Bandwidth

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

U = "u-trn2x64"


@dataclass(frozen=True)
class Measured:
    """A row with a quantity."""

    bandwidth: Bandwidth


@pytest.fixture(scope="module", params=BACKENDS)
def notebook(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    url = databases.seeded(request.param)
    wear(url)
    with trninv.open(url) as fleet:
        fleet.make_change(allocate, "<b>job", [f"{U}/d0/s1"], who="tests")
        yield fleet
    databases.drop(url)


def _answers(fleet: Fleet) -> Iterator[Any]:
    yield fleet.path(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10")
    yield fleet.bandwidth(f"{U}/d0/s0", f"{U}/d0/s1")
    yield fleet.bisection(U)
    yield fleet.memory_pool(f"{U}/d0/s0/c0")
    yield fleet.capability(f"{U}/d0")
    yield fleet.what_if(down=f"{U}/d0/s3").distances(U)
    yield fleet.free(U)
    yield fleet.placements(U, "4x4x1")


def test_an_answer_is_one_to_three_short_lines_at_a_prompt(notebook: Fleet) -> None:
    for answer in _answers(notebook):
        lines = repr(answer).splitlines()
        assert 1 <= len(lines) <= 3
        assert lines[0].startswith(f"{type(answer).__name__}: ")
        assert all(len(line) <= 102 for line in lines)
    best = notebook.path(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10").paths[0]
    assert repr(notebook.path(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10")).splitlines()[0] == f"PathAnswer: path 1: {best}"
    assert "GB/s" in repr(notebook.bisection(U)).splitlines()[0]
    assert "GB/s" in repr(notebook.collectives(f"{U}/d0/s0")).splitlines()[1]  # of its table


def test_every_answer_has_a_short_text() -> None:
    for question in (*all_questions(), *placement_questions.all_questions()):
        assert question.answer_type.__repr__.__qualname__ == "AnswerDisplay.__repr__"


def test_an_answer_is_a_dictionary_with_units_in_its_names(notebook: Fleet) -> None:
    answer = notebook.path(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10")
    values = answer.to_dict()
    assert (values["metric"], values["reachable"], values["disputed"]) == ("HOPS", True, answer.disputed)
    (path,) = values["paths"]
    assert (path["bandwidth_bytes_per_s"], type(path["bandwidth_bytes_per_s"])) == (answer.paths[0].bandwidth, int)
    assert path["time_ns"] is None
    assert path["steps"][0] == {"kind": "CHIP", "address": f"{U}/d0/s0/c0", "bandwidth_bytes_per_s": None}
    assert notebook.jobs().to_dict()[0]["name"] == "<b>job"


def test_lists_become_tables_of_arrow(notebook: Fleet) -> None:
    answer = notebook.path(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10", k=3, shape="all")
    table = answer.to_arrow("paths")
    assert table.column("hops").to_pylist() == [path.hops for path in answer.paths]
    assert table.schema.field("bandwidth_bytes_per_s").type == pa.int64()
    with pytest.raises(InvalidArgumentError, match="Name one of facts, paths, links, best_pairs"):
        answer.to_arrow()
    with pytest.raises(InvalidArgumentError, match="Name one of"):
        answer.to_arrow("metric")
    cut = notebook.bisection(U)
    assert cut.to_arrow("cut").column("bandwidth_bytes_per_s").to_pylist() == [int(link.bandwidth) for link in cut.cut]
    jobs = notebook.jobs()
    assert jobs.to_arrow().num_rows == len(jobs) == 1
    for rows in (notebook.incidents(), notebook.events(), notebook.bindings(), notebook.cordons(), notebook.drift()):
        table = rows.to_arrow()
        assert (table.num_rows, table.num_columns > 2) == (len(rows), True)


def test_lists_are_lists_and_short_at_a_prompt(notebook: Fleet) -> None:
    incidents = notebook.incidents()
    assert isinstance(incidents, RowList)
    assert incidents == list(incidents)
    first, *more = repr(incidents).splitlines()
    assert (first, len(more)) == (f"{len(incidents)} × Incident", 2)
    assert all(len(line) <= 102 for line in more)
    assert repr(notebook.cordons()) == "0 × Cordon"


def test_html_is_a_small_table_and_escapes_what_people_wrote(notebook: Fleet) -> None:
    for answer in _answers(notebook):
        html = answer._repr_html_()
        assert "<p>" in html or "<table>" in html
        assert len(html.partition("<svg")[0]) < 20_000
    assert "<p>…</p><div" in notebook.bisection(U)._repr_html_()
    html = notebook.jobs()._repr_html_()
    assert "&lt;b&gt;job" in html
    assert "<b>" not in html
    many = RowList([Measured(Bandwidth(number)) for number in range(25)], Measured)
    assert many._repr_html_().count("<tr>") == 21
    assert many._repr_html_().endswith("<p>… 5 more rows</p>")
    assert RowList(list(many)[:20], Measured)._repr_html_().endswith("</table>")


def test_a_library_that_is_missing_is_named_and_others_are_called(
    notebook: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = notebook.jobs()
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(UsageError, match=f"this needs {name}: pip install {name}"):
            getattr(jobs, f"to_{name}")()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"install the extra parquet \(trninv docs deploy, Extras\)"):
        jobs.to_arrow()
    made = SimpleNamespace(DataFrame=lambda *values, **options: (values, options))
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, made)
        (records,), _ = getattr(jobs, f"to_{name}")()
        assert records == jobs.to_dict()
        getattr(notebook.cordons(), f"to_{name}")()
        getattr(notebook.bisection(U), f"to_{name}")("cut")


def test_sql_is_a_table_of_arrow(notebook: Fleet) -> None:
    table = notebook.sql("SELECT address, state, cores FROM v_chip WHERE state = 'down' ORDER BY address")
    assert table.to_pylist()[0]["address"] == f"{U}/d0/s0/c3"
    assert table.column_names == ["address", "state", "cores"]
    assert notebook.sql("SELECT address FROM v_chip WHERE state = 'lost'").num_rows == 0
    assert notebook.sql("SELECT address FROM v_chip LIMIT 5", max_rows=5).num_rows == 5
    with pytest.raises(SqlError, match="more than 4 rows; add LIMIT, or raise max_rows"):
        notebook.sql("SELECT address FROM v_chip LIMIT 5", max_rows=4)
    with pytest.raises(SqlError, match="two columns are called a"):
        notebook.sql("SELECT 1 AS a, 2 AS a")
    with pytest.raises(SqlError):
        notebook.sql("DELETE FROM chip")
    with pytest.raises(UsageError, match="scenario"):
        notebook.what_if(down=f"{U}/d0").sql("SELECT 1")
    with notebook.snapshot() as snapshot:
        assert snapshot.sql("SELECT 1 AS one").to_pylist() == [{"one": 1}]
        assert snapshot.bisection(U) == notebook.bisection(U)


def test_an_answer_is_shown_with_its_drawing_as_it_was_read(notebook: Fleet) -> None:
    for answer in (
        notebook.path(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10"),
        notebook.bandwidth(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10"),
        notebook.bisection(U),
        notebook.free(U),
        notebook.placements(U, "4x4x1"),
        notebook.what_if(down=f"{U}/d0/s3/c0").bisection(U),
        notebook.at(0).bisection(U),
    ):
        (picture,) = re.findall(r"<svg.*</svg>", answer._repr_html_(), re.DOTALL)
        assert ET.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 # our own
        assert "<b>" not in picture
    assert "&lt;b&gt;job" in notebook.free(U)._repr_html_().partition("<svg")[2]
    path = notebook.path(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10")
    assert f"{U}/d0/s0/c0 to {U}/d0/s1/c10: {path.paths[0].hops} hops" in path._repr_html_()
    assert "down" in notebook.what_if(down=f"{U}/d0/s3/c0").bisection(U)._repr_html_()


def test_without_a_drawing_of_the_same_state_there_is_none(notebook: Fleet) -> None:
    assert "<svg" not in notebook.collectives(f"{U}/d0/s0")._repr_html_()
    path, free = notebook.path(f"{U}/d0/s0/c0", f"{U}/d0/s1/c10"), notebook.free(U)
    restored = pickle.loads(pickle.dumps(path))  # noqa: S301 # our own
    assert restored == path
    assert "<svg" not in restored._repr_html_()
    with notebook.snapshot() as snapshot:
        answer = snapshot.bisection(U)
        assert "<svg" in answer._repr_html_()
    assert "<svg" not in answer._repr_html_()
    notebook.set_state(f"{U}/d0/s3/c9", "down", why="later", who="tests")
    assert "<svg" not in path._repr_html_() + free._repr_html_()
    notebook.set_state(f"{U}/d0/s3/c9", "up", why="repaired", who="tests")


def test_a_place_is_drawn_by_its_level(notebook: Fleet) -> None:
    for scope in (U, f"{U}/d0/s0", f"{U}/r0", "trn3-gen1"):
        picture = notebook.draw(scope)
        assert picture.svg.startswith("<svg ")
        assert repr(picture) == f"Picture(scope={scope!r})"
        assert picture._repr_html_() == f'<div style="max-width: 900px">{picture.svg}</div>'
    assert "job" in notebook.draw(U, jobs=True).svg
    marks = Highlight(links=[frozenset((f"{U}/d0/s0/c0", f"{U}/d0/s0/c1"))], caption="<script>")
    assert "&lt;script&gt;" in notebook.draw(U, marks).svg
    with pytest.raises(WrongLevelError, match="the marks leave"):
        notebook.draw(f"{U}/d0/s1", marks)
    with pytest.raises(UnknownAddressError):
        notebook.draw("nowhere")
