"""The counts beside the parts are those that plain counting gives, after every change by whoever makes it."""

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from next_release import next_release
from sqlalchemy import Connection, Engine, event, text

from conftest import BACKENDS, Databases, is_quick, seeds
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import part_counts
from trninv.database.as_of import engine_as_of
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.database.migration import migrate
from trninv.database.tables import STATES
from trninv.history.point_in_time import parse_time
from trninv.inventory.seeding.cluster_seeding import seed, unseed
from trninv.inventory.seeding.verification import verify
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.release import release
from trninv.units import current_timestamp

U = "u-trn2x64"
CHANGES = 12 if is_quick() else 60
# plain counting, which shares nothing with `trninv.database.part_counts`
NODE = "JOIN node n ON n.id = p.id"
PLAIN = {
    "domain": ("p.cluster_id", "p.domain_model_id", "''", "'up'", "0", "0", "domain p"),
    "rack": ("p.cluster_id", "0", "''", "'up'", "0", "0", "rack p"),
    "server": (
        "d.cluster_id",
        "server_model_id",
        "''",
        "state",
        "0",
        "0",
        "server p JOIN domain d ON d.id = domain_id",
    ),
    "chip": ("n.cluster_id", "chip_model_id", "''", "n.state", "0", "0", f"chip p {NODE}"),
    "switch": (
        *("n.cluster_id", "d.domain_model_id", "''", "n.state", "0", "0"),
        f"switch p {NODE} JOIN domain d ON d.id = n.domain_id",
    ),
    "nic": (
        *("n.cluster_id", "server_model_id", "''", "n.state", "0", "bandwidth_bytes_per_s"),
        f"nic p {NODE} JOIN server s ON s.id = server_id",
    ),
    "network_node": ("n.cluster_id", "0", "''", "n.state", "0", "0", f"network_node p {NODE}"),
    "core": (
        "n.cluster_id",
        "chip_model_id",
        "''",
        "n.state",
        "0",
        "0",
        "core k JOIN chip p ON p.id = chip_id " + NODE,
    ),
    "link": (
        *("n.cluster_id", "link_model_id", "scope", "p.state", "cables", "bandwidth_bytes_per_s"),
        "link p JOIN node n ON n.id = a_id",
    ),
    "allocation": (
        *("n.cluster_id", "chip_model_id", "''", "n.state", "0", "0"),
        f"allocation a JOIN chip p ON p.id = chip_id {NODE} WHERE ended_at IS NULL",
    ),
}
PARTS = ("server", "node", "link")
ALLOCATED = (
    """INSERT INTO job (id, cluster_id, name, system, external_id, started_at, who)
    VALUES (1, 1, 'j', 'trninv', 'j', 'x', 'me')""",
    """INSERT INTO allocation (id, job_id, chip_id, role, started_at)
    SELECT id, 1, id, 'work', 'x' FROM chip WHERE id % 3 = 0""",
)
Counts = dict[tuple[Any, ...], tuple[int, ...]]


def _plain(connection: Connection) -> Counts:
    counts: Counts = {}
    for kind, (*keys, cables, bandwidth, tables) in PLAIN.items():
        query = f"SELECT {', '.join(keys)}, count(*), sum({cables}), sum({bandwidth}) FROM {tables} GROUP BY 1, 2, 3, 4"
        for cluster, model, scope, state, *sums in connection.execute(text(query)):
            counts[cluster, kind, model, scope, state] = tuple(map(int, sums))
    return counts


def _stored(connection: Connection) -> Counts:
    columns = ", ".join((*part_counts.KEYS, *part_counts.SUMS))
    rows = connection.execute(text(f"SELECT {columns} FROM part_count WHERE number <> 0"))
    return {tuple(row[:5]): tuple(row[5:]) for row in rows}


def _found(engine: Engine) -> list[str]:
    with read_transaction(engine) as connection:
        return [
            one.detail for one in verify(connection, default_catalog(), default_systems()) if one.table == "part_count"
        ]


def _execute(engine: Engine, statements: Iterable[str]) -> None:
    with write_transaction(engine) as connection:
        for statement in statements:
            connection.execute(text(statement))


