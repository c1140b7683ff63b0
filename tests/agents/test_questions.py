"""Agents get right answers to operators' questions, within the context that they have."""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
import yaml
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError
from mcp_clients import client

import trninv
from trninv.agents.abridge import MAX_CHARACTERS
from trninv.agents.prompts import PROMPTS
from trninv.agents.tool import all_tools
from trninv.agents.tool_list import listed_kinds
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

MAX_TOOL_BYTES = 24_400
"""Bytes of the list of tools, about 6,000 tokens."""
QUESTIONS = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text())


def at_path(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = len(value) if step == "#" else value[int(step)] if isinstance(value, list) else value[step]
    return value


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda case: case["tool"])
def test_a_question_of_an_operator_gets_the_right_answer(fleet: BaseFleet, case: Mapping[str, Any]) -> None:
    async def ask() -> Any:
        async with client(fleet) as agent:
            return await agent.call_tool(case["tool"], case["arguments"])

    result = asyncio.run(ask())
    assert not result.is_error, result.content
    content = result.structured_content
    assert {path: at_path(content["answer"], path) for path in case["expect"]} == case["expect"]
    assert json.loads(result.content[0].text) == content
    assert len(result.content[0].text) < MAX_CHARACTERS + 2_000


def _listed(fleet: BaseFleet, scope: str = "admin") -> list[types.Tool]:
    async def listed() -> list[types.Tool]:
        async with client(fleet, scope) as agent:
            return (await agent.list_tools()).tools

    return asyncio.run(listed())


def test_every_tool_is_described_and_its_schema_is_valid(lite_fleet: BaseFleet) -> None:
    tools = _listed(lite_fleet)
    assert {tool.name for tool in tools} == {
        *all_tools().keys() - listed_kinds() - {"viewer", "cluster"},
        "sql",
        "graphql",
        "list",
    }
    for tool in tools:
        Draft202012Validator.check_schema(tool.input_schema)
        assert re.fullmatch(r"[A-Z].{10,110}[.]", tool.description or ""), tool.name
        is_change = tool.name in all_tools() and all_tools()[tool.name].is_change
        assert bool(tool.annotations and tool.annotations.read_only_hint) is not is_change
        properties, full = tool.input_schema["properties"], all_tools().get(tool.name)
        assert full is None or properties.keys() | {"page"} >= full.input_schema["properties"].keys()
        assert set(tool.input_schema.get("required", [])) <= properties.keys()


def test_the_list_of_tools_leaves_an_agent_its_context(lite_fleet: BaseFleet) -> None:
    result = types.ListToolsResult(tools=_listed(lite_fleet))
    text = result.model_dump_json(by_alias=True, exclude_none=True)
    assert len(text.encode()) <= MAX_TOOL_BYTES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "list needs kind: choose one of clusters, "),
        ({"kind": "colour"}, "kind 'colour': choose"),
        ({"kind": ["chips"]}, "choose one of"),
        ({"kind": "setState"}, "choose one of"),
        ({"kind": "chips", "since": "2026-01-01T00:00:00Z"}, "chips takes no argument 'since'"),
    ],
)
def test_a_list_of_no_kind_is_refused(lite_fleet: BaseFleet, arguments: dict[str, Any], message: str) -> None:
    async def ask() -> Any:
        async with client(lite_fleet) as agent:
            return await agent.call_tool("list", arguments)

    result = asyncio.run(ask())
    assert result.is_error
    assert message in result.content[0].text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("place", "there is no tool 'place'; use placements"),
        ("set", "there is no tool 'set'; use setState"),
        ("pool", "there is no tool 'pool'; use memoryPool"),
        ("set_state", "there is no tool 'set_state'; did you mean setState?"),
        ("core", "there is no tool 'core'; did you mean "),
        ("jobs ", "there is no tool 'jobs '; did you mean "),
        ("x" * 100_000, "; known: "),
    ],
)
def test_an_unknown_tool_names_that_of_the_command(lite_fleet: BaseFleet, name: str, message: str) -> None:
    async def ask(scope: str) -> Any:
        async with client(lite_fleet, scope) as agent:
            result = await agent.call_tool(name, {})
        assert result.is_error
        return result.content[0].model_dump()["text"]

    said = asyncio.run(ask("admin"))
    assert message in said
    words = {"did", "you", "mean", "use", "or", "known", "and", "more"}
    listed = {tool.name for tool in _listed(lite_fleet, "admin")}
    assert set(re.findall(r"\w+", said.partition("; ")[2])) <= listed | words
    assert "setState" not in asyncio.run(ask("read"))


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        (
            "makeRoom",
            {"scope": "u-trn2x64"},
            "give exactly one of shape (such as 2x2x4), chips, servers and domains",
        ),
        ("makeRoom", {"scope": "4x4x1"}, "4x4x1 is a shape; name the scope too: makeRoom 4x4x1 scope"),
        ("placements", {"scope": "u-trn2x64", "chips": 6}, "the nearest are 4 and 8 (anyBlock for "),
        ("placements", {"scope": "u-trn2x64", "chips": 6, "group": [4]}, "BAD_ARGUMENT: "),
        ("release", {"job": "nope", "who": "tests"}, "(list with kind jobs lists all)"),
        ("unreserve", {"name": "nope", "who": "tests"}, "(list with kind reservations lists all)"),
        ("replacement", {"job": "JOB-A"}, "no job JOB-A: "),
        ("noteIncident", {"incident": "nope", "text": "x", "who": "tests"}, "write an id that incidents lists"),
    ],
)
def test_an_error_names_tools_and_arguments(
    lite_fleet: BaseFleet, tool: str, arguments: dict[str, Any], message: str
) -> None:
    async def ask() -> Any:
        async with client(lite_fleet) as agent:
            return await agent.call_tool(tool, arguments)

    result = asyncio.run(ask())
    assert result.is_error
    assert message in result.content[0].text
    assert not re.search(r"--[a-z]|trninv [a-z]", result.content[0].text)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("incident", None, "incident needs place"),
        ("incident", {"at": "x", "place": "y"}, "incident needs place; omit 'at'"),
        ("placement", {"chips": "4"}, "placement needs chips and scope"),
        ("nope", None, "no prompt 'nope': there are incident, placement, comparison"),
    ],
)
def test_a_prompt_without_its_values_says_which(
    lite_fleet: BaseFleet, name: str, arguments: dict[str, str] | None, message: str
) -> None:
    async def ask() -> None:
        async with client(lite_fleet) as agent:
            with pytest.raises(MCPError, match=f"^{re.escape(message)}$"):
                await agent.get_prompt(name, arguments)

    asyncio.run(ask())


