"""What takes long is put together beside the event loop that serves, which is told by the threads that do it."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import graphql
import orjson
import pytest
from starlette.testclient import TestClient

import trninv
from trninv import deadline
from trninv.graphql import api as apis
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.graphql.worker_pools import MAX_READING
from trninv.routing.fleet import BaseFleet
from trninv.service import graphql_http
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

CHIP = "u-trn2x64/d0/s0/c3"
NODES = "query ($i: [ID!]!) { nodes(ids: $i) { id ... on Chip { address cores { nodes { address } } } } }"
SUPPOSED = 'query ($a: [Address!]) { whatIf(down: $a) { memoryPool(scope: "trn2-16.48xlarge/d0/s0/c0") { chips } } }'
SMALL = f'{{ memoryPool(scope: "{CHIP}") {{ chips }} }}'
CITING = f'{{ memoryPool(scope: "{CHIP}") {{ chips facts {{ attribute }} }} }}'
_SET = "mutation ($i: SetStateInput!) { setState(input: $i) { changes { after target { __typename } } } }"


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Threads in which documents are executed."""
    seen: list[int] = []

    def record(*given: Any, **named: Any) -> Any:
        seen.append(threading.get_ident())
        return graphql.execute(*given, **named)

    monkeypatch.setattr(apis, "execute", record)
    return seen


@pytest.fixture(params=["here", "apart"])
def api(request: pytest.FixtureRequest, seeded: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """An API that puts every document together where it serves, or none."""
    monkeypatch.setattr(apis, "MAX_INLINE_OBJECTS", 10**9 if request.param == "here" else -1)
    with trninv.open(seeded) as fleet:
        yield Api(fleet, Settings(database_url=seeded))


def _ids(number: int) -> list[str]:
    return [f"chip:{at}" for at in range(1, number + 1)]


@pytest.mark.parametrize(
    ("document", "variables", "is_large"),
    [
        ("{ viewer { name } sources { slug } }", {}, False),
        (NODES, {"i": _ids(10)}, False),
        (NODES, {"i": _ids(400)}, True),
        (SUPPOSED, {"a": [CHIP]}, False),
        (SUPPOSED, {"a": [CHIP] * 500}, True),
        (graphql.get_introspection_query(), {}, True),
        ('{ __type(name: "Chip") { name } }', {}, True),
    ],
)
def test_what_is_large_is_executed_in_another_thread(
    lite_fleet: BaseFleet, threads: list[int], document: str, variables: dict[str, Any], *, is_large: bool
) -> None:
    service = Api(lite_fleet, Settings(database_url=""))
    answer = asyncio.run(service.run(Request(document, variables)))
    assert b'"errors"' not in answer.body
    assert [thread != threading.get_ident() for thread in threads] == [is_large]


def test_a_document_answers_the_same_in_either_place(api: Api) -> None:
    documents = [
        (SMALL, {}),
        (CITING, {}),
        (NODES, {"i": _ids(30)}),
        ('{ memoryPool(scope: "nowhere") { chips } viewer { scope } }', {}),
        ('{ a: bandwidth(from: "x", to: "y") { widest { hops } } sources { slug } systems { slug } }', {}),
        ('{ nodes(ids: ["x"]) { id } }', {}),
    ]
    bodies = [json.loads(asyncio.run(api.run(Request(each, given))).body) for each, given in documents]
    for body in bodies:
        body["extensions"].pop("asOf", None)
    _SEEN.setdefault(api.fleet.engine.dialect.name, bodies)
    assert bodies == _SEEN[api.fleet.engine.dialect.name]


_SEEN: dict[str, Any] = {}


def test_changes_are_made_in_either_place(api: Api) -> None:
    given = {"addresses": [CHIP], "state": "DOWN", "why": "test", "who": "test"}
    found = json.loads(asyncio.run(api.run(Request(_SET, {"i": given}))).body)
    assert found["data"]["setState"]["changes"] == [{"after": "DOWN", "target": {"__typename": "Chip"}}]
    assert found["extensions"]["asOf"]["time"]


@pytest.mark.parametrize("document", [CITING, SMALL], ids=["executed", "by a plan"])
def test_who_leaves_stops_what_is_put_together(api: Api, monkeypatch: pytest.MonkeyPatch, document: str) -> None:
    """Whether it is a question that is asked, or one that waits for a thread; then its thread takes the next."""
    began, ended = threading.Event(), threading.Event()

    def question(*_: object, **__: object) -> None:
        began.set()
        try:
            while True:
                deadline.raise_if_expired()
        finally:
            ended.set()

    monkeypatch.setattr(BaseFleet, "cached_answer", lambda *_, **__: None)
    monkeypatch.setattr(BaseFleet, "ask", question)

    async def leave() -> None:
        asked = asyncio.create_task(api.run(Request(document)))
        assert await asyncio.to_thread(began.wait, 30)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert await asyncio.to_thread(ended.wait, 30)
        assert (await api.run(Request("{ sources { slug } }"))).code is None

    asyncio.run(leave())


def test_a_body_of_too_many_lists_is_not_read(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    really = orjson.loads

    def loads(body: bytes) -> Any:
        read.append(len(body))
        return really(body)

    monkeypatch.setattr(orjson, "loads", loads)
    with TestClient(create_app(lite, Settings(lite, log="off")), base_url="http://127.0.0.1") as client:
        headers = {"Content-Type": "application/json"}
        refused = client.post(
            "/graphql", content=b'{"x": [' + b"[]," * graphql_http.MAX_JSON_CONTAINERS + b"[]]}", headers=headers
        )
        assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (400, "BAD_REQUEST")
        assert read == []


def test_a_change_waits_for_no_reader(api: Api) -> None:
    """All threads that read are taken until it is made."""
    done = threading.Event()
    given = {"addresses": [CHIP], "state": "DOWN", "why": "test", "who": "test"}

    async def change() -> Any:
        busy = [asyncio.create_task(api.threads.reading.run(done.wait, 60)) for _ in range(MAX_READING)]
        try:
            request = Request(
                "mutation ($i: SetStateInput!) { setState(input: $i) { changes { after } } }", {"i": given}
            )
            return await api.run(request)
        finally:
            done.set()
            await asyncio.gather(*busy)

    assert asyncio.run(change()).code is None


def test_what_is_remembered_is_answered_without_a_thread(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until anything changes."""
    asked, run = list[object](), api.threads.routing.run

    async def counted(work: Any) -> Any:
        asked.append(work)
        return await run(work)

    monkeypatch.setattr(api.threads.routing, "run", counted)
    document = 'query ($a: Address!) { path(from: $a, to: "u-trn2x64/d0/s0/c5") { paths { hops } } }'
    given = {"addresses": ["u-trn2x64/d0/s0/c4"], "state": "DOWN", "why": "test", "who": "test"}

    async def hops(chip: int) -> int:
        answer = await api.run(Request(document, {"a": f"u-trn2x64/d0/s0/c{chip}"}))
        return int(json.loads(answer.body)["data"]["path"]["paths"][0]["hops"])

    async def ask() -> list[int]:
        before = [await hops(0), await hops(1)]
        here = len(asked)
        await api.run(Request(_SET, {"i": given}))
        return [*before, here, await hops(0)]

    assert asyncio.run(ask()) == [2, 1, 1, 2]
    assert len(asked) == 2
