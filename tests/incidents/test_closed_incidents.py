"""Incidents that have closed: grouped as open ones, listed by every interface, and what they had taken away."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from past_changes import change
from sqlalchemy import text

import trninv
from conftest import BACKENDS, Databases, Run, both_ways, is_quick, seeds
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.errors import TrninvError, UnknownAddressError
from trninv.incidents import change_windows, closed_incidents, failure_history
from trninv.inventory.seeding import cluster_seeding
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql

U, G = "u-trn2x64/d0", "trn3-gen1/d0"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_MINUTE, _TICK = timedelta(minutes=1), timedelta(microseconds=1)


@pytest.fixture(params=BACKENDS)
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    with trninv.open(databases.seeded(request.param)) as opened:
        yield opened


@pytest.mark.parametrize("tick", [0, 1])
def test_changes_of_a_rack_within_five_minutes_close_as_the_one_incident_they_were(fleet: Fleet, tick: int) -> None:
    change(fleet, NOON, "down", f"{U}/s0", why="shelf")
    change(fleet, NOON + 5 * _MINUTE + tick * _TICK, "degraded", f"{U}/s1/c0")
    change(fleet, NOON + 6 * _MINUTE, "down", f"{U}/s1/c0")
    listed = sorted(fleet.incidents(), key=lambda incident: int(incident.id))
    change(fleet, NOON + 7 * _MINUTE, "up", f"{U}/s0")
    before_last = fleet.closed_incidents()
    assert [incident.id for incident in before_last] == (["1"] if tick else [])
    last = change(fleet, NOON + 8 * _MINUTE, "up", f"{U}/s1/c0", why="swapped")
    closed = list(reversed(fleet.closed_incidents()))
    for name in ("id", "rule", "severity", "place", "causes", "cause_count", "parts", "started_at", "chips_lost"):
        assert [getattr(incident, name) for incident in closed] == [getattr(incident, name) for incident in listed]
    assert closed[0].why == "shelf"
    assert (closed[-1].closed_at, closed[-1].closed_why) == ("2026-01-01T12:08:00.000000+00:00", "swapped")
    assert fleet.at(last - 1).closed_incidents() == before_last
    assert fleet.incidents() == []


def test_a_failure_behind_its_server_is_none_of_its_own(fleet: Fleet) -> None:
    change(fleet, NOON, "down", f"{U}/s0")
    change(fleet, NOON + 10 * _MINUTE, "down", f"{U}/s0/c1")
    change(fleet, NOON + 11 * _MINUTE, "up", f"{U}/s0/c1")
    still = change(fleet, NOON + 20 * _MINUTE, "down", f"{U}/s0/c2")
    change(fleet, NOON + 30 * _MINUTE, "up", f"{U}/s0")
    assert [incident.id for incident in fleet.closed_incidents()] == ["1"]
    change(fleet, NOON + 31 * _MINUTE, "up", f"{U}/s0/c2")
    assert [incident.id for incident in fleet.closed_incidents()] == [str(still), "1"]


def test_a_part_that_failed_twice_in_a_window_closes_once_with_its_worst_state(fleet: Fleet) -> None:
    for minute, state in enumerate(("degraded", "up", "down", "up", "degraded")):
        change(fleet, NOON + minute * _MINUTE, state, f"{U}/s0/c0")
    assert fleet.closed_incidents() == []
    change(fleet, NOON + 9 * _MINUTE, "up", f"{U}/s0/c0")
    (closed,) = fleet.closed_incidents()
    assert [(part.kind, part.state, part.count) for part in closed.parts] == [("chip", "down", 1)]
    assert (closed.chips_lost, closed.severity.name) == (1, "MEDIUM")


def test_jobs_are_those_that_had_chips_while_it_was_open(fleet: Fleet) -> None:
    fleet.allocate("before", [f"{U}/s0/c0"], who="tests")
    fleet.release("before", who="tests")
    fleet.allocate("hit", [f"{U}/s0"], who="tests")
    fleet.set_state(f"{U}/s0/c0", "down", who="tests", why="x")
    lost = fleet.incidents()[0].bandwidth_lost
    fleet.set_state(f"{U}/s0/c0", "up", who="tests", why="x")
    fleet.release("hit", who="tests")
    fleet.allocate("after", [f"{U}/s0"], who="tests")
    (closed,) = fleet.closed_incidents()
    assert (closed.jobs, closed.severity.name, closed.bandwidth_lost) == (("hit",), "HIGH", lost)


def test_the_instance_is_that_of_its_beginning(fleet: Fleet, run: Run) -> None:
    url = fleet.engine.url.render_as_string(hide_password=False)
    servers = [f"{U}/s0", "trn2-16.48xlarge/d0/s0", f"{G}/s0"]
    for number, server in enumerate(servers):
        if server != servers[-1]:
            fleet.bind(server, f"i-{number}", who="me")
        for state in ("down", "up"):
            fleet.set_state(f"{server}/c1", state, who="me", why="x")
    for number, server in enumerate(servers):
        fleet.bind(server, f"i-9{number}", who="me")
    instances = [[bound.instance for bound in incident.instances] for incident in fleet.closed_incidents()]
    assert instances == [[], ["i-1"], ["i-0"]]
    (node,) = both_ways(fleet)(
        f'{{ closedIncidents(scope: "{U}") {{ nodes {{ instances {{ server instance host }} }} }} }}'
    )["data"]["closedIncidents"]["nodes"]
    assert node == {"instances": [{"server": f"{U}/s0", "instance": "i-0", "host": None}]}
    assert f"{U}/s0/c1 (i-0) " in run("incidents", "--closed", database=url)[1]


def test_each_counts_its_links_and_jobs_alone(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at the ends of one link, each with a job of its own, and the first of them once more."""
    for module in (change_windows, closed_incidents):
        monkeypatch.setattr(module, "WINDOW", timedelta())
    lost = []
    for turn, chip in enumerate(("c0", "c1", "c0")):
        fleet.allocate(f"job{turn}", [f"{U}/s0/{chip}"], who="tests")
        fleet.set_state(f"{U}/s0/{chip}", "down", who="tests", why="x")
        lost.append(fleet.incidents()[0].bandwidth_lost)
        fleet.set_state(f"{U}/s0/{chip}", "up", who="tests", why="x")
        fleet.release(f"job{turn}", who="tests")
    closed = list(reversed(fleet.closed_incidents()))
    assert [incident.bandwidth_lost for incident in closed] == lost
    assert [incident.jobs for incident in closed] == [("job0",), ("job1",), ("job2",)]


