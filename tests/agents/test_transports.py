"""Agents reach trninv over standard input and output and over HTTP, with the scopes of tokens."""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from serving import serving
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.changes.create_token import create_token

_BISECTION = {"scope": "u-trn2x64/d0"}


@pytest.fixture(scope="module")
def service(lite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    database = tmp_path_factory.mktemp("agents") / "fleet.db"
    shutil.copy(lite.removeprefix("sqlite:///"), database)
    tokens = {}
    with temporary_engine(f"sqlite:///{database}") as engine:
        for scope in ("read", "sql", "operate", "observe"):
            with write_transaction(engine) as connection:
                tokens[scope] = create_token(connection, f"agent-{scope}", scope, who="tests")
    with serving(f"sqlite:///{database}", TRNINV_AUTH="tokens") as url:
        yield url, tokens


async def _call_over_http(url: str, token: str, tool: str, arguments: dict[str, Any], mode: str = "auto") -> Any:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as agent,
    ):
        names = {tool.name for tool in (await agent.list_tools()).tools}
        return names, await agent.call_tool(tool, arguments)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http_with_a_token(service: tuple[str, dict[str, str]], mode: str) -> None:
    url, tokens = service
    names, result = asyncio.run(_call_over_http(url, tokens["read"], "bisection", _BISECTION, mode))
    assert result.structured_content["answer"]["lower"] == {"gigabytesPerSecond": 2048.0}
    assert "cordon" not in names
    assert "sql" not in names
    assert "tokens" not in names


@pytest.mark.parametrize(
    ("scope", "tool", "arguments"),
    [
        ("read", "sql", {"sql": "SELECT 1 AS one"}),
        ("read", "cordon", {"servers": ["u-trn2x64/d0/s0"], "why": "x"}),
        ("sql", "cordon", {"servers": ["u-trn2x64/d0/s0"], "why": "x"}),
        ("operate", "sql", {"sql": "SELECT 1 AS one"}),
        ("operate", "tokens", {}),
    ],
)
def test_what_the_scope_does_not_allow_is_refused(
    service: tuple[str, dict[str, str]], scope: str, tool: str, arguments: dict[str, Any]
) -> None:
    url, tokens = service
    names, result = asyncio.run(_call_over_http(url, tokens[scope], tool, arguments))
    assert tool not in names
    assert result.is_error
    assert "FORBIDDEN" in result.content[0].text


def test_a_query_in_graphql_changes_nothing(service: tuple[str, dict[str, str]]) -> None:
    document = 'mutation { cordon(input: {servers: ["u-trn2x64/d0/s0"], why: "x"}) { clientMutationId } }'
    url, tokens = service
    _, result = asyncio.run(_call_over_http(url, tokens["operate"], "graphql", {"query": document}))
    assert result.is_error


@pytest.mark.parametrize("credentials", [{}, {"Authorization": "Bearer trninv_wrong"}])
def test_without_a_valid_token_nothing_is_answered(
    service: tuple[str, dict[str, str]], credentials: dict[str, str]
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream"} | credentials
    answer = httpx2.post(f"{service[0]}/mcp", json=message, headers=headers)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")


def test_a_token_for_observations_only_is_refused(service: tuple[str, dict[str, str]]) -> None:
    url, tokens = service
    answer = httpx2.post(f"{url}/mcp", json={}, headers={"Authorization": f"Bearer {tokens['observe']}"})
    assert answer.status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["read", "operate"])
def test_over_standard_input_and_output(lite: str, scope: str) -> None:
    arguments = ["-m", "trninv", "--database", lite, "mcp", "--scope", scope]
    parameters = StdioServerParameters(command=sys.executable, args=arguments)

    async def ask() -> tuple[set[str], Any]:
        async with Client(parameters) as agent:
            names = {tool.name for tool in (await agent.list_tools()).tools}
            return names, await agent.call_tool("bisection", _BISECTION)

    names, result = asyncio.run(ask())
    assert result.structured_content["answer"]["upper"] == {"gigabytesPerSecond": 2048.0}
    assert ("cordon" in names) is (scope == "operate")
    assert "sql" not in names


@pytest.mark.slow
def test_a_resource_that_does_not_exist_is_refused_in_words(lite: str) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "trninv", "--database", lite, "mcp"])

    async def read() -> None:
        async with Client(parameters) as agent:
            for uri in ("trninv://nowhere", "file:///etc/passwd", "trninv://explain/cordon", "trninv://schema/X"):
                with pytest.raises(MCPError, match="NOT_FOUND"):
                    await agent.read_resource(uri)

    asyncio.run(read())
