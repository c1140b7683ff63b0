"""The newest observations of a speaker are kept, and those that findings cite; nothing else of machines piles up."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO
from threading import Thread

import pytest
from printed import instances, neuron_ls, text
from sqlalchemy import Connection, Engine, func, select
from sqlalchemy import text as sql
from sqlalchemy.exc import DBAPIError

from conftest import BACKENDS, Databases
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import TABLES
from trninv.importers.ingestion import ImportFile, import_files
from trninv.inventory.state import observation_retention
from trninv.setting_parsers import LEAST_OBSERVATIONS as NEWEST

OBSERVATION = TABLES["observation"]
START = datetime(2026, 1, 1, tzinfo=UTC)
CITING = """INSERT INTO finding (id, rule, severity, evidence, first_seen, last_seen, cleared_at)
    VALUES ({id}, 'stale', 'info', '{evidence}', 'x', 'x', {cleared})"""
APPEND_ONLY = "observation is append only"


@pytest.fixture(params=BACKENDS)
def engine(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    with temporary_engine(databases.migrated(request.param)) as made:
        yield made


def reports(connection: Connection, numbers: range, instance: str = "i-0a", **more: int) -> None:
    """Keep small observations of a machine that differ, a minute apart, a transaction for all of them."""
    for number in numbers:
        devices = neuron_ls(instance, chips=[0])
        devices[0]["memory_size"] = number
        file = ImportFile(f"{number}.json", BytesIO(text(devices)))
        import_files(connection, "neuron-ls", [file], taken_at=START + number * timedelta(minutes=1), **more)


def kept(connection: Connection, speaker: str = "i-0a") -> list[int]:
    """Return the numbers of a speaker's observations that are kept."""
    query = select(OBSERVATION.c.name).where(OBSERVATION.c.speaker == speaker).order_by(OBSERVATION.c.id)
    return [int(name.removesuffix(".json")) for name in connection.scalars(query)]


def cite(connection: Connection, evidence: str, *, key: int = 1, cleared: str = "NULL") -> None:
    connection.execute(sql(CITING.format(id=key, evidence=evidence, cleared=cleared)))