def test_every_interface_lists_them_and_a_scope_those_that_touched_it(fleet: Fleet, run: Run) -> None:
    url = fleet.engine.url.render_as_string(hide_password=False)
    assert run("incidents", "--closed", "--format", "json", database=url) == (0, "[]\n", "")
    change(fleet, NOON, "down", f"{U}/s0/c0--{U}/s1/c0", why="<b>")
    change(fleet, NOON + _MINUTE, "up", f"{U}/s0/c0--{U}/s1/c0")
    with fleet.engine.begin() as connection:  # by plain SQL, each statement is a change
        for state in ("down", "up"):
            connection.execute(text(f"UPDATE server SET state = '{state}' WHERE id = 1"))
    everything, one = fleet.closed_incidents(), fleet.closed_incidents(f"{U}/s1/c0/nc3")
    assert ([incident.rule.name for incident in everything], one) == (["CONTAINMENT", "SINGLE"], everything[1:])
    _, out, _ = run("incidents", "--closed", f"{U}/s1", database=url)
    assert "1 link down" in out
    _, rows, _ = run("list", "closed-incident", "--columns", "id,why,place", "--format", "csv", database=url)
    assert rows.splitlines()[-1] == f"{one[0].id},<b>,{one[0].place}"
    query = '{ closedIncidents(scope: "%s", filter: { severity: { eq: LOW } }) { totalCount nodes { id closedBy } } }'
    answer = both_ways(fleet)(query % f"{U}/s1")["data"]["closedIncidents"]
    assert answer == {"totalCount": 1, "nodes": [{"id": one[0].id, "closedBy": "dice"}]}
    status, _, error = run("incidents", "--closed", "--impact", database=url)
    assert (status, "trninv list incident-note has its notes" in error) == (2, True)
    for scope in ("nowhere/d0", "x' OR 1=1 --"):
        with pytest.raises(TrninvError, match=r"no cluster nowhere|not an address"):
            fleet.closed_incidents(scope)
    for ask in (fleet.incidents, fleet.closed_incidents):
        with pytest.raises(UnknownAddressError, match=r"no cluster 1: .*; to list incidents, name a place, not an"):
            ask("1")


