"""Findings of drift that nobody applied: whatever says that all is up says so, and a place shows what is on it."""

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from anyio import run as run_async
from mcp_clients import client
from sqlalchemy import insert

import trninv
from conftest import Databases, Run, both_ways
from trninv.database.engine import write_transaction
from trninv.database.finding_rules import failed_parts
from trninv.database.tables import TABLES
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

U = "u-trn2x64"
SERVER = f"{U}/d0/s1"
UNAPPLIED = "1 high finding of drift on parts that are up: trninv drift"
SEEN = dict.fromkeys(("first_seen", "last_seen"), "2020-01-01T00:00:00+00:00")
FINDINGS = (
    {"id": 1, "rule": "health-condition", "severity": "high", "address": SERVER, "observed": "unreachable"},
    {"id": 2, "rule": "state-differs", "severity": "medium", "address": f"{U}/d0/s2", "observed": "x"},
    {"id": 3, "rule": "chip-missing", "severity": "high", "address": f"{U}/d0/s3/c1", "cleared_at": SEEN["last_seen"]},
)


@pytest.fixture(params=["sqlite", "postgresql"])
def found(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    """Drift found a dead server, which is up; a lesser finding, and one that is over."""
    with trninv.open(databases.seeded(request.param)) as fleet:
        with write_transaction(fleet.engine) as connection:
            for row in FINDINGS:
                connection.execute(insert(TABLES["finding"]).values(**row, **SEEN))
        yield fleet


def url_of(fleet: Fleet) -> str:
    return fleet.engine.url.render_as_string(hide_password=False)


def test_what_says_that_all_is_up_says_what_was_not_applied(found: Fleet, run: Run) -> None:
    url = url_of(found)
    assert [(finding.id, finding.address) for finding in found.unapplied_findings()] == [(1, SERVER)]
    more = ", and --apply sets what failed down"
    assert run("incidents", database=url)[1] == f"everything is up; {UNAPPLIED}{more}\n"
    told = f"{U}/d0: everything is up; {UNAPPLIED} {U}/d0{more}\n"
    assert run("incidents", f"{U}/d0", database=url)[1] == told
    assert run("incidents", f"{U}/d0/s2", database=url)[1] == f"{U}/d0/s2: everything is up\n"
    assert UNAPPLIED in run(database=url)[1]
    assert UNAPPLIED in run("status", database=url)[1]
    assert json.loads(run("status", "--format", "json", database=url)[1])["unappliedFindings"] == 1
    found.set_state(f"{U}/d0/s2", "down", who="tests", why="power")
    assert run("incidents", database=url)[1].endswith(f"\n\n{UNAPPLIED}{more}\n")
    found.set_state(SERVER, "down", who="tests", why="it is dead")
    assert found.unapplied_findings() == []
    assert "high finding" not in run("incidents", database=url)[1] + run(database=url)[1]
    assert len(found.at(1).unapplied_findings()) == 1


@pytest.mark.parametrize(
    ("rule", "address", "observed"),
    [
        ("memory-wrong", f"{U}/d0/s2/c1", "64 GiB"),
        ("chip-missing", f"{U}/d0/s2", "15 by kubernetes, which does not list them"),
        ("side-link-down", "trn3-gen1/d0/s0", "side V down"),
    ],
)
def test_apply_is_named_only_if_it_sets_something(
    found: Fleet, run: Run, rule: str, address: str, observed: str
) -> None:
    found.set_state(SERVER, "down", who="tests", why="it is dead")
    wrong = {"id": 4, "rule": rule, "severity": "high", "address": address, "observed": observed}
    with write_transaction(found.engine) as connection:
        connection.execute(insert(TABLES["finding"]).values(**wrong, **SEEN))
    for command in (("incidents",), (), ("status",)):
        assert f"{UNAPPLIED}\n" in run(*command, database=url_of(found))[1]


def test_a_side_is_applied_once_its_links_are_down(found: Fleet, run: Run) -> None:
    found.set_state(SERVER, "down", who="tests", why="it is dead")
    side = {"id": 5, "rule": "side-link-down", "severity": "high", "address": f"{U}/d0/s3"}
    observed = f"side V down: 16 links to {U}/d0/s2"
    with write_transaction(found.engine) as connection:
        connection.execute(insert(TABLES["finding"]).values(**side, observed=observed, **SEEN))
    assert "--apply sets what failed down" in run("incidents", database=url_of(found))[1]
    other_side = [f"{U}/d0/s3/c{chip}--{U}/d0/s0/c{chip}" for chip in range(16)]
    links = [f"{U}/d0/s3/c{chip}--{U}/d0/s2/c{chip}" for chip in range(16)]
    for parts, state, factor in (
        ([f"{U}/d0/s3/c0--{U}/d0/s3/c1"], "down", None),
        (other_side, "down", None),
        (links, "degraded", 0.5),
        (links[1:], "down", None),
        (links[:1], "maintenance", None),
    ):
        assert [finding.id for finding in found.unapplied_findings()] == [5]
        found.set_state(parts, state, factor=factor, who="tests", why="finding 5")
    assert found.unapplied_findings() == []


@pytest.mark.parametrize(
    ("observed", "count"),
    [("side V down", 0), ("side V down: 16 links to u/d0/s1", 16), ("side V down: 99999999999 links to u/d0/s1", 0)],
)
def test_links_are_read_from_a_side_that_names_them(observed: str, count: int) -> None:
    parts = failed_parts("side-link-down", "u/d0/s0", observed)
    assert parts == tuple(f"u/d0/s0/c{chip}--u/d0/s1/c{chip}" for chip in range(count))


def test_graphql_lists_those_of_a_rack_and_of_an_earlier_time(found: Fleet) -> None:
    def answer(arguments: str, at: str | None = None) -> list[Any]:
        field = f"unappliedFindings{arguments} {{ totalCount nodes {{ id rule address observed }} }}"
        data = both_ways(found)(f'{{ asOf(time: "{at}") {{ {field} }} }}' if at else f"{{ {field} }}")["data"]
        listed = (data["asOf"] if at else data)["unappliedFindings"]
        assert listed["totalCount"] == len(listed["nodes"])
        return list(listed["nodes"])

    found_one = {"id": 1, "rule": "health-condition", "address": SERVER, "observed": "unreachable"}
    rack = found.describe(SERVER).attributes["rack"]
    for scope in ("", f'(scope: "{rack}")', f'(scope: "{U}/d0")'):
        assert answer(scope) == [found_one]
    for scope in (f'(scope: "{U}/d0/s2")', '(scope: "trn3-gen1")'):
        assert answer(scope) == []
    for server in (f"{U}/d0/s2", SERVER):
        found.set_state(server, "down", who="tests", why="it is dead")
    assert answer("") == []
    assert answer("", at="1") == [found_one]


def test_graphql_and_agents_count_them(found: Fleet) -> None:
    ask = both_ways(found)
    assert ask("{ unappliedFindingCount }")["data"] == {"unappliedFindingCount": 1}
    for scope, count in ((SERVER, 1), (f"{U}/d0/s2", 0)):
        answer = ask(f'{{ unappliedFindingCount(scope: "{scope}") }}')
        assert answer["data"] == {"unappliedFindingCount": count}

    async def incidents(**arguments: Any) -> dict[str, Any]:
        async with client(found) as agent:
            result = await agent.call_tool("incidents", arguments)
            return dict(result.structured_content or {})

    assert run_async(incidents)["unappliedFindings"].startswith("1 high finding of drift on parts that are up: ")
    assert "unappliedFindings" in run_async(partial(incidents, scope=SERVER))
    assert "unappliedFindings" not in run_async(partial(incidents, scope=f"{U}/d0/s2"))


def test_a_place_shows_what_is_on_it(found: Fleet, run: Run) -> None:
    found.allocate("train-7b", [SERVER], until="2099-01-01T00:00:00Z", who="anna")
    found.reserve("next", [SERVER], from_="2100-01-01T00:00:00Z", until="2100-01-02T00:00:00Z", who="kim")
    found.cordon([SERVER], why="flaky", who="bob")
    shown = json.loads(run("show", SERVER, "--format", "json", database=url_of(found))[1])["attributes"]
    assert shown["jobs"] == "train-7b by anna"
    assert shown["cordoned"].endswith(" by bob: flaky")
    assert re.fullmatch(r"for next from 2100-01-01T00:00:00\S+ until 2100-01-02T00:00:00\S+ by kim", shown["reserved"])
    assert shown["open findings"] == f"1 high (health-condition): trninv drift {SERVER}"
    assert found.describe(f"{SERVER}/c3").attributes["jobs"] == "train-7b by anna"
    assert (
        found.describe(U)
        .attributes["open findings"]
        .startswith("1 high (health-condition), 1 medium (state-differs): ")
    )
    assert {"jobs", "cordoned", "reserved", "open findings"}.isdisjoint(found.describe(f"{U}/d0/s0").attributes)


def test_parts_that_are_down_with_their_server_are_counted(found: Fleet) -> None:
    found.set_state(f"{SERVER}/c3", "down", who="tests", why="its own failure")
    found.set_state(SERVER, "down", who="tests", why="power")
    together = f"{SERVER} (down, with 15 chips, 16 NICs)"
    for place in (SERVER, f"{U}/d0", U):
        assert found.describe(place).unhealthy == (together, f"{SERVER}/c3 (down)")
