"""What differs between two moments is what turns the fleet of the one into the fleet of the other."""

import json
import random
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from lived import U, change, seed_two
from sqlalchemy import select, text

import trninv
from conftest import Databases, Run, both_ways, mostly_slow
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, InvalidTimeError, UnknownAddressError, WrongLevelError
from trninv.inventory.address.expressions import address_expression, concat, node_addresses
from trninv.inventory.address.lookup import resolve
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.state.condition import PPM, Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions.diff import DiffAnswer

pytestmark = pytest.mark.slow_on_postgresql(cases="all")


@pytest.fixture(params=["sqlite", "postgresql"])
def two(request: pytest.FixtureRequest, databases: Databases) -> str:
    """URL of a database with two clusters."""
    return databases.copied(request.param, seed_two)


State = tuple[str, float | None]


def _states(fleet: BaseFleet) -> dict[str, tuple[State, State]]:
    """What each part is, and what it would be without its server."""
    node, server, link = (TABLES[name] for name in ("node", "server", "link"))
    domain, cluster = TABLES["domain"], TABLES["cluster"]
    named = node_addresses().subquery()
    ends = [named.alias(), named.alias()]
    queries = [
        select(named.c.address, node.c.state, node.c.factor_ppm, node.c.own_state, node.c.own_factor_ppm).join(
            node, node.c.id == named.c.id
        ),
        select(address_expression("server"), server.c.state, server.c.factor_ppm, text("NULL"), text("NULL"))
        .select_from(server.join(domain, domain.c.id == server.c.domain_id))
        .join(cluster, cluster.c.id == domain.c.cluster_id),
        select(
            concat(ends[0].c.address, "--", ends[1].c.address),
            link.c.state,
            link.c.factor_ppm,
            text("NULL"),
            text("NULL"),
        )
        .select_from(link.join(ends[0], ends[0].c.id == link.c.a_id))
        .join(ends[1], ends[1].c.id == link.c.b_id),
    ]
    found: dict[str, tuple[State, State]] = {}
    with fleet.connect() as connection:
        for query in queries:
            for address, state, factor, own, own_factor in connection.execute(query):
                held = state, factor and factor / PPM
                found[address] = held, ((own, own_factor and own_factor / PPM) if own else held)
    return found


def _applied(states: dict[str, tuple[State, State]], answer: DiffAnswer) -> dict[str, tuple[State, State]]:
    """States after a difference: of what is shown only its own, where what holds stayed."""
    found = dict(states)
    for each in answer.states:
        assert each.place
        before, after = (each.before, each.factor_before), (each.after, each.factor)
        held, own = found[each.place]
        assert before in (held, own)
        found[each.place] = (after, own) if before == held else (held, after)
    return found


@pytest.mark.parametrize(("two", "seed"), [("sqlite", 1), ("postgresql", 0)], indirect=["two"])
def test_a_difference_turns_one_state_into_the_other(two: str, seed: int) -> None:
    dice = random.Random(seed)
    with trninv.open(two) as fleet:
        moments: list[Any] = [0]
        for _ in range(7):
            change(fleet.engine, dice)
            moments.append(datetime.now(UTC))
        kept = [_states(fleet.at(moment)) for moment in moments]
        for one, other in [(0, 7), *(sorted(dice.sample(range(8), 2)) for _ in range(2))]:
            found = fleet.diff(moments[one], moments[other], by="part", limit=10_000)
            shown = _applied(kept[one], found)
            for address, (held, own) in kept[other].items():
                assert held == shown[address][0] or own == shown[address][1], address
            differ = {address for address in kept[one] if kept[one][address] != kept[other][address]}
            assert {each.place for each in found.states} == differ
            assert (found.changed, found.state_groups, found.truncated) == (len(differ), len(differ), False)
            for by in ("place", "kind"):
                grouped = fleet.diff(moments[one], moments[other], by=by).states
                assert sum(part.count for each in grouped for part in each.parts) == len(differ)
        assert fleet.diff(moments[3], moments[3]).kinds == ()
        assert fleet.at(moments[5]).diff(moments[2]).states == fleet.diff(moments[2], moments[5]).states
        with pytest.raises(InvalidTimeError, match="the time that is read"):
            fleet.at(moments[5]).diff(moments[2], moments[6])


def _counts(events: list[Any], first: int, last: int, place: str | None) -> dict[str, tuple[int, int]]:
    """Return how many parts of each kind differ, and how many changed back, from the first and last event of each."""
    parts: dict[tuple[str, int], tuple[Any, Any]] = {}
    for event in events:
        is_inside = place is None or f"{event.address}/".startswith(f"{place}/")
        if first < event.id <= last and event.kind and is_inside:
            key = event.kind, event.part_id
            parts[key] = parts.get(key, (event,))[0], event
    found: dict[str, tuple[int, int]] = {}
    for (kind, _), (one, other) in parts.items():
        held = (one.before, one.factor_ppm_before), (other.state, other.factor_ppm)
        own = (
            (one.own_before, one.own_factor_ppm_before) if one.own_before else held[0],
            (other.own_state, other.own_factor_ppm) if other.own_state else held[1],
        )
        differs = held[0] != held[1] or own[0] != own[1]
        differ, back = found.get(kind, (0, 0))
        found[kind] = differ + differs, back + (not differs)
    return found