def test_only_the_latest_are_listed_in_whatever_batches_they_are_read(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        for minute, state in enumerate(("down", "up")):
            change(
                fleet, NOON + timedelta(hours=number, minutes=minute), state, f"{U}/s0/c{number}", f"{U}/s1/c{number}"
            )
    ids = [incident.id for incident in fleet.closed_incidents()]
    assert (len(ids), ids) == (4, sorted(ids, key=int, reverse=True))
    monkeypatch.setattr(closed_incidents, "_BATCH_SIZE", 1)
    assert [incident.id for incident in fleet.closed_incidents()] == ids
    monkeypatch.setattr(closed_incidents, "MAX_CLOSED", 3)
    assert [incident.id for incident in fleet.closed_incidents()] == ids[:3]


def test_only_recoveries_of_the_scope_count_towards_its_limit(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    change(fleet, NOON, "down", f"{U}/s0")
    change(fleet, NOON + _MINUTE, "up", f"{U}/s0")
    for number in range(4):
        for minute, state in enumerate(("down", "up")):
            change(fleet, NOON + timedelta(hours=1 + number, minutes=minute), state, f"trn1.32xlarge/d0/s0/c{number}")
    *_, oldest = fleet.closed_incidents()
    monkeypatch.setattr(closed_incidents, "_MAX_RECOVERIES", 2)
    monkeypatch.setattr(closed_incidents, "_BATCH_SIZE", 1)
    assert len(fleet.closed_incidents()) == 2
    for scope in (U.partition("/")[0], f"{U.partition('/')[0]}/r0", U, f"{U}/s0", f"{U}/s0/c5", f"{U}/s0/c5/nc1"):
        assert fleet.closed_incidents(scope) == [oldest]
    assert fleet.closed_incidents("trn1.32xlarge") == fleet.closed_incidents()


@pytest.mark.parametrize("seed", seeds(4))
def test_a_scope_lists_what_a_search_of_all_recoveries_finds_there(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice, time = random.Random(seed), NOON
    parts = [f"{G}/{part}" for part in ("s0", "s1", "s2", "s0/c0", "s0/c1", "s2/c0", "s0/efa1", "sw0", "sw2", "sw5")]
    parts += [f"{G}/s0/c0--{G}/sw0", f"{G}/s2/c1--{G}/sw5"]
    for _ in range(25 if is_quick() else 60):
        time += dice.randrange(8) * _MINUTE
        change(fleet, time, dice.choice(("up", "up", "down", "degraded")), *dice.sample(parts, dice.choice((1, 1, 3))))
    scopes = [G.partition("/")[0], G, f"{G}/r0".replace("/d0", ""), "trn1.32xlarge", *parts]
    listed = {scope: fleet.closed_incidents(scope) for scope in scopes}
    everywhere = failure_history.load_recoveries
    monkeypatch.setattr(failure_history, "load_recoveries", lambda *arguments: everywhere(*arguments[:3]))
    assert {scope: fleet.closed_incidents(scope) for scope in scopes} == listed
    assert 0 < len(listed[f"{G}/sw0"]) < len(listed[G])


def test_those_of_a_cluster_that_was_seeded_again_are_gone(fleet: Fleet) -> None:
    with fleet.connect() as connection:
        ids = "SELECT slug, first_node_id FROM cluster ORDER BY first_node_id DESC LIMIT 1"
        last = connection.execute(text(ids)).one()
    change(fleet, NOON, "down", f"{last.slug}/d0/s0/c0")
    change(fleet, NOON + _MINUTE, "up", f"{last.slug}/d0/s0/c0")
    assert len(fleet.closed_incidents()) == 1
    with write_transaction(fleet.engine) as connection:
        key = connection.scalar(text("SELECT id FROM cluster WHERE slug = :slug"), {"slug": last.slug})
        cluster_seeding.unseed(connection, key)
        cluster_seeding.seed(connection, default_catalog(), default_systems().get(last.slug))
        assert connection.execute(text(ids)).one() == last
    assert fleet.closed_incidents() == []
