"""One declared list of triggers: each that is dropped, disabled or replaced is named, and what is not in it too."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError
from tampering import tamper

from conftest import BACKENDS, Databases, Run, is_quick
from trninv.database.engine import temporary_engine
from trninv.database.migration import migrate
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.inventory.triggers import registry
from trninv.inventory.triggers.declaration import Trigger
from trninv.inventory.triggers.guards import GUARDS

HOW = {"sqlite": ("missing", "replaced"), "postgresql": ("missing", "disabled", "replaced")}
TRIGGERS = [
    (backend, trigger, HOW[backend][number % len(HOW[backend]) :][:1] if is_quick() else HOW[backend])
    for backend in BACKENDS
    for number, trigger in enumerate(registry.declared(backend))
]
"""Each trigger, with the ways in which it is spoiled: where slow tests are left out, one."""


def _spoil(connection: Connection, trigger: Trigger, how: str) -> None:
    on = f" ON {trigger.table}" if connection.dialect.name == "postgresql" else ""
    if how == "disabled":
        connection.execute(text(f"ALTER TABLE {trigger.table} DISABLE TRIGGER {trigger.name}"))
        return
    connection.execute(text(f"DROP TRIGGER {trigger.name}{on}"))
    if how == "missing":
        return
    body = "EXECUTE FUNCTION one_state_writer()" if on else "BEGIN SELECT 1; END"
    connection.execute(text(f"CREATE TRIGGER {trigger.name} AFTER UPDATE ON {trigger.table} {body}"))


@pytest.fixture(scope="module")
def migrated(databases: Databases) -> Iterator[dict[str, Engine]]:
    with ExitStack() as stack:
        yield {backend: stack.enter_context(temporary_engine(databases.migrated(backend))) for backend in BACKENDS}


@pytest.mark.drawing
@pytest.mark.parametrize(
    ("backend", "trigger", "ways"),
    TRIGGERS,
    ids=lambda value: getattr(value, "name", value if isinstance(value, str) else "ways"),
)
def test_each_trigger_that_is_spoiled_is_named(
    migrated: dict[str, Engine], backend: str, trigger: Trigger, ways: tuple[str, ...]
) -> None:
    with migrated[backend].connect() as connection:
        for how in ways:
            with connection.begin() as transaction:
                _spoil(connection, trigger, how)
                wanted = f"triggers do not keep the history: {trigger.name} is {how}: run trninv migrate"
                assert registry.check(connection) == wanted
                faults = verify_history(connection, hash_chain.verify_chain(connection))
                assert [fault.detail for fault in faults] == [wanted]
                transaction.rollback()
        assert registry.check(connection) is None


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize(("backend", "how"), [(backend, how) for backend in BACKENDS for how in HOW[backend]])
def test_commands_name_each_and_fail(databases: Databases, run: Run, backend: str, how: str) -> None:
    url = databases.migrated(backend)
    with temporary_engine(url) as engine:
        with engine.begin() as connection:
            for trigger in registry.declared(backend):
                _spoil(connection, trigger, how)
        for command in (["verify"], ["migrate", "--check"]):
            status, out, _ = run(*command, database=url)
            assert status == 1
            assert all(f"{trigger.name} is {how}" in out for trigger in registry.declared(backend))
        migrate(engine)
    assert run("migrate", "--check", database=url)[0] == 0


def test_every_trigger_that_exists_is_declared(tables: str) -> None:
    query = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    }
    with temporary_engine(tables) as engine, engine.connect() as connection:
        names = connection.scalars(text(query[engine.dialect.name])).all()
    assert sorted(names) == sorted(trigger.name for trigger in registry.declared(engine.dialect.name))


def test_each_function_that_was_replaced_is_noticed(migrated: dict[str, Engine]) -> None:
    called = {trigger.name: trigger.function.name for trigger in registry.declared("postgresql") if trigger.function}
    body = "LANGUAGE plpgsql SET search_path FROM CURRENT AS 'BEGIN RETURN NULL; END'"
    with migrated["postgresql"].connect() as connection:
        for name in set(called.values()):
            with connection.begin() as transaction:
                connection.execute(text(f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger {body}"))
                wanted = dict.fromkeys((trigger for trigger in called if called[trigger] == name), "replaced")
                assert registry.outdated(connection) == wanted
                transaction.rollback()


def test_a_trigger_of_a_stranger_is_named(engine: Engine) -> None:
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            swallow = "CREATE TRIGGER quiet BEFORE INSERT ON state_event BEGIN SELECT RAISE(IGNORE); END"
        else:
            swallow = "CREATE RULE quiet AS ON INSERT TO state_event DO INSTEAD NOTHING"
        connection.execute(text(swallow))
        assert "quiet" in (registry.check(connection) or "")


@pytest.mark.parametrize("how", ["missing", "another condition", "not unique"])
def test_an_index_that_allows_a_second_holder_is_named(engine: Engine, how: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX uq_allocation_chip_id_now"))
        unique = "" if how == "not unique" else "UNIQUE"
        where = "ended_at IS NOT NULL" if how == "another condition" else "ended_at IS NULL"
        if how != "missing":
            index = f"CREATE {unique} INDEX uq_allocation_chip_id_now ON allocation (chip_id)"
            connection.execute(text(f"{index} WHERE {where}"))
        what = "missing" if how == "missing" else "replaced"
        assert f"uq_allocation_chip_id_now is {what}" in (registry.check(connection) or "")


IDENTITY = {
    "job": [
        *("cluster_id", "name", "system", "external_id", "submitted_at", "started_at", "first_started_at", "until_at"),
        "who",
    ],
    "allocation": ["job_id", "chip_id", "role", "started_at"],
    "cordon": ["server_id", "started_at", "why", "who"],
    "reservation": [
        *(
            "cluster_id",
            "name",
            "kind",
            "from_at",
            "until_at",
            "chips",
            "place",
            "chip_ids",
            "started_at",
            "who",
            "why",
        ),
    ],
}


@pytest.fixture(scope="module", params=BACKENDS)
def filled(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Engine]:
    """A database with rows in all tables that are guarded, of which no change is allowed."""
    with temporary_engine(databases.seeded(request.param)) as made:
        _fill(made)
        yield made


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, columns in IDENTITY.items() for column in ("id", *columns)]
)
def test_what_a_row_is_about_never_changes(filled: Engine, table: str, column: str) -> None:
    value = 9 if column.endswith("id") and column != "external_id" else "'9'"
    refusal = pytest.raises(DBAPIError, match=f"{table}: .* never change: set {GUARDS[table].end_column}")
    with refusal, filled.begin() as connection:
        connection.execute(text(f"UPDATE {table} SET {column} = {value}"))


def test_what_changes_of_a_row_still_does(engine: Engine) -> None:
    _fill(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE job SET pinned = 1, priority = 3, place = 'u-trn2x64', moved_at = '2026'"))
        for table, guard in GUARDS.items():
            if guard.end_column:
                connection.execute(text(f"UPDATE {table} SET {guard.end_column} = '2026'"))


def test_whoever_owns_the_database_can_lift_them(engine: Engine) -> None:
    _fill(engine)
    tamper(engine, "UPDATE job SET name = 'b'", "job")
    with engine.connect() as connection:
        assert registry.check(connection) is None


def _fill(engine: Engine) -> None:
    with engine.begin() as connection:
        for table, values in (
            ("job", "1, 1, 'a', 'trninv', 'a', NULL, '2026', NULL, NULL, 0, 'ann', NULL, NULL, NULL, NULL, NULL"),
            ("allocation", "1, 1, (SELECT min(id) FROM chip), 'work', '2026', NULL"),
            ("cordon", "1, (SELECT min(id) FROM server), '2026', NULL, 'ann', 'fw'"),
            ("reservation", "1, 1, 'r', 'job', '2026', '2027', 1, 'u', '1', '2025', NULL, 'ann', ''"),
        ):
            connection.execute(text(f"INSERT INTO {table} VALUES ({values})"))


def test_a_start_goes_once_an_archive_and_a_newer_start_make_it_needless(tables: str) -> None:
    """Starts 1, 2 and 4 are of one cluster, 3 is of another, and the archived seal covers 1 to 3."""
    with temporary_engine(tables) as engine:
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO event_seal (id, sha256, starts) VALUES (7, 's', 3)"))
            for number, cluster in enumerate("aaba", 1):
                start = f"INSERT INTO history_start VALUES ({number}, '2026', 7, 1, '{cluster}', 'grow', '')"
                connection.execute(text(start))
        assert _goes(engine) == []
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO history_archive VALUES (7, 's', '2026', '2026', 'x', 'ann')"))
        assert _goes(engine) == [1, 2]
        for change in ("UPDATE history_start SET state = 'x'", "DELETE FROM history_start"):
            with pytest.raises(DBAPIError, match="history_start is append only"), engine.begin() as connection:
                connection.execute(text(change))


def _goes(engine: Engine) -> list[int]:
    """Return the starts that may be deleted by themselves."""
    gone = []
    for number in range(1, 5):
        with engine.connect() as connection, suppress(DBAPIError):
            connection.execute(text(f"DELETE FROM history_start WHERE id = {number}"))
            gone.append(number)
    return gone