def _random_changes(seed_number: int) -> Iterator[str]:
    """Yield plain SQL that changes one or many parts."""
    draw = random.Random(seed_number)
    while True:
        table = draw.choice(PARTS)
        rows = draw.choice(
            (f"id % {draw.randrange(2, 40)} = {draw.randrange(2)}", f"id = {draw.randrange(1, 60)}", "state <> 'up'")
        )
        column = draw.choice(("state", "state", "factor_ppm"))
        value = f"'{draw.choice(STATES)}'" if column == "state" else draw.choice(("NULL", "1000"))
        yield f"UPDATE {table} SET {column} = {value} WHERE {rows}"
        if table == "link":
            yield f"UPDATE link SET cables = cables + 1, bandwidth_bytes_per_s = {draw.randrange(1, 9)} WHERE {rows}"
            end = draw.choice(("NULL", "'y'"))
            yield f"UPDATE allocation SET ended_at = {end} WHERE id % {draw.randrange(2, 9)} = 0"


@pytest.mark.parametrize("number", seeds(2))
def test_random_changes(engine: Engine, number: int) -> None:
    changes = _random_changes(number)
    _execute(engine, ALLOCATED)
    for step in range(CHANGES):
        with write_transaction(engine) as connection:
            connection.execute(text(next(changes)))
            if step % 3 == 0:
                server = f"{U}/d0/s{step % 4}"
                set_state(connection, [server], Condition(STATES[step % 4]), why="a test", who="tester")
            assert _stored(connection) == _plain(connection)
    assert _found(engine) == []


STRUCTURE = [
    "DELETE FROM core WHERE id < 5",
    "DELETE FROM link WHERE id IN (SELECT max(id) FROM link)",
    "INSERT INTO core (id, chip_id, ordinal) SELECT max(id) + 1, max(chip_id), 99 FROM core",
    "UPDATE nic SET bandwidth_bytes_per_s = 7 WHERE id IN (SELECT min(id) FROM nic)",
    "UPDATE chip SET chip_model_id = (SELECT max(id) FROM chip_model)",
    "UPDATE link SET link_model_id = (SELECT min(id) FROM link_model), scope = 'rack' WHERE id % 3 = 0",
    "UPDATE domain SET domain_model_id = (SELECT min(id) FROM domain_model) WHERE id = 1",
    "UPDATE domain SET domain_model_id = (SELECT min(id) FROM domain_model)",
    "UPDATE server SET server_model_id = (SELECT min(id) FROM server_model) WHERE id % 2 = 0",
    "INSERT INTO rack (id, cluster_id, ordinal, rack_units) SELECT max(id) + 1, min(cluster_id), 999, 42 FROM rack",
    "UPDATE node SET state = 'down' WHERE id = -1",
    "UPDATE domain SET cluster_id = 1, ordinal = 99 WHERE id = 2",
    "UPDATE node SET cluster_id = 1 WHERE domain_id = 2",
    "UPDATE node SET cluster_id = 3 - cluster_id WHERE cluster_id < 3",
    "UPDATE nic SET server_id = (SELECT max(id) FROM server), ordinal = ordinal + 99 WHERE server_id = 1",
    "UPDATE core SET chip_id = (SELECT max(id) FROM chip), ordinal = ordinal + 99 WHERE id = 1",
    "UPDATE link SET a_id = 1 WHERE id IN (SELECT max(id) FROM link)",
    "UPDATE allocation SET ended_at = 'y' WHERE id % 2 = 0",
    "UPDATE chip SET chip_model_id = (SELECT max(id) FROM chip_model) WHERE id = 2",
]


