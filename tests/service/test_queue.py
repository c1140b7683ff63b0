"""Who waits for whom: shares of workers, deadlines of queues, clients that leave, and health that never waits."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from serving import serving
from trninv import deadline
from trninv.graphql.worker_pools import MAX_READING
from trninv.service import chips
from trninv.service.application import create_app
from trninv.service.middleware import MAX_BODY_BYTES
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

SLOW = "/chips/u-trn2x64"
CHAIN = " ".join(f"fragment F{i} on Query{{...F{i + 1} ...F{i + 1}}}" for i in range(32)) + "fragment F32 on Query{a}"
BOMBS = ["{...F0}" + CHAIN, "{" + "clusters{slug}" * 1200 + "}", "{" + "__typename " * 4900 + "}"]


@dataclass
class Reader:
    """Has every read of chips wait until it is let go."""

    began: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    go: threading.Event = field(default_factory=threading.Event)

    async def reached(self, number: int) -> None:
        """Wait until so many reads have begun."""

        def wait() -> None:
            with self.changed:
                assert self.changed.wait_for(lambda: self.began >= number, 20)

        await asyncio.to_thread(wait)

    def __call__(self, *_: object) -> "Reader":
        with self.changed:
            self.began += 1
            self.changed.notify_all()
        assert self.go.wait(30)
        return self

    def to_bytes(self) -> bytes:
        return b"read"


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    held = Reader()
    monkeypatch.setattr(chips, "read_overview", held)
    yield held
    held.go.set()


@dataclass
class Answer:
    """What a service sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def code(self) -> str:
        found: str = json.loads(self.body)["errors"][0]["extensions"]["code"]
        return found


async def ask(made: Starlette, path: str, who: str = "a", left: asyncio.Event | None = None) -> Answer:
    """Ask from an address, until its client leaves."""
    answer, whole = Answer(), [{"type": "http.request"}]

    async def receive() -> Any:
        if not whole:
            await (left or asyncio.Event()).wait()
        return whole.pop() if whole else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        answer.body += message.get("body", b"")

    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "client": (who, 1), "state": {}}
    await made({**scope, "headers": [(b"host", b"localhost")]}, receive, send)
    return answer


async def settled() -> None:
    """Give whatever could begin now the time to."""
    await asyncio.sleep(0.3)


Serve = Callable[..., None]


@pytest.fixture
def serve(lite: str) -> Serve:
    def run(use: Callable[[Starlette], Awaitable[None]], **given: Any) -> None:
        made = create_app(lite, Settings(database_url=lite, log="off", **given))

        async def whole() -> None:
            async with made.router.lifespan_context(made):
                await use(made)

        asyncio.run(whole())

    return run