@pytest.mark.parametrize("seed", mostly_slow([2, 3], 1))
def test_counts_follow_from_the_first_and_last_event_of_each_part(two: str, seed: int) -> None:
    dice = random.Random(seed)
    with trninv.open(two) as fleet:
        for _ in range(6):
            change(fleet.engine, dice)
        with fleet.connect() as connection:
            events = list(connection.execute(select(TABLES["state_event"]).order_by(TABLES["state_event"].c.id)))
            slugs = list(connection.scalars(select(TABLES["cluster"].c.slug)))
        ends = sorted({event.batch for event in events})  # an event number stands for its whole change
        lasts = [max(event.id for event in events if event.batch == batch) for batch in ends]
        spans = [(0, lasts[-1]), *(tuple(sorted(dice.sample(lasts, 2))) for _ in range(4)), (lasts[0], lasts[0])]
        for first, last in spans:
            for place in (None, *slugs, f"{slugs[0]}/d0/s0"):
                for limit in (1, 1_000):
                    kinds = fleet.diff(first, last, scope=place, limit=limit).kinds
                    counted = {each.kind: (each.changed, each.reverted) for each in kinds}
                    assert counted == _counts(events, first, last, place), (first, last, place)


def _set(fleet: BaseFleet, address: str, state: str, why: str = "a test") -> None:
    with write_transaction(fleet.engine) as connection:
        set_state(connection, [address], Condition.from_user(state), why=why, who="tester")


def test_a_list_that_was_cut_says_what_lists_the_rest(two: str, run: Run) -> None:
    with trninv.open(two) as fleet:
        for chip in ("c0", "c1", "c2"):
            _set(fleet, f"{U}/s1/{chip}", "down")
        asked = ("diff", f"{U}/s1", "--by", "part", "--from", "0", "--limit", "2")
        cut = run(*asked, database=two)[1]
        _set(fleet, f"{U}/s1/c3", "down")  # later than what is listed
    (more,) = re.findall(r"^1 line more: add (--skip 2 --to .*)$", cut, re.MULTILINE)
    rest = run(*asked, *more.split(), database=two)[1]
    assert re.findall(r"/s1/(c\d) ", cut + rest) == ["c2", "c1", "c0"]
    assert "more:" not in rest


def test_a_server_is_one_line_and_what_changed_back_is_counted(two: str, run: Run) -> None:
    with trninv.open(two) as fleet:
        for address, state in ((f"{U}/s0/c1", "down"), (f"{U}/s0/c1", "up"), (f"{U}/s1", "down")):
            _set(fleet, address, state, f"{address} {state}")
        _set(fleet, f"{U}/s1/c0--{U}/s1/c1", "maintenance")
        found = fleet.diff(0, scope="u-trn2x64")
        link, server = found.states
        assert (server.place, [str(each) for each in server.parts]) == (f"{U}/s1", ["1 server", "16 chips", "16 NICs"])
        assert (server.before, server.after, server.why) == ("up", "down", f"{U}/s1 down")
        assert (link.place, link.after, found.changed, found.reverted) == (
            f"{U}/s1/c0--{U}/s1/c1",
            "maintenance",
            34,
            1,
        )
        rest = fleet.diff("0", scope=f"{U}/s1", limit=1, skip=1)
        assert (rest.states, rest.next_skip) == ((server,), None)
        for skip in (2, 10**20):
            assert fleet.diff(0, scope=f"{U}/s1", limit=1, skip=skip).state_groups == 2
        assert fleet.diff(0, scope="u-trn2x64/r0").states == found.states
        assert [each.place for each in fleet.diff(0, scope=f"{U}/s1/c0").states] == [link.place, f"{U}/s1/c0"]
        assert fleet.diff(0, scope=f"{U}/s2").states == ()
        document = '{ diff(from: "0", by: KIND) { reverted states { place parts { kind count } after } } }'
        by_kind = both_ways(fleet)(document)["data"]["diff"]
        assert by_kind["reverted"] == 1
        assert {each["parts"][0]["kind"]: each["parts"][0]["count"] for each in by_kind["states"]} == {
            "link": 1,
            "server": 1,
            "chip": 16,
            "nic": 16,
        }
        status, out, _ = run("diff", "--from", "0", "--to", "2", "--format", "json", database=two)
        said = json.loads(out)
        assert (status, said["changed"], said["reverted"], said["end"]["event"]) == (0, 0, 1, 2)
        before = datetime.now(UTC)
        _set(fleet, f"{U}/s1/c2", "maintenance")  # its server is down
        (own,) = fleet.diff(before).states
        assert (own.place, own.before, own.after) == (f"{U}/s1/c2", "up", "maintenance")
        with write_transaction(fleet.engine) as connection:
            cluster_seeding.unseed(connection, resolve(connection, "u-trn2x64").id)
        assert fleet.diff(0).kinds == ()


def test_what_can_not_be_asked(two: str) -> None:
    with trninv.open(two) as fleet:
        _set(fleet, f"{U}/s1", "down")
        now = datetime.now(UTC)
        with pytest.raises(InvalidTimeError, match="is after 0; name the earlier time first"):
            fleet.diff(1, 0)
        for since, until in (
            ("2020-01-01T00:00Z", None),
            (0, "2999-01-01T00:00Z"),
            (0, "2026-01-01T00:00"),
            (99, None),
        ):
            with pytest.raises(InvalidTimeError):
                fleet.diff(since, until)
        with pytest.raises(UnknownAddressError):
            fleet.diff(now, scope="nowhere")
        with pytest.raises(WrongLevelError, match="name its chip"):
            fleet.diff(now, scope=f"{U}/s0/c0/nc0")
        with pytest.raises(InvalidArgumentError, match="scenario"):
            fleet.what_if([f"{U}/s0/c0"]).diff(now)
        with write_transaction(fleet.engine) as connection:
            cluster_seeding.seed(connection, default_catalog(), default_systems().get("trn1.2xlarge"))
        with pytest.raises(InvalidTimeError, match="starts at"):
            fleet.diff(now)
