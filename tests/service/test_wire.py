"""GraphQL over HTTP as its audits require, and what surrounds it: caches, tokens, limits, logs, metrics."""

import asyncio
import gzip
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import anyio
import pytest
from httpx2 import Response
from sqlalchemy import text
from starlette.testclient import TestClient

from trninv import deadline
from trninv.database.engine import temporary_engine, write_transaction
from trninv.graphql.statement_runner import StatementRunner
from trninv.inventory.access import bearer_tokens
from trninv.routing.fleet import BaseFleet
from trninv.service.application import create_app
from trninv.service.graphql_http import EVENT_STREAM, GRAPHQL
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

Serve = Callable[..., AbstractContextManager[TestClient]]
ASK = {"query": "{ clusters { nodes { slug } } }"}
LONG = {"query": "{ chips(first: 1000) { nodes { address state } } }"}


@pytest.fixture
def serve() -> Serve:
    @contextmanager
    def start(url: str, **given: Any) -> Iterator[TestClient]:
        made = create_app(url, Settings(database_url=url, **{"log": "off", **given}))
        with TestClient(made, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
            yield client

    return start


@pytest.fixture
def client(lite: str, serve: Serve) -> Iterator[TestClient]:
    with serve(lite) as opened:
        yield opened


def post(client: TestClient, body: object, accept: str = "application/json", **headers: str) -> Response:
    return client.post("/graphql", json=body, headers={"Accept": accept, **headers})


@pytest.mark.parametrize(
    ("body", "legacy", "modern"),
    [
        (ASK, 200, 200),
        ({**ASK, "variables": None, "operationName": None, "extensions": None}, 200, 200),
        ({}, 400, 400),
        ({"query": 5}, 400, 400),
        ({**ASK, "variables": "x"}, 400, 400),
        ({**ASK, "variables": []}, 400, 400),
        ({**ASK, "operationName": {}}, 400, 400),
        ({**ASK, "extensions": "x"}, 400, 400),
        ([ASK], 400, 400),
        ({"query": "{"}, 200, 400),
        ({"query": "{ nope }"}, 200, 400),
        ({"query": "query ($n: Int!) { chips(first: $n) { totalCount } }"}, 200, 400),
        ({"query": "query A { __typename }", "operationName": "B"}, 200, 400),
        ({"query": "{ chips(first: 5000) { totalCount } }"}, 200, 200),
    ],
)
def test_the_status_tells_whether_a_document_ran(client: TestClient, body: object, legacy: int, modern: int) -> None:
    for accept, status in (("application/json", legacy), (GRAPHQL, modern), (f"{GRAPHQL}, application/json", modern)):
        answer = post(client, body, accept)
        assert answer.status_code == status
        wanted = "application/json" if accept == "application/json" else GRAPHQL
        assert answer.headers["content-type"] == f"{wanted}; charset=utf-8"
        if body not in (ASK, {**ASK, "variables": None, "operationName": None, "extensions": None}):
            assert answer.json()["errors"][0]["extensions"]["code"]
        assert ("data" in answer.json()) == (modern == 200)


def test_media_types(client: TestClient) -> None:
    assert post(client, ASK, "*/*").headers["content-type"].startswith("application/json")
    assert post(client, ASK, "text/plain").status_code == 406
    for kind in ("text/plain", "", "application/x-www-form-urlencoded"):
        sent = client.post("/graphql", content=json.dumps(ASK), headers={"Content-Type": kind})
        assert 400 <= sent.status_code < 500
    utf8 = {"Content-Type": "application/json; charset=utf-8"}
    assert client.post("/graphql", content=json.dumps(ASK), headers=utf8).status_code == 200
    assert client.put("/graphql", json=ASK).status_code == 405


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (f"{GRAPHQL};q=0, application/json", "application/json"),
        (f"application/json;q=0.9, {GRAPHQL.upper()};q=0.5", "application/json"),
        (f"application/json, {GRAPHQL}; charset=utf-8", GRAPHQL),
        ("application/json;q=0, text/*", None),
        ("application/*;q=0.1", "application/json"),
        (f"{EVENT_STREAM};q=0, application/json", "application/json"),
        (f"{GRAPHQL}, application/json, {EVENT_STREAM}, multipart/mixed", GRAPHQL),  # as urql asks for everything
        (f"{EVENT_STREAM}x, application/json", "application/json"),
        (f"*/*, {EVENT_STREAM};q=0.5", "application/json"),
        ("application/json;q=much, application/xml", None),
        ("", "application/json"),
    ],
)
def test_of_media_the_client_gets_what_it_likes_best(client: TestClient, accept: str, kind: str | None) -> None:
    answer = post(client, ASK, accept)
    assert answer.status_code == (200 if kind else 406)
    assert kind is None or answer.headers["content-type"].startswith(kind)


