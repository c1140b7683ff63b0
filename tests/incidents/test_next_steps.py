"""What is said beside a failure: which jobs it hits, where they can go, and what people noted."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp_clients import client

import trninv
from conftest import Databases, Run, both_ways
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

U = "u-trn2x64/d0"


@pytest.fixture(params=["sqlite", "postgresql"])
def fleet(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    """Two jobs, of which one fills two servers."""
    with trninv.open(databases.seeded(request.param)) as opened:
        opened.allocate("train-7b", [f"{U}/s1", f"{U}/s2"], who="anna")
        opened.allocate("eval", [f"{U}/s3"], who="bob")
        yield opened


def url_of(fleet: Fleet) -> str:
    return fleet.engine.url.render_as_string(hide_password=False)


def test_set_names_the_jobs_that_it_hits_and_the_impact_where_they_can_go(fleet: Fleet, run: Run) -> None:
    url, hit = url_of(fleet), "this hits train-7b; where it can go: trninv replace train-7b\n"
    out = run("set", f"{U}/s1", f"{U}/s2/c3", "down", "--why", "power", database=url)[1]
    assert out.endswith(f"{U}/s2/c3: up → down\n{hit}")
    assert "hits" not in run("set", f"{U}/s1", "up", "--why", "back", database=url)[1]
    assert "hits" not in run("set", f"{U}/s0", "down", "--why", "power", database=url)[1]
    impact = run("incidents", f"{U}/s2", "--impact", database=url)[1]
    assert impact.endswith("\n  where its jobs can go: trninv replace train-7b\n")
    assert "can go" not in run("incidents", f"{U}/s0", "--impact", database=url)[1]
    assert run("replace", "train-7b", database=url)[1].count("train-7b")


@pytest.mark.parametrize(
    ("part", "drained"),
    [(f"{U}/s1/c0--{U}/s1/c1", f"{U}/s1/c0--{U}/s1/c1"), (f"{U}/s1/c0", f"{U}/s1/c0"), (f"{U}/s1/efa0", f"{U}/s1")],
)
def test_a_job_without_a_chip_that_is_down_is_not_to_be_replaced(
    fleet: Fleet, run: Run, part: str, drained: str
) -> None:
    url, is_chip = url_of(fleet), part == f"{U}/s1/c0"
    fleet.set_state(part, "degraded" if is_chip else "down", factor=0.5 if is_chip else None, who="tests", why="x")
    (line,) = (line for line in run("incidents", "--impact", database=url)[1].splitlines() if "jobs can go" in line)
    assert line == f"  where its jobs can go: trninv drain-impact {drained}"
    assert run("replace", "train-7b", database=url)[0] == 2
    assert run("drain-impact", drained, database=url)[0] in (0, 1)

    async def ask() -> str:
        async with client(fleet) as agent:
            return str(((await agent.call_tool("incidents", {})).structured_content or {})["next"])

    assert asyncio.run(ask()).startswith("drainImpact with scope")


def test_a_job_at_a_link_of_a_chip_that_is_down_is_to_be_drained(fleet: Fleet, run: Run) -> None:
    fleet.release("eval")
    fleet.allocate("eval", [f"{U}/s0/c0"], who="bob")
    fleet.release("train-7b")
    fleet.allocate("next", [f"{U}/s0/c1"], who="bob")
    fleet.set_state([f"{U}/s0/c0", f"{U}/s0/c0--{U}/s0/c1"], "down", who="tests", why="x")
    assert (
        "can go: trninv replace eval; trninv drain-impact u-trn2x64/d0/s0/c0\n"
        in run("incidents", "--impact", database=url_of(fleet))[1]
    )


def test_a_dry_run_says_so_first(fleet: Fleet, run: Run) -> None:
    status, out, err = run("set", f"{U}/s3", "down", "--why", "power", "--dry-run", database=url_of(fleet))
    assert (status, err) == (0, "dry run: nothing was changed\n")
    assert "this hits eval;" in out
    assert fleet.incidents() == []


def test_agents_learn_the_next_step(fleet: Fleet) -> None:
    async def ask(state: str) -> list[dict[str, Any]]:
        arguments: dict[str, Any] = {"addresses": [f"{U}/s1"], "state": state, "why": "power", "who": "kim"}
        async with client(fleet) as agent:
            plan = (await agent.call_tool("setState", arguments)).structured_content or {}
            done = await agent.call_tool("setState", {**arguments, "plan": plan["plan"]})
            listed = await agent.call_tool("incidents", {})
            return [plan, dict(done.structured_content or {}), dict(listed.structured_content or {})]

    preview, done, listed = asyncio.run(ask("DOWN"))
    assert preview["next"] == done["next"]
    assert "replacement with job" in done["next"]
    assert "replacement with job" in listed["next"]
    preview, done, _ = asyncio.run(ask("DOWN"))
    assert (preview["note"], done["note"]) == ("nothing changes: already down",) * 2
    _, done, listed = asyncio.run(ask("UP"))
    assert "next" not in done | listed


def test_the_last_note_is_in_both_lists_of_incidents(fleet: Fleet, run: Run) -> None:
    url = url_of(fleet)
    fleet.set_state(f"{U}/s0", "down", who="tests", why="power")
    (incident,) = fleet.incidents()
    assert "last note" not in run("incidents", database=url)[1]
    for text in ("spare ordered", "it is here"):
        fleet.note_incident(incident.id, text, who="kim")
    assert "kim: it is here" in run("incidents", database=url)[1]
    fleet.set_state(f"{U}/s0", "up", who="tests", why="replaced")
    assert "kim: it is here" in run("incidents", "--closed", database=url)[1]
    closed = json.loads(run("incidents", "--closed", "--format", "json", database=url)[1])
    assert [note["text"] for note in closed[0]["notes"]] == ["spare ordered", "it is here"]
    answer = both_ways(fleet)("{ closedIncidents { nodes { notes { who text } } } }")["data"]
    assert answer["closedIncidents"]["nodes"][0]["notes"][1] == {"who": "kim", "text": "it is here"}
