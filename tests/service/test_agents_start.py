"""The service loads what answers agents at their first request, once."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from trninv.service.application import create_app
from trninv.service.mcp import AgentServer

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}},
}
_HEADERS = {"Accept": "application/json, text/event-stream", "Host": "localhost"}


@pytest.fixture
def client(lite: str) -> Iterator[TestClient]:
    with TestClient(create_app(lite), base_url="http://localhost") as client:
        yield client


def test_the_first_requests_build_one_server(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    built, build = [], AgentServer._build_manager

    def count(server: AgentServer) -> object:
        built.append(server)
        return build(server)

    monkeypatch.setattr(AgentServer, "_build_manager", count)
    assert client.post("/graphql", json={"query": "{ __typename }"}).status_code == 200
    assert not built
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: client.post("/mcp", json=_INITIALIZE, headers=_HEADERS), range(4)))
    assert [answer.json()["result"]["serverInfo"]["name"] for answer in answers] == ["trninv"] * 4
    assert len(built) == 1


def test_without_the_package_each_request_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "mcp.server.streamable_http_manager", None)
        for _ in range(2):
            answer = client.post("/mcp", json=_INITIALIZE, headers=_HEADERS)
            assert answer.status_code == 404
            assert "install the extra mcp" in answer.json()["errors"][0]["message"]
    assert client.post("/mcp", json=_INITIALIZE, headers=_HEADERS).status_code == 200
