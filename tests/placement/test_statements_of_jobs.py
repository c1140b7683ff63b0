"""What placement reads of a fleet: the few parts that are not up, never all of a cluster's."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, func, select

import trninv
from conftest import BACKENDS, Databases
from trninv.database.engine import temporary_engine
from trninv.database.sql_constructs import IsOneOf
from trninv.database.tables import TABLES
from trninv.placement.placement_fleet import Fleet
from trninv.solvers.torus_blocks import unique_rows


@contextmanager
def noted(fleet: Fleet) -> Iterator[list[tuple[str, Any]]]:
    """Statements and parameters, as the driver gets them."""
    found: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        found.append((statement, parameters))

    event.listen(fleet.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(fleet.engine, "before_cursor_execute", note)


def test_what_is_not_up_is_found_by_its_index(databases: Databases) -> None:
    """An UltraCluster has millions of links: by domain or cluster, SQLite would read every one of them."""
    with trninv.open(databases.seeded("sqlite")) as fleet:
        with noted(fleet) as statements:
            fleet.make_room(scope="u-trn2x64", servers=1)
        asked = [each for each in statements if "state != 'up'" in each[0]]
        assert len(asked) == 4
        with fleet.connect() as connection:
            for statement, parameters in asked:
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
                assert "_unhealthy" in plan[0][-1], (statement, plan)


def test_chips_of_an_allocation_are_one_parameter_and_found_by_their_keys(databases: Databases) -> None:
    """Not a scan of all chips, on SQLite; psycopg prepares no statement with 64 parameters."""
    with trninv.open(databases.seeded("sqlite")) as fleet:
        with noted(fleet) as statements:
            fleet.allocate("train", ["u-trn2x64/d0"], who="ada")
        asked = [each for each in statements if "json_each" in each[0]]
        assert len(asked) == 3
        with fleet.connect() as connection:
            for statement, parameters in asked:
                assert len(parameters) < 10
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
                assert not [row for row in plan if row[-1].startswith("SCAN chip")], (statement, plan)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_column_has_one_of_many_values(databases: Databases, backend: str) -> None:
    chip = TABLES["chip"].c.id
    with temporary_engine(databases.seeded(backend)) as engine, engine.connect() as connection:
        first, last = connection.execute(select(func.min(chip), func.max(chip))).one()
        chosen, others = (select(chip).where(test) for test in (IsOneOf(chip, "ids"), ~IsOneOf(chip, "ids")))
        every = set(connection.scalars(select(chip)))
        for ids in ([], [first], [first, first, last], range(-1, last), [-1, last + 1]):
            assert set(connection.scalars(chosen, {"ids": ids})) == every & set(ids)
            assert set(connection.scalars(others, {"ids": ids})) == every - set(ids)


@pytest.mark.parametrize("width", [1, 3])
def test_different_rows(width: int) -> None:
    rows = np.random.default_rng(3).integers(0, 3, (200, width)).astype(np.uint64) << np.uint64(62)
    first, which = unique_rows(rows)
    _, expected, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    assert sorted(first.tolist()) == sorted(expected.tolist())
    assert (rows[first][which] == rows).all()
    assert len(set(which.tolist())) == len(set(inverse.reshape(-1).tolist()))
    none = unique_rows(rows[:0])
    assert (len(none[0]), len(none[1])) == (0, 0)
