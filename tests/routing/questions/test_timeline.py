"""What is not up over a time is what the fleet says at every moment of it."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lived import U, change, seed_two
from sqlalchemy import func, select, text

import trninv
from conftest import Databases, Run, both_ways
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import STATES, TABLES
from trninv.errors import InvalidArgumentError, InvalidTimeError, WrongLevelError
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions.timeline import UnhealthyCount

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

CLUSTER = "u-trn2x64"


@pytest.fixture(params=["sqlite", "postgresql"])
def two(request: pytest.FixtureRequest, databases: Databases) -> str:
    """URL of a database with two clusters."""
    return databases.copied(request.param, seed_two)


def _then(fleet: BaseFleet, moment: int | datetime | str) -> UnhealthyCount:
    """What the first cluster has that is not up, counted in its tables."""
    found = dict.fromkeys(STATES, 0)
    domain, server, node, link = (TABLES[name] for name in ("domain", "server", "node", "link"))
    ours = select(domain.c.id).where(domain.c.cluster_id == 1)
    with fleet.at(moment).connect() as connection:
        for table in (server, node, link):
            inside = table.c.domain_id.in_(ours)
            for state, count in connection.execute(
                select(table.c.state, func.count()).where(inside).group_by(table.c.state)
            ):
                found[state] += count
    found["total"] = sum(found.values()) - found.pop("up")
    return UnhealthyCount(**found)


@pytest.mark.parametrize("back", [False, True])
def test_it_is_what_the_fleet_says_at_every_moment(two: str, back: bool) -> None:
    dice = random.Random(1)
    with trninv.open(two) as fleet:
        began = datetime.now(UTC) - timedelta(milliseconds=100)  # before all to which the clock goes back
        for _ in range(8):
            change(fleet.engine, dice)
        if back:
            _go_back(fleet, 1)
        whole = fleet.timeline(CLUSTER, began.isoformat(), buckets=7)
        for bucket in whole.buckets:
            assert bucket.unhealthy_at_end == _then(fleet, bucket.end), bucket
        with fleet.connect() as connection:
            events = connection.execute(select(TABLES["state_event"].c.batch).order_by(TABLES["state_event"].c.id))
            batches = list(dict.fromkeys(events.scalars()))
        moments = [_then(fleet, batch) for batch in batches]
        for state in ("degraded", "down", "maintenance", "total"):
            most = max(getattr(each.worst, state) for each in whole.buckets)
            assert most == max(getattr(each, state) for each in moments)
        assert whole.worst == max(each.total for each in moments)
        half = whole.buckets[3].end
        (until,) = fleet.timeline(CLUSTER, whole.since, half, 1).buckets
        assert (until.unhealthy_at_end, until.events) == (
            whole.buckets[3].unhealthy_at_end,
            sum(each.events for each in whole.buckets[:4]),
        )
        (past,) = fleet.at(half).timeline(CLUSTER, whole.since, buckets=1).buckets
        assert (past.unhealthy_at_end, past.worst) == (until.unhealthy_at_end, until.worst)


def _go_back(fleet: BaseFleet, node: int) -> None:
    """Events of which each has an earlier time than the one before it."""
    now = datetime.now(UTC)
    with fleet.engine.begin() as connection:
        for hundredths, state in ((0, "down"), (-40, "up"), (-30, "maintenance")):
            at = (now + timedelta(milliseconds=hundredths)).isoformat(timespec="microseconds")
            said = {"id": 1, "at": at, "who": "a", "why": "b", "source": "sql"}
            connection.execute(TABLES["_change"].insert().values(**said))
            connection.execute(text(f"UPDATE node SET state = '{state}' WHERE id = {node} AND state <> '{state}'"))
            connection.execute(text("DELETE FROM _change"))


def _set(url: str, address: str, state: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, [address], Condition.from_user(state), why="a test", who="tester")


def test_what_went_down_and_came_back_within_a_bucket_is_its_worst(two: str, run: Run, tmp_path: Path) -> None:
    for state in ("down", "up"):
        _set(two, f"{U}/s1", state)
    _set(two, f"{U}/s0/c0--{U}/s0/c1", "maintenance")
    with trninv.open(two) as fleet:
        (bucket,) = fleet.timeline(CLUSTER, buckets=1).buckets
        assert (bucket.worst, bucket.unhealthy_at_end) == (UnhealthyCount(0, 33, 1, 33), UnhealthyCount(0, 0, 1, 1))
        scopes = {
            f"{U}/s1": 33,
            f"{U}/s0": 1,
            f"{U}/s1/c3": 1,
            f"{U}/s2": 0,
            f"{CLUSTER}/r0": 33,
            "trn2-16.48xlarge": 0,
        }
        assert {scope: fleet.timeline(scope, buckets=2).worst for scope in scopes} == scopes
        assert fleet.timeline(f"{U}/s0/c1--{U}/s0/c0").worst == 1
        document = f'{{ timeline(scope: "{U}", buckets: 1) {{ worst buckets {{ worst {{ down }} events }} }} }}'
        said = both_ways(fleet)(document)["data"]["timeline"]
        assert said == {"worst": 33, "buckets": [{"worst": {"down": 33}, "events": 67}]}
        since = "2026-01-01T00:00:00Z"
        assert fleet.timeline(U, since).requested_since == "2026-01-01T00:00:00+00:00"
        for begin, end in (("2026-01-01", None), ("2999-01-01T00:00Z", None), (None, since)):
            with pytest.raises(InvalidTimeError):
                fleet.timeline(U, begin, end)
        with pytest.raises(WrongLevelError, match="name its chip"):
            fleet.timeline(f"{U}/s0/c0/nc0")
        with pytest.raises(InvalidArgumentError, match="1 to 1,000"):
            fleet.timeline(U, buckets=0)
        with pytest.raises(InvalidArgumentError, match="scenario"):
            fleet.what_if([f"{U}/s0/c0"]).timeline(U)
    drawn = tmp_path / "time.svg"
    _, out, _ = run("timeline", U, "--buckets", "5", "--svg", str(drawn), database=two)
    assert "█" in out
    assert "^" in out
    assert "At most 33 parts" in drawn.read_text()
    status, _, error = run("timeline", U, "--svg", str(tmp_path / "none" / "time.svg"), database=two)
    assert (status, "can't write" in error) == (2, True)
    _, out, _ = run("timeline", U, "--buckets", "1", "--format", "json", database=two)
    assert json.loads(out)["buckets"][0]["unhealthyAtEnd"]["total"] == 1
