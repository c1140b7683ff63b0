"""Incidents against the same definition by brute force: of random histories, now and at every moment of them."""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from past_changes import change
from queries import run_query
from sqlalchemy import text

import trninv
from conftest import Databases, examples, is_quick
from trninv.incidents import grouping
from trninv.incidents.change_windows import window_starts
from trninv.incidents.failures import FailureEvent
from trninv.incidents.model import Incident, Location
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql

U, G = "u-trn2x64/d0", "trn3-gen1/d0"
"""The first two servers of either stand in one rack, the others in another."""
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PARTS = [
    *(f"{U}/s{server}" for server in range(4)),
    *(f"{U}/s{server}/c{chip}" for server in (0, 1) for chip in (0, 1)),
    f"{U}/s0/efa3",
    f"{U}/s0/c0--{U}/s0/c1",
    f"{U}/s0/c0--{U}/s1/c0",
    f"{U}/s1/c1--{U}/s2/c1",
    f"{G}/sw0",
    f"{G}/s1",
]
FIVE, _TICK = timedelta(minutes=5), timedelta(microseconds=1)
Told = set[tuple[str, str, frozenset[str]]]
"""Id, rule and addresses of the parts of incidents."""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def opened(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    with trninv.open(databases.seeded(request.param)) as fleet:
        yield fleet


def told(found: list[Incident]) -> Told:
    return {(each.id, each.rule.name, frozenset(part.address for part in each.members)) for each in found}


def by_hand(fleet: Fleet) -> Told:
    """The definition of docs/reference/incidents.md, read from views and events alone."""
    lost, racks, failed = dict[str, str](), dict[str, str | None](), defaultdict[str, list[Any]](list)
    with fleet.connect() as connection:
        for view in ("v_server", "v_chip", "v_nic", "v_switch"):
            for row in connection.execute(text(f"SELECT address, rack, state FROM {view}")):
                racks[row.address] = row.rack
                if row.state != "up":
                    lost[row.address] = row.address
        links = connection.execute(text("SELECT address, a, b FROM v_link WHERE state <> 'up'")).all()
        for row in connection.execute(text("SELECT * FROM state_event ORDER BY id")):
            if (row.own_before or row.before) == "up" != (row.own_state or row.state):
                failed[row.address].append(row)
    for address in lost:
        server = "/".join(address.replace(f"{G}/sw", f"{G}/s").split("/")[:3])  # of its first four switches
        lost[address] = server if server in lost else address
    cause = lost | {link: next((lost[end] for end in ends if end in lost), link) for link, *ends in links}
    first = _windows(failed, racks)
    grouped = defaultdict[int, set[str]](set)
    for address, root in cause.items():
        grouped[first[failed[root][-1].batch]].add(address)
    return {(str(number), _rule(number, parts, cause, failed), frozenset(parts)) for number, parts in grouped.items()}


def _windows(failed: Mapping[str, list[Any]], racks: Mapping[str, str | None]) -> dict[int, int]:
    where, when = defaultdict[int, set[str | None]](set), dict[int, datetime]()
    for address, events in failed.items():
        held = {racks[end] for end in address.split("--")}
        for row in events:
            where[row.batch].add(min(held, key=str) if len(held) == 1 else None)
            when[row.batch] = datetime.fromisoformat(row.at)
    first, begun = {number: number for number in when}, dict[str, int]()
    for number in sorted(when, key=lambda number: (when[number], number)):
        if len(where[number]) == 1 and (rack := where[number].pop()):
            if rack not in begun or when[number] - when[begun[rack]] > FIVE:
                begun[rack] = number
            first[number] = begun[rack]
    return first


def _rule(number: int, parts: set[str], cause: Mapping[str, str], failed: Mapping[str, list[Any]]) -> str:
    roots = {cause[part] for part in parts}
    if {failed[root][-1].batch for root in roots} != {number}:
        return "RACK"
    if len(roots) > 1:
        return "CHANGE"
    if len(parts) == 1:
        return "SINGLE"
    return "CONTAINMENT" if re.search(r"/s\d+$", roots.pop()) else "END"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_incidents_are_what_their_definition_says(opened: Fleet, seed: int) -> None:
    """Now, by the view, and of each moment as it was told then."""
    dice, at, then = random.Random(seed), NOON, dict[int, Told]()
    assert opened.incidents() == []
    for _ in range(7 if is_quick() else 12):
        at += timedelta(seconds=dice.choice([1, 60, 200, 299, 300, 301, 600]))
        state = dice.choice(["down", "down", "degraded", "maintenance", "up"])
        number = change(opened, at, state, *dice.sample(PARTS, dice.choice([1, 1, 1, 2, 3])))
        found = opened.incidents()
        then[number] = told(found)
        assert then[number] == by_hand(opened)
        rows = run_query(opened.engine, "SELECT DISTINCT cause, change FROM v_unhealthy", seconds=60).rows
        assert sorted(cause for cause, _ in rows) == sorted(cause for each in found for cause in each.causes)
        assert {number for _, number in rows} == {number for each in found for number in each.changes}
        roots = run_query(opened.engine, "SELECT address, change, cascaded FROM v_incident", seconds=60).rows
        assert sorted(roots) == sorted(
            (cause, number, members - 1)
            for cause, number, members in run_query(
                opened.engine, "SELECT cause, change, count(*) FROM v_unhealthy GROUP BY cause, change", seconds=60
            ).rows
        )
        assert sum(1 + row[2] for row in roots) == sum(len(each.members) for each in found)
    for number in dice.sample(sorted(then), 4):
        assert told(opened.at(number).incidents()) == then[number]
    change(opened, at + timedelta(seconds=1), "up", *PARTS)
    closed = {incident.id: incident for incident in opened.closed_incidents()}
    listed = {name for incidents in then.values() for name, _, _ in incidents}
    assert listed <= closed.keys()
    # a link that was repaired before its end was never an incident of its own
    assert all("--" in cause for name in closed.keys() - listed for cause in closed[name].causes)


_CHANGES = st.lists(
    st.tuples(st.integers(0, 1_500), st.lists(st.sampled_from([1, 2, None]), min_size=1, max_size=2)), max_size=12
)


@given(_CHANGES, st.sets(st.integers(1, 12)))
@examples(60)
def test_windows_are_those_of_the_whole_history(changes: list[Any], present: set[int]) -> None:
    """Whatever of it is back: seconds and racks of changes, of which some are present."""
    history = [
        FailureEvent(number, (NOON + timedelta(seconds=second)).isoformat(), ("node", 10 * number + at))
        for number, (second, racks) in enumerate(changes, 1)
        for at in range(len(racks))
    ]
    spots = {each.part: Location(1, rack=changes[each.change - 1][1][each.part[1] % 10]) for each in history}
    read = list[FailureEvent]()

    def faults(spans: list[tuple[datetime, datetime]]) -> list[FailureEvent]:
        found = [f for f in history if any(low <= datetime.fromisoformat(f.time) <= high for low, high in spans)]
        read.extend(found)
        return found

    current = [each for each in history if each.change in present and each.part[1] % 10 == 0]
    found = window_starts(
        current,
        {each.part: spots[each.part] for each in current},
        faults,
        lambda parts: ((part, spots[part]) for part in parts),
    )
    racks = {str(part): str(spot.rack) if spot.rack else None for part, spot in spots.items()}
    whole = _windows({str(each.part): [SimpleNamespace(batch=each.change, at=each.time)] for each in history}, racks)
    assert found == {each.change: whole[each.change] for each in current}
    assert len(read) == len(set(read))


def test_three_servers_of_a_rack_are_one_and_keep_their_number(databases: Databases) -> None:
    """As long as any of them is out, and what else goes wrong later is another incident."""
    with trninv.open(databases.seeded("sqlite")) as fleet:
        servers = [f"trn3-gen2/d0/s{number}" for number in range(3)]
        for minute, server in enumerate(servers):
            change(fleet, NOON + timedelta(minutes=2 * minute), "down", server, why=f"PDU {minute}")
        (one,) = fleet.incidents()
        assert (one.id, one.rule.name, one.causes, one.why) == ("1", "RACK", tuple(servers), "PDU 0")
        assert (one.place, one.started_at) == ("trn3-gen2/r0", "2026-01-01T12:00:00.000000+00:00")
        assert one.last_change
        assert (one.last_change.time[11:16], one.last_change.why) == ("12:04", "PDU 2")
        change(fleet, NOON + timedelta(minutes=6), "down", "trn3-gen2/d0/s3")
        change(fleet, NOON + timedelta(minutes=8), "up", servers[0], servers[1])
        late, left = fleet.incidents()
        assert (left.id, left.rule.name, left.causes, left.why) == ("1", "RACK", (servers[2],), "PDU 2")
        assert (late.rule.name, late.place) == ("CONTAINMENT", "trn3-gen2/d0/s3")


def test_what_was_broken_before_its_server_stays_so_when_it_is_back(databases: Databases) -> None:
    with trninv.open(databases.seeded("sqlite")) as fleet:
        first = change(fleet, NOON, "down", f"{U}/s1/c5", why="HBM")
        change(fleet, NOON + timedelta(hours=1), "maintenance", f"{U}/s1")
        (one,) = fleet.incidents()
        assert (one.causes, one.rule.name, one.severity.name, one.independent_failures) == (
            (f"{U}/s1",),
            "CONTAINMENT",
            "MEDIUM",  # maintenance is planned, its chip is not
            1,
        )
        change(fleet, NOON + timedelta(hours=2), "up", f"{U}/s1")
        (chip,) = fleet.incidents()
        assert (chip.id, chip.rule.name, chip.started_at) == (str(first), "SINGLE", "2026-01-01T12:00:00.000000+00:00")
        assert chip.why == "HBM"
        with fleet.connect() as connection:
            assert connection.execute(text("SELECT address, why FROM v_unhealthy")).all() == [(f"{U}/s1/c5", "HBM")]


def test_a_whole_cluster_is_one_change_and_its_work_is_bounded(databases: Databases) -> None:
    with trninv.open(databases.seeded("sqlite")) as fleet:
        change(fleet, NOON, "down", *(f"{U}/s{number}" for number in range(4)))
        (one,) = fleet.incidents()
        assert (one.rule.name, one.place, one.cause_count, sum(part.count for part in one.parts)) == (
            *("CHANGE", "u-trn2x64/d0"),
            *(4, 4 * 33),
        )
        cost = fleet.impact(one)
        assert (cost.chips, cost.domains[0].chips_before, cost.domains[0].chips_now) == (64, 64, 0)
        assert (int(cost.domains[0].pool_now), cost.domains[0].all_gather_now.upper) == (0, 0)


def test_plain_sql_and_parts_without_a_history_are_told_too(opened: Fleet) -> None:
    with opened.engine.begin() as connection:
        for statement in (
            "UPDATE node SET state = 'down' WHERE id = 1",
            "UPDATE node SET state = 'maintenance' WHERE id = 2",
            "INSERT INTO history_archive VALUES (1, 'x', 'x', 'x', 'x', 'x')",  # only archived events may be deleted
            "DELETE FROM state_event WHERE id = 1",
        ):
            connection.execute(text(statement))
    known, unknown = sorted(opened.incidents(), key=lambda each: not each.started_at)
    assert (known.id, known.source, known.why) == ("2", "sql", "plain SQL")
    assert (unknown.id, unknown.place, unknown.started_at, unknown.last_change) == (
        *[unknown.causes[0]] * 2,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("scope", "ids"),
    [
        (None, {"1", "34", "35"}),
        ("u-trn2x64", {"1", "34"}),
        (f"{U}/s0", {"34"}),
        (f"{U}/s1", {"1"}),
        (f"{U}/s1/c3/nc0", {"1"}),
        (f"{U}/s3/c1/nc7", {"34"}),
        (f"{U}/s3/c2", set()),
        (f"{U}/s0/c1--{U}/s3/c1", {"34"}),
        ("trn3-gen1/r0", {"35"}),
        ("trn2-16.48xlarge", set()),
    ],
)
def test_a_scope_has_what_touches_it(scoped: Fleet, scope: str | None, ids: set[str]) -> None:
    assert {each.id for each in scoped.incidents(scope)} == ids


@pytest.fixture(scope="module")
def scoped(databases: Databases) -> Iterator[Fleet]:
    with trninv.open(databases.seeded("sqlite")) as fleet:
        change(fleet, NOON, "down", f"{U}/s1")
        change(fleet, NOON, "down", f"{U}/s0/c1--{U}/s3/c1")
        change(fleet, NOON, "degraded", f"{G}/sw0")
        yield fleet


@pytest.mark.parametrize(("after", "count"), [(FIVE - _TICK, 1), (FIVE, 1), (FIVE + _TICK, 2)])
def test_five_minutes_after_the_first_is_still_the_same_incident(opened: Fleet, after: timedelta, count: int) -> None:
    change(opened, NOON, "down", f"{U}/s0/c0")
    change(opened, NOON + after, "down", f"{U}/s1/c0")
    assert len(opened.incidents()) == count


@pytest.mark.parametrize(("after", "first"), [(FIVE, "1"), (FIVE + _TICK, "3")])
def test_the_first_counts_also_where_it_is_back(opened: Fleet, after: timedelta, first: str) -> None:
    change(opened, NOON, "down", f"{U}/s0/c0")
    change(opened, NOON + _TICK, "up", f"{U}/s0/c0")
    change(opened, NOON + after, "down", f"{U}/s1/c0")
    (one,) = opened.incidents()
    assert one.id == first


@pytest.mark.parametrize("step", [FIVE, FIVE + _TICK])
def test_a_window_is_of_the_first_and_not_of_the_one_before(opened: Fleet, step: timedelta) -> None:
    for at in range(3):
        change(opened, NOON + at * step, "down", f"{U}/s0/c{at}")
    assert [len(each.causes) for each in opened.incidents()] == ([2, 1] if step == FIVE else [1, 1, 1])


@pytest.mark.parametrize(("most", "is_truncated"), [(3, False), (2, True)])
def test_a_list_that_has_just_all_is_not_truncated(
    opened: Fleet, monkeypatch: pytest.MonkeyPatch, most: int, *, is_truncated: bool
) -> None:
    monkeypatch.setattr(grouping, "MAX_LISTED", most)
    change(opened, NOON, "down", *(f"{U}/s0/c{chip}" for chip in range(3)))
    (one,) = opened.incidents()
    assert (len(one.causes), one.cause_count, one.truncated) == (most, 3, is_truncated)
