"""What begins or ends at a moment: from then on it is there, and from then on it is over."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, Row, insert, select, text

from trninv.history import differences
from trninv.history.moment import Moment
from trninv.incidents.beside import at_that_time
from trninv.inventory.address import resolve
from trninv.inventory.database import reading, writing
from trninv.inventory.past import _LASTING, past
from trninv.inventory.schema import TABLES
from trninv.jobs import closings, holding

U = "u-trn2x64/d0"
_TICK, _BOUND = timedelta(microseconds=1), datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def over(engine: Engine) -> Engine:
    """A database where a job, a closing and a binding began and ended, each in a transaction of its own."""
    with writing(engine) as connection:
        holding.hold(connection, "a", [f"{U}/s0"], who="me")
        closings.close(connection, [f"{U}/s1"], who="me", why="firmware")
    with writing(engine) as connection:
        holding.release(connection, "a")
        closings.open_(connection, [f"{U}/s1"])
        slot = resolve(connection, f"{U}/s2")
        values = {"id": 1, "server_id": slot.id, "address": slot.address, "host": "node-a", "how": "given"}
        values |= {"confidence": "certain", "who": "me", "since": _text(_BOUND), "until": _text(_BOUND + _TICK * 9)}
        connection.execute(insert(TABLES["binding"]).values(values | {"ending": "removed", "ended_by": "me"}))
    return engine


def _text(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


def _rows(engine: Engine, name: str, time: datetime) -> list[Row[tuple[object, ...]]]:
    with reading(past(engine, 0, time)) as connection:
        return list(connection.execute(select(TABLES[name])))


@pytest.mark.parametrize("name", _LASTING)
def test_what_lasts_is_there_from_its_first_moment_until_its_last(over: Engine, name: str) -> None:
    began, later = _LASTING[name]
    ends = later[next(iter(later))]
    with reading(over) as connection:
        row = connection.execute(select(TABLES[name])).first()
    assert row is not None
    first, last = (datetime.fromisoformat(row._mapping[column]) for column in (began, ends))
    assert _rows(over, name, first - _TICK) == []
    for time, is_over in ((first, False), (last - _TICK, False), (last, True), (last + _TICK, True)):
        assert {found._mapping[column] is not None for found in _rows(over, name, time) for column in later} == {
            is_over
        }


def test_what_is_held_is_free_again_at_the_moment_of_its_end(over: Engine) -> None:
    with reading(over) as connection:
        began, ended = connection.execute(text("SELECT min(began), max(ended) FROM allocation")).one()
    first, last = map(datetime.fromisoformat, (began, ended))
    held = {time: len(_rows(over, "domain_held", time)) for time in (first - _TICK, first, last - _TICK, last)}
    assert list(held.values()) == [0, 1, 1, 0]


def test_a_finding_is_over_at_the_moment_at_which_it_is_cleared(engine: Engine) -> None:
    times = {"first_seen": _text(_BOUND), "last_seen": _text(_BOUND), "cleared_at": _text(_BOUND + _TICK * 9)}
    values = {"id": 1, "rule": "stale", "severity": "high", "address": f"{U}/s0", "found": "x", **times}
    with writing(engine) as connection:
        connection.execute(insert(TABLES["finding"]).values(values))
    there = []
    for tick in (-1, 0, 8, 9):
        with reading(past(engine, 0, _BOUND + _TICK * tick)) as connection:
            holds = at_that_time(connection, TABLES["finding"].c.first_seen, TABLES["finding"].c.cleared_at)
            there.append(len(connection.execute(select(TABLES["finding"]).where(holds)).all()))
    assert there == [0, 1, 1, 0]


@pytest.mark.parametrize("of", [differences.jobs, differences.closings, differences.bindings])
def test_what_began_or_ended_at_a_moment_differs_from_just_before_it(over: Engine, of: Any) -> None:
    name = {"jobs": "allocation", "closings": "closing", "bindings": "binding"}[of.__name__]
    began, later = _LASTING[name]
    with reading(over) as connection:
        row = connection.execute(select(TABLES[name])).first()
        assert row is not None
        for time in (datetime.fromisoformat(row._mapping[column]) for column in (began, next(iter(later)))):
            moments = [Moment(0, time + _TICK * tick) for tick in (-1, 0, 1)]
            found = [
                of(connection, differences.Span(first, last), differences.Asked())[0]
                for first, last in itertools.pairwise(moments)
            ]
            assert found == [1, 0], (name, time)
