"""Availability from an archive: what intervals add up to, in DuckDB and in Spark alike; and the page on history."""

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, text
from tabulate import tabulate

from archives import KNOWN, at, happen, live, run, state
from bench.generated import generate
from conftest import Databases, examples
from examples import ROOT
from trninv.catalog.facts import catalog
from trninv.catalog.models import systems
from trninv.errors import FileError, MomentError
from trninv.history.archive.availability import BY, COLUMNS, main, query
from trninv.history.archive.engines import in_duckdb
from trninv.history.availability import AvailabilityBy, Sums, sums
from trninv.inventory import stamp
from trninv.inventory.address import resolve
from trninv.inventory.database import connect, reading, writing
from trninv.inventory.schema import STATES

PAGE = ROOT / "docs/history.md"
HOUR = 3_600_000


@pytest.fixture(scope="module")
def written(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("archive")
    with connect(databases.seeded("sqlite")) as engine:
        live(engine)
        run(engine, directory)
    return directory


_KNOWN, _END, _MS = datetime.fromisoformat(KNOWN), datetime.fromisoformat(at(8, 0)), timedelta(milliseconds=1)
_MINUTES = (_END - _KNOWN) // timedelta(minutes=1)


@pytest.fixture(scope="module")
def random_history(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Path]]:
    """Servers, nodes and links in any state, by a clock that sometimes goes back; and its archive."""
    chance, directory = random.Random(17), tmp_path_factory.mktemp("random")
    minutes = sorted(chance.sample(range(1, _MINUTES), 50))
    for place in chance.sample(range(4, 49), 8):
        minutes[place - 3], minutes[place] = minutes[place], minutes[place - 3]
    with connect(databases.seeded("sqlite")) as engine:
        with writing(engine) as connection:
            connection.execute(text(f"UPDATE cluster SET known_since = '{KNOWN}'"))
        for after in minutes:
            table, new = chance.choice(("server", "node", "link")), chance.choice(STATES)
            factor = 500_000 if new == "degraded" else "NULL"
            change = f"UPDATE {table} SET state = '{new}', factor_ppm = {factor} WHERE id = {chance.randint(1, 4)}"
            happen(engine, (_KNOWN + timedelta(minutes=after)).isoformat(timespec="microseconds"), change)
        run(engine, directory, at(8, 0))
        yield engine, directory


def _found(directory: Path, *more: str) -> dict[tuple[str, str], dict[str, Any]]:
    rows = map(json.loads, main([str(directory), *more]))
    return {(row["kind"], row["name"]): row for row in rows}


def test_intervals_add_up(written: Path) -> None:
    """Chips 1 (a part of the time on day 1) and 3 (from day 2 on), a NIC for two days, a server: over five days."""
    found = _found(written, "--by", "cluster")
    observed = 5 * 24 - 6
    chip = found["chip", "trn1.2xlarge"]
    assert (chip["parts"], chip["observed_ms"], chip["lost_ms"], chip["failures"]) == (1, observed * HOUR, 12 * HOUR, 1)
    assert (chip["share_up"], chip["mtbf_hours"], chip["mttr_hours"]) == (102 / 114, 102, 12)
    assert [found["nic", "trn1.2xlarge"][name] for name in ("lost_ms", "failures")] == [47 * HOUR, 1]
    assert found["server", "trn1.2xlarge"]["lost_ms"] == 47 * HOUR
    calm = found["chip", "u-trn2x64"]
    assert (calm["parts"], calm["lost_ms"], calm["share_up"], calm["mtbf_hours"]) == (64, 0, 1, None)
    within = _found(written, "--by", "cluster", "--since", at(1, 12), "--until", at(1, 18))["chip", "trn1.2xlarge"]
    assert (within["observed_ms"], within["lost_ms"], within["failures"]) == (6 * HOUR, 6 * HOUR, 0)
    assert sum(row["parts"] for row in _found(written, "--by", "model").values()) == sum(
        row["parts"] for row in _found(written).values()
    )


