"""Events in GraphQL: the same compiled and field by field, the same as trninv events has, and pages that go on."""

from collections.abc import Iterator
from typing import Any

import pytest

import trninv
from conftest import Databases, both_ways
from trninv.database.engine import write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql

U = "u-trn2x64/d0"
LINK = f"{U}/s0/c0--{U}/s1/c0"
CHANGES = {
    f"{U}/s1": "down",
    LINK: "down",
    f"{U}/s1/c5": "maintenance",
    "trn1.2xlarge/d0/s0/c0": "degraded",
    "trn3-gen1/d0/sw1": "down",
}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lived(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    with trninv.open(databases.seeded(request.param)) as fleet:
        for address, state in CHANGES.items():
            condition = Condition.from_user(state, 0.25 if state == "degraded" else None)
            with write_transaction(fleet.engine) as connection:
                set_state(connection, [address], condition, why=f'"{state}" 100%_sure', who="tester")
        yield fleet


def _nodes(fleet: BaseFleet, given: str, fields: str = "address") -> list[Any]:
    answer = both_ways(fleet)(f"{{ events({given}) {{ nodes {{ {fields} }} }} }}")
    assert not answer["errors"], answer
    return list(answer["data"]["events"]["nodes"])


@pytest.mark.parametrize(
    "of", ["u-trn2x64", U, f"{U}/s0", f"{U}/s1", f"{U}/s1/c5", f"{U}/s1/c1", "u-trn2x64/r0", LINK, f"{U}/s0/c0/nc1"]
)
def test_a_place_has_the_events_that_the_command_line_tells(lived: BaseFleet, of: str) -> None:
    alone = "" if of.count("/") > 2 else "filter: {cascaded: {eq: false}}"
    told = [each["event"] for each in _nodes(lived, f'scope: "{of}" {alone}', "event")]
    assert told == [each.event for each in lived.events(of)][::-1]


def test_every_field_is_as_the_command_line_prints_it(lived: BaseFleet) -> None:
    (first, *_), every = lived.events(limit=1, after=0), lived.events(limit=100)
    fields = " ".join(first.to_json())
    shown = _nodes(lived, "last: 100 filter: {cascaded: {eq: false}}", fields)[::-1]
    upper = [
        {
            name: value.upper() if name in ("source", "kind", "before", "after") else value
            for name, value in each.items()
        }
        for each in (found.to_json() for found in every)
    ]
    assert shown == upper
    assert {(each["after"], each["factor"]) for each in shown} >= {("DEGRADED", 0.25), ("MAINTENANCE", None)}


def test_filters_narrow(lived: BaseFleet) -> None:
    assert [each["address"] for each in _nodes(lived, "filter: {kind: {eq: SWITCH}}")] == ["trn3-gen1/d0/sw1"]
    sure = 'filter: {why: {contains: "100%_s"}, who: {eq: "tester"}, source: {eq: COMMAND}, kind: {eq: LINK}}'
    assert [each["address"] for each in _nodes(lived, sure)] == [LINK]
    (batch,) = [each.event for each in lived.events(f"{U}/s1") if each.kind == "server"]
    of_server = _nodes(lived, f"filter: {{batch: {{eq: {batch}}}}}", "address cascaded")
    assert sum(each["cascaded"] for each in of_server) == len(of_server) - 1 > 16
    assert [each.address for each in lived.events(why="100%_s", kind="link", batch=batch + len(of_server))] == [LINK]
    times = [each.at for each in lived.events(U)][::-1]
    within = f'scope: "{U}" since: "{times[1]}" until: "{times[1]}"'.replace("+00:00", "Z")
    assert [each["address"] for each in _nodes(lived, within)] == [LINK]
    for wrong, code in (
        (f'since: "{times[1][:19]}"', "BAD_TIME"),
        ('scope: "nowhere/d0"', None),
        ('scope: "/"', "BAD_ADDRESS"),
    ):
        errors = both_ways(lived)(f"{{ events({wrong}) {{ totalCount }} }}")["errors"]
        assert [each["extensions"]["code"] for each in errors] == [code][: len(errors)]
        assert bool(errors) == bool(code)


def test_things_have_their_events_and_their_last_change(lived: BaseFleet) -> None:
    document = f"""{{
        chip: resolve(address: "{U}/s1/c5") {{ ... on Chip {{ lastChange {{ after }} events {{ totalCount }}
            server {{ lastChange {{ address }} }} }} }}
        link: resolve(address: "{LINK}") {{ ... on Link {{ lastChange {{ address }} }} }}
        fine: resolve(address: "{U}/s3/c1") {{ ... on Chip {{ lastChange {{ after }} events {{ totalCount }} }} }}
        servers(filter: {{domain: {{eq: "{U}"}}}}) {{ nodes {{ address lastChange {{ address }} }} }}
    }}"""
    data = both_ways(lived)(document)["data"]
    assert data["chip"]["lastChange"] == {"after": "MAINTENANCE"}
    assert data["chip"]["events"] == {"totalCount": 2}
    assert data["chip"]["server"]["lastChange"] == {"address": f"{U}/s1/c5"}
    assert data["link"]["lastChange"] == {"address": LINK}
    assert data["fine"] == {"lastChange": None, "events": {"totalCount": 0}}
    named = {each["address"][-1]: each["lastChange"] for each in data["servers"]["nodes"]}
    assert named == {"0": {"address": LINK}, "1": {"address": f"{U}/s1/c5"}, "2": None, "3": None}


def test_pages_go_on_with_what_has_happened_since_and_stop_at_a_moment(lived: BaseFleet) -> None:
    last = lived.events(limit=1)[0].event
    document = f"""{{
        page: events(last: 2) {{ totalCount pageInfo {{ endCursor hasNextPage }} nodes {{ event }} }}
        since: events(after: "{last}") {{ nodes {{ event }} }}
        then: asOf(time: "{last - 1}") {{ events(last: 1) {{ totalCount nodes {{ event }} }}
            resolve(address: "trn3-gen1/d0/sw1") {{ ... on Switch {{ lastChange {{ event }} }} }} }}
    }}"""
    data = both_ways(lived)(document)["data"]
    assert data["page"] == {
        "totalCount": last,
        "pageInfo": {"endCursor": str(last), "hasNextPage": False},
        "nodes": [{"event": last - 1}, {"event": last}],
    }
    assert data["since"]["nodes"] == []
    assert data["then"] == {
        "events": {"totalCount": last - 1, "nodes": [{"event": last - 1}]},
        "resolve": {"lastChange": None},
    }