@pytest.fixture(scope="module", params=BACKENDS)
def allocated(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    """A database with a job, of which every change is undone."""
    with temporary_engine(databases.seeded(request.param)) as made:
        _execute(made, ALLOCATED)
        yield made


@pytest.mark.parametrize("statement", STRUCTURE)
def test_plain_sql_on_other_columns_and_rows(allocated: Engine, statement: str) -> None:
    with write_transaction(allocated, commits=False) as connection:
        connection.execute(text(statement))
        assert _stored(connection) == _plain(connection)


def test_a_change_undone_is_not_counted(engine: Engine) -> None:
    with write_transaction(engine, commits=False) as connection:
        connection.execute(text("UPDATE server SET state = 'down'"))
        assert _stored(connection) == _plain(connection)
    with read_transaction(engine) as connection:
        assert {key[4] for key in _stored(connection)} == {"up"}


@pytest.mark.slow_on_postgresql
def test_clusters_come_and_go(tables: str) -> None:
    """Of loads in bulk and, beside larger ones on PostgreSQL, of loads that triggers count; the last leaves none."""
    systems, catalog = default_systems(), default_catalog()
    with temporary_engine(tables) as engine:
        for name, domains in (("trn3-gen2", 1), (U, 12), ("trn1.2xlarge", 1)):
            with write_transaction(engine) as connection:
                seed(connection, catalog, systems.get(name).resized(domains), f"a{domains}{name[-1]}")
                assert _stored(connection) == _plain(connection)
        assert _found(engine) == []
        for cluster in (2, 1, 3):
            with write_transaction(engine) as connection:
                unseed(connection, cluster)
                assert _stored(connection) == _plain(connection)
        with read_transaction(engine) as connection:
            assert connection.execute(text("SELECT * FROM part_count")).all() == []


def test_a_large_load_on_postgresql_drops_its_triggers_and_puts_them_back(
    tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trninv.database.bulk_load.MIN_ROWS", 1)
    with temporary_engine(tables) as engine, write_transaction(engine) as connection:
        seed(connection, default_catalog(), default_systems().get(U))
        assert _stored(connection) == _plain(connection)
        connection.execute(text("UPDATE server SET state = 'down' WHERE id = 1"))
        assert _stored(connection) == _plain(connection)
        unseed(connection, 1)
        assert _stored(connection) == {}


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize(
    "at_statement", ["INSERT INTO link", "INSERT INTO part_count", "CREATE TRIGGER link_count_ins"]
)
def test_an_interrupted_seed_leaves_counts_and_triggers_as_they_were(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, at_statement: str
) -> None:
    monkeypatch.setattr("trninv.database.bulk_load.MIN_ROWS", 1)
    with read_transaction(engine) as connection:
        before = _stored(connection)

    def interrupt(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(at_statement):
            raise KeyboardInterrupt

    system = default_systems().get(U).resized(30 if engine.dialect.name == "postgresql" else 2)
    event.listen(engine, "before_cursor_execute", interrupt)
    with pytest.raises(KeyboardInterrupt), write_transaction(engine) as connection:
        seed(connection, default_catalog(), system, "lab")
    event.remove(engine, "before_cursor_execute", interrupt)
    with write_transaction(engine) as connection:
        assert _stored(connection) == before
        connection.execute(text("UPDATE node SET state = 'down' WHERE id = 1"))
        seed(connection, default_catalog(), system, "lab")
        assert _stored(connection) == _plain(connection)
    assert _found(engine) == []


def test_a_removal_undone_leaves_counts_and_triggers_as_they_were(engine: Engine) -> None:
    with read_transaction(engine) as connection:
        before = _stored(connection)
    with write_transaction(engine, commits=False) as connection:
        unseed(connection, 1)
    with write_transaction(engine) as connection:
        assert _stored(connection) == before
        unseed(connection, 1)
        assert _stored(connection) == _plain(connection)


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize(
    ("tampering", "words"),
    [
        ("UPDATE part_count SET number = number + 1 WHERE kind = 'chip' AND number = 144", "number=145"),
        ("DELETE FROM part_count WHERE kind = 'rack'", "kind=rack"),
        ("UPDATE part_count SET bandwidth_bytes_per_s = 5 WHERE kind = 'nic'", "bandwidth_bytes_per_s=5"),
        (
            "INSERT INTO part_count SELECT id, 'chip', 99, '', 'down', 3, 0, 0 FROM cluster WHERE id = 1",
            "kind=chip, model_id=99, scope=, state=down, number=3",
        ),
    ],
)
def test_verify_names_a_wrong_count(engine: Engine, tampering: str, words: str) -> None:
    with write_transaction(engine) as connection:
        connection.execute(text(tampering))
    found = _found(engine)
    assert found
    assert all(words in detail and "trninv migrate" in detail for detail in found)
    with write_transaction(engine) as connection:
        connection.execute(text("DELETE FROM part_count"))
    migrate(engine)
    assert _found(engine) == []


@pytest.mark.slow_on_postgresql(cases="all")
def test_counts_follow_a_domain_that_plain_sql_moves_and_verify_reports_it(engine: Engine) -> None:
    _execute(engine, ["UPDATE domain SET cluster_id = 1, ordinal = 99 WHERE id = 2"])
    with read_transaction(engine) as connection:
        assert _stored(connection) == _plain(connection)
        mismatches = list(verify(connection, default_catalog(), default_systems()))
    assert {mismatch.table for mismatch in mismatches} >= {"domain"}
    assert "part_count" not in {mismatch.table for mismatch in mismatches}


def test_a_recount_of_one_cluster_leaves_the_others(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        connection.execute(text("UPDATE part_count SET number = 1"))
        part_counts.store_counts(connection, 1)
        stored, plain = _stored(connection), _plain(connection)
        assert {key: value for key, value in stored.items() if key[0] == 1} == {
            key: value for key, value in plain.items() if key[0] == 1
        }
        assert {value[0] for key, value in stored.items() if key[0] != 1} == {1}


@pytest.mark.slow_on_postgresql(cases="all")
def test_the_counts_of_the_past_are_those_of_its_rows(engine: Engine) -> None:
    """At each event, on views of the past and by plain counting there."""
    changes, events = _random_changes(3), list[int]()
    for _ in range(6):
        with write_transaction(engine) as connection:
            connection.execute(text(next(changes)))
            events.append(connection.scalar(text("SELECT coalesce(max(id), 0) FROM state_event")) or 0)
            connection.execute(text("UPDATE link SET state = 'down' WHERE id = 3"))
            connection.execute(text("UPDATE server SET state = 'maintenance' WHERE id = 1"))
    now = parse_time(current_timestamp())
    for number in (0, *events):
        with read_transaction(engine_as_of(engine, number, now)) as connection:
            assert _stored(connection) == _plain(connection)


@pytest.mark.slow_on_postgresql
def test_rows_that_changed_in_an_older_version_are_counted(engine: Engine) -> None:
    """It has no triggers."""
    with next_release():
        migrate(engine)
        migrate(engine, "-1")
    with engine.begin() as connection:
        connection.execute(text("UPDATE node SET state = 'down' WHERE id % 2 = 0"))
        assert _stored(connection) != _plain(connection)
    migrate(engine)
    with read_transaction(engine) as connection:
        assert _stored(connection) == _plain(connection)


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize(("declaration", "is_recounted"), [("KEEPS_READERS = True", False), ("", True)])
def test_a_migration_counts_parts_unless_it_only_adds(engine: Engine, declaration: str, is_recounted: bool) -> None:
    with write_transaction(engine) as connection:
        connection.execute(text("UPDATE part_count SET number = number + 1 WHERE kind = 'chip'"))
    with next_release(declaration):
        migrate(engine)
        with read_transaction(engine) as connection:
            assert (_stored(connection) == _plain(connection)) == is_recounted


@pytest.mark.slow_on_postgresql(cases="all")
def test_allocations_of_trninv_are_counted(engine: Engine) -> None:
    """On PostgreSQL it writes them with COPY."""
    with write_transaction(engine) as connection:
        allocate(connection, "train", [f"{U}/d0/s0", f"{U}/d0/s1/c0"], who="tester")
        assert _stored(connection) == _plain(connection)
        assert sum(sums[0] for key, sums in _stored(connection).items() if key[1] == "allocation") == 17
        set_state(connection, [f"{U}/d0/s0"], Condition("down"), why="a test", who="tester")
        assert _stored(connection) == _plain(connection)
        release(connection, "train")
        assert _stored(connection) == _plain(connection)
    assert _found(engine) == []
