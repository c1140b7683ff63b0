"""The most unhealthy parts at once in several clusters, against a walk through all events."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate

import pytest
from lived import T, U, seed_two
from past_changes import change
from sqlalchemy import select, text

import trninv
from conftest import BACKENDS, Databases, seeds
from trninv.database.tables import STATES, TABLES
from trninv.drawing.timeline_chart import read_history
from trninv.history.timeline import TimelineInterval, UnhealthyCounts
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql

T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
PARTS = [f"{U}/s0", f"{U}/s0/c0", f"{U}/s1/c1", f"{U}/s0/c0--{U}/s1/c0", f"{T}/s0", f"{T}/s0/c0", f"{T}/s0/efa3"]
Point = tuple[datetime, UnhealthyCounts]


@pytest.fixture(params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    url = databases.copied(request.param, seed_two)
    with trninv.open(url) as opened:
        yield opened
    databases.drop(url)


def _walk(fleet: Fleet, starts: dict[str, tuple[int, datetime]]) -> Iterator[Point]:
    """Yield the counts after each change, and after the start of each cluster's history."""
    event = TABLES["state_event"]
    with fleet.connect() as connection:
        rows = connection.execute(select(event).order_by(event.c.id)).all()
    own = [datetime.fromisoformat(row.at) for row in rows]
    times = list(accumulate(reversed(own), min))[::-1]  # if the clock went back, none is later than the next
    states, remaining = dict[tuple[str, str], str](), dict(starts)

    def count() -> UnhealthyCounts:
        counted = [state for (cluster, _), state in states.items() if cluster not in remaining]
        numbers = tuple(map(counted.count, STATES[1:]))
        return UnhealthyCounts(numbers, sum(numbers))

    def begin(before: int, time: datetime) -> Iterator[Point]:
        for cluster, (known_from, known_since) in [*remaining.items()]:
            if known_from < before:
                del remaining[cluster]
                yield min(known_since, time), count()

    for index, (row, time) in enumerate(zip(rows, times, strict=True)):
        yield from begin(row.id, time)
        states[row.address.split("/")[0], row.address] = row.state
        if index + 1 == len(rows) or rows[index + 1].batch != row.batch:
            yield time, count()
    yield from begin(rows[-1].id + 1, datetime.max.replace(tzinfo=UTC))


def _intervals(points: list[Point], since: datetime, until: datetime, count: int) -> Iterator[TimelineInterval]:
    def last(time: datetime) -> UnhealthyCounts:
        return next((counts for at, counts in reversed(points) if at <= time), UnhealthyCounts((0, 0, 0), 0))

    for number in range(count):
        begin, end = (since + (until - since) * index // count for index in (number, number + 1))
        within = [last(begin), *(counts for at, counts in points if begin < at <= end)]
        worst = UnhealthyCounts(
            tuple(max(counts.counts[state] for counts in within) for state in range(3)),
            max(counts.all for counts in within),
        )
        yield TimelineInterval(begin, end, last(end), worst, 0)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("seed", seeds(3))
def test_the_most_at_once_in_all_clusters_is_that_of_a_walk(fleet: Fleet, seed: int, back: bool) -> None:
    dice, time = random.Random(seed), T0
    starts = {address.split("/")[0]: (0, T0) for address in (U, T)}
    for step in range(40):
        time += dice.choice((-2, 3) if back and step % 8 == 7 else (1, 2, 3)) * _SECOND
        states = dice.choice(("up", "up", "down", "degraded", "maintenance"))
        last = change(fleet, time, states, *dice.sample(PARTS, dice.choice((1, 1, 3))))
        if step == 15:  # as if it had grown, with unhealthy parts
            starts[T.split("/")[0]] = last, time
    with fleet.engine.begin() as connection:
        for cluster, (known_from, known_since) in starts.items():
            values = {"slug": cluster, "known_from": known_from, "at": known_since.isoformat()}
            query = "UPDATE cluster SET known_from = :known_from, known_since = :at WHERE slug = :slug"
            connection.execute(text(query), values)
    points = list(_walk(fleet, starts))
    with fleet.connect() as connection:
        for since, until in ((T0, time), (T0 + 11 * _SECOND, T0 + 49 * _SECOND), (T0, T0 + 20 * _SECOND)):
            worst = set()
            for count in (1, 7, 120):
                history = read_history(connection, None, since, until, count)
                expected = list(_intervals(points, since, until, count))
                found = [(one.begin, one.end, one.at_end, one.worst) for one in history.intervals]
                assert found == [(one.begin, one.end, one.at_end, one.worst) for one in expected]
                worst.add(history.worst)
            assert len(worst) == 1
