"""The graph is exported for Neo4j's import and as a file of ladybug, with everything that Cypher sees."""

import csv
from pathlib import Path
from typing import Any

import ladybug
import pytest
from populating import populate

from conftest import Databases, Run
from trninv.graph_projection import projection_store
from trninv.graph_projection.schema import LABELS, RELATIONSHIPS


@pytest.fixture(scope="module")
def url(databases: Databases) -> str:
    return databases.copied("sqlite", populate)


def test_neo4j_gets_a_file_for_each_label_and_pair(run: Run, url: str, tmp_path: Path) -> None:
    status, out, err = run("export", str(tmp_path), "--format", "neo4j", database=url)
    assert status == 0, err
    rows = {file.stem: list(csv.reader(file.read_text().splitlines())) for file in tmp_path.iterdir()}
    names = {label.name for label in LABELS}
    pairs = {f"{each.name}-{start}-{end}" for each in RELATIONSHIPS for start, end in each.pairs}
    assert names <= rows.keys() <= names | pairs
    assert rows["Chip"][0][:2] == ["address:ID(Chip)", "cluster"]
    assert rows["Chip"][0][-3:] == ["state", "factor:double", ":LABEL"]
    assert rows["Job"][0][0] == "id:ID(Job)"
    assert rows["ALLOCATED-Job-Chip"][0] == [":START_ID(Job)", ":END_ID(Chip)", "role", "started_at", ":TYPE"]
    keys = {name: {row[0] for row in rows[name][1:]} for name in names}
    assert len(keys["Chip"]) == 305
    for pair in pairs & rows.keys():
        _, start, end = pair.split("-")
        assert all(row[0] in keys[start] and row[1] in keys[end] for row in rows[pair][1:]), pair
    assert "--nodes=Chip.csv" in out
    assert "--relationships=SCALE_UP-Chip-Chip.csv" in out


@pytest.mark.slow
def test_ladybug_opens_the_copy(run: Run, url: str, tmp_path: Path) -> None:
    status, out, err = run("export", str(tmp_path / "new"), "--format", "ladybug", database=url)
    assert (status, out) == (0, f"{tmp_path}/new/fleet.ladybug\n"), err
    database = ladybug.Database(f"{tmp_path}/new/fleet.ladybug", read_only=True, max_db_size=2**30)
    result: Any = ladybug.Connection(database).execute("MATCH (c:Chip) RETURN count(*)")
    assert result.get_all() == [[305]]


def test_what_is_missing_or_not_writable_is_named(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for style in "neo4j", "ladybug":
        status, _, err = run("export", "/dev/null/x", "--format", style, database=url)
        assert (status, "can't" in err) == (1, True)
    monkeypatch.setattr(projection_store, "find_spec", lambda _: None)
    status, _, err = run("export", "x", "--format", "neo4j", database=url)
    assert (status, "install the extra graph" in err) == (2, True)
