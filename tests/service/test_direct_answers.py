"""A response that is given at once equals the one that takes the ordinary way, and neither is ever stale."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hearing import change
from printed import neuron_ls
from sqlalchemy import Connection
from starlette.testclient import TestClient

from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TOKEN_SCOPES
from trninv.graphql import statement_runner
from trninv.graphql.statement_runner import StatementRunner
from trninv.inventory.access import bearer_tokens
from trninv.inventory.access.bearer_tokens import Principal
from trninv.service.application import create_app
from trninv.service.direct_answers import DirectAnswers
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

CHIP = "trn1.2xlarge/d0/s0/c0"
LIST = "{ clusters { nodes { slug } } }"
LARGE = "{ clusters { nodes { slug system domains { nodes { address model } } } } }"
CHANGE = 'mutation { cordon(input: {servers: ["nowhere/d0/s0"], who: "a", why: "b"}) { __typename } }'
STATE = "{ chips(first: 5, filter: {state: {ne: UP}}) { nodes { address state } } }"
PATH = 'query ($a: Address!) { path(from: $a, to: "u-trn2x64/d0/s0/c5") { paths { hops } } }'
JSON = "application/json"
REQUESTS: list[tuple[Any, dict[str, str]]] = [
    ({"query": LIST}, {}),
    ({"query": LARGE}, {}),
    ({"query": LARGE}, {"Accept-Encoding": "identity"}),
    ({"query": LIST}, {"Accept": "application/graphql-response+json"}),
    ({"query": LIST}, {"Accept": "text/html"}),
    ({"query": LIST}, {"Host": "elsewhere"}),
    ({"query": LIST}, {"Content-Type": "text/plain"}),
    ({"query": LIST, "operationName": "None"}, {}),
    ({"query": LIST, "variables": []}, {}),
    ({"query": LIST, "at": "yesterday"}, {}),
    ({"query": "{ nothing }"}, {}),
    ({"query": "mutation { nothing }"}, {}),
    ({"query": PATH, "variables": {"a": "u-trn2x64/d0/s0/c0"}}, {}),
    ({"query": PATH, "variables": {"a": "nowhere/d0"}}, {}),
    ({"query": PATH, "variables": {"a": 1}}, {}),
    ({"query": PATH}, {}),
    ({"query": STATE}, {}),
    ([], {}),
]


def _collected() -> bytes:
    return json.dumps({"host": "n0", "neuron_ls": neuron_ls(), "sysfs": {}}).encode()


def _client(url: str, **settings: Any) -> Iterator[TestClient]:
    app = create_app(url, Settings(url, log="off", **settings))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def client(seeded: str) -> Iterator[TestClient]:
    yield from _client(seeded)


def _answer(client: TestClient, body: Any, headers: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
    response = client.post("/graphql", content=json.dumps(body), headers={"Content-Type": JSON} | headers)
    content = response.json()
    content.get("extensions", {}).pop("asOf", None)
    varying = {"x-request-id", "content-length"}  # the length is that of compressed times
    return response.status_code, content, {k: v for k, v in response.headers.items() if k not in varying}


def test_both_ways_give_the_same_response(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as ordinary:
        ordinary.setattr(DirectAnswers, "_is_eligible", lambda *_: False)
        expected = [_answer(client, *request) for request in REQUESTS]
    assert [_answer(client, *request) for request in REQUESTS] == expected
    assert [_answer(client, *request) for request in REQUESTS] == expected  # from the cache


OBSERVATIONS: list[tuple[str, bytes, dict[str, str]]] = [
    ("", _collected(), {}),
    ("?age=1.5", _collected(), {}),
    ("?age=x", _collected(), {}),
    ("?age=1&age=2", _collected(), {}),
    ("?ages=1", _collected(), {}),
    ("?age=%00", _collected(), {}),
    ("", _collected(), {"Host": "elsewhere"}),
    ("", _collected(), {"Content-Type": "text/plain"}),
    ("", _collected(), {"Sec-Fetch-Site": "cross-site"}),
    ("", b'{"neuron_ls": 1}', {}),
    ("", json.dumps({"host": "n0", "neuron_ls": neuron_ls()} | {f"key{i}" * 9: 1 for i in range(90)}).encode(), {}),
    ("", b"[]", {}),
]


def _report(client: TestClient, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
    response = client.post(f"/observations{path}", content=body, headers={"Content-Type": JSON} | headers)
    return response.status_code, response.json(), {k: v for k, v in response.headers.items() if k != "x-request-id"}


def test_an_observation_gets_the_same_response_both_ways(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for request in OBSERVATIONS:
        _report(client, *request)  # what is stored is a duplicate from now on
    responses = [_report(client, *request) for request in OBSERVATIONS]
    assert [status for status, *_ in responses] == [202, 202, *[400] * 6, 403, 400, 202, 400]
    monkeypatch.setattr(DirectAnswers, "_is_eligible", lambda *_: False)
    assert [_report(client, *request) for request in OBSERVATIONS] == responses


def test_an_observation_needs_no_route(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trninv.service.middleware._PendingResponse", None)  # the ordinary way fails
    assert _report(client, "", _collected(), {})[:2] == (
        202,
        _report(client, "", _collected(), {})[1] | {"isKnown": False},
    )


def test_a_kept_response_and_a_small_list_need_no_route(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        _answer(client, {"query": LIST}, {})
    monkeypatch.setattr("trninv.service.graphql.authenticate", None)  # the ordinary way fails
    assert _answer(client, {"query": LIST}, {})[0] == 200
    if client.app.state.shared.fleet.engine.dialect.name == "sqlite":  # type: ignore[attr-defined]
        assert _answer(client, {"query": LIST, "variables": {"unused": 1}}, {})[0] == 200


@pytest.mark.quick_on_postgresql
def test_it_is_never_stale(client: TestClient) -> None:
    def states(number: int) -> list[str]:
        content = _answer(client, {"query": STATE, "variables": {"unused": number}}, {})[1]
        return [node["address"] for node in content["data"]["chips"]["nodes"]]

    engine = client.app.state.shared.fleet.engine  # type: ignore[attr-defined]
    for number in (0, 1, 1):  # prepared, small, kept
        assert states(number) == []
    change(engine, CHIP)
    assert states(1) == states(2) == [CHIP]


def test_it_is_logged_and_counted(client: TestClient) -> None:
    for _ in range(3):
        response = client.post("/graphql", json={"query": LIST})
        assert len(response.headers["x-request-id"]) == 16
        assert response.headers["x-content-type-options"] == "nosniff"
    metrics = client.app.state.shared.metrics.render().decode()  # type: ignore[attr-defined]
    assert 'trninv_requests_total{path="/graphql",status="200"} 3.0' in metrics
    assert "trninv_document_cost_count 3.0" in metrics


@pytest.fixture
def guarded(seeded: str) -> Iterator[tuple[TestClient, dict[str, str]]]:
    """A service that asks for tokens, and a token of every scope."""
    with temporary_engine(seeded) as engine, write_transaction(engine) as connection:
        tokens = {scope: bearer_tokens.create_token(connection, scope, scope, None) for scope in TOKEN_SCOPES}
    for client in _client(seeded, auth="tokens", allowed_hosts=("127.0.0.1",)):
        yield client, tokens


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_both_ways_give_the_same_response_to_tokens(
    guarded: tuple[TestClient, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, tokens = guarded
    headers = [{}, *map(_bearer, tokens.values()), *map(_bearer, ("trninv_nobody", "", "other"))]
    headers.append({"Authorization": f"Basic {tokens['read']}"})
    requests = [(body, more | header) for header in headers for body, more in REQUESTS]
    requests += [({"query": CHANGE}, header) for header in headers]
    with monkeypatch.context() as ordinary:
        ordinary.setattr(DirectAnswers, "_is_eligible", lambda *_: False)
        expected = [_answer(client, *request) for request in requests]
    assert {status for status, _, _ in expected} == {200, 400, 401, 403, 406}
    for _ in range(2):
        assert [_answer(client, *request) for request in requests] == expected


@pytest.mark.parametrize("scope", [scope for scope in TOKEN_SCOPES if scope != "observe"])
def test_a_token_that_was_looked_up_needs_no_route(
    guarded: tuple[TestClient, dict[str, str]], monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    client, tokens = guarded
    for _ in range(2):
        assert _answer(client, {"query": LIST}, _bearer(tokens[scope]))[0] == 200
    monkeypatch.setattr("trninv.service.graphql.authenticate", None)  # the ordinary way fails
    assert _answer(client, {"query": LIST}, _bearer(tokens[scope]))[0] == 200


@pytest.mark.quick_on_postgresql
def test_a_token_is_refused_as_soon_as_it_is_revoked_or_expires(
    guarded: tuple[TestClient, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, tokens = guarded
    engine = client.app.state.shared.fleet.engine  # type: ignore[attr-defined]
    with write_transaction(engine) as connection:
        tokens["expires"] = bearer_tokens.create_token(connection, "expires", "read", "1h")
    for _ in range(3):
        assert [_answer(client, {"query": LIST}, _bearer(tokens[name]))[0] for name in ("read", "expires")] == [200] * 2
    with write_transaction(engine) as connection:
        bearer_tokens.revoke_token(connection, "read")
    assert _answer(client, {"query": LIST}, _bearer(tokens["read"]))[0] == 401
    assert _answer(client, {"query": LIST}, _bearer(tokens["expires"]))[0] == 200
    with write_transaction(engine) as connection:
        expires = bearer_tokens.find_principal(connection, tokens["expires"]).expires
    monkeypatch.setattr("trninv.service.token_lookup.current_timestamp", lambda: expires)
    monkeypatch.setattr("trninv.inventory.access.bearer_tokens.current_timestamp", lambda: expires)
    assert _answer(client, {"query": LIST}, _bearer(tokens["expires"]))[0] == 401


def test_a_token_stays_known_while_observations_are_stored(
    guarded: tuple[TestClient, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, tokens = guarded
    engine = client.app.state.shared.fleet.engine  # type: ignore[attr-defined]
    found = list[str]()
    find_principal = bearer_tokens.find_principal

    def find(connection: Connection, token: str) -> Principal:
        found.append(token)
        return find_principal(connection, token)

    monkeypatch.setattr(bearer_tokens, "find_principal", find)
    for number in range(10):
        devices = neuron_ls()
        devices[0]["memory_size"] = number
        content = json.dumps({"host": "n0", "neuron_ls": devices, "sysfs": {}}).encode()
        assert _report(client, "", content, _bearer(tokens["admin"]))[0] == 202
        assert _answer(client, {"query": LIST, "variables": {"unused": number}}, _bearer(tokens["read"]))[0] == 200
    assert found in ([tokens["read"]], [tokens["read"]] * 2), "PostgreSQL's own transactions are unknown"
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE token SET revoked = created, revoked_by = 'x' WHERE scope = 'read'")
    assert _answer(client, {"query": LIST}, _bearer(tokens["read"]))[0] == 401


def test_a_proxied_person_and_another_header_take_the_ordinary_way(seeded: str) -> None:
    settings = {"proxy_header": "X-Person", "allowed_hosts": ("127.0.0.1",)}
    with temporary_engine(seeded) as engine, write_transaction(engine) as connection:
        token = bearer_tokens.create_token(connection, "a", "read", None)
    for client in _client(seeded, auth="tokens", **settings):
        for _ in range(2):
            assert _answer(client, {"query": LIST}, _bearer(token))[0] == 200
            assert _answer(client, {"query": LIST}, _bearer(token) | {"X-Person": "root"})[0] == 401  # no trusted proxy


@pytest.mark.parametrize("origins", [("https://a.example",), ("*",)], ids=str)
def test_both_ways_give_the_same_response_to_other_origins(
    lite: str, origins: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    origin_headers = [
        {},
        {"Origin": "https://a.example"},
        {"Origin": "https://a.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://b.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://a.example", "Cookie": "a=b"},
    ]
    requests = [({"query": document}, header) for header in origin_headers for document in (LIST, LARGE)]
    for client in _client(lite, cors_origins=origins):
        with monkeypatch.context() as ordinary:
            ordinary.setattr(DirectAnswers, "_is_eligible", lambda *_: False)
            expected = [_answer(client, *request) for request in requests]
        assert any("access-control-allow-origin" in headers for _, _, headers in expected)
        monkeypatch.setattr("trninv.service.graphql.authenticate", None)  # the ordinary way fails
        assert [_answer(client, *request) for request in requests] == expected


def test_a_large_statement_is_interrupted_once_and_then_left_to_threads(
    lite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement_runner, "MAX_INLINE_STEPS", 1_000)
    small: list[bool] = []
    fetch = StatementRunner.fetch_small_row

    def fetch_small_row(self: StatementRunner, *arguments: Any) -> Any:
        result = fetch(self, *arguments)
        small.append(result is not None)
        return result

    monkeypatch.setattr(StatementRunner, "fetch_small_row", fetch_small_row)
    document = "{ chips(first: 200) { nodes { address state } } }"
    for client in _client(lite):
        runner = client.app.state.shared.api._statement_runners[client.app.state.shared.fleet]  # type: ignore[attr-defined]
        for number in range(3):
            content = _answer(client, {"query": document, "variables": {"unused": number}}, {})[1]
            assert len(content["data"]["chips"]["nodes"]) == 200
        assert small == [False, False]  # the first request prepares the document in a thread
        assert len(runner._large_statements) == 1
        _answer(client, {"query": LIST}, {})
        assert _answer(client, {"query": LIST, "variables": {"unused": 1}}, {})[0] == 200
        assert small[-1]


def test_a_statement_that_counts_never_runs_on_the_event_loop(lite: str) -> None:
    for client in _client(lite):
        services = client.app.state.shared  # type: ignore[attr-defined]
        _answer(client, {"query": LIST}, {})
        runner = services.api._statement_runners[services.fleet]
        assert runner.fetch_small_row("SELECT 1", {})[0] == (1,)
        assert runner.fetch_small_row("SELECT Count(*) FROM chip", {}) is None
        assert runner.fetch_small_row(f"SELECT {' + '.join('1' * 3_000)}", {}) is None
        assert runner.fetch_small_row("SELECT nothing", {}) is None
