"""What begins or ends at a moment: from then on it is there, and from then on it is over."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, Row, insert, select, text

from trninv.database.as_of import _END_COLUMNS, engine_as_of, is_open_then
from trninv.database.engine import read_transaction, write_transaction
from trninv.database.tables import TABLES
from trninv.history import history_diff
from trninv.history.point_in_time import PointInTime
from trninv.inventory.address.lookup import resolve_place
from trninv.placement.changes.allocate import allocate
from trninv.placement.changes.cordon import cordon
from trninv.placement.changes.release import release
from trninv.placement.changes.reserve import reserve
from trninv.placement.changes.uncordon import uncordon
from trninv.placement.changes.unreserve import unreserve

U = "u-trn2x64/d0"
_TICK, _BOUND = timedelta(microseconds=1), datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def over(engine: Engine) -> Engine:
    """A database where a job, a cordon, a reservation and a binding began and ended, each in its own transaction."""
    with write_transaction(engine) as connection:
        allocate(connection, "a", [f"{U}/s0"], who="me")
        cordon(connection, [f"{U}/s1"], who="me", why="firmware")
        reserve(connection, "r", [f"{U}/s2"], until="1h", who="me")
    with write_transaction(engine) as connection:
        release(connection, "a")
        uncordon(connection, [f"{U}/s1"])
        unreserve(connection, "r")
        slot = resolve_place(connection, f"{U}/s2")
        values = {"id": 1, "server_id": slot.id, "address": slot.address, "host": "node-a", "method": "given"}
        values |= {
            "confidence": "certain",
            "who": "me",
            "started_at": _text(_BOUND),
            "ended_at": _text(_BOUND + _TICK * 9),
        }
        connection.execute(insert(TABLES["binding"]).values(values | {"ending": "removed", "ended_by": "me"}))
    return engine


def _text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


def _rows(engine: Engine, name: str, time: datetime) -> list[Row[tuple[object, ...]]]:
    with read_transaction(engine_as_of(engine, 0, time)) as connection:
        return list(connection.execute(select(TABLES[name])))


@pytest.mark.parametrize("name", _END_COLUMNS)
def test_what_lasts_is_there_from_its_first_moment_until_its_last(over: Engine, name: str) -> None:
    with read_transaction(over) as connection:
        row = connection.execute(select(TABLES[name])).first()
    assert row is not None
    first, last = (datetime.fromisoformat(row._mapping[column]) for column in ("started_at", "ended_at"))
    assert _rows(over, name, first - _TICK) == []
    for time, is_over in ((first, False), (last - _TICK, False), (last, True), (last + _TICK, True)):
        assert {
            found._mapping[column] is not None for found in _rows(over, name, time) for column in _END_COLUMNS[name]
        } == {is_over}


def test_what_is_held_is_free_again_at_the_moment_of_its_end(over: Engine) -> None:
    with read_transaction(over) as connection:
        began, ended = connection.execute(text("SELECT min(started_at), max(ended_at) FROM allocation")).one()
    first, last = map(datetime.fromisoformat, (began, ended))
    held = {time: len(_rows(over, "domain_allocated", time)) for time in (first - _TICK, first, last - _TICK, last)}
    assert list(held.values()) == [0, 1, 1, 0]


def test_a_finding_is_over_at_the_moment_at_which_it_is_cleared(engine: Engine) -> None:
    times = {"first_seen": _text(_BOUND), "last_seen": _text(_BOUND), "cleared_at": _text(_BOUND + _TICK * 9)}
    values = {"id": 1, "rule": "stale", "severity": "high", "address": f"{U}/s0", "observed": "x", **times}
    with write_transaction(engine) as connection:
        connection.execute(insert(TABLES["finding"]).values(values))
    there = []
    for tick in (-1, 0, 8, 9):
        with read_transaction(engine_as_of(engine, 0, _BOUND + _TICK * tick)) as connection:
            holds = is_open_then(connection, TABLES["finding"].c.first_seen, TABLES["finding"].c.cleared_at)
            there.append(len(connection.execute(select(TABLES["finding"]).where(holds)).all()))
    assert there == [0, 1, 1, 0]


@pytest.mark.slow_on_postgresql(cases="all")
@pytest.mark.parametrize("of", [history_diff.job_changes, history_diff.cordon_changes, history_diff.binding_changes])
def test_what_began_or_ended_at_a_moment_differs_from_just_before_it(over: Engine, of: Any) -> None:
    name = {"job_changes": "allocation", "cordon_changes": "cordon", "binding_changes": "binding"}[of.__name__]
    with read_transaction(over) as connection:
        row = connection.execute(select(TABLES[name])).first()
        assert row is not None
        for time in (datetime.fromisoformat(row._mapping[column]) for column in ("started_at", "ended_at")):
            moments = [PointInTime(0, time + _TICK * tick) for tick in (-1, 0, 1)]
            found = [
                of(connection, history_diff.DiffRange(first, last), history_diff.DiffPage())[0]
                for first, last in itertools.pairwise(moments)
            ]
            assert found == [1, 0], (name, time)