def test_what_never_had_an_event_is_in_the_state_it_was_in(written: Path, tmp_path: Path) -> None:
    """And an event that a clock wrote too early counts when the one before it does."""
    shutil.copytree(written / "parts", tmp_path / "parts")
    (tmp_path / "events/day=2026-01-05").mkdir(parents=True)
    rows = [(1, 4, "down", "up"), (2, 2, "up", "down")]  # hours of day 5
    values = ", ".join(
        f"({id_}, 'chip', 1, '{before}', '{after}', TIMESTAMP '2026-01-05 0{hour}:00:00')"
        for id_, hour, before, after in rows
    )
    named = f"(VALUES {values}) AS of_event (id, kind, part_id, before, state, time)"
    duckdb.execute(f"COPY (SELECT * FROM {named}) TO '{tmp_path}/events/day=2026-01-05/part-1.parquet'")
    chip = _found(tmp_path, "--by", "cluster")["chip", "trn1.2xlarge"]
    assert (chip["lost_ms"], chip["failures"]) == (chip["observed_ms"], 1)


@pytest.fixture(scope="module")
def went_back(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Sums]:
    """A clock went back for hours, within a part's changes and between those of others; what is said of chips."""
    directory = tmp_path_factory.mktemp("went_back")
    with connect(databases.migrated("sqlite")) as engine:
        with writing(engine) as connection:
            stamp.seed(connection, catalog(), systems().get("trn1.32xlarge"))
            connection.execute(text(f"UPDATE cluster SET known_since = '{KNOWN}'"))
        for day, hour, what in (
            *((1, 8, state("down", 1)), (1, 20, state("up", 1)), (1, 12, state("down", 2)), (2, 9, state("down", 3))),
            *((2, 3, state("down", 1)), (2, 1, state("up", 2)), (3, 9, state("up", 1)), (4, 7, state("up", 3))),
            *((3, 5, state("down", 4)), (4, 1, state("down", 1)), (5, 1, state("up", 4)), (4, 12, state("up", 1))),
        ):
            happen(engine, at(day, hour), what)
        run(engine, directory)
        with reading(engine) as connection:
            since, until = (datetime.fromisoformat(each) for each in (KNOWN, at(6, 0)))
            place = resolve(connection, "trn1.32xlarge")
            (chips,) = (
                each for each in sums(connection, place, AvailabilityBy.KIND, 0, since, until) if each.kind == "chip"
            )
    return directory, chips