def _fill(url: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        reports(connection, range(NEWEST))


@pytest.fixture(params=BACKENDS)
def full(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    """A database with as many reports of a machine as are kept."""
    with temporary_engine(databases.copied(request.param, _fill)) as made:
        yield made


def remove(connection: Connection, which: str) -> None:
    """Delete observations in plain SQL, with what they say."""
    connection.execute(sql(f"DELETE FROM observation WHERE {which}"))
    gone = "SELECT id FROM observation"
    connection.execute(sql(f"DELETE FROM observed_server WHERE observation_id NOT IN ({gone})"))
    servers = "SELECT id FROM observed_server"
    connection.execute(sql(f"DELETE FROM observed_chip WHERE observed_server_id NOT IN ({servers})"))


def left(connection: Connection) -> set[int | None]:
    """Return how many rows there are of observations, their servers and their chips."""
    tables = (TABLES[name] for name in ("observation", "observed_server", "observed_chip"))
    return {connection.scalar(select(func.count()).select_from(table)) for table in tables}


@pytest.mark.slow_on_postgresql
def test_the_newest_are_kept_and_the_one_before_them_goes(full: Engine) -> None:
    with write_transaction(full) as connection:
        reports(connection, range(3), "i-0b")
        assert kept(connection) == list(range(NEWEST))
        reports(connection, range(NEWEST, NEWEST + 1))
        assert kept(connection) == list(range(1, NEWEST + 1))
        assert kept(connection, "i-0b") == [0, 1, 2]
        assert left(connection) == {NEWEST + 3}


def test_more_are_kept_where_that_is_set(full: Engine) -> None:
    with write_transaction(full) as connection:
        reports(connection, range(NEWEST, NEWEST + 3), newest=NEWEST + 2)
        assert kept(connection) == list(range(1, NEWEST + 3))


def test_what_was_seen_again_is_new(full: Engine) -> None:
    with write_transaction(full) as connection:
        again = ImportFile("0.json", BytesIO(text([neuron_ls("i-0a", chips=[0])[0] | {"memory_size": 0}])))
        assert import_files(connection, "neuron-ls", [again])[0].is_duplicate
        reports(connection, range(NEWEST, NEWEST + 1))
        assert kept(connection) == [0, *range(2, NEWEST + 1)]


@pytest.mark.slow_on_postgresql
def test_the_newest_row_stays_however_old_its_file_is_so_that_no_number_comes_twice(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        reports(connection, range(1, NEWEST + 1))
        reports(connection, range(1))
        assert kept(connection) == [*range(1, NEWEST + 1), 0]
        last = connection.scalar(select(func.max(OBSERVATION.c.id))) or 0
        reports(connection, range(NEWEST + 1, NEWEST + 2))
        assert kept(connection) == list(range(2, NEWEST + 2))
        assert connection.scalar(select(func.max(OBSERVATION.c.id))) == last + 1


@pytest.mark.parametrize("cleared", ["NULL", "'x'"])
def test_what_a_finding_cites_stays(full: Engine, cleared: str) -> None:
    with write_transaction(full) as connection:
        cite(connection, "1 3", cleared=cleared)
        reports(connection, range(NEWEST, NEWEST + 3))
        assert kept(connection) == [0, 2, *range(3, NEWEST + 3)]
    for which in ("id = 1", "id = 3"):
        with pytest.raises(DBAPIError, match=APPEND_ONLY), full.begin() as connection:
            connection.execute(sql(f"DELETE FROM observation WHERE {which}"))
    with pytest.raises(DBAPIError, match=APPEND_ONLY), full.begin() as connection:
        connection.execute(sql("UPDATE observation SET is_cited = false WHERE id = 1"))
    with pytest.raises(DBAPIError, match=APPEND_ONLY), full.begin() as connection:
        connection.execute(sql("UPDATE observation SET speaker = 'i-0b' WHERE id = 4"))


def test_plain_sql_removes_what_is_superseded_and_nothing_else(full: Engine) -> None:
    with write_transaction(full) as connection:
        reports(connection, range(NEWEST, NEWEST + 3), newest=NEWEST + 3)
        import_files(connection, "ec2", [ImportFile("all", BytesIO(text(instances("i-0a"))))])
    for which in ("id = 4", "id = 3 OR id = 4", f"id = {NEWEST + 3}", f"id = {NEWEST + 4}", "true"):
        with pytest.raises(DBAPIError, match=APPEND_ONLY), full.begin() as connection:
            connection.execute(sql(f"DELETE FROM observation WHERE {which}"))
    for table in ("observed_server", "observed_chip"):
        with pytest.raises(DBAPIError, match=f"{table} is append only"), full.begin() as connection:
            connection.execute(sql(f"DELETE FROM {table} WHERE id = 1"))
    with full.begin() as connection:
        remove(connection, "id <= 3")
        assert kept(connection) == list(range(3, NEWEST + 3))
        assert connection.scalar(select(func.min(TABLES["observed_chip"].c.id))) == 4


def test_listings_of_managers_and_files_of_several_machines_are_kept(engine: Engine) -> None:
    both = [*neuron_ls("i-0a", chips=[0]), *neuron_ls("i-0b", chips=[0])]
    with write_transaction(engine) as connection:
        lines = b"\n".join(text([each]) for each in both)
        import_files(connection, "neuron-ls", [ImportFile("two", BytesIO(lines))])
        import_files(connection, "ec2", [ImportFile("all", BytesIO(text(instances("i-0a"))))])
        assert connection.scalars(select(OBSERVATION.c.speaker)).all() == [None, None]


def test_little_is_removed_at_a_time_and_the_next_import_goes_on(full: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observation_retention, "_BATCH_SIZE", 2)
    with write_transaction(full) as connection:
        reports(connection, range(NEWEST, NEWEST + 5), newest=NEWEST + 5)
        for number, oldest in ((5, 2), (6, 4), (7, 6), (8, 8), (9, 10)):
            reports(connection, range(NEWEST + number, NEWEST + number + 1))
            assert kept(connection) == list(range(oldest, NEWEST + number + 1))


def test_an_import_that_fails_removes_nothing_and_again_removes_once(full: Engine) -> None:
    def fail() -> None:
        with write_transaction(full) as connection:
            reports(connection, range(NEWEST, NEWEST + 1))
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fail()
        with read_transaction(full) as connection:
            assert kept(connection) == list(range(NEWEST))
    for _ in range(2):
        with write_transaction(full) as connection:
            reports(connection, range(NEWEST, NEWEST + 1))
    with read_transaction(full) as connection:
        assert kept(connection) == list(range(1, NEWEST + 1))


def test_two_that_import_at_once_keep_the_newest(full: Engine) -> None:
    def run(numbers: range) -> None:
        for number in numbers:
            with write_transaction(full) as connection:
                reports(connection, range(number, number + 1))

    threads = [Thread(target=run, args=(range(NEWEST + first, NEWEST + 16, 2),)) for first in (0, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with read_transaction(full) as connection:
        assert sorted(kept(connection)) == list(range(16, NEWEST + 16))
        assert left(connection) == {NEWEST}
