"""Characters that no text here has, on every way in: a clear refusal, the same on both databases."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from conftest import BACKENDS, Databases, Run
from trninv.characters import has_forbidden_characters
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

FIELDS = [
    "cluster(slug: $t) { chips { totalCount } }",
    "clusters(filter: {slug: {eq: $t}}) { nodes { slug } }",
    "clusters(filter: {or: [{slug: {in: [$t]}}, {not: {slug: {lt: $t}}}]}) { totalCount }",
    "chips(filter: {cluster: {eq: $a}}) { totalCount }",
    "chips(first: 1, after: $t) { nodes { address } }",
    "facts(subject: $t, attribute: $t) { nodes { value } }",
    "conflicts(subject: $t) { totalCount }",
    "links(between: {a: $a, b: $a}) { totalCount }",
    "resolve(address: $a) { __typename }",
    "node(id: $i) { id }",
    "nodes(ids: [$i]) { id }",
    "layout(place: $a) { __typename }",
    "path(from: $a, to: $a, avoid: [$a]) { reachable }",
    "memoryPool(scope: $a) { chips }",
    "bisection(scope: $a, chips: [$a]) { exact }",
    "whatIf(down: [$a]) { bandwidth(from: $a, to: $a) { maximumFlow { bytesPerSecond } } }",
    "report(name: $t) { columns }",
    'report(name: "capacity", values: [{name: "generation", value: $t}]) { columns }',
]
KINDS = {"t": "String!", "a": "Address!", "i": "ID!"}
SET = "addresses: [{0}], state: DOWN, why: {1}, who: {2}, clientMutationId: {3}"
GOOD = ['"u-trn2x64/d0/s0/c0"', '"why"', '"who"', '"id"']


@pytest.fixture(scope="module", params=BACKENDS)
def client(request: pytest.FixtureRequest, databases: Databases) -> Iterator[TestClient]:
    url = databases.seeded(request.param)
    made = create_app(url, Settings(database_url=url, log="off"))
    with TestClient(made, base_url="http://127.0.0.1", raise_server_exceptions=False) as opened:
        yield opened


def _code(client: TestClient, body: str) -> tuple[int, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/graphql-response+json"}
    answer = client.post("/graphql", content=body.encode(), headers=headers)
    return answer.status_code, answer.json()["errors"][0]["extensions"]["code"]


@pytest.mark.parametrize("field", FIELDS)
def test_an_argument_with_character_0_is_refused(client: TestClient, field: str) -> None:
    used = {name: kind for name, kind in KINDS.items() if f"${name}" in field}
    named = ", ".join(f"${name}: {kind}" for name, kind in used.items())
    body = {"query": f"query ({named}) {{ {field} }}", "variables": dict.fromkeys(used, "x\0")}
    assert _code(client, json.dumps(body)) == (400, "BAD_VARIABLES")
    for escape in ("\\u0000", "\\u{0}"):
        literal = field
        for name in used:
            literal = literal.replace(f"${name}", f'"x{escape}"')
        assert _code(client, json.dumps({"query": f"{{ {literal} }}"})) == (400, "BAD_DOCUMENT")


@pytest.mark.parametrize("at", range(4))
def test_a_change_with_character_0_is_refused(client: TestClient, at: int) -> None:
    given = SET.format(*GOOD[:at], '"\\u0000"', *GOOD[at + 1 :])
    body = {"query": f"mutation {{ setState(input: {{{given}}}) {{ changes {{ after }} }} }}"}
    assert _code(client, json.dumps(body)) == (400, "BAD_DOCUMENT")
    keys = ("addresses", "why", "who", "clientMutationId")
    values: dict[str, Any] = dict(zip(keys, map(json.loads, GOOD), strict=True)) | {"state": "DOWN"}
    values |= {"addresses": [values["addresses"]], keys[at]: ["\0"] if at == 0 else "\0"}
    document = "mutation ($i: SetStateInput!) { setState(input: $i) { changes { after } } }"
    given_apart = {"query": document, "variables": {"i": values}}
    assert _code(client, json.dumps(given_apart)) == (400, "BAD_VARIABLES")


@pytest.mark.parametrize(
    "body",
    [
        '{"query": "{ cluster(slug: \\"\\\\ud800\\") { slug } }"}',
        '{"query": "{ cluster(slug: \\"\\ud800\\") { slug } }"}',
        '{"query": "{ cluster(slug: \\"a\\") { slug } }", "variables": {"\\ud800": "\\udfff"}}',
        '{"query": "{ cluster(slug: \\"a\\") { slug } }", "variables": {"x": [{"\\u0000": 1}]}}',
        '{"query": "{ a: clusters { nodes { slug } } }", "operationName": "\\u0000"}',
        '{"documentId": "\\u0000"}',
        '{"query": "\\u0000"}',
    ],
)
def test_a_request_with_such_a_character_is_refused(client: TestClient, body: str) -> None:
    status, code = _code(client, body)
    assert (status in (400, 404), "INTERNAL" in code) == (True, False)


@pytest.mark.parametrize(
    "path",
    [
        "/chips/%00",
        "/reports/%00.json",
        "/reports/capacity.json?generation=%00",
        "/reports/capacity.json?%00=x",
        "/export/%00.csv",
        "/export/v_chip.csv?cluster=%00",
        "/export/v_chip.csv?columns=%00",
        "/assets/%00",
        "/%00",
        "/graphql?query=%7Bclusters%7Bnodes%7Bslug%7D%7D%7D&operationName=%00",
        "/graphql?query=query(%24s:String!)%7Bcluster(slug:%24s)%7Bslug%7D%7D&variables=%7B%22s%22:%22%5Cu0000%22%7D",
        "/graphql?documentId=%00",
        "/chips/%ED%A0%80",
        "/reports/capacity.json?generation=%ED%A0%80",
        "/export/v_chip.csv?cluster=%ED%A0%80",
        "/export/v_chip.csv?columns=%ED%A0%80",
    ],
)
def test_no_address_with_such_a_character_fails(client: TestClient, path: str) -> None:
    answer = client.get(path)
    is_readable = "cluster=%ED" in path  # what is not UTF-8 is read as U+FFFD, and no cluster is called so
    assert answer.status_code < 500
    assert ("errors" in answer.text) == (not is_readable)


@pytest.mark.parametrize("text", ["SELECT '\\u0000'", "SELECT 1 -- \\ud800", "SELECT slug FROM v_chip\\u0000"])
def test_sql_with_such_a_character_is_refused(client: TestClient, text: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post("/sql", content=f'{{"sql": "{text}"}}'.encode(), headers=headers)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "words",
    [
        ["show", "u-trn2x64/\udcff"],
        ["path", "\udcff", "\udcff", "--down", "\udcff"],
        ["set", "u-trn2x64/d0/s0/c0", "down", "--why", "\udcff", "--who", "x"],
        ["token", "create", "\udcff"],
        ["sql", "SELECT '\udcff'"],
        ["report", "capacity", "--set", "generation=\udcff"],
        ["query", '{ cluster(slug: "\udcff") { slug } }'],
        ["query", "query ($s: String!) { cluster(slug: $s) { slug } }", "--variables", '{"s": "\udcff"}'],
        ["export", "\udcff"],
        ["facts", "\udcff"],
        ["unseed", "\udcff", "--yes"],
    ],
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_word_of_the_command_line_that_is_not_utf8_is_refused(
    run: Run, databases: Databases, backend: str, words: list[str]
) -> None:
    status, out, error = run(*words, database=_shared(databases, backend))
    assert (status, out, error.count("\n"), "surrogate" in error) == (2, "", 1, True)


@pytest.mark.parametrize("value", ["\\u0000", "\\ud800"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_variable_of_a_command_with_such_a_character_is_refused(
    run: Run, databases: Databases, backend: str, value: str
) -> None:
    document = "query ($s: String!) { cluster(slug: $s) { slug } }"
    given = ["query", document, "--variables", f'{{"s": "{value}"}}']
    status, out, error = run(*given, database=_shared(databases, backend))
    assert (status, error) == (1, "")
    assert json.loads(out)["errors"][0]["extensions"]["code"] == "BAD_VARIABLES"


@pytest.mark.parametrize("command", ["sql", "query"])
@pytest.mark.parametrize("given", [b"SELECT '\xff'", b"SELECT '\0'"])
def test_no_text_from_stdin_fails(run: Run, monkeypatch: pytest.MonkeyPatch, command: str, given: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
    status, out, error = run(command, "-")
    assert status in (1, 2)
    assert "Traceback" not in out + error


_URLS: dict[tuple[int, str], str] = {}


def _shared(databases: Databases, backend: str) -> str:
    """A database of this session that no test here changes."""
    return _URLS.setdefault((id(databases), backend), databases.seeded(backend))


def test_which_values_are_refused() -> None:
    for value in ("\0", "a\ud800", ["", {"a": ["\udfff"]}], {"\0": 1}):
        assert has_forbidden_characters(value)
    for fine in ("", "é\U0001f600\ufffd", [1, None, {"a": True}], Path("x")):
        assert not has_forbidden_characters(fine)
