"""The revision of a plan: equal for equal states, other for others, and read without a look at each held chip."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, text

import trninv
from trninv.database.as_of import engine_as_of
from trninv.database.engine import read_transaction
from trninv.errors import StalePlanError
from trninv.inventory.address.lookup import resolve_place
from trninv.placement.allocations.plan_revision import plan_revision, require_plan_revision
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


class Counting:
    """A connection that counts the rows that are read of it."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self.rows = connection, 0

    def execute(self, query: Any) -> list[Any]:
        found = list(self._connection.execute(query))
        self.rows += len(found)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def read(fleet: Fleet, cluster: str = "u-trn2x64") -> tuple[str, int]:
    """The revision, and how many rows it took."""
    with fleet.connect() as connection:
        counting: Any = Counting(connection)
        return plan_revision(counting, resolve_place(connection, cluster).cluster_id), counting.rows


def test_who_holds_what_is_told_by_few_rows(own: Fleet) -> None:
    nobody = read(own)
    own.allocate("a", [f"{ULTRA}/s0/c0"], who="me")
    one = read(own)
    own.release("a")
    assert read(own) == nobody
    own.allocate("a", [f"{ULTRA}/s0"], who="me")
    server = read(own)
    own.allocate("b", [f"{ULTRA}/s1"], who="me")
    two = read(own)
    assert len({nobody[0], one[0], server[0], two[0]}) == 4
    assert one[1] == server[1] == two[1]
    others = read(own, "trn1.32xlarge")
    own.release("b")
    assert read(own) == server
    assert read(own, "trn1.32xlarge") == others


def test_the_same_chips_held_by_others_or_pinned_are_another_state(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0"], who="me")
    own.allocate("b", [f"{ULTRA}/s1"], who="me")
    was = read(own)[0]
    for name in ("a", "b"):
        own.release(name)
    own.allocate("a", [f"{ULTRA}/s1"], who="me")
    own.allocate("b", [f"{ULTRA}/s0"], who="me")
    swapped = read(own)[0]
    with own.engine.begin() as connection:
        connection.execute(text("UPDATE job SET pinned = 1 WHERE name = 'a' AND ended_at IS NULL"))
    assert len({was, swapped, read(own)[0]}) == 3
    with own.connect() as connection, pytest.raises(StalePlanError, match=f"has revision {was}, but the fleet is at"):
        require_plan_revision(connection, resolve_place(connection, ULTRA).cluster_id, was)


def test_what_was_has_the_revision_that_it_had(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0"], who="me")
    now, later = read(own)[0], datetime.now(UTC) + timedelta(hours=1)
    with read_transaction(engine_as_of(own.engine, 0, later)) as connection:
        require_plan_revision(connection, resolve_place(connection, ULTRA).cluster_id, now)