def test_one_client_holds_half_of_the_workers(serve: Serve, reader: Reader) -> None:
    async def use(made: Starlette) -> None:
        greedy = [asyncio.create_task(ask(made, SLOW, "a")) for _ in range(6)]
        await reader.reached(MAX_READING // 2)
        await settled()
        assert reader.began == MAX_READING // 2
        other = asyncio.create_task(ask(made, SLOW, "b"))
        await reader.reached(MAX_READING // 2 + 1)
        reader.go.set()
        assert {(await each).status for each in [*greedy, other]} == {200}

    serve(use)


def test_waiting_counts_into_the_deadline(serve: Serve, reader: Reader) -> None:
    async def use(made: Starlette) -> None:
        answers = await asyncio.gather(*(ask(made, SLOW) for _ in range(5)))
        assert [answer.status for answer in answers] == [503] * 5
        assert {answer.headers["retry-after"] for answer in answers} == {"1"}
        assert sorted(answer.code for answer in answers)[:3] == ["BUSY"] * 3
        assert reader.began == MAX_READING // 2

    serve(use, request_seconds=0.5)


def test_a_graphql_request_for_which_no_worker_is_free_is_told_so(serve: Serve, reader: Reader) -> None:
    async def use(made: Starlette) -> None:
        slow = [asyncio.create_task(ask(made, SLOW, who)) for who in "aabb"]
        await reader.reached(MAX_READING)
        client = TestClient(made, base_url="http://localhost")
        answer = await asyncio.to_thread(client.post, "/graphql", json={"query": "{ clusters { totalCount } }"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["errors"][0]["extensions"]["code"] == "BUSY"
        reader.go.set()
        await asyncio.gather(*slow)

    serve(use, request_seconds=1.0)


def test_who_leaves_is_taken_out_of_the_queue(serve: Serve, reader: Reader) -> None:
    async def use(made: Starlette) -> None:
        leave = asyncio.Event()
        gone = [asyncio.create_task(ask(made, SLOW, "a", leave)) for _ in range(60)]
        await reader.reached(MAX_READING // 2)
        leave.set()
        assert {(await each).status for each in gone} == {499}
        next_one = asyncio.create_task(ask(made, SLOW, "a"))
        await settled()
        assert reader.began == MAX_READING // 2, "a worker is busy until it ends"
        reader.go.set()
        assert (await next_one).status == 200
        assert reader.began == MAX_READING // 2 + 1

    serve(use)


def test_a_client_that_leaves_stops_what_it_asked(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = threading.Event(), threading.Event()

    def endless(*_: object) -> None:
        began.set()
        try:
            while True:
                deadline.raise_if_expired()
        finally:
            ended.set()

    monkeypatch.setattr(chips, "read_overview", endless)

    async def use(made: Starlette) -> None:
        leave = asyncio.Event()
        asked = asyncio.create_task(ask(made, SLOW, "a", leave))
        assert await asyncio.to_thread(began.wait, 20)
        leave.set()
        assert (await asked).status == 499
        assert await asyncio.to_thread(ended.wait, 20)

    serve(use)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_health_waits_for_nobody(databases: Any, serve: Serve, reader: Reader, backend: str) -> None:
    url = databases.seeded(backend)

    async def use(_: Starlette) -> None:
        made = create_app(url, Settings(database_url=url, log="off"))
        async with made.router.lifespan_context(made):
            slow = [asyncio.create_task(ask(made, SLOW, who)) for who in "aabbcc"]
            await reader.reached(MAX_READING)
            with ExitStack() as pool:
                engine = made.state.shared.fleet.engine
                for _each in range(15 - MAX_READING):
                    pool.enter_context(engine.connect())
                assert engine.pool.overflow() == 10
                for path in ("/healthz", "/readyz"):
                    assert (await ask(made, path, "a")).status == 200
            reader.go.set()
            await asyncio.gather(*slow)

    serve(use)


@pytest.fixture
def client(lite: str) -> Iterator[TestClient]:
    made = create_app(lite, Settings(database_url=lite, log="off"))
    with TestClient(made, base_url="http://127.0.0.1", raise_server_exceptions=False) as opened:
        yield opened


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "code"),
    [
        ("GET", "/nothing", {}, 404, "NOT_FOUND"),
        ("GET", "/assets/nothing.js", {}, 404, "NOT_FOUND"),
        ("PUT", "/graphql", {}, 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/sql", {}, 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/assets/index.js", {}, 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/healthz", {"Host": "evil.example"}, 400, "BAD_REQUEST"),
        ("GET", "/healthz", {"Host": ""}, 400, "BAD_REQUEST"),
        ("POST", "/sql", {"Long": "yes"}, 413, "BAD_REQUEST"),
        ("GET", "/healthz", {"Long": "yes"}, 413, "BAD_REQUEST"),
    ],
)
def test_what_http_refuses_is_an_error_like_any_other(
    client: TestClient, method: str, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    body = b" " * (MAX_BODY_BYTES + 1) if "Long" in headers else b""
    answer = client.request(method, path, headers=headers, content=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json; charset=utf-8")
    (error,) = answer.json()["errors"]
    assert error["extensions"]["code"] == code
    assert error["message"]
    assert answer.headers["X-Request-Id"]


@pytest.mark.parametrize(
    ("allowed", "host", "status"),
    [
        (("*",), "anything", 200),
        (("*.fleet.example",), "a.fleet.example:8000", 200),
        (("*.fleet.example",), "fleet.example", 400),
        (("*.fleet.example",), "evilfleet.example", 400),
        (("fleet.example",), "FLEET.example", 200),
        ((), "[::1]:8000", 200),
        ((), "localhost:", 200),
        ((), "localhost.evil.example", 400),
    ],
)
def test_names_of_this_server(lite: str, allowed: tuple[str, ...], host: str, status: int) -> None:
    with TestClient(create_app(lite, Settings(database_url=lite, log="off", allowed_hosts=allowed))) as client:
        assert client.get("/healthz", headers={"Host": host}).status_code == status


def test_a_request_that_does_not_arrive_is_given_up(serve: Serve) -> None:
    async def use(made: Starlette) -> None:
        answer = Answer()

        async def receive() -> Any:
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            answer.status = message.get("status", answer.status)
            answer.body += message.get("body", b"")

        scope = {"type": "http", "method": "POST", "path": "/sql", "query_string": b"", "headers": [], "state": {}}
        await made(scope, receive, send)
        assert (answer.status, answer.code) == (408, "TIME_LIMIT")

    serve(use, request_seconds=0.2)


@pytest.mark.slow
def test_bombs_are_refused_while_health_answers_and_the_service_ends_when_told(lite: str) -> None:
    """In a process of its own, which ends by SIGTERM when the context does."""
    with serving(lite, TRNINV_LOG="off") as url, ThreadPoolExecutor(len(BOMBS) * 2) as pool:

        def post(document: str) -> list[dict[str, Any]]:
            body = json.dumps({"query": document}).encode()
            request = urllib.request.Request(f"{url}/graphql", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                errors: list[dict[str, Any]] = json.load(answer)["errors"]
                return errors

        asked = [pool.submit(post, bomb) for bomb in BOMBS * 2]
        while not all(each.done() for each in asked):
            with urllib.request.urlopen(f"{url}/healthz", timeout=10) as answer:
                assert answer.status == 200
        assert {each.result()[0]["extensions"]["code"] for each in asked} == {"BAD_DOCUMENT"}
