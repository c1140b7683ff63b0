"""How what is above the domains of a whole cluster is read, and how its totals are: no more rows than it takes."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from trninv.database.engine import read_transaction
from trninv.inventory.seeding.totals import cluster_totals
from trninv.routing.fleet import BaseFleet
from trninv.routing.hubs import _read_fabric

pytestmark = pytest.mark.slow_on_postgresql


def _statements(engine: Engine, read: Callable[[Connection], object]) -> list[tuple[str, Any]]:
    asked: list[tuple[str, Any]] = []

    def note(*given: Any) -> None:
        asked.append((given[2], given[3]))

    with read_transaction(engine) as connection:
        event.listen(engine, "before_cursor_execute", note)
        try:
            read(connection)
        finally:
            event.remove(engine, "before_cursor_execute", note)
    return asked


def test_the_fabric_is_read_by_its_own_nodes(lite_fleet: BaseFleet) -> None:
    """Chips and NICs are nodes of the cluster too, and a hundred times as many; nothing is sorted to add it up."""
    for statement, values in _statements(lite_fleet.engine, lambda on: _read_fabric(on, 1)):
        with lite_fleet.engine.connect() as connection:
            plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
        assert not [step for step in plan if "(cluster_id=?)" in step or "FOR GROUP BY" in step]


def test_totals_are_of_a_range_that_the_planner_knows(fleet: BaseFleet) -> None:
    """PostgreSQL takes a range between two subqueries for a two-hundredth of the table."""
    with read_transaction(fleet.engine) as connection:
        key = connection.scalar(text("SELECT max(id) FROM cluster"))
    sums = [said for said, _ in _statements(fleet.engine, lambda on: cluster_totals(on, key)) if "FROM nic" in said]
    assert sums
    assert not any("own_block" in said for said in sums)
