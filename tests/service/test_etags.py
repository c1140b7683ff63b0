"""What an ETag is of: whoever asks for anything else, or as somebody else, is given the whole answer."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from conftest import Databases
from trninv.database.engine import temporary_engine, write_transaction
from trninv.graphql.document_request import Request
from trninv.inventory.access import bearer_tokens
from trninv.service.application import create_app
from trninv.service.graphql_http import GRAPHQL, JSON, compute_etag
from trninv.settings import Settings

_ASK = {"query": "{ viewer { name } }"}
_REQUEST = Request("{ a }", {"n": 1}, "A", "document", "1")


@pytest.fixture(scope="module")
def client(databases: Databases) -> Iterator[tuple[TestClient, dict[str, str]]]:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = {name: bearer_tokens.create_token(connection, name, "read", None) for name in ("one", "other")}
    made = create_app(url, Settings(database_url=url, log="off", auth="tokens", allowed_hosts=("127.0.0.1",)))
    with TestClient(made, base_url="http://127.0.0.1") as opened:
        yield opened, tokens


@pytest.mark.parametrize("path", ["/graphql", "/chips/u-trn2x64", "/chips/u-trn2x64/jobs"])
def test_an_etag_is_of_one_asker(client: tuple[TestClient, dict[str, str]], path: str) -> None:
    opened, tokens = client
    query = _ASK if path == "/graphql" else {}

    def status(name: str, etag: str = "") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {tokens[name]}", "If-None-Match": etag}
        answer = opened.get(path, params=query, headers=headers)
        assert "Authorization" in answer.headers.get("Vary", "") or answer.status_code == 304
        return answer.status_code, answer.headers["etag"]

    _, etag = status("one")
    assert status("one", etag)[0] == 304
    assert status("other", etag)[0] == 200
    assert status("other")[1] != etag


def test_an_etag_is_of_one_media_type(client: tuple[TestClient, dict[str, str]]) -> None:
    opened, tokens = client
    for one, other in ((JSON, GRAPHQL), (GRAPHQL, JSON)):
        headers = {"Authorization": f"Bearer {tokens['one']}", "Accept": one}
        first = opened.get("/graphql", params=_ASK, headers=headers)
        assert "Accept" in first.headers["Vary"]
        headers |= {"If-None-Match": first.headers["etag"]}
        assert opened.get("/graphql", params=_ASK, headers=headers).status_code == 304
        answer = opened.get("/graphql", params=_ASK, headers=headers | {"Accept": other})
        assert (answer.status_code, answer.headers.get("content-type")) == (200, f"{other}; charset=utf-8")


def test_an_etag_is_of_everything_that_an_answer_depends_on() -> None:
    others = (
        replace(_REQUEST, query="{ b }"),
        replace(_REQUEST, variables={"n": 2}),
        replace(_REQUEST, operation="B"),
        replace(_REQUEST, document="other"),
        replace(_REQUEST, as_of="2"),
    )
    tags = [
        compute_etag(_REQUEST, "r", "p", "me", graphql=True),
        compute_etag(_REQUEST, "s", "p", "me", graphql=True),
        compute_etag(_REQUEST, "r", "q", "me", graphql=True),
        compute_etag(_REQUEST, "r", "p", "you", graphql=True),
        compute_etag(_REQUEST, "r", "p", "me", graphql=False),
        *(compute_etag(each, "r", "p", "me", graphql=True) for each in others),
    ]
    assert len(set(tags)) == len(tags)
    assert None not in tags
    assert compute_etag(_REQUEST, None, "p", "me", graphql=True) is None


def test_an_answer_that_reads_the_clock_has_no_etag(client: tuple[TestClient, dict[str, str]]) -> None:
    opened, tokens = client
    headers = {"Authorization": f"Bearer {tokens['one']}"}
    for question, has_etag in (("availability", False), ("bisection", True)):
        answer = opened.get(
            "/graphql", params={"query": f'{{ {question}(scope: "u-trn2x64") {{ scope }} }}'}, headers=headers
        )
        assert "errors" not in answer.json()
        assert ("etag" in answer.headers) == has_etag
