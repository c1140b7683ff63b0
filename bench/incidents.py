"""Measure the incidents of a fleet with 4,000 unhealthy parts, against a plain query for these parts."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, Engine, select, text

import postgres
import trninv
from bench.measure import RAINIER, Row, median_seconds, seed_cluster
from trninv.database.as_of import maybe_unhealthy
from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES, is_unhealthy
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.placement_fleet import Fleet

_SERVERS, _ROWS = 60, 1_010
"""Servers that go down, each with 32 parts in one change; nodes, and as many links, each in a separate statement."""
_MARK_SECONDS = 1.0
"""At Project Rainier."""


def incident_rows(directory: Path, domains: int) -> Iterator[Row]:
    yield from _rows("SQLite", f"sqlite:///{directory}/incidents.db", domains)
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        postgres.server(Path(place)) as pg,
    ):
        yield from _rows("PostgreSQL", pg.format("postgres"), domains)


def _rows(name: str, url: str, domains: int) -> Iterator[Row]:
    seed_cluster(url, domains)
    with trninv.open(url) as fleet:
        _fail_parts(fleet.engine, domains)
        for snapshot, suffix in ((fleet, ""), (fleet.at(_middle_event(fleet)), ", at the middle of the history")):
            plain, value = median_seconds(partial(_query_unhealthy, snapshot), 3), median_seconds(snapshot.incidents, 3)
            row_name = f"incidents{suffix}, {name}"
            yield Row(row_name, value, plain, "a query for unhealthy parts", note=f"{len(fleet.incidents()):,} now")
            if domains >= RAINIER and not suffix:
                yield Row(row_name, value, _MARK_SECONDS, "the mark", 1.0)


def _middle_event(fleet: Fleet) -> int:
    with fleet.connect() as connection:
        return int(connection.scalar(text("SELECT max(id) / 2 FROM state_event")) or 0)


def _query_unhealthy(fleet: Fleet) -> None:
    with fleet.connect() as connection:
        for name in ("server", "node", "link"):
            table = TABLES[name]
            connection.execute(select(table).where(is_unhealthy(table), maybe_unhealthy(connection, table))).all()


def _fail_parts(engine: Engine, domains: int) -> None:
    """Set about 4,000 parts down, spread over the fleet, or fewer in a small fleet."""
    step = max(domains // _SERVERS, 1)
    for domain in range(0, domains, step):
        with write_transaction(engine) as connection:
            set_state(connection, [f"bench/d{domain}/s0"], Condition("down"), why="a bench", who="bench")
    with engine.begin() as connection:
        for table in ("node", "link"):
            _fail_rows(connection, table, domains)


def _fail_rows(connection: Connection, table: str, domains: int) -> None:
    """Set rows of a table down, spread evenly, one statement per row."""
    rows = connection.scalar(text(f"SELECT max(id) FROM {table}")) or 0  # noqa: S608 # the names are constants
    count = max(_ROWS * domains // RAINIER, 10)
    for number in range(count):
        down = f"UPDATE {table} SET state = 'down' WHERE id = {1 + number * rows // count} AND state = 'up'"  # noqa: S608
        connection.execute(text(down))