@pytest.mark.parametrize(
    "accept",
    [
        EVENT_STREAM,
        f"{EVENT_STREAM.upper()}; charset=utf-8",
        f"{EVENT_STREAM}, application/json",
        f"{EVENT_STREAM}, */*;q=0.1",
    ],
)
def test_who_likes_a_stream_best_asks_for_one(client: TestClient, accept: str) -> None:
    assert "is for subscriptions" in post(client, ASK, accept).json()["errors"][0]["message"]


def test_get_reads_with_variables_and_does_not_write(client: TestClient) -> None:
    document = "query A($n: Int!) { chips(first: $n) { nodes { id } } } query B { __typename }"
    asked = {"query": document, "variables": '{"n": 2}', "operationName": "A"}
    assert len(client.get("/graphql", params=asked).json()["data"]["chips"]["nodes"]) == 2
    assert client.get("/graphql", params={**asked, "variables": "{"}).status_code == 400
    assert client.get("/graphql", headers={"Accept": "application/json"}).status_code == 400
    written = client.get(
        "/graphql",
        params={"query": 'mutation { setState(input: {addresses: [], state: UP, why: "x"}) { clientMutationId } }'},
    )
    assert (written.status_code, written.json()["errors"][0]["extensions"]["code"]) == (405, "METHOD_NOT_ALLOWED")


def test_a_get_is_cached_until_the_database_changes(databases: Any, serve: Serve) -> None:
    for backend in ("sqlite", "postgresql"):
        url = databases.seeded(backend)
        with serve(url) as client:
            first = client.get("/graphql", params=ASK)
            tag = first.headers["etag"]
            for _ in range(10):  # on PostgreSQL another database's transaction, such as a vacuum, counts as a change
                again = client.get("/graphql", params=ASK, headers={"If-None-Match": tag})
                if again.status_code != 200:
                    break
                tag = again.headers["etag"]
            assert (again.status_code, again.content) == (304, b"")
            other = client.get("/graphql", params={"query": "{ __typename }"}, headers={"If-None-Match": tag})
            assert other.status_code == 200
            assert "private" in first.headers["cache-control"]
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                connection.execute(text("UPDATE cluster SET system = 'x' WHERE slug = 'u-trn2x64'"))
            assert client.get("/graphql", params=ASK, headers={"If-None-Match": tag}).status_code == 200
            assert "etag" not in client.get("/graphql", params={"query": "{ nope }"}).headers


def test_long_answers_are_compressed_for_who_takes_it(client: TestClient) -> None:
    plain = client.post("/graphql", json=LONG, headers={"Accept-Encoding": "identity"})
    with client.stream("POST", "/graphql", json=LONG, headers={"Accept-Encoding": "gzip"}) as packed:
        raw = b"".join(packed.iter_raw())
    assert packed.headers["content-encoding"] == "gzip"
    asked = [re.sub(rb'"time":"[^"]*"', b"", body) for body in (gzip.decompress(raw), plain.content)]
    assert asked[0] == asked[1]
    assert len(raw) * 4 < len(plain.content)
    assert "content-encoding" not in client.post("/graphql", json=ASK).headers


def test_pages_of_other_origins_ask_only_if_they_may(lite: str, serve: Serve) -> None:
    preflight = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    with serve(lite) as client:
        assert "access-control-allow-origin" not in post(client, ASK, Origin="https://a.example").headers
        assert client.options("/graphql", headers=preflight).status_code in (400, 405)
    with serve(lite, cors_origins=("https://a.example",)) as client:
        allowed = client.options("/graphql", headers=preflight)
        assert allowed.headers["access-control-allow-origin"] == "https://a.example"
        assert "access-control-allow-origin" not in post(client, ASK, Origin="https://b.example").headers


def test_a_name_of_another_machine_does_not_lead_here(lite: str, serve: Serve) -> None:
    with serve(lite) as client:
        assert post(client, ASK, Host="evil.example").status_code == 400
        assert post(client, ASK, Host="localhost:8000").status_code == 200
    with serve(lite, allowed_hosts=("fleet.example",)) as client:
        assert post(client, ASK, Host="fleet.example").status_code == 200


