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
from sqlalchemy import Engine, text
from tabulate import tabulate
from tampering import triggers_off

import trninv
from archives import KNOWN, at, happen, live, run, state
from bench.generated import generate
from conftest import Databases, seeds
from examples import ROOT
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import STATES
from trninv.errors import InvalidFileError, InvalidTimeError
from trninv.history.archive.archive_store import MANIFEST
from trninv.history.archive.availability import BY, archive_sums, main, report_row, transition_query
from trninv.history.archive.engines import query_duckdb
from trninv.inventory.seeding import cluster_seeding
from trninv.routing.questions.availability import KindAvailability

PAGE = ROOT / "docs/history.md"


@pytest.fixture(scope="module")
def written(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("archive")
    with temporary_engine(databases.seeded("sqlite")) as engine:
        live(engine)
        run(engine, directory)
    return directory


_KNOWN, _END = datetime.fromisoformat(KNOWN), datetime.fromisoformat(at(8, 0))
_MINUTES = (_END - _KNOWN) // timedelta(minutes=1)
_STRANGE = timedelta(microseconds=123_457)
"""Neither whole seconds nor whole milliseconds."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def random_history(
    request: pytest.FixtureRequest, databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, Path]]:
    """Servers, nodes and links in any state, by a clock that sometimes goes back; and its archive."""
    chance, directory = random.Random(17), tmp_path_factory.mktemp("random")
    minutes = sorted(chance.sample(range(1, _MINUTES), 60))
    for place in chance.sample(range(4, 59), 8):
        minutes[place - 3], minutes[place] = minutes[place], minutes[place - 3]
    with temporary_engine(databases.seeded(request.param)) as engine:
        with write_transaction(engine) as connection:
            connection.execute(text(f"UPDATE cluster SET known_since = '{KNOWN}'"))
            stands = "own_state = 'degraded', own_factor_ppm = 250000, state = 'down', factor_ppm = NULL"
            with triggers_off(connection, "node"):
                connection.execute(text(f"UPDATE node SET {stands} WHERE id = 9"))
            connection.execute(text("UPDATE link SET state = 'down' WHERE id = 9"))
            connection.execute(text("UPDATE cluster SET known_from = (SELECT max(id) FROM state_event)"))
        for after in minutes:
            table, new, own = chance.choice(("server", "node", "link")), chance.choice(STATES), chance.choice(STATES)
            change = f"state = '{new}', factor_ppm = {_factor(new)}"
            if table == "node" and chance.random() < 0.5:
                change += f", own_state = '{own}', own_factor_ppm = {_factor(own)}"
            change = f"UPDATE {table} SET {change} WHERE id = {chance.randint(1, 4)}"
            happen(engine, (_KNOWN + timedelta(minutes=after) + _STRANGE).isoformat(timespec="microseconds"), change)
        run(engine, directory, at(8, 0))
        yield engine, directory


def _factor(state: str) -> str:
    return "500000" if state == "degraded" else "NULL"


def _found(directory: Path, *more: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    rows = map(json.loads, main([str(directory), *more]))
    return {(row["kind"], row["name"]): row for row in rows}


def test_intervals_add_up(written: Path) -> None:
    """Chips 1 (a part of the time on day 1) and 3 (from day 2 on), a NIC for two days, a link: over five days."""
    found, observed = _found(written, "--by", "cluster"), 5 * 24 - 6
    chip, nic, link = (found[kind, "trn1.2xlarge"] for kind in ("chip", "nic", "link"))
    assert (chip["parts"], chip["failures"], chip["repairs"], chip["ongoing"]) == (1, 1, 1, 0)
    assert (chip["up"], chip["down"]) == (102 / observed, 12 / observed)
    assert (chip["mtbf_hours"], chip["mttr_hours"]) == (102, 12)
    assert (nic["down"], nic["failures"], nic["mttr_hours"]) == (47 / observed, 1, 47)
    assert (link["maintenance"], link["failures"], link["mtbf_hours"]) == (47 / observed, 0, None)
    calm = found["chip", "u-trn2x64"]
    assert (calm["parts"], calm["up"], calm["mtbf_hours"]) == (64, 1, None)
    within = _found(written, "--by", "cluster", "--since", at(1, 12), "--until", at(1, 18))["chip", "trn1.2xlarge"]
    assert (within["down"], within["failures"], within["down_at_start"], within["ongoing"]) == (1, 0, 1, 1)
    assert sum(row["parts"] for row in _found(written, "--by", "model").values()) == sum(
        row["parts"] for row in _found(written).values()
    )


@pytest.fixture(scope="module")
def went_back(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, KindAvailability]:
    """A clock went back for hours, within a part's changes and between those of others; what is said of chips."""
    directory = tmp_path_factory.mktemp("went_back")
    with temporary_engine(databases.migrated("sqlite")) as engine:
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1.32xlarge"))
            connection.execute(text(f"UPDATE cluster SET known_since = '{KNOWN}'"))
        for day, hour, what in (
            *((1, 8, state("down", 1)), (1, 20, state("up", 1)), (1, 12, state("down", 2)), (2, 9, state("down", 3))),
            *((2, 3, state("down", 1)), (2, 1, state("up", 2)), (3, 9, state("up", 1)), (4, 7, state("up", 3))),
            *((3, 5, state("down", 4)), (4, 1, state("down", 1)), (5, 1, state("up", 4)), (4, 12, state("up", 1))),
        ):
            happen(engine, at(day, hour), what)
        run(engine, directory)
        (chips,) = (each for each in _asked(engine, "trn1.32xlarge", KNOWN, at(6, 0)) if each.kind == "chip")
    return directory, chips


def _asked(engine: Engine, place: str, since: str, until: str, by: str = "kind") -> tuple[KindAvailability, ...]:
    with trninv.open(engine.url.render_as_string(hide_password=False)) as fleet:
        return fleet.availability(place, since, until, by).kinds


def test_where_a_clock_went_back_it_is_what_the_database_says(went_back: tuple[Path, KindAvailability]) -> None:
    directory, chips = went_back
    for more in ((), ("--until", "2999-01-01T00:00:00Z")):
        assert _found(directory, *more)["chip", None] == _wanted(chips)


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize("seed", seeds(10))
@pytest.mark.parametrize("by", ["cluster", "rack"])
def test_database_and_archive_say_the_same_of_any_time(random_history: tuple[Engine, Path], seed: int, by: str) -> None:
    """Number for number, but for the limits of MTBF and MTTR."""
    engine, directory = random_history
    begins, ends = sorted(random.Random(seed).sample(range(_MINUTES + 1), 2))
    asked = [(_KNOWN + timedelta(minutes=each)).isoformat() for each in (begins, ends)]
    rows = _found(directory, "--by", by, "--since", asked[0], "--until", asked[1])
    for place in ("trn1.2xlarge", "trn1.32xlarge"):
        for each in _asked(engine, place, asked[0], asked[1], by):
            if each.name:  # the archive has one group of what is in no rack of any cluster
                assert rows[each.kind, each.name] == _wanted(each)


def _wanted(of: KindAvailability) -> dict[str, Any]:
    same = ("kind", "name", "parts", *STATES, "failures", "repairs", "down_at_start", "ongoing")
    hours = {f"{name}_hours": getattr(of, name).seconds for name in ("mtbf", "mttr")}
    return {name: getattr(of, name) for name in same} | {
        name: seconds and pytest.approx(seconds / 3600, rel=1e-12) for name, seconds in hours.items()
    }


def test_bad_requests_are_refused(written: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="has no archive"):
        transition_query(tmp_path)
    (tmp_path / "manifest.ndjson").touch()
    with pytest.raises(InvalidFileError, match="has no complete day yet; a day is archived after it has ended"):
        transition_query(tmp_path)
    for time in ("2026-01-01T00:00:00", "noon"):
        with pytest.raises(InvalidTimeError, match="with its zone"):
            transition_query(written, since=time)


@pytest.fixture
def quiet(databases: Databases, tmp_path: Path) -> tuple[Engine, Path]:
    """A fleet to which nothing ever happened, and its archive."""
    with temporary_engine(databases.migrated("sqlite")) as engine:
        with write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1.32xlarge"))
            connection.execute(text(f"UPDATE cluster SET known_since = '{KNOWN}'"))
        run(engine, tmp_path / "archive")
        return engine, tmp_path / "archive"


def test_where_nothing_happened_all_was_up(quiet: tuple[Engine, Path]) -> None:
    chips = _found(quiet[1])["chip", None]
    assert (chips["parts"], chips["up"], chips["failures"], chips["mtbf_hours"]) == (16, 1, 0, None)


def _without_own_state(archive: Path) -> None:
    """As an earlier trninv wrote its only version of the parts."""
    (entry,) = (json.loads(line) for line in (archive / MANIFEST).read_text().splitlines() if '"parts"' in line)
    file = archive / entry["files"][0]["path"]
    old = file.with_name("old")
    duckdb.execute(f"COPY (SELECT * EXCLUDE own_state FROM '{file}') TO '{old}' (FORMAT parquet)")
    old.replace(file)
    lines = [json.loads(line) for line in (archive / MANIFEST).read_text().splitlines()]
    lines[-1]["said"]["version"] = "that of an earlier trninv"
    (archive / MANIFEST).write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_an_archive_of_an_earlier_trninv_says_what_to_do(quiet: tuple[Engine, Path]) -> None:
    """Another run of `trninv archive` adds what it lacks, beside what is there."""
    engine, archive = quiet
    wanted = _found(archive)
    _without_own_state(archive)
    with pytest.raises(InvalidFileError, match=f"earlier trninv.*no own_state; run trninv archive {archive} once"):
        _found(archive)
    assert run(engine, archive).rows == {"parts": 73}
    assert _found(archive) == wanted
    assert run(engine, archive).rows == {}
    shutil.rmtree(archive / "parts")
    with pytest.raises(InvalidFileError, match="has no parts yet"):
        _found(archive)


@pytest.mark.slow
def test_generated_histories_are_of_the_shape_of_an_archive(written: Path, tmp_path: Path) -> None:
    parts = generate(tmp_path, 2_000)
    assert sum(row["parts"] for row in _found(tmp_path).values()) == parts
    (found,) = _found(tmp_path, "--by", "kind").values()
    assert 0 < found["repairs"] <= found["failures"] <= 1_000
    assert 0 < found["down"] < found["up"] < 1
    (sound,) = duckdb.execute(
        "SELECT bool_and(previous_id IS NOT DISTINCT FROM was AND (was IS NULL OR before = stood)) FROM ("
        "SELECT *, lag(id) OVER of_part AS was, lag(state) OVER of_part AS stood "
        f"FROM '{tmp_path}/events/*/*.parquet' WINDOW of_part AS (PARTITION BY part_id ORDER BY id))"
    ).fetchone() or (False,)
    assert sound
    for name in ("events", "parts"):
        asked = "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{}/{}/*/*.parquet')"
        made, have = (dict(duckdb.execute(asked.format(of, name)).fetchall()) for of in (tmp_path, written))
        assert made.items() <= have.items()


@pytest.mark.slow
@pytest.mark.parametrize("random_history", ["sqlite"], indirect=True)
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
    found = [json.loads(row) for row in done.stdout.splitlines()]
    assert found == list(map(report_row, archive_sums(query_duckdb(directory, transition_query(directory, "rack")))))


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


def test_the_page_names_the_columns_of_the_report(written: Path) -> None:
    assert set(BY) == {"kind", "model", "rack", "cluster"}
    names = next(iter(_found(written).values()))
    assert [name for name in names if f"`{name}`" in PAGE.read_text()] == list(names)
