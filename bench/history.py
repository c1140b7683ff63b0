"""Measure questions at an earlier time, against the same at present, with as many unhealthy parts.

The earlier time is the middle of a history of a million events.
"""

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, delete, func, insert, select, text, update

import postgres
import trninv
from bench.archived import availability_rows, written_rows
from bench.measure import NAME, RAINIER, Row, chip_pairs, median_seconds, seed_cluster
from trninv.database.engine import read_transaction
from trninv.database.tables import TABLES
from trninv.history.events import last_event_number
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.inventory.triggers import registry
from trninv.reports.query_runner import run_query
from trninv.reports.report_library import find_report
from trninv.routing.cluster_overview import read_overview
from trninv.routing.fleet import BaseFleet
from trninv.service.event_broadcast import POLL_SECONDS, EventBroadcaster

_LISTENERS, _TURNS = 1_000, 8
_MIN_EVENTS, _EVENTS_PER_DOMAIN = 20_000, 160
"""Archived events: a million at Project Rainier; TRNINV_BENCH_EVENTS overrides the number."""
_ROUNDS, _STEP = 125, 200
"""Rounds in which every 200th node goes down and comes up again: at Project Rainier, a million events."""
_PATHS = 20
_PATH, _ALL, _AVAILABILITY, _REPLAY = 0.05, 1.0, 2.0, 15.0
"""Marks in seconds, at Project Rainier: a path; /chips or the state of all parts; availability; verify."""


def history_rows(directory: Path, domains: int) -> Iterator[Row]:
    events = int(os.environ.get("TRNINV_BENCH_EVENTS") or max(_MIN_EVENTS, _EVENTS_PER_DOMAIN * domains))
    yield from availability_rows(directory / "generated", events)
    yield from _rows("SQLite", f"sqlite:///{directory}/history.db", domains)
    with (
        tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as place,
        postgres.server(Path(place)) as pg,
    ):
        yield from _rows("PostgreSQL", pg.format("postgres"), domains)


