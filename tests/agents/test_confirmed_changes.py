"""A change by an agent is confirmed: by its user if the client can ask, or else by the plan of a first call."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client
from mcp_clients import client
from mcp_types import ElicitResult

import trninv
from trninv.agents.abridge import MAX_CHARACTERS
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

_SERVER = "u-trn2x64/d0/s0"
_CORDON = {"servers": [_SERVER], "why": "fan", "who": "tests"}


def _run(url: str, work: Callable[[Client], Awaitable[Any]], **options: Any) -> tuple[Any, list[str]]:
    """Return the result of some calls, and the servers cordoned after them."""

    async def run(fleet: BaseFleet) -> Any:
        async with client(fleet, **options) as agent:
            return await work(agent)

    with trninv.open(url) as fleet:
        result = asyncio.run(run(fleet))
        with trninv.open(url) as other:
            rows = asyncio.run(_cordons(other))
    return result, rows


async def _cordons(fleet: BaseFleet) -> list[str]:
    async with client(fleet) as agent:
        result = await agent.call_tool("cordons", {})
    return [row["server"] for row in result.structured_content["answer"]["nodes"]]


async def _cordon(agent: Client) -> Any:
    return await agent.call_tool("cordon", _CORDON)


def test_a_first_call_changes_nothing_and_its_plan_confirms(seeded: str) -> None:
    preview, cordoned = _run(seeded, _cordon)
    content = preview.structured_content
    assert (content["wouldChange"]["cordons"][0]["server"], cordoned) == (_SERVER, [])
    plan = {**_CORDON, "plan": content["plan"]}
    done, cordoned = _run(seeded, lambda agent: agent.call_tool("cordon", plan))
    assert not done.is_error
    assert cordoned == [_SERVER]


@pytest.mark.parametrize("changed", [{"servers": ["u-trn2x64/d0/s1"]}, {"why": "other"}, {"plan": "0" * 16}])
def test_a_plan_confirms_nothing_else(seeded: str, changed: dict[str, Any]) -> None:
    preview, _ = _run(seeded, _cordon)
    arguments = {**_CORDON, "plan": preview.structured_content["plan"], **changed}
    refused, cordoned = _run(seeded, lambda agent: agent.call_tool("cordon", arguments))
    assert refused.is_error
    assert "STALE_PLAN" in refused.content[0].text
    assert cordoned == []


def test_a_plan_is_stale_once_it_would_do_something_else(seeded: str) -> None:
    preview, _ = _run(seeded, _cordon)
    plan = {**_CORDON, "plan": preview.structured_content["plan"]}
    _run(seeded, lambda agent: agent.call_tool("cordon", plan))
    repeated, cordoned = _run(seeded, lambda agent: agent.call_tool("cordon", plan))
    assert repeated.is_error
    assert cordoned == [_SERVER]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("action", "cordoned"), [("accept", [_SERVER]), ("decline", []), ("cancel", [])])
def test_the_user_is_asked_if_the_client_can(seeded: str, mode: str, action: Any, cordoned: list[str]) -> None:
    asked: list[str] = []

    async def answer(_: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    _, servers = _run(seeded, _cordon, mode=mode, elicitation_callback=answer)
    assert servers == cordoned
    assert len(asked) == 1
    assert _SERVER in asked[0]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_the_user_agreed_to_is_not_done_if_others_changed_it_meanwhile(seeded: str, mode: str) -> None:
    async def answer(_: Any, __: Any) -> ElicitResult:
        with trninv.open(seeded) as other:
            other.cordon([_SERVER], why="first", who="somebody")
        return ElicitResult(action="accept", content={})

    result, _ = _run(seeded, _cordon, mode=mode, elicitation_callback=answer)
    assert result.is_error
    assert "STALE_PLAN" in result.content[0].text


def test_a_preview_of_many_parts_is_short_and_says_so(seeded: str) -> None:
    chips = [f"u-trn2x64/d0/s{server}/c{chip}" for server in range(4) for chip in range(16)]
    chips += [f"trn1.32xlarge/d0/s0/c{chip}" for chip in range(16)]
    arguments = {"addresses": chips, "state": "MAINTENANCE", "why": "x", "who": "tests"}
    preview, _ = _run(seeded, lambda agent: agent.call_tool("setState", arguments))
    content = preview.structured_content
    assert content["shortened"] == {"lengths": {"changes": len(chips)}}
    assert 0 < len(content["wouldChange"]["changes"]) < len(chips)
    assert len(preview.content[0].text) < MAX_CHARACTERS + 1_000
