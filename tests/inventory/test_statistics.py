"""What verify answers, and how SQLite looks rows up for it, are the same with statistics and without."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from conftest import Databases
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.seeding.verification import Mismatch, verify

OF_RAINIER = {
    "domain": ("sqlite_autoindex_domain_1", "6250 6250 1"),
    "server": ("sqlite_autoindex_server_1", "25000 4 1"),
    "node": ("ix_node_domain_id", "800808 129"),
    "chip": ("sqlite_autoindex_chip_1", "400000 16 1"),
    "core": ("sqlite_autoindex_core_1", "3200000 8 1"),
    "link": ("ix_link_domain_id", "2000807 321"),
}
"""An index of each table, and what ANALYZE records of it where there are 400,000 chips."""
CHANGE = "UPDATE node SET kind = 'nic' WHERE id = (SELECT first_node_id FROM cluster WHERE slug = 'u-trn2x64')"


def _differences(connection: Connection) -> list[Mismatch]:
    return list(verify(connection, default_catalog(), default_systems()))


@pytest.mark.slow
def test_statistics_change_no_answer(engine: Engine) -> None:
    with engine.begin() as connection:
        assert _differences(connection) == []
        connection.execute(text(CHANGE))
        before = _differences(connection)
        connection.execute(text("ANALYZE"))
        assert _differences(connection) == before != []
        connection.rollback()


@pytest.fixture
def analyzed(databases: Databases) -> str:
    """URL of a small SQLite database whose statistics are those of a large one."""
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        connection.execute(text("ANALYZE"))
        connection.execute(text("DELETE FROM sqlite_stat1"))
        record = text("INSERT INTO sqlite_stat1 VALUES (:tbl, :idx, :stat)")
        connection.execute(
            record, [{"tbl": table, "idx": index, "stat": stat} for table, (index, stat) in OF_RAINIER.items()]
        )
    return url


@pytest.mark.parametrize("slug", [None, "u-trn2x64"])
def test_every_row_is_looked_up_by_its_id_whatever_the_statistics(analyzed: str, slug: str | None) -> None:
    plans = dict[str, list[str]]()

    def explain(connection: Any, _cursor: object, statement: str, parameters: Sequence[Any], *_: object) -> None:
        if "AS expected" in statement and "EXCEPT" not in statement:
            (table,) = (name for name in _TABLES if f"JOIN {name} ON {name}.id = expected.id" in statement)
            raw = connection.connection.driver_connection
            plans[table] = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]

    with temporary_engine(analyzed) as engine, write_transaction(engine) as connection:
        event.listen(engine, "before_cursor_execute", explain)
        assert list(verify(connection, default_catalog(), default_systems(), slug)) == []
    assert plans.keys() == set(_TABLES)
    for table, plan in plans.items():
        steps = {step for step in plan if step.startswith((f"SCAN {table}", f"SEARCH {table}"))}
        assert steps == {f"SEARCH {table} USING INTEGER PRIMARY KEY (rowid=?)"}
        blueprints = [at for at, step in enumerate(plan) if "blueprint_" in step]
        domains = [at for at, step in enumerate(plan) if step.startswith("SEARCH domain USING")]
        assert not domains or min(domains) < min(blueprints, default=len(plan))


_TABLES = "domain", "rack", "server", "tray", "node", "chip", "switch", "nic", "network_node", "core", "link"