def test_persisted_documents(lite: str, serve: Serve, tmp_path: Path) -> None:
    document = "query Names { clusters { nodes { slug } } }"
    (tmp_path / "names.graphql").write_text(document)
    digest = f"sha256:{hashlib.sha256(document.encode()).hexdigest()}"
    with serve(lite, documents=tmp_path) as client:
        wanted = post(client, {"query": document}).json()["data"]
        for name in ("names", digest):
            assert post(client, {"documentId": name}).json()["data"] == wanted
            assert client.get("/graphql", params={"documentId": name}).json()["data"] == wanted
        unknown = post(client, {"documentId": "other"}, GRAPHQL)
        assert (unknown.status_code, unknown.json()["errors"][0]["extensions"]["code"]) == (404, "UNKNOWN_DOCUMENT")
        assert post(client, ASK).status_code == 200
    with serve(lite, documents=tmp_path, persisted_only=True) as client:
        assert post(client, {"documentId": "names"}).json()["data"] == wanted
        assert post(client, ASK, GRAPHQL).json()["errors"][0]["extensions"]["code"] == "BAD_REQUEST"


def test_introspection_and_graphiql_can_be_off(lite: str, serve: Serve) -> None:
    introspect = {"query": "{ __schema { queryType { name } } }"}
    with serve(lite) as client:
        assert post(client, introspect).json()["data"]
    with serve(lite, introspection=False, graphiql=False) as client:
        assert "introspection" in post(client, introspect).json()["errors"][0]["message"].lower()
        assert client.get("/graphql", headers={"Accept": "text/html"}).status_code == 406
        assert post(client, {"query": "{ __typename }"}).json()["data"] == {"__typename": "Query"}


