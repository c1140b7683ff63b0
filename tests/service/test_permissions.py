"""Which token may do what: every mutation and every route, as the schema and the service list them."""

from collections.abc import Iterator
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLObjectType,
    get_named_type,
    get_nullable_type,
    is_required_argument,
    is_required_input_field,
)
from httpx2 import Response
from sqlalchemy import text
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from conftest import BACKENDS, Databases, mostly_slow
from trninv.database.engine import temporary_engine, write_transaction
from trninv.database.tables import TABLES, TOKEN_SCOPES
from trninv.graphql.graphql_schema import schema
from trninv.inventory.access import bearer_tokens
from trninv.service.application import create_app
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

_SCHEMA = schema()._schema
_MUTATION: GraphQLObjectType = _SCHEMA.mutation_type or pytest.fail("the schema has no mutations")
_MAY_CHANGE = {"operate", "admin"}
_FIRST_SCOPES = {"/observations": "observe", "/sql": "sql", "/cypher": "sql"}
"""The scope that a route needs, where it is not read."""
_PUBLIC = {"/", "/healthz", "/readyz", "/openapi.json"}
"""Routes that need no token: they name nothing of the fleet."""
_OFF = {"/enroll"}
"""Routes that no setting has turned on."""
_SAMPLES = {"Address": '"nowhere/d0/s0/c0"', "Int": "1", "Float": "0.5", "Boolean": "false"}


def _literal(kind: GraphQLInputType) -> str:
    """A value of a type, as a document writes it; of an input object all that it requires."""
    bare = get_nullable_type(kind)
    if isinstance(bare, GraphQLList):
        return f"[{_literal(bare.of_type)}]"
    if isinstance(bare, GraphQLEnumType):
        return str(next(iter(bare.values)))
    if isinstance(bare, GraphQLInputObjectType):
        fields = (f"{name}: {_literal(one.type)}" for name, one in bare.fields.items() if is_required_input_field(one))
        return f"{{{', '.join(fields)}}}"
    return _SAMPLES.get(bare.name, '"x"')


def _document(name: str) -> str:
    """A mutation with what its arguments require."""
    field = _MUTATION.fields[name]
    required = (f"{key}: {_literal(one.type)}" for key, one in field.args.items() if is_required_argument(one))
    assert isinstance(get_named_type(field.type), GraphQLObjectType)
    return f"mutation {{ {name}({', '.join(required)}) {{ __typename }} }}"


@pytest.fixture(scope="module", params=BACKENDS)
def guarded(request: pytest.FixtureRequest, databases: Databases) -> Iterator[tuple[TestClient, str, dict[str, str]]]:
    """A service that asks for tokens, its database and a token of every scope."""
    url = databases.seeded(request.param)
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = {scope: bearer_tokens.create_token(connection, scope, scope, None) for scope in TOKEN_SCOPES}
    made = create_app(url, Settings(database_url=url, log="off", auth="tokens", allowed_hosts=("127.0.0.1",)))
    with TestClient(made, base_url="http://127.0.0.1") as client:
        yield client, url, tokens
    databases.drop(url)


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _code(answer: Response) -> str:
    (error,) = answer.json()["errors"]
    return str(error["extensions"]["code"])


def _rows(url: str) -> dict[str, Any]:
    """Of each table but one: the service stores from time to time that tokens were used."""
    with temporary_engine(url) as engine, engine.connect() as connection:
        return {
            name: connection.scalar(text(f'SELECT count(*) FROM "{name}"')) for name in set(TABLES) - {"token_event"}
        }


def test_the_schema_has_mutations() -> None:
    assert {"setState", "bind", "startSweep", "allocate", "cordon"} <= set(_MUTATION.fields)


@pytest.mark.parametrize(
    "scope", mostly_slow(sorted(TOKEN_SCOPES, key=["read", "operate"].__contains__, reverse=True), 2)
)
@pytest.mark.parametrize("name", list(_MUTATION.fields))
def test_a_mutation_needs_the_scope_operate(
    guarded: tuple[TestClient, str, dict[str, str]], name: str, scope: str
) -> None:
    client, url, tokens = guarded
    before = _rows(url)
    body = {"query": _document(name)}
    hidden = {"query": f"query A {{ __typename }} {body['query'].replace('mutation', 'mutation B')}"}
    for one in (body, {**hidden, "operationName": "B"}, body):  # once more: now the document is remembered
        answer = client.post("/graphql", json=one, headers=_bearer(tokens[scope]))
        if scope in _MAY_CHANGE:
            assert "FORBIDDEN" not in answer.text, answer.text
            assert answer.json().get("data") is not None or _code(answer) != "BAD_DOCUMENT", answer.text
        else:
            assert (answer.status_code, _code(answer)) == (403, "FORBIDDEN"), answer.text
    after = _rows(url)
    if scope in _MAY_CHANGE:  # startSweep and detectDrift need no reason, so they were run
        before |= {name: after[name] for name in ("sweep", "comparison")}
    assert after == before


@pytest.mark.parametrize("scope", [None, *TOKEN_SCOPES])
def test_every_route_needs_its_scope(guarded: tuple[TestClient, str, dict[str, str]], scope: str | None) -> None:
    client, _, tokens = guarded
    headers = {} if scope is None else _bearer(tokens[scope])
    assert isinstance(client.app, Starlette)
    for route in (each for each in client.app.routes if isinstance(each, Route)):
        needed = _FIRST_SCOPES.get(route.path, "read")
        path = route.path.replace("{cluster}", "nowhere").replace("{name}", "nothing.csv")
        for method in (route.methods or set()) - {"OPTIONS"}:
            if path == "/changes" and method == "GET":
                path = "/changes?scope=nowhere"
            answer = client.request(method, path, headers=headers)
            if route.path in _OFF:
                wanted = {404}
            elif route.path in _PUBLIC:
                wanted = {200}
            elif scope is None:
                wanted = {401}
            elif not bearer_tokens.Principal("", scope).allows(needed):
                wanted = {403}
            else:
                wanted = {200, 400, 404, 406}
            assert answer.status_code in wanted, (method, path, scope, answer.text[:200])
