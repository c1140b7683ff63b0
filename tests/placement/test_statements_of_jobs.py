"""What placement reads of a fleet: the few parts that are not up, never all of a cluster's."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

from conftest import Databases
from trninv.database.engine import temporary_engine
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
    with temporary_engine(databases.seeded("sqlite")) as engine:
        fleet = Fleet(engine)
        with noted(fleet) as statements:
            fleet.make_room(scope="u-trn2x64", servers=1)
        asked = [each for each in statements if "state != 'up'" in each[0]]
        assert len(asked) == 4
        with fleet.connect() as connection:
            for statement, parameters in asked:
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
                assert "_unhealthy" in plan[0][-1], (statement, plan)


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