def _rows(name: str, url: str, domains: int) -> Iterator[Row]:
    seed_cluster(url, domains)
    with trninv.open(url) as fleet:
        _run(fleet.engine, registry.dropping(fleet.engine.dialect.name))
        bare = median_seconds(lambda: _live(fleet.engine), 1)
        _run(fleet.engine, registry.creating(fleet.engine.dialect.name))
        lived = median_seconds(lambda: _live(fleet.engine), 1)
        _run(fleet.engine, ["ANALYZE"])  # the tests' PostgreSQL has no autovacuum
        with read_transaction(fleet.engine) as connection:
            events = connection.scalar(select(func.count()).select_from(TABLES["state_event"])) or 0
        yield Row(f"{events:,} changes with events, {name}", lived, bare, "changes without triggers")
        past = fleet.at(events // 2)
        asked: dict[str, tuple[Callable[[BaseFleet], object], int, float]] = {
            "path, cached,": (_paths, _PATHS, _PATH),
            "/chips": (_chips, 1, _ALL),
            "unhealthy parts": (_read_unhealthy, 1, _ALL),
            "each part's state, as rows,": (_states, 1, _ALL),
        }
        for what, (ask, times, mark) in asked.items():
            then, now = (_warm(ask, of) / times for of in (past, fleet))
            row = Row(f"{what} at the middle of the history, {name}", then, now, "the current fleet")
            yield from _marked(row, mark, domains)
        yield from _listened(name, fleet)
        _age(fleet.engine)
        yield from _summed(name, fleet, events, domains)
        with tempfile.TemporaryDirectory(prefix="b") as place:
            yield from written_rows(name, fleet.engine, Path(place))
        found = median_seconds(lambda: fleet.at(events // 3), 5)
        yield Row(f"resolve a time to a snapshot, {name}", found, median_seconds(lambda: _chips(fleet), 1), "/chips")


def _marked(row: Row, mark: float, domains: int) -> Iterator[Row]:
    yield row
    if domains >= RAINIER:
        yield Row(row.name, row.value, mark, "the mark", 1.0, note=row.note)


def _summed(name: str, fleet: BaseFleet, events: int, domains: int) -> Iterator[Row]:
    """Measure questions about a whole history, against reading it once."""
    plain = _warm(_read, fleet)
    for by in ("kind", "rack"):
        took = _warm(partial(_available, by=by), fleet)
        row = Row(f"availability by {by} of {events:,} events, {name}", took, plain, "count and sum over the events")
        yield from _marked(row, _AVAILABILITY, domains)
    with read_transaction(fleet.engine) as connection:
        took = median_seconds(lambda: list(verify_history(connection, hash_chain.verify_chain(connection))), 1)
    row = Row(f"verify of {events:,} events, {name}", took, plain, "count and sum over the events")
    yield from _marked(row, _REPLAY, domains)
    took = _warm(lambda of: of.timeline(NAME), fleet)
    yield Row(f"timeline of {events:,} events, {name}", took, plain, "count and sum over the events")
    took = _warm(lambda of: of.diff(events // 2), fleet)
    yield Row(f"diff since the middle of {events:,} events, {name}", took, plain, "count and sum over the events")


def _read(fleet: BaseFleet) -> None:
    event = TABLES["state_event"]
    with fleet.connect() as connection:
        connection.execute(select(func.count(), func.sum(event.c.part_id), func.max(event.c.state))).one()


def _available(fleet: BaseFleet, by: str) -> None:
    fleet.availability(NAME, by=by)


def _listened(name: str, fleet: BaseFleet) -> Iterator[Row]:
    """Measure the time from a commit until all listeners have it, against a loop that only polls."""
    alone, (few, many) = _lag(fleet, 0), (_lag(fleet, listeners) for listeners in (1, _LISTENERS))
    yield Row(f"from commit to a listener, {name}", few, alone, "a polling loop")
    yield Row(f"from commit to the last of {_LISTENERS:,} listeners, {name}", many, few, "to one listener")


def _lag(fleet: BaseFleet, listeners: int) -> float:
    return asyncio.run(_heard(fleet, listeners))


async def _heard(fleet: BaseFleet, listeners: int) -> float:
    """Return the mean seconds until all listeners have an event; without listeners, until a polling loop has it."""
    engine, spent = fleet.engine, []

    async def watch(find: Callable[[Engine], Any], /) -> Any:
        return await asyncio.to_thread(find, engine)

    news = EventBroadcaster(watch, asyncio.to_thread, fleet.revision_tracker, logging.getLogger(__name__))

    def newest() -> int:
        with read_transaction(engine) as connection:
            return last_event_number(connection)

    def ask(number: int) -> None:
        while newest() <= number:
            time.sleep(POLL_SECONDS)

    async def told(number: int) -> None:
        while not await news.wait_for_events(number, 60):
            pass

    number = newest()
    for _ in range(max(listeners, 1)):
        news.subscribe(number)
    for turn in range(_TURNS):
        number = newest()
        hear: list[Coroutine[Any, Any, None]] = [told(number) for _ in range(listeners)]
        waiting = [asyncio.create_task(each) for each in hear or [asyncio.to_thread(ask, number)]]
        await asyncio.sleep(POLL_SECONDS * (1 + turn / _TURNS))  # anywhere between two polls
        began = time.perf_counter()
        await asyncio.to_thread(_change, engine, turn)
        await asyncio.gather(*waiting)
        spent.append(time.perf_counter() - began)
    for _ in range(max(listeners, 1)):
        news.unsubscribe()
    return sum(spent) / len(spent)


def _change(engine: Engine, turn: int) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE link SET state = '{'up' if turn % 2 else 'down'}' WHERE id = 1"))  # noqa: S608


def _run(engine: Engine, statements: Iterable[str]) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement.replace(":", r"\:")))


def _warm(ask: Callable[[BaseFleet], object], of: BaseFleet) -> float:
    ask(of)
    return median_seconds(lambda: ask(of), 3)


def _live(engine: Engine) -> None:
    """Fail and recover nodes round by round; all events are from yesterday, so that they can be archived."""
    said = {"id": 1, "at": _ago(1), "who": "bench", "why": "a benchmark", "source": "sql"}
    for turn in range(_ROUNDS):
        with engine.begin() as connection:
            connection.execute(delete(TABLES["_change"]))
            connection.execute(insert(TABLES["_change"]).values(**said))
            connection.execute(text("UPDATE node SET state = 'up' WHERE state <> 'up'"))
            connection.execute(text(f"UPDATE node SET state = 'down' WHERE id % {_STEP} = {turn}"))  # noqa: S608


def _age(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(delete(TABLES["_change"]))
        connection.execute(update(TABLES["cluster"]).values(known_since=_ago(2)))


def _ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="microseconds")


def _paths(fleet: BaseFleet) -> None:
    for one, other in chip_pairs(40, _PATHS):
        fleet.path(one, other)


def _chips(fleet: BaseFleet) -> None:
    with fleet.connect() as connection:
        read_overview(connection, NAME).to_bytes()


def _read_unhealthy(fleet: BaseFleet) -> None:
    sql = find_report("unhealthy").sql(fleet.engine.dialect.name, {"cluster": NAME})
    run_query(fleet.engine, sql, seconds=60)


def _states(fleet: BaseFleet) -> None:
    with fleet.connect() as connection:
        for table in ("server", "node", "link"):
            connection.execute(select(TABLES[table].c.id, TABLES[table].c.state)).all()
