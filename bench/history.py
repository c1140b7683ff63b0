"""Measure questions about an earlier time, against the same questions about the present, with as many unhealthy parts.

At the size of Project Rainier, the earlier time is the middle of a history of a million events.
"""

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, delete, func, insert, select, text, update

import postgres
import trninv
from bench.archived import archive_rows, availability_rows
from bench.measure import NAME, RAINIER, Row, chip_pairs, median_seconds, seed_cluster
from trninv.database.bulk_read import read_query_batches
from trninv.database.engine import read_transaction
from trninv.database.tables import TABLES
from trninv.history.events import last_event_number
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.inventory.triggers import registry
from trninv.reports.query_compiler import compile_query
from trninv.reports.query_runner import run_query
from trninv.reports.report_library import find_report
from trninv.reports.row_formats import stream_rows
from trninv.routing.cluster_overview import read_overview
from trninv.routing.fleet import BaseFleet
from trninv.service.event_broadcast import POLL_SECONDS, EventBroadcaster

_LISTENERS, _TURNS = 1_000, 8
"""Listeners of the event stream, and events that each of them gets."""
_MIN_EVENTS, _EVENTS_PER_DOMAIN = 20_000, 160
"""Archived events: a million at Project Rainier; TRNINV_BENCH_EVENTS overrides the number."""
_ROUNDS, _STEP = 125, 200
"""Rounds in which every 200th node goes down and comes up again: at Project Rainier, a million events."""
_PATHS = 20
_PATH_MARK, _WHOLE_FLEET_MARK, _AVAILABILITY_MARK, _VERIFY_MARK = 0.05, 1.0, 2.0, 15.0
"""Marks in seconds, at Project Rainier."""
_EXPORT_MARK, _PAST_EXPORT_MARK = 1.5, 2.0
_STATE_TABLES = ("server", "node", "link")


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
        _execute(fleet.engine, registry.drop_statements(fleet.engine.dialect.name))
        without_triggers = median_seconds(lambda: _write_history(fleet.engine), 1)
        _execute(fleet.engine, registry.create_statements(fleet.engine.dialect.name))
        with_triggers = median_seconds(lambda: _write_history(fleet.engine), 1)
        _execute(fleet.engine, ["ANALYZE"])  # the tests' PostgreSQL has no autovacuum
        with read_transaction(fleet.engine) as connection:
            events = connection.scalar(select(func.count()).select_from(TABLES["state_event"])) or 0
        yield Row(
            f"{events:,} changes with events, {name}", with_triggers, without_triggers, "changes without triggers"
        )
        past = fleet.at(events // 2)
        questions: dict[str, tuple[Callable[[BaseFleet], object], int, float]] = {
            "path, cached,": (_ask_paths, _PATHS, _PATH_MARK),
            "/chips": (_read_chips, 1, _WHOLE_FLEET_MARK),
            "unhealthy parts": (_read_unhealthy, 1, _WHOLE_FLEET_MARK),
        }
        for question, (ask, times, mark) in questions.items():
            past_seconds, present_seconds = (_warm_seconds(ask, source) / times for source in (past, fleet))
            row = Row(
                f"{question} at the middle of the history, {name}", past_seconds, present_seconds, "the current fleet"
            )
            yield from _with_mark(row, mark, domains)
        past_seconds, present_seconds = (_warm_seconds(_export_states, source) for source in (past, fleet))
        row_name, fetched = f"each part's state as NDJSON, {name}", _warm_seconds(_fetch_states, fleet)
        yield Row(row_name, present_seconds, fetched, "rows that the driver fetches", _EXPORT_MARK)
        middle = f"{row_name}, at the middle of the history"
        yield Row(middle, past_seconds, fetched, "rows that the driver fetches", _PAST_EXPORT_MARK)
        yield from _listener_rows(name, fleet)
        _backdate_history_start(fleet.engine)
        yield from _history_rows(name, fleet, events, domains)
        with tempfile.TemporaryDirectory(prefix="b") as place:
            yield from archive_rows(name, fleet.engine, Path(place))
        resolve_seconds = median_seconds(lambda: fleet.at(events // 3), 5)
        yield Row(
            f"resolve a time to a snapshot, {name}",
            resolve_seconds,
            median_seconds(lambda: _read_chips(fleet), 1),
            "/chips",
        )


def _with_mark(row: Row, mark: float, domains: int) -> Iterator[Row]:
    """Yield a row and, at Project Rainier, the same value against its mark."""
    yield row
    if domains >= RAINIER:
        yield Row(row.name, row.value, mark, "the mark", 1.0, note=row.note)


def _history_rows(name: str, fleet: BaseFleet, events: int, domains: int) -> Iterator[Row]:
    """Measure questions about a whole history, against reading it once."""
    plain = _warm_seconds(_read_events, fleet)
    for level in ("kind", "rack"):
        value = _warm_seconds(partial(_ask_availability, level=level), fleet)
        row = Row(
            f"availability by {level} of {events:,} events, {name}", value, plain, "count and sum over the events"
        )
        yield from _with_mark(row, _AVAILABILITY_MARK, domains)
    with read_transaction(fleet.engine) as connection:
        value = median_seconds(lambda: list(verify_history(connection, hash_chain.verify_chain(connection))), 1)
    row = Row(f"verify of {events:,} events, {name}", value, plain, "count and sum over the events")
    yield from _with_mark(row, _VERIFY_MARK, domains)
    value = _warm_seconds(lambda reader: reader.timeline(NAME), fleet)
    yield Row(f"timeline of {events:,} events, {name}", value, plain, "count and sum over the events")
    value = _warm_seconds(lambda reader: reader.diff(events // 2), fleet)
    yield Row(f"diff since the middle of {events:,} events, {name}", value, plain, "count and sum over the events")


def _read_events(fleet: BaseFleet) -> None:
    event = TABLES["state_event"]
    with fleet.connect() as connection:
        connection.execute(select(func.count(), func.sum(event.c.part_id), func.max(event.c.state))).one()


def _ask_availability(fleet: BaseFleet, level: str) -> None:
    fleet.availability(NAME, by=level)


def _listener_rows(name: str, fleet: BaseFleet) -> Iterator[Row]:
    """Measure the time from a commit until all listeners have it, against a loop that only polls."""
    polling, (one, all_listeners) = _mean_lag(fleet, 0), (_mean_lag(fleet, listeners) for listeners in (1, _LISTENERS))
    yield Row(f"from commit to a listener, {name}", one, polling, "a polling loop")
    yield Row(f"from commit to the last of {_LISTENERS:,} listeners, {name}", all_listeners, one, "to one listener")


def _mean_lag(fleet: BaseFleet, listeners: int) -> float:
    return asyncio.run(_measure_lag(fleet, listeners))


async def _measure_lag(fleet: BaseFleet, listeners: int) -> float:
    """Return the mean seconds until all listeners have an event; without listeners, until a polling loop has it."""
    engine, lags = fleet.engine, []

    async def watch(find: Callable[[Engine], Any], /) -> Any:
        return await asyncio.to_thread(find, engine)

    broadcaster = EventBroadcaster(watch, asyncio.to_thread, fleet.revision_tracker, logging.getLogger(__name__))

    def last_number() -> int:
        with read_transaction(engine) as connection:
            return last_event_number(connection)

    def poll(number: int) -> None:
        while last_number() <= number:
            time.sleep(POLL_SECONDS)

    async def wait_for_event(number: int) -> None:
        while not await broadcaster.wait_for_events(number, 60):
            pass

    number = last_number()
    for _ in range(max(listeners, 1)):
        broadcaster.subscribe(number)
    for turn in range(_TURNS):
        number = last_number()
        waits: list[Coroutine[Any, Any, None]] = [wait_for_event(number) for _ in range(listeners)]
        waiting = [asyncio.create_task(wait) for wait in waits or [asyncio.to_thread(poll, number)]]
        await asyncio.sleep(POLL_SECONDS * (1 + turn / _TURNS))  # anywhere between two polls
        start = time.perf_counter()
        await asyncio.to_thread(_change, engine, turn)
        await asyncio.gather(*waiting)
        lags.append(time.perf_counter() - start)
    for _ in range(max(listeners, 1)):
        broadcaster.unsubscribe()
    return sum(lags) / len(lags)


def _change(engine: Engine, turn: int) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE link SET state = '{'up' if turn % 2 else 'down'}' WHERE id = 1"))  # noqa: S608


def _execute(engine: Engine, statements: Iterable[str]) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement.replace(":", r"\:")))


def _warm_seconds(ask: Callable[[BaseFleet], object], fleet: BaseFleet) -> float:
    ask(fleet)
    return median_seconds(lambda: ask(fleet), 3)


def _write_history(engine: Engine) -> None:
    """Fail and recover nodes round by round; all events are from yesterday, so that they can be archived."""
    change = {"id": 1, "at": _days_ago(1), "who": "bench", "why": "a benchmark", "source": "sql"}
    for turn in range(_ROUNDS):
        with engine.begin() as connection:
            connection.execute(delete(TABLES["_change"]))
            connection.execute(insert(TABLES["_change"]).values(**change))
            connection.execute(text("UPDATE node SET state = 'up' WHERE state <> 'up'"))
            connection.execute(text(f"UPDATE node SET state = 'down' WHERE id % {_STEP} = {turn}"))  # noqa: S608


def _backdate_history_start(engine: Engine) -> None:
    """Let the history start two days ago, before its events."""
    with engine.begin() as connection:
        connection.execute(delete(TABLES["_change"]))
        connection.execute(update(TABLES["cluster"]).values(known_since=_days_ago(2)))


def _days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="microseconds")


def _ask_paths(fleet: BaseFleet) -> None:
    for source, target in chip_pairs(40, _PATHS):
        fleet.path(source, target)


def _read_chips(fleet: BaseFleet) -> None:
    with fleet.connect() as connection:
        read_overview(connection, NAME).to_bytes()


def _read_unhealthy(fleet: BaseFleet) -> None:
    sql = find_report("unhealthy").sql(fleet.engine.dialect.name, {"cluster": NAME})
    with closing(fleet.shared_snapshot()) as snapshot:
        run_query(snapshot, sql, seconds=60)


def _export_states(fleet: BaseFleet) -> None:
    with closing(fleet.shared_snapshot()) as snapshot:
        for table in _STATE_TABLES:
            sql = compile_query(f"SELECT id, state FROM {table}", fleet.engine.dialect.name)  # noqa: S608 # names
            with stream_rows(snapshot, sql, "ndjson", seconds=600) as pieces:
                for _ in pieces:
                    pass


def _fetch_states(fleet: BaseFleet) -> None:
    with fleet.connect() as connection:
        for table in _STATE_TABLES:
            for _ in read_query_batches(connection, select(TABLES[table].c.id, TABLES[table].c.state)):
                pass