def test_tokens(databases: Any, serve: Serve) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        made = {scope: bearer_tokens.create_token(connection, scope, scope, None) for scope in ("read", "operate")}
    document = """mutation ($i: SetStateInput!) { setState(input: $i) { clientMutationId changes {
        address before after factor target { address ... on Chip { state } ... on Link { state } } } } }"""
    to = {"addresses": ["u-trn2x64/d0/s0/c0"], "state": "DOWN", "why": "x"}
    write = {"query": document, "variables": {"i": to}}
    viewer = {"query": "{ viewer { name scope scopes } }"}
    with serve(url, auth="tokens", allowed_hosts=("127.0.0.1",)) as client:
        for headers in ({}, {"Authorization": "Bearer nope"}, {"Authorization": f"Basic {made['read']}"}):
            refused = post(client, ASK, **headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert refused.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        assert client.get("/metrics").status_code == 401
        assert client.get("/healthz").status_code == 200
        read, operate = ({"Authorization": f"Bearer {made[scope]}"} for scope in ("read", "operate"))
        assert post(client, ASK, **read).status_code == 200
        forbidden = post(client, write, **read)
        assert (forbidden.status_code, forbidden.json()["errors"][0]["extensions"]["code"]) == (403, "FORBIDDEN")
        other = {**write, "variables": {"i": {**to, "who": "somebody else"}}}
        (refused,) = post(client, other, **operate).json()["errors"]
        assert refused["extensions"]["code"] == "FORBIDDEN"
        assert "somebody else" in refused["message"]
        same = {**write, "variables": {"i": {**to, "who": "operate", "clientMutationId": "a1"}}}
        assert post(client, same, **operate).json()["data"]["setState"] == {
            "clientMutationId": "a1",
            "changes": [
                {
                    "address": "u-trn2x64/d0/s0/c0",
                    "before": "UP",
                    "after": "DOWN",
                    "factor": None,
                    "target": {"address": "u-trn2x64/d0/s0/c0", "state": "DOWN"},
                }
            ],
        }
        assert post(client, write, **operate).json()["data"] == {"setState": {"clientMutationId": None, "changes": []}}
        assert post(client, viewer, **read).json()["data"] == {
            "viewer": {"name": "read", "scope": "READ", "scopes": ["READ"]}
        }
        assert post(client, viewer, **operate).json()["data"]["viewer"]["scopes"] == ["READ", "OPERATE"]
        with temporary_engine(url) as engine, write_transaction(engine) as connection:
            (who,) = connection.execute(text("SELECT DISTINCT who FROM state_event")).one()
            assert who == "operate"
            bearer_tokens.revoke_token(connection, "read")
        assert post(client, ASK, **read).status_code == 401


def test_a_failure_has_a_number_that_is_in_the_log(
    databases: Any,
    serve: Serve,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(BaseFleet, "ask", broken)
    with serve(databases.seeded("sqlite"), log="json") as client:
        failed = post(client, {"query": '{ bisection(scope: "trn1.2xlarge") { exact } }'})
        assert failed.status_code == 500
        reference = failed.json()["errors"][0]["extensions"]["requestId"]
        assert "hunter2" not in failed.text
        lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
        (failure,) = [line for line in lines if line["event"] == "failure"]
        assert failure["request_id"] == reference
        assert "hunter2" in failure["exception"]
        (request,) = [line for line in lines if line["event"] == "request"]
        assert (request["status"], request["code"], request["cost"]) == (500, "INTERNAL", 4001)


@pytest.mark.parametrize("path", ["/reports/capacity.json", "/chips/u-trn2x64"])
def test_a_failure_outside_of_graphql_is_in_the_log_too(
    databases: Any,
    serve: Serve,
    capfd: pytest.CaptureFixture[str],
    path: str,
) -> None:
    url = databases.seeded("sqlite")
    with serve(url, log="json") as client:
        Path(url.removeprefix("sqlite:///")).unlink()
        failed = client.get(path)
    assert failed.status_code == 503
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert {line["request_id"] for line in lines} == {failed.headers["X-Request-Id"]}
    assert {line["event"] for line in lines} == {"failure", "request"}
    assert failed.headers["X-Request-Id"] in failed.json()["errors"][0]["message"]


def test_a_database_that_is_gone_is_a_failure_that_tells_nothing(databases: Any, serve: Serve) -> None:
    url = databases.seeded("sqlite")
    with serve(url) as client:
        assert post(client, ASK).status_code == 200
        Path(url.removeprefix("sqlite:///")).unlink()
        gone = post(client, ASK)
        assert gone.status_code == 503
        assert "sqlite" not in gone.text
        assert gone.json()["errors"][0]["extensions"]["code"] == "NOT_MIGRATED"
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200


def test_metrics(client: TestClient) -> None:
    post(client, ASK)
    post(client, {"query": "{ nope }"})
    shown = client.get("/metrics").text
    assert 'trninv_requests_total{path="/graphql",status="200"} 2.0' in shown
    assert 'trninv_errors_total{code="BAD_DOCUMENT"} 1.0' in shown
    for name in ("trninv_request_seconds_bucket", "trninv_document_cost_sum", "trninv_document_statements_count"):
        assert name in shown


def questions_without_end(monkeypatch: pytest.MonkeyPatch) -> tuple[Event, Event]:
    """Has bisections run until their deadline; tells when one began, and when one ended."""
    began, ended = Event(), Event()

    def slow(*_: object, **__: object) -> None:
        began.set()
        try:
            while True:
                time.sleep(0.01)
                deadline.raise_if_expired()
        finally:
            ended.set()

    monkeypatch.setattr(BaseFleet, "ask", slow)
    return began, ended


def test_what_takes_too_long_is_stopped(lite: str, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    began, stopped = questions_without_end(monkeypatch)
    with serve(lite, request_seconds=0.3) as client:
        start = time.monotonic()
        late = post(client, {"query": '{ bisection(scope: "trn1.2xlarge") { exact } }'}).json()
        assert late["errors"][0]["extensions"]["code"] == "TIME_LIMIT"
        assert time.monotonic() - start < 3
        assert began.is_set()
        assert stopped.wait(5)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_a_statement_that_takes_too_long_is_stopped(
    databases: Any, serve: Serve, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    """It would count for ever, were it not for the limit."""
    count = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*), 'x' FROM c"
    one = StatementRunner.fetch_row
    monkeypatch.setattr(StatementRunner, "fetch_row", lambda self, _sql, _bound: one(self, count, {}))
    with serve(databases.seeded(backend), request_seconds=0.5) as client:
        start = time.monotonic()
        late = post(client, ASK)
        assert late.json()["errors"][0]["extensions"]["code"] == "TIME_LIMIT"
        assert time.monotonic() - start < 5


def test_a_client_that_leaves_stops_its_question(lite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = questions_without_end(monkeypatch)
    body = json.dumps({"query": '{ bisection(scope: "trn1.2xlarge") { exact } }'}).encode()
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/graphql", "query_string": b"", "headers": headers}

    async def run() -> None:
        messages = [{"type": "http.request", "body": body}]

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            await anyio.to_thread.run_sync(began.wait, 5)
            return {"type": "http.disconnect"}

        async def send(_message: dict[str, Any]) -> None:
            return

        await create_app(lite, Settings(database_url=lite, log="off"))({**scope, "state": {}}, receive, send)  # type: ignore[arg-type]
        assert await anyio.to_thread.run_sync(ended.wait, 5)

    start = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - start < 10