def test_where_a_clock_went_back_it_is_what_the_database_says(went_back: tuple[Path, Sums]) -> None:
    directory, chips = went_back
    wanted = (chips.parts, chips.spent["down"] // 1_000, chips.failures)
    for more in ((), ("--until", "2999-01-01T00:00:00Z")):
        found = _found(directory, *more)["chip", "chip"]
        assert (found["parts"], found["lost_ms"], found["failures"]) == wanted
        assert found["observed_ms"] == chips.parts * 114 * HOUR


@examples(6)
@given(st.integers(0, _MINUTES - 1), st.integers(1, _MINUTES))
def test_database_and_archive_say_the_same_of_any_time(
    random_history: tuple[Engine, Path], begins: int, lasts: int
) -> None:
    """Row for row: parts, time observed, and time not up."""
    engine, directory = random_history
    since = _KNOWN + timedelta(minutes=begins)
    until = min(since + timedelta(minutes=lasts), _END)
    with reading(engine) as connection:
        wanted = {
            (each.kind, slug): (each.parts, each.parts * ((until - since) // _MS), _not_up(each) // 1_000)
            for slug in connection.scalars(text("SELECT slug FROM cluster")).all()
            for each in sums(connection, resolve(connection, slug), AvailabilityBy.KIND, 0, since, until)
        }
    rows = _found(directory, "--by", "cluster", "--since", since.isoformat(), "--until", until.isoformat())
    assert {key: (row["parts"], row["observed_ms"], row["lost_ms"]) for key, row in rows.items()} == wanted


def _not_up(of: Sums) -> int:
    return sum(of.spent.values()) - of.spent["up"]


def test_a_clock_that_went_back_counts_however_many_events_later(written: Path, tmp_path: Path) -> None:
    """Number 1 and number 70,000 are not compared in one go."""
    shutil.copytree(written / "parts", tmp_path / "parts")
    (tmp_path / "events/day=2026-01-05").mkdir(parents=True)
    named = "(id, kind, part_id, before, state, time)"
    rows = "(1, 'chip', 1, 'up', 'down', TIMESTAMP '2026-01-05 06:00'), "
    rows += "(70000, 'nic', 2, 'up', 'down', TIMESTAMP '2026-01-05 03:00')"
    file = tmp_path / "events/day=2026-01-05/part-1.parquet"
    duckdb.execute(f"COPY (SELECT * FROM (VALUES {rows}) AS event {named}) TO '{file}'")
    found = _found(tmp_path, "--by", "cluster")
    assert [found[kind, "trn1.2xlarge"]["lost_ms"] for kind in ("chip", "nic")] == [21 * HOUR, 21 * HOUR]


def test_bad_requests_are_refused(written: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="has no archive"):
        query(tmp_path)
    (tmp_path / "manifest.ndjson").touch()
    with pytest.raises(FileError, match="has no day yet: a day is archived once it has ended"):
        query(tmp_path)
    for time in ("2026-01-01T00:00:00", "noon"):
        with pytest.raises(MomentError, match="with its zone"):
            query(written, since=time)


def test_generated_histories_are_of_the_shape_of_an_archive(written: Path, tmp_path: Path) -> None:
    parts = generate(tmp_path, 2_000)
    assert sum(row["parts"] for row in _found(tmp_path).values()) == parts
    assert sum(row["failures"] for row in _found(tmp_path).values()) == 1_000
    for name in ("events", "parts"):
        asked = "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{}/{}/*/*.parquet')"
        made, have = (dict(duckdb.execute(asked.format(of, name)).fetchall()) for of in (tmp_path, written))
        assert made.items() <= have.items()


@pytest.mark.slow
def test_spark_says_what_duckdb_says(random_history: tuple[Engine, Path]) -> None:
    """Row for row; `./run bench` compares a million events."""
    _, directory = random_history
    python = os.environ.get("TRNINV_TEST_SPARK")
    if not (python and shutil.which("java")):
        pytest.skip("no Spark: set TRNINV_TEST_SPARK to a Python with requirements-spark.txt, and install Java 17")
    command = [python, "-m", "trninv.history.archive.availability", str(directory)]
    command += ["--by", "rack", "--engine", "spark", "--master", "local[2]"]
    quick = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
    done = subprocess.run(command, cwd=ROOT, env=os.environ | quick, capture_output=True, text=True, check=True)
    told = [tuple(json.loads(row).values()) for row in done.stdout.splitlines()]
    assert told == in_duckdb(directory, query(directory, "rack"))


def shown(source: str, directory: Path) -> str:
    """The page, with what DuckDB prints beneath each statement."""
    with duckdb.connect() as found:

        def answered(block: re.Match[str]) -> str:
            result = found.execute(block[1].replace("'/srv/history/", f"'{directory}/"))
            told = f"```sql\n{block[1]}```\n"
            if block[1].startswith("CREATE"):
                return told
            rows = [["" if cell is None else str(cell) for cell in row] for row in result.fetchall()]
            names = [column[0] for column in result.description]
            table = tabulate(rows, headers=names, tablefmt="simple", disable_numparse=True)
            return told + "\n```text\n" + "".join(f"{line.rstrip()}\n" for line in table.splitlines()) + "```\n"

        return re.sub(r"```sql\n(.*?)```\n(?:\n```text\n.*?```\n)?", answered, source, flags=re.DOTALL)


def test_every_statement_of_the_page_runs_in_duckdb_and_prints_what_stands_there(written: Path) -> None:
    assert shown(PAGE.read_text(), written) == PAGE.read_text()


def test_the_report_has_the_columns_that_it_names() -> None:
    assert set(BY) == {"kind", "model", "rack", "cluster"}
    assert [name for name in COLUMNS if name in PAGE.read_text()] == list(COLUMNS)
