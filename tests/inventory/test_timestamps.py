"""Times in the database: to the microsecond, of one width, and right beside events without a fraction."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, select, text

from trninv.database.as_of import engine_as_of
from trninv.database.engine import read_transaction, write_transaction
from trninv.database.tables import TABLES
from trninv.history.events import list_events
from trninv.incidents.failures import load_failure_events
from trninv.inventory.state.bindings import bind, unbind
from trninv.reconcile.latest_observations import pinned_binding
from trninv.routing.fleet import BaseFleet
from trninv.units import current_timestamp, format_lower_bound, format_timestamp

MICROSECOND = timedelta(microseconds=1)
SLOT = "u-trn2x64/d0/s0"
SECOND = datetime(2026, 3, 1, 4, 5, 6, tzinfo=UTC)


def test_texts_compare_as_times() -> None:
    times = [SECOND, SECOND + MICROSECOND, SECOND + timedelta(seconds=1)]
    texts = [format_timestamp(time) for time in times]
    assert sorted(texts) == texts
    assert texts[0] == "2026-03-01T04:05:06.000000+00:00"
    assert format_timestamp(datetime.fromisoformat("2026-03-01T05:05:06+01:00")) == texts[0]
    assert len(current_timestamp()) == len(texts[0])


def test_a_lower_bound_includes_an_event_without_a_fraction() -> None:
    old = "2026-03-01T04:05:06+00:00"
    assert format_lower_bound(SECOND - MICROSECOND) < format_lower_bound(SECOND) <= old < format_timestamp(SECOND)
    assert old < format_lower_bound(SECOND + MICROSECOND)


@pytest.mark.parametrize(("offset", "shown"), [(-MICROSECOND, 0), (timedelta(), 1), (MICROSECOND, 1)])
def test_a_binding_begins_at_its_microsecond(engine: Engine, offset: timedelta, shown: int) -> None:
    with write_transaction(engine) as connection:
        (binding,) = bind(connection, [pinned_binding(connection, SLOT, "i-0a")], who="anna").created
    time = datetime.fromisoformat(binding.started_at) + offset
    with BaseFleet(engine) as fleet:
        assert len(fleet.at(time).bindings()) == shown


@pytest.mark.parametrize(("offset", "shown"), [(-MICROSECOND, 1), (timedelta(), 0), (MICROSECOND, 0)])
def test_a_binding_ends_at_its_microsecond(engine: Engine, offset: timedelta, shown: int) -> None:
    with write_transaction(engine) as connection:
        bind(connection, [pinned_binding(connection, SLOT, "i-0a")], who="anna")
    with write_transaction(engine) as connection:
        until = unbind(connection, SLOT, who="anna").ended_at
    assert until
    with read_transaction(engine_as_of(engine, 0, datetime.fromisoformat(until) + offset)) as connection:
        query = select(TABLES["binding"]).where(TABLES["binding"].c.ended_at.is_(None))
        assert len(connection.execute(query).all()) == shown


OLD = "2026-03-01T04:05:06+00:00"


def test_an_event_of_a_whole_second_is_within_bounds_at_that_second(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO state_event (id, at, who, why, address, before, state, kind, part_id) VALUES "
                f"(1, '{OLD}', 'anna', 'why', '{SLOT}/c0', 'up', 'down', 'chip', 1)".replace(":", r"\:")
            )
        )
    at, before, after = map(format_timestamp, (SECOND, SECOND - MICROSECOND, SECOND + MICROSECOND))
    with read_transaction(engine) as connection:
        for bounds, count in (((at, at), 1), ((before, at), 1), ((after, None), 0), ((None, before), 0)):
            since, until = bounds
            assert len(list(list_events(connection, since=since, until=until))) == count
        assert len(list(load_failure_events(connection, [(SECOND, SECOND)]))) == 1
        assert not list(load_failure_events(connection, [(SECOND + MICROSECOND, SECOND + 2 * MICROSECOND)]))
