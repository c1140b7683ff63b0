"""An event counts at its own time: what is asked of that microsecond has it, and of the one before has it not."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

import trninv
from conftest import Databases, both_ways
from trninv.database.engine import write_transaction
from trninv.history.events import list_events
from trninv.history.point_in_time import resolve_point_in_time
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet

C = "u-trn2x64/d0/s0/c0"
_TICK = timedelta(microseconds=1)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lived(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """A fleet with one event."""
    with trninv.open(databases.seeded(request.param)) as fleet:
        with write_transaction(fleet.engine) as connection:
            set_state(connection, [C], Condition.from_user("down"), why="it fell", who="tester")
        yield fleet


@pytest.fixture(scope="module")
def time(lived: BaseFleet) -> datetime:
    with lived.connect() as connection:
        (event,) = list_events(connection)
    return datetime.fromisoformat(event.at)


def test_events_since_and_until_a_time(lived: BaseFleet, time: datetime) -> None:
    ask = both_ways(lived)
    for tick, since, until in ((-1, 1, 0), (0, 1, 1), (1, 0, 1)):
        at = time + tick * _TICK
        with lived.connect() as connection:
            assert len(list(list_events(connection, since=at))) == since
            assert len(list(list_events(connection, until=at))) == until
        for name, count in (("since", since), ("until", until)):
            answer = ask(f'{{ events({name}: "{at.isoformat()}") {{ totalCount }} }}')
            assert answer["errors"] == []
            assert answer["data"]["events"]["totalCount"] == count, (name, tick)


def test_a_moment_has_what_happened_at_it(lived: BaseFleet, time: datetime) -> None:
    with lived.connect() as connection:
        assert [resolve_point_in_time(connection, time + tick * _TICK).event for tick in (-1, 0, 1)] == [0, 1, 1]
    states = [lived.at(time + tick * _TICK).memory_pool("u-trn2x64/d0/s0/c1").chips for tick in (-1, 0)]
    assert states[0] == states[1] + 1
