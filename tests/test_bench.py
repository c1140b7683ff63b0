"""What the benchmarks say of their results, and the page that is made from them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import page, results
from bench.measure import RAINIER, Row, chip_pairs
from bench.peers.lists import comparable_values


def _row(ours: float, *, baseline: float | None = 1.0, mark: float | None = 1.0, name: str = "path") -> Row:
    return Row(name, ours, baseline, "networkx", mark)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (_row(1.0), "met"),
        (_row(1.01), "MISSED"),
        (_row(9.0, mark=None), "no mark"),
        (_row(9.0, baseline=None), "not measured"),
        (_row(0.0, mark=0.0), "met"),
        (_row(1.0, mark=0.0), "MISSED"),
    ],
)
def test_a_mark_is_held_up_to_itself(row: Row, verdict: str) -> None:
    assert row.verdict == verdict
    assert results.cells(row)[-1] == verdict


def test_worse_by_more_than_a_fifth_is_said() -> None:
    before = [_row(0.31)]
    assert list(results.regressions([_row(0.45)], before)) == ["path, to networkx: worse than recorded: 0.31 → 0.45"]
    assert not list(results.regressions([_row(0.37)], before))
    assert not list(results.regressions([_row(0.1)], before))


def test_only_the_same_row_is_compared() -> None:
    now = _row(9.0)
    assert not list(results.regressions([now], [_row(1.0, name="flow")]))
    assert not list(results.regressions([now], [Row("path", 1.0, 1.0, "ladybug")]))
    assert not list(results.regressions([now], [_row(1.0, baseline=None)]))
    assert not list(results.regressions([_row(9.0, baseline=None)], [now]))
    assert list(results.regressions([now], [Row("path", 1.0, 1.0, "networkx", note="of 17")])), "a note is no name"


def test_any_refusal_is_worse_than_none() -> None:
    assert list(results.regressions([_row(1.0)], [_row(0.0)]))


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    rows = [_row(1.0), _row(2.0, baseline=None), Row("all", 3, 4, "it", None, "MB", "of 5", recorded=True)]
    results.write(tmp_path / "it.json", 50, rows)
    assert results.read(tmp_path / "it.json") == rows
    assert json.loads((tmp_path / "it.json").read_text())["domains"] == 50
    assert results.read(tmp_path / "none.json") == []


def test_the_last_line_names_what_was_missed() -> None:
    rows = [_row(1.0), _row(2.0, name="flow"), _row(1.0, mark=None), _row(1.0, baseline=None, name="pool")]
    assert results.summary(rows) == ("1 of 2 marks met; MISSED: flow (to networkx); not measured: pool (to networkx)")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (61.03, "s", "61 s"),
        (0.0446, "s", "44.6 ms"),
        (0.000031, "s", "31 µs"),
        (0.0000003, "s", "0.3 µs"),
        (0, "s", "0 s"),
        (1234.5, "MB", "1,234 MB"),
    ],
)
def test_a_quantity_is_short(value: float, unit: str, shown: str) -> None:
    assert results.quantity(value, unit) == shown


def test_what_was_recorded_is_named_so_and_not_in_the_last_line() -> None:
    row = replace(_row(2.0), recorded=True)
    assert results.cells(row)[3] == "networkx, recorded"
    assert results.summary([row, _row(1.0)]) == "1 of 1 marks met"


def test_answers_are_the_same_whatever_their_values_are_called() -> None:
    ours = {"chips": {"nodes": [{"id": "chip:1", "memory": {"gibibytes": 96.0}, "links": [{"scope": "HOST"}]}]}}
    theirs = {"allChips": [{"rowId": 1, "gibibytes": 96, "scopes": ["HOST"]}]}
    assert comparable_values(ours) == comparable_values(theirs) == [["96.0", "HOST"]]
    assert comparable_values({"chips": [{"gibibytes": 95, "scope": "HOST"}]}) != comparable_values(ours)


def test_the_page_is_made_from_the_recorded_results() -> None:
    text = page.PAGE.read_text()
    assert page.fill(text) == text, "./run bench --write-docs"


@pytest.mark.parametrize("section", page.sections(page.PAGE.read_text()))
def test_name_and_baseline_tell_recorded_rows_apart(section: str) -> None:
    rows = results.read(results.file(section, RAINIER))
    assert len({(row.name, row.baseline_name) for row in rows}) == len(rows)


def test_the_page_shows_every_section() -> None:
    recorded = {path.name.split("-")[1] for path in results.file("*", RAINIER).parent.glob(f"results-*-{RAINIER}.json")}
    assert recorded <= set(page.sections(page.PAGE.read_text()))


@pytest.mark.parametrize("place", ["server", "domain", "across"])
def test_no_pair_is_asked_twice_even_after_a_warm_up(place: str) -> None:
    pairs = [pair for seed in range(6, 14) for pair in chip_pairs(50, 100, place, seed)]
    assert len(set(pairs)) == len(pairs) == 800
    assert all(a != b for a, b in pairs)
