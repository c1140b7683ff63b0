"""Agents get right answers to operators' questions, within the context that they have."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from mcp_clients import client

from trninv.agents.abridge import MAX_CHARACTERS
from trninv.agents.tool import all_tools
from trninv.routing.fleet import BaseFleet

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


def test_every_tool_is_described_and_its_schema_is_valid(lite_fleet: BaseFleet) -> None:
    async def listed() -> Any:
        async with client(lite_fleet) as agent:
            return (await agent.list_tools()).tools

    tools = asyncio.run(listed())
    assert {tool.name for tool in tools} == {*all_tools(), "sql", "graphql"}
    for tool in tools:
        Draft202012Validator.check_schema(tool.input_schema)
        assert (tool.description or "")[:1].isupper(), tool.name
        assert tool.annotations.read_only_hint is not (tool.name in all_tools() and all_tools()[tool.name].is_change)


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
