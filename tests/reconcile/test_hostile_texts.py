"""What machines call themselves reaches terminals and spreadsheets as text that nothing obeys."""

import csv
import io
import json
from pathlib import Path

import pytest
from printed import instances, neuron_ls

from conftest import Databases, Run
from trninv.characters import escape_controls
from trninv.database.bulk_load import bulk_insert
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES

EVIL = "\x1b]0;owned\x07\x1b[2Jdown\u202e\u2066up\x9b1m\r\nok\u2028\x7f"
OBEYED = set("\x1b\x07\u202e\u2066\x9b\r\u2028\x7f")


@pytest.fixture
def url(databases: Databases, tmp_path: Path, run: Run) -> str:
    """A database in which an instance is in a state for a reason that a terminal would obey."""
    url = databases.migrated("sqlite")
    page = instances("i-0a")
    page["Reservations"][0]["Instances"][0]["State"]["Name"] = EVIL
    (tmp_path / "evil.json").write_text(json.dumps(page))
    assert run("import", "ec2", str(tmp_path / "evil.json"), database=url)[0] == 0
    return url


@pytest.mark.parametrize("style", ["table", "json", "ndjson"])
def test_sql_shows_what_a_terminal_would_obey(url: str, run: Run, style: str) -> None:
    status, out, _ = run("sql", "SELECT instance, reason FROM observed_server", "--format", style, database=url)
    assert status == 0
    assert not OBEYED & set(out)
    assert "\\u001b]0;owned\\u0007" in out
    if style == "ndjson":
        assert json.loads(out)["reason"] == EVIL


def test_csv_on_a_terminal_is_shown_and_in_a_file_is_as_it_is(
    url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("sql", "SELECT reason FROM observed_server", "--format", "csv")
    _, (reason,) = csv.reader(io.StringIO(run(*words, database=url)[1], newline=""))
    assert reason.endswith("\u202e\u2066up\x9b1m\r\nok\u2028\x7f")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert not OBEYED & set(run(*words, database=url)[1])


def test_names_of_files_in_faults_are_shown(run: Run, tmp_path: Path, databases: Databases) -> None:
    name = tmp_path / "a\x1b[2Jb\u202e.json"
    name.write_text("[")
    status, out, err = run("import", "neuron-ls", str(name), database=databases.migrated("sqlite"))
    assert status == 2
    assert "a\\u001b[2Jb\\u202e.json:1:2: is not JSON" in err
    assert not OBEYED & set(out + err)
    status, out, err = run("import", "neuron-ls", str(tmp_path / "\x1b[2J"), database=databases.migrated("sqlite"))
    assert not OBEYED & set(out + err)
    name.write_text(json.dumps(neuron_ls()))
    status, out, err = run("import", "neuron-ls", str(name), database=databases.migrated("sqlite"))
    assert (status, OBEYED & set(out + err)) == (0, set())


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x","y")'])
def test_no_cell_of_csv_is_calculated(run: Run, lite: str, cell: str) -> None:
    quoted = cell.replace("'", "''")
    query = f"SELECT '{quoted}' AS a, -1 AS b, 'a,=b' AS c, '=d' AS e"
    status, out, _ = run("sql", query, "--format", "csv", database=lite)
    assert status == 0
    head, row = list(csv.reader(io.StringIO(out, newline="")))
    assert head == ["a", "b", "c", "e"]
    assert row == [f"'{cell}", "-1", "a,=b", "'=d"]


def test_plain_text_stays_as_it_is() -> None:
    text = "8 × 3 → é 東京 \U0001f680 \\u001b"
    assert escape_controls(text) == text
    assert escape_controls("a\tb\nc", keep="\n") == "a\\u0009b\nc"


def test_drift_shows_what_a_terminal_would_obey(url: str, run: Run) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        row = (1, "stale", "info", None, "i-0a", EVIL, EVIL, None, "2026-01-01", "2026-01-01", None)
        bulk_insert(connection, TABLES["finding"], [row])
    for style in ("table", "json"):
        status, out, _ = run("drift", "--include-cleared", "--format", style, database=url)
        assert (status, OBEYED & set(out)) == (0, set())
        assert "\\u001b]0;owned" in out
