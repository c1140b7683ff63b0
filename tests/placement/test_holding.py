"""Jobs hold chips, each chip for one job at most, whoever writes and however many at once."""

import random
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

import trninv
from conftest import Databases, examples
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.tables import JOB_TABLES, TABLES, allocated_mask, allocation_bits_row
from trninv.errors import (
    BusyError,
    ConflictError,
    InvalidArgumentError,
    UnknownAddressError,
    UnknownJobError,
    WrongLevelError,
)
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.inventory.transfer import copy_database
from trninv.placement.allocations import job_allocations, server_cordons
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.uncordon import uncordon

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"


def _held(connection: Connection) -> dict[str, str]:
    """Job by chip, as SQL users see it."""
    rows = connection.execute(text("SELECT address, job FROM v_allocation WHERE ended_at IS NULL"))
    return {row.address: row.job for row in rows}


@pytest.mark.quick_on_postgresql
def test_a_job_holds_its_places_and_gives_them_back(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        made = allocate(connection, "llm", [f"{ULTRA}/s0", f"{ULTRA}/s1/c5"], who="me", spares=[f"{ULTRA}/s3"])
        assert (made.chips, made.servers, made.first_server, made.failed_chips, made.ended_at) == (
            33,
            3,
            f"{ULTRA}/s0",
            0,
            None,
        )
        assert len(_held(connection)) == 33
        row = connection.execute(text("SELECT * FROM v_job")).mappings().one()
        assert (row["chips"], row["spares"], row["state"], row["pinned"]) == (17, 16, "running", "no")
    with write_transaction(engine) as connection:
        done = release(connection, "llm")
        assert done.chips == 33
        assert done.ended_at
        assert _held(connection) == {}
        assert connection.scalar(text("SELECT count(*) FROM domain_allocated")) == 0
        assert connection.scalar(text("SELECT count(*) FROM allocation")) == 33
        assert release(connection, "llm").ended_at == done.ended_at
        assert list(verify(connection, default_catalog(), default_systems())) == []


def test_the_same_job_again_is_no_change_and_another_is_a_conflict(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        first = allocate(connection, "a", [f"{ULTRA}/s0"], who="me")
        assert allocate(connection, "a", [f"{ULTRA}/s0"], who="you") == first
        with pytest.raises(ConflictError, match="job a has other chips"):
            allocate(connection, "a", [f"{ULTRA}/s1"], who="me")
        with pytest.raises(ConflictError, match=f"{ULTRA}/s0/c3 is allocated to job a"):
            allocate(connection, "b", [f"{ULTRA}/s0/c3"], who="me")
        assert connection.scalar(text("SELECT count(*) FROM job")) == 1
        release(connection, "a")
        assert allocate(connection, "a", [f"{ULTRA}/s1"], who="me").first_server == f"{ULTRA}/s1"
        assert len(job_allocations.list_jobs(connection, None, 10)) == 1
        assert len(job_allocations.list_jobs(connection, None, 10, include_ended=True)) == 2


def test_what_is_down_or_closed_takes_no_job_and_says_so(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        set_state(connection, [f"{ULTRA}/s1/c5"], Condition("down"), why="HBM", who="me")
        cordon(connection, [f"{ULTRA}/s2"], who="me", why="firmware")
        with pytest.raises(ConflictError, match=f"{ULTRA}/s1/c5 is down"):
            allocate(connection, "a", [f"{ULTRA}/s1"], who="me")
        with pytest.raises(ConflictError, match=r"s2/c0 is cordoned \(firmware\)"):
            allocate(connection, "a", [f"{ULTRA}/s2"], who="me")
        set_state(connection, [f"{ULTRA}/s3/c0"], Condition("maintenance"), why="fan", who="me")
        with pytest.raises(ConflictError, match=f"{ULTRA}/s3/c0 is in maintenance; choose"):
            allocate(connection, "a", [f"{ULTRA}/s3"], who="me")
        allocate(connection, "a", [f"{ULTRA}/s0"], who="me")
        set_state(connection, [f"{ULTRA}/s0/c1"], Condition("down"), why="HBM", who="me")
        assert [job.failed_chips for job in job_allocations.list_jobs(connection, None, 10)] == [1]


def test_servers_close_and_open(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        made = cordon(connection, [ULTRA, f"{ULTRA}/s0"], who="me", why="drain")
        assert [each.server for each in made] == [f"{ULTRA}/s{at}" for at in range(4)]
        assert cordon(connection, [ULTRA], who="me", why="again") == []
        assert len(server_cordons.list_cordons(connection, 10)) == 4
        assert connection.scalar(text(f"SELECT free FROM v_domain_free WHERE address = '{ULTRA}'")) == 0
        opened = uncordon(connection, [f"{ULTRA}/s0", f"{ULTRA}/s1"])
        assert [each.server for each in opened] == [f"{ULTRA}/s0", f"{ULTRA}/s1"]
        assert all(each.ended_at for each in opened)
        row = connection.execute(text(f"SELECT * FROM v_domain_free WHERE address = '{ULTRA}'")).mappings().one()
        assert (row["free"], row["free_servers"], row["cordoned_servers"], row["usable"]) == (32, 2, 2, 64)
        assert connection.scalar(text(f"SELECT count(*) FROM v_free_chip WHERE domain = '{ULTRA}'")) == 32
        with pytest.raises(WrongLevelError, match="name servers"):
            cordon(connection, [f"{ULTRA}/s0/c0"], who="me", why="x")


def test_a_server_that_is_open_again_takes_jobs(lite_connection: Connection) -> None:
    cordon(lite_connection, [f"{ULTRA}/s0"], who="me", why="firmware")
    with pytest.raises(ConflictError, match=r"s0/c0 is cordoned \(firmware\)"):
        allocate(lite_connection, "a", [f"{ULTRA}/s0"], who="me")
    uncordon(lite_connection, [f"{ULTRA}/s0"])
    assert allocate(lite_connection, "a", [f"{ULTRA}/s0"], who="me").name == "a"


def test_of_several_chips_that_are_taken_the_first_is_named(lite_connection: Connection) -> None:
    for job, chip in (("late", 9), ("early", 3)):
        allocate(lite_connection, job, [f"{ULTRA}/s0/c{chip}"], who="me")
    with pytest.raises(ConflictError, match="s0/c3 is allocated to job early"):
        allocate(lite_connection, "b", [f"{ULTRA}/s0"], who="me")


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201, "a:b", "\x00", "a\u202e"])
def test_names_that_nobody_can_read_are_refused(lite_connection: Connection, name: str) -> None:
    with pytest.raises(InvalidArgumentError):
        allocate(lite_connection, name, [f"{ULTRA}/s0"], who="me")


@pytest.mark.parametrize(
    ("places", "error"),
    [
        ([], InvalidArgumentError),
        ([f"{ULTRA}/s0"] * 1001, InvalidArgumentError),
        ([ULTRA, "trn1.32xlarge/d0"], InvalidArgumentError),
        (["u-trn2x64"], WrongLevelError),
        ([f"{ULTRA}/s0/c0/nc1"], WrongLevelError),
        ([f"{ULTRA}/s0/efa0"], WrongLevelError),
        ([f"{ULTRA}/s9"], UnknownAddressError),
    ],
)
def test_places_that_no_job_can_hold(lite_connection: Connection, places: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        allocate(lite_connection, "a", places, who="me")
    assert lite_connection.scalar(text("SELECT count(*) FROM job")) == 0


def test_a_chip_is_to_work_on_or_to_spare(lite_connection: Connection) -> None:
    with pytest.raises(
        InvalidArgumentError, match=f"{ULTRA}/s0 has chips that are also named as spares; name each chip once"
    ):
        allocate(lite_connection, "a", [f"{ULTRA}/s0"], who="me", spares=[f"{ULTRA}/s0/c1", f"{ULTRA}/s1"])


def test_a_job_that_never_was(lite_connection: Connection) -> None:
    allocate(lite_connection, "train-70b", [f"{ULTRA}/s0"], who="me")
    with pytest.raises(UnknownJobError, match="did you mean train-70b"):
        release(lite_connection, "train-70")
    with pytest.raises(UnknownJobError):
        release(lite_connection, "slurm:17")


@pytest.fixture
def lite_connection(databases: Databases) -> Iterator[Connection]:
    with temporary_engine(databases.seeded("sqlite")) as engine, write_transaction(engine) as connection:
        yield connection
        connection.rollback()


def _raw(connection: Connection, key: int, job: int, chips: list[int]) -> None:
    rows = [
        {"id": key + at, "job_id": job, "chip_id": chip, "role": "work", "started_at": "x"}
        for at, chip in enumerate(chips)
    ]
    connection.execute(insert(TABLES["allocation"]).values(rows))


def _two_jobs(engine: Engine) -> list[int]:
    with write_transaction(engine) as connection:
        for number in (1, 2):
            connection.execute(
                insert(TABLES["job"]).values(
                    id=number, cluster_id=1, name="n", system="s", external_id=str(number), started_at="x", who="w"
                )
            )
        return list(connection.scalars(select(TABLES["chip"].c.id).order_by(TABLES["chip"].c.id)))


@pytest.mark.quick_on_postgresql
def test_the_database_refuses_a_second_holder(engine: Engine) -> None:
    chips = _two_jobs(engine)
    with engine.begin() as connection:
        _raw(connection, 1, 1, chips[:3])
    with pytest.raises(IntegrityError), engine.begin() as connection:
        _raw(connection, 11, 2, chips[2:5])
    with engine.begin() as connection:
        connection.execute(text("UPDATE allocation SET ended_at = 'y' WHERE id = 3"))
        _raw(connection, 11, 2, chips[2:5])


def test_a_chip_that_is_taken_after_the_look_is_a_conflict(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    _two_jobs(engine)
    looks = vars(import_module("trninv.placement.changes.allocate"))
    monkeypatch.setitem(looks, "refuse_allocated", lambda connection, chips: _raw(connection, 1, 1, chips[-1:]))
    with (
        pytest.raises(ConflictError, match="the chips of job late were just allocated"),
        write_transaction(engine) as connection,
    ):
        allocate(connection, "late", ["u-trn2x64/d0/s0/c0-3"], who="me")
    with read_transaction(engine) as connection:
        assert [job.chips for job in job_allocations.list_jobs(connection, None, 10)] == [0, 0]


@pytest.mark.quick_on_postgresql
def test_racing_transactions_never_hold_a_chip_twice(engine: Engine) -> None:
    """Each looks at nothing first, as somebody who writes SQL might."""
    chips = _two_jobs(engine)[:12]

    def race(number: int) -> str:
        draw = random.Random(number)
        mine = sorted(draw.sample(chips, 4))
        try:
            with engine.connect().execution_options(writes=True) as connection, connection.begin():
                if draw.random() < 0.5:
                    chosen = draw.choice(chips)
                    connection.execute(
                        text(f"UPDATE allocation SET ended_at = 'y' WHERE chip_id = {chosen} AND ended_at IS NULL")
                    )
                    return "released"
                _raw(connection, 10 + 10 * number, 1 + number % 2, mine)
        except DBAPIError:
            return "refused"
        return "held"

    with ThreadPoolExecutor(4) as threads:
        came = list(threads.map(race, range(160)))
    assert set(came) == {"held", "refused", "released"}
    with read_transaction(engine) as connection:
        twice = "SELECT chip_id FROM allocation WHERE ended_at IS NULL GROUP BY chip_id HAVING count(*) > 1"
        assert connection.execute(text(twice)).all() == []
        found = list(verify(connection, default_catalog(), default_systems(), "trn1.2xlarge"))
        connection.rollback()
    assert [each for each in found if each.table == "domain_allocated"] == []


def test_a_number_of_numpy_does_not_slip_past_the_index(databases: Databases) -> None:
    """The driver of SQLite would bind it as bytes."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine:
        chips = _two_jobs(engine)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as driver:
        insert_one = "INSERT INTO allocation VALUES (?, 1, ?, 'work', 'x', NULL)"
        driver.execute(insert_one, (1, chips[0]))
        for again in (chips[0], np.int64(chips[0])):
            with pytest.raises(sqlite3.IntegrityError):
                driver.execute(insert_one, (2, again))


def test_verify_sees_words_that_do_not_say_what_is_held(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        allocate(connection, "a", [f"{ULTRA}/s3"], who="me")
        allocate(connection, "b", ["trn3-gen2/d0/s35", "trn3-gen2/d0/s0/c1"], who="me")
        words = {
            row["id"]: allocated_mask(dict(row))
            for row in connection.execute(text("SELECT * FROM domain_allocated")).mappings()
        }
        assert sorted(words.values()) == [0xFFFF << 48, 0xF << 140 | 2]
        assert list(verify(connection, default_catalog(), default_systems())) == []
        connection.execute(text("UPDATE domain_allocated SET allocated_0 = allocated_0 & ~2"))
        assert {
            each.kind
            for each in verify(connection, default_catalog(), default_systems())
            if each.table == "domain_allocated"
        } == {
            "missing",
            "unexpected",
        }


@given(st.integers(0, 2**192 - 1))
def test_words_say_their_chips(mask: int) -> None:
    row = allocation_bits_row(7, mask)
    assert allocated_mask(row) == mask
    assert all(-(2**63) <= row[f"allocated_{word}"] < 2**63 for word in range(3))


@examples(15)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 63), st.booleans()), max_size=12))
def test_words_follow_any_order_of_holding_and_releasing(lite: str, steps: list[tuple[str, int, bool]]) -> None:
    with temporary_engine(lite) as engine, write_transaction(engine) as connection:
        for name, chip, takes in steps:
            try:
                if takes:
                    allocate(connection, name, [f"{ULTRA}/s{chip // 16}/c{chip % 16}"], who="me")
                else:
                    release(connection, name)
            except (ConflictError, UnknownJobError):
                pass
        found = list(verify(connection, default_catalog(), default_systems(), "trn1.2xlarge"))
        connection.rollback()
    assert [each for each in found if each.table == "domain_allocated"] == []


def test_unseed_takes_jobs_along_and_a_copy_has_them(engine: Engine, databases: Databases) -> None:
    with write_transaction(engine) as connection:
        for name, place in (("a", f"{ULTRA}/s0"), ("b", "trn3-gen2/d0/s35"), ("c", "trn3-gen2/d0/s0")):
            allocate(connection, name, [place], who="me")
        release(connection, "c")
        cordon(connection, [f"{ULTRA}/s1"], who="me", why="x")
    other = "postgresql" if engine.dialect.name == "sqlite" else "sqlite"
    with temporary_engine(databases.migrated(other)) as target:
        with read_transaction(engine) as found, write_transaction(target) as made:
            copy_database(found, made)
        with read_transaction(target) as connection:
            assert len(_held(connection)) == 20
            assert list(verify(connection, default_catalog(), default_systems())) == []
    with write_transaction(engine) as connection:
        key = connection.scalar(text("SELECT id FROM cluster WHERE slug = 'u-trn2x64'"))
        cluster_seeding.unseed(connection, key)
        assert [job.name for job in job_allocations.list_jobs(connection, None, 9, include_ended=True)] == ["b", "c"]
        cluster_seeding.unseed(connection, connection.scalar(text("SELECT id FROM cluster WHERE slug = 'trn3-gen2'")))
        assert all(connection.scalar(text(f"SELECT count(*) FROM {name}")) == 0 for name in JOB_TABLES)


def test_more_at_once_than_there_are_connections_are_told_to_come_again(
    seeded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with trninv.open(seeded) as own, ExitStack() as taken:
        monkeypatch.setattr(own.engine.pool, "_timeout", 0.01)
        for _ in range(15):
            taken.enter_context(own.connect())
        with pytest.raises(BusyError, match="all connections of this process are in use"):
            taken.enter_context(own.connect())
        with pytest.raises(BusyError, match="try again, or send fewer at once"):
            own.allocate("a", [f"{ULTRA}/s0"], who="me")
        taken.close()
        assert own.allocate("a", [f"{ULTRA}/s0"], who="me").chips == 16
