"""A load that drops indexes and checks leaves the same rows, indexes and checks as one that keeps them."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import IntegrityError

from conftest import BACKENDS, Databases, is_quick
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import System, default_systems
from trninv.database import bulk_load
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import INSERT_ORDER, TABLES
from trninv.errors import AddressError, DatabaseError
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.verification import verify
from trninv.inventory.triggers import partial_indexes

_TIMES = {"cluster": "known_since", "history_start": "at"}
_SYSTEMS = [replace(system, domains=min(system.domains, 3)) for system in default_systems().systems]

_TORUS = replace(default_systems().get("trn1.32xlarge"), domains=2)


@contextmanager
def _large(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Treat every load as a large one."""
    with monkeypatch.context() as patch:
        patch.setattr(bulk_load, "MIN_ROWS", 0)
        patch.setattr(cluster_seeding, "estimated_rows", lambda _: 0)
        yield


def _seed(url: str, *systems: System) -> None:
    with temporary_engine(url) as engine:
        for system in systems:
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), system)


def _rows(connection: Connection, name: str) -> list[Any]:
    columns = [column for column in TABLES[name].c if column.name != _TIMES.get(name)]
    query = select(*columns)
    if name == "part_count":  # counts of no rows say nothing
        query = query.where(TABLES[name].c.number > 0)
    return sorted(map(tuple, connection.execute(query)), key=repr)


def _contents(url: str) -> dict[str, Any]:
    """Return the rows, keys and indexes of each table."""
    with temporary_engine(url) as engine, engine.connect() as connection:
        found: dict[str, Any] = {name: _rows(connection, name) for name in TABLES}
        tables = inspect(connection)
        for name in INSERT_ORDER:
            found[f"indexes of {name}"] = sorted(
                str((index["name"], index["column_names"], index["unique"])) for index in tables.get_indexes(name)
            )
            found[f"keys of {name}"] = sorted(map(str, tables.get_foreign_keys(name)))
            found[f"unique of {name}"] = sorted(map(str, tables.get_unique_constraints(name)))
        assert partial_indexes.outdated(connection) == {}
    return found


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_system_has_the_same_rows_and_indexes(
    databases: Databases, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, large = databases.migrated(backend), databases.migrated(backend)
    systems = _SYSTEMS[::3] if is_quick() else _SYSTEMS
    _seed(plain, *systems)
    with _large(monkeypatch):
        _seed(large, *systems)
        _seed(large, *systems)  # again: nothing happens
    expected = _contents(plain)
    assert len(expected["cluster"]) == len(systems)
    assert _contents(large) == expected


def _seed_together(url: str, slugs: list[str]) -> list[bool]:
    catalog = default_catalog()
    with (
        temporary_engine(url) as engine,
        write_transaction(engine) as connection,
        cluster_seeding.seeding_together(connection, catalog, _TORUS, slugs),
    ):
        return [cluster_seeding.seed(connection, catalog, _TORUS, slug) for slug in slugs]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("is_large", [pytest.param(False, marks=pytest.mark.slow), True])
def test_clusters_seeded_together_are_those_seeded_one_by_one(
    databases: Databases, backend: str, is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart, together = databases.migrated(backend), databases.migrated(backend)
    with temporary_engine(apart) as engine:
        for slug in ("old", "a", "b"):
            with write_transaction(engine) as connection:
                cluster_seeding.seed(connection, default_catalog(), _TORUS, slug)
    assert _seed_together(together, ["old"]) == [True]
    with _large(monkeypatch) if is_large else nullcontext():
        assert _seed_together(together, ["old", "a", "b"]) == [False, True, True]
    assert _contents(together) == _contents(apart)
    with temporary_engine(together) as engine, write_transaction(engine) as connection:
        assert list(verify(connection, default_catalog(), default_systems())) == []


@pytest.mark.slow_on_postgresql
def test_keys_stay_if_all_clusters_exist(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _seed_together(tables, ["a", "b"])
    monkeypatch.setattr(bulk_load, "MIN_ROWS", 1)
    monkeypatch.setattr(bulk_load, "DropConstraint", None)
    monkeypatch.setattr(bulk_load, "_without_indexes", None)
    monkeypatch.setattr(cluster_seeding, "estimated_rows", lambda _: 0)
    assert _seed_together(tables, ["a", "b"]) == [False, False]


@pytest.mark.slow_on_postgresql
def test_a_failure_of_clusters_seeded_together_leaves_everything_as_it_was(
    tables: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _contents(tables)
    with _large(monkeypatch), pytest.raises(AddressError):
        _seed_together(tables, ["a", "b c"])
    assert _contents(tables) == before
    assert _seed_together(tables, ["a"]) == [True]  # the next load has keys of its own


def test_checks_and_foreign_keys_hold_afterwards(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with _large(monkeypatch):
        _seed(tables, _TORUS)
    with temporary_engine(tables) as engine:
        with write_transaction(engine) as connection:
            assert list(verify(connection, default_catalog(), default_systems())) == []
        with pytest.raises(IntegrityError), engine.begin() as connection:
            connection.execute(text("UPDATE node SET kind = 'rack'"))
        with pytest.raises(IntegrityError), engine.begin() as connection:
            connection.execute(text("UPDATE link SET b_id = 2000000000"))


def test_interrupted_load_leaves_everything_as_it_was(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _contents(tables)

    def stop(step: str, _done: int, _total: int) -> None:
        if step == "link":
            raise KeyboardInterrupt

    with temporary_engine(tables) as engine:
        with _large(monkeypatch), pytest.raises(KeyboardInterrupt), write_transaction(engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), _TORUS, progress=stop)
        assert _contents(tables) == before
        # the same connection checks again
        with write_transaction(engine) as connection:
            assert cluster_seeding.seed(connection, default_catalog(), _TORUS)
            with pytest.raises(IntegrityError), connection.begin_nested():
                connection.execute(text("UPDATE node SET kind = 'rack'"))


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("UPDATE blueprint_node SET kind = 'rack' WHERE kind = 'nic'", "node"),
        ("UPDATE blueprint_link SET a = b, b = a WHERE local = 0", "link"),
        ("UPDATE blueprint_link SET scope = 'world'", "link"),
        ("UPDATE blueprint_core SET ordinal = -1 WHERE local = 0", "core"),
    ],
)
def test_rows_that_violate_a_check_are_refused(
    databases: Databases, monkeypatch: pytest.MonkeyPatch, statement: str, table: str
) -> None:
    url, insert_rows = databases.migrated("sqlite"), cluster_seeding._insert
    before, refuse = _contents(url), cluster_seeding._refuse_violations

    def spoil_and_insert(connection: Connection, *args: Any, **kwargs: Any) -> None:
        connection.execute(text(statement))
        insert_rows(connection, *args, **kwargs)

    def spoil_and_refuse(connection: Connection, *args: Any) -> None:
        connection.execute(text(statement))
        refuse(connection, *args)

    monkeypatch.setattr(cluster_seeding, "_insert", spoil_and_insert)
    monkeypatch.setattr(cluster_seeding, "_refuse_violations", spoil_and_refuse)
    with _large(monkeypatch), pytest.raises(DatabaseError, match=f"rows of {table} violate"):
        _seed(url, _TORUS)
    assert _contents(url) == before
