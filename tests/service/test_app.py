"""The service over HTTP, in process and as a real server with a real browser."""

import asyncio
import json
import struct
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from serving import serving
from trninv.service.application import create_app
from trninv.service.explorer import WEB_DIRECTORY
from trninv.service.middleware import MAX_BODY_BYTES
from trninv.settings import Settings


@pytest.fixture
def client(lite: str) -> Iterator[TestClient]:
    with TestClient(create_app(lite), base_url="http://127.0.0.1") as opened:
        yield opened


def test_post_and_get(client: TestClient) -> None:
    document = '{ bisection(scope: "u-trn2x64") { upper { gigabytesPerSecond } exact } }'
    wanted = {"data": {"bisection": {"upper": {"gigabytesPerSecond": 2048.0}, "exact": True}}}
    for answer in (
        client.post("/graphql", json={"query": document}),
        client.get("/graphql", params={"query": document}),
    ):
        found = answer.json()
        assert sorted(found["extensions"].pop("asOf")) == ["revision", "time"]
        assert found == {**wanted, "extensions": {"cost": {"spent": 4002, "limit": 100_000}}}


def test_healthz(client: TestClient, tmp_path: Path) -> None:
    assert client.get("/healthz").json() == client.get("/readyz").json() == {"status": "ok"}
    with TestClient(create_app(f"sqlite:///{tmp_path / 'empty.db'}"), base_url="http://localhost") as other:
        assert other.get("/healthz").status_code == 200
        answer = other.get("/readyz")
    assert answer.status_code == 503
    assert "sqlite" not in answer.text


def test_graphiql_and_all_it_needs_come_from_here(client: TestClient) -> None:
    page = client.get("/graphql", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "connect-src 'self'" in page.headers["Content-Security-Policy"]
    assert "http" not in page.text
    for file in ("graphiql.js", "graphiql.css"):
        assert f"assets/{file}" in page.text
        assert client.get(f"/assets/{file}").status_code == 200


def test_chips_of_a_cluster_are_packed_with_an_etag(client: TestClient) -> None:
    answer = client.get("/chips/u-trn2x64")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.content == struct.pack("<4s5I", b"TRNI", 1, 64, 16, 4, 2) + bytes(64) + bytes([64]) * 64
    again = client.get("/chips/u-trn2x64", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/chips/trn3-gen1").headers["ETag"] != answer.headers["ETag"]


@pytest.mark.parametrize(
    ("cluster", "code"),
    [("nothing", "UNKNOWN_ADDRESS"), ("a%00b", "BAD_REQUEST"), ("a%01b", "BAD_ADDRESS"), ("é", "BAD_ADDRESS")],
)
def test_chips_of_no_cluster_are_told(client: TestClient, cluster: str, code: str) -> None:
    answer = client.get(f"/chips/{cluster}")
    assert answer.status_code in (400, 404)
    assert answer.json()["errors"][0]["extensions"]["code"] == code


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/chips/u-trn2x64?ta=1", "no parameter 'ta': did you mean at?"),
        ("/chips/u-trn2x64/jobs?at=1&at=2", "'at' is given more than once"),
        ("/export/v_chip.csv?clutser=u-trn2x64", "did you mean cluster?"),
        ("/changes?scop=u-trn2x64", "did you mean scope?"),
        ("/reports/unhealthy.csv?cluster=a&cluster=b", "'cluster' is given more than once"),
        (f"/reports/unhealthy.csv?{'&'.join(f'{n:x}=' for n in range(10_000))}&0=", "'0' is given more than once"),
        ("/reports/unhealthy", "write the format after the name: unhealthy.json"),
        ("/graphql?query={__typename}&query={a}", "'query' is given more than once"),
    ],
)
def test_an_address_that_is_not_complete_misspelt_or_says_a_thing_twice_is_refused(
    client: TestClient, path: str, says: str
) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (400, "BAD_REQUEST")
    assert says in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    "path",
    ["/assets/../app.py", "/assets/%2e%2e/index.html", "/assets//etc/passwd", "/nothing", "/assets/", "/LICENSES.txt"],
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code in (404, 405)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"query": 5}', b'{"query": "{ a", "variables": 7}', b"\xff", b"[" * 100_000]
)
def test_a_malformed_request_is_the_clients_fault(client: TestClient, body: bytes) -> None:
    answer = client.post("/graphql", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code < 500
    assert answer.status_code >= 400 or "errors" in answer.json()


def test_a_huge_body_is_refused(client: TestClient) -> None:
    assert client.post("/graphql", json={"query": "#" * (MAX_BODY_BYTES + 1)}).status_code == 413


@pytest.mark.parametrize("path", ["/", "/graphql", "/assets/index.js", "/healthz"])
def test_every_page_keeps_to_its_own_files(client: TestClient, path: str) -> None:
    assert "default-src 'none'" in client.get(path).headers["Content-Security-Policy"]


@pytest.fixture(scope="module")
def server(lite: str) -> Iterator[str]:
    with serving(lite) as url:
        yield url


def test_the_four_questions_over_http(server: str) -> None:
    document = """{ path(from: "trn3-gen2/d0/s0/c0", to: "trn3-gen2/d0/s35/c3") { paths { hops } }
        bandwidth(from: "trn3-gen2/d0/s0", to: "trn3-gen2/d0/s18") { maximumFlow { gigabytesPerSecond } }
        memoryPool(scope: "trn3-gen2/d0/s0/c0") { memory { gibibytes } }
        bisection(scope: "trn3-gen2") { upper { gigabytesPerSecond } } }"""
    request = urllib.request.Request(
        f"{server}/graphql", json.dumps({"query": document}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        data = json.load(response)["data"]
    assert data["path"]["paths"][0]["hops"] == 3
    assert (
        data["bandwidth"]["maximumFlow"]["gigabytesPerSecond"] == 1792.0
    )  # four chips, 320 from the rack and 128 from the twin each
    assert data["memoryPool"]["memory"]["gibibytes"] == 20736.0
    assert data["bisection"]["upper"]["gigabytesPerSecond"] == 9216.0


def test_the_licences_of_what_is_bundled_are_there() -> None:
    text = (WEB_DIRECTORY / "LICENSES.txt").read_text()
    for bundled in ("graphiql 4", "preact 11", "react 19"):
        assert bundled in text


@pytest.mark.parametrize("path", ["*", "graphql"])
def test_a_target_that_is_no_path_is_not_served(lite: str, path: str) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    made = create_app(lite, Settings(database_url=lite, log="off"))
    headers = [(b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "OPTIONS", "path": path, "query_string": b"", "headers": headers, "state": {}}
    asyncio.run(made(scope, receive, send))
    assert sent[0]["status"] in (404, 405)