def test_prompts_name_listed_tools_and_their_arguments(lite_fleet: BaseFleet) -> None:
    tools = {tool.name: tool.input_schema["properties"].keys() for tool in _listed(lite_fleet, "read")}
    told = " ".join(prompt.text for prompt in PROMPTS.values())
    calls = re.findall(
        r"\b(?:[Cc]all|or|and) (?!call)(\w+)(?: with (\w+)(?: (\w+))?(?: and (?:its place as )?(scope|chips))?)?", told
    )
    called = [call for call in calls if call[0] in tools]
    assert {"incidents", "list", "drift", "replacement", "drainImpact", "placements", "makeRoom"} <= {
        name for name, *_ in called
    }
    for name, first, value, second in called:
        assert {first, second} - {""} <= tools[name]
        assert first != "kind" or value in listed_kinds()
    assert not [name for name in re.findall(r"[Cc]all (\w+)", told) if name not in tools]


@pytest.mark.parametrize("word", ["job", "jobs", "network-node", "incident-note", "closed-incident", "incident"])
def test_a_list_takes_the_words_of_the_command_line_too(lite_fleet: BaseFleet, word: str) -> None:
    async def ask() -> Any:
        async with client(lite_fleet) as agent:
            return await agent.call_tool("list", {"kind": word})

    result = asyncio.run(ask())
    assert not result.is_error, result.content
    assert "nodes" in result.structured_content["answer"]


def test_placements_and_incidents_name_instances_and_hosts(seeded: str) -> None:
    servers = "trn2-16.48xlarge/d0/s0", "trn1.2xlarge/d0/s0"
    bound = [{"server": server, "instance": f"i-{number}", "host": None} for number, server in enumerate(servers)]

    async def ask(fleet: BaseFleet) -> list[Any]:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("placements", {"scope": "trn1.2xlarge", "chips": 1}),
            ("incidents", {}),
            ("list", {"kind": "closed-incident"}),
        ]
        async with client(fleet) as agent:
            return [(await agent.call_tool(name, arguments)).structured_content["answer"] for name, arguments in calls]

    with trninv.open(seeded) as fleet:
        for number, server in enumerate(servers):
            fleet.bind(server, f"i-{number}", who="me")
            fleet.set_state(f"{server}/c0", "down", who="me", why="x")
        fleet.set_state(f"{servers[1]}/c0", "up", who="me", why="x")
        placed, incidents, closed = asyncio.run(ask(fleet))
    assert placed["instances"] == bound[1:]
    assert incidents["nodes"][0]["instances"] == bound[:1]
    assert closed["nodes"][0]["instances"] == bound[1:]


def test_kinds_and_descriptions_are_those_that_the_scope_allows(lite_fleet: BaseFleet) -> None:
    def kinds(scope: str) -> list[str]:
        tool = next(tool for tool in _listed(lite_fleet, scope) if tool.name == "list")
        return list(tool.input_schema["properties"]["kind"]["enum"])

    assert "tokens" in kinds("admin")
    assert "tokens" not in kinds("read")

    async def read() -> Any:
        async with client(lite_fleet, "read") as agent:
            assert (await agent.call_tool("list", {"kind": "tokens"})).is_error
            with pytest.raises(MCPError, match="there is no tool 'tokens'"):
                await agent.read_resource("trninv://tool/tokens")
            return json.loads((await agent.read_resource("trninv://tool/chips")).contents[0].model_dump()["text"])

    chips = asyncio.run(read())
    assert chips["inputSchema"]["properties"]["filter"]
    assert any("input ChipFilter" in text for text in chips["types"])


def test_an_answer_names_its_units_revision_and_sources_and_is_explained(lite_fleet: BaseFleet) -> None:
    async def ask() -> tuple[Any, Any]:
        async with client(lite_fleet) as agent:
            content = (await agent.call_tool("bisection", {"scope": "u-trn2x64/d0"})).structured_content
            return content, json.loads((await agent.read_resource(content["explain"])).contents[0].model_dump()["text"])

    content, evidence = asyncio.run(ask())
    assert content["asOf"]["revision"]
    assert "one direction" in content["units"]
    assert content["sources"][0].startswith("neuronlink-v3")
    assert evidence["definition"] == content["answer"]["definition"]
    assert all(fact["source"]["title"] and fact["quote"] for fact in evidence["facts"])
