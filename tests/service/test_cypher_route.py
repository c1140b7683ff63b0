"""POST /cypher answers in each format, as of a state, within limits, and says what it refuses."""

import io
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from conftest import Databases, wear
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.access import bearer_tokens
from trninv.service.application import create_app
from trninv.settings import Settings

QUERY = "MATCH (c:Chip {address: $a}) RETURN c.state AS state, c.factor AS factor, [c.cores] AS cores"
A = {"a": "u-trn2x64/d0/s1/c5"}


@pytest.fixture(scope="module")
def client(databases: Databases) -> Iterator[TestClient]:
    url = databases.seeded("sqlite")
    wear(url)
    settings = Settings(database_url=url, log="off", answer_bytes=5_000)
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1", raise_server_exceptions=False) as opened:
        yield opened
    databases.drop(url)


def post(client: TestClient, **body: Any) -> Any:
    return client.post("/cypher", json=body)


def test_each_format_has_the_rows_and_the_revision(client: TestClient) -> None:
    answer = post(client, cypher=QUERY, parameters=A)
    assert answer.json() == {
        "columns": ["state", "factor", "cores"],
        "rows": [{"state": "degraded", "factor": 0.5, "cores": [8]}],
        "truncated": False,
    }
    assert "; revision=" in answer.headers["X-As-Of"]
    assert post(client, cypher=QUERY, parameters=A, format="csv").text == "state,factor,cores\ndegraded,0.5,[8]"
    assert post(client, cypher=QUERY, parameters=A, format="ndjson").json()["cores"] == [8]
    parquet = pyarrow.parquet.read_table(io.BytesIO(post(client, cypher=QUERY, parameters=A, format="parquet").content))
    assert parquet.to_pylist() == [{"state": "degraded", "factor": 0.5, "cores": "[8]"}]


def test_an_earlier_time_and_a_large_answer(client: TestClient) -> None:
    earlier = post(client, cypher=QUERY, parameters=A, at="0")
    assert earlier.json()["rows"][0]["state"] == "up"
    assert client.post("/cypher?at=0", json={"cypher": QUERY, "parameters": A}).json()["rows"][0]["state"] == "up"
    large = post(client, cypher="MATCH (c:Chip) RETURN c.address")
    assert large.headers["X-Truncated"] == "true"
    assert 10 < len(large.json()["rows"]) < 305


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({}, "BAD_REQUEST", "cypher is missing"),
        ({"cypher": 1}, "BAD_REQUEST", "cypher is missing"),
        ({"cypher": "RETURN 1", "parameters": [1]}, "BAD_REQUEST", "not an object"),
        ({"cypher": "RETURN 1", "format": "xml"}, "BAD_REQUEST", "'xml' is not a format"),
        ({"cypher": "RETURN 1", "at": 1}, "BAD_REQUEST", "at is not text"),
        ({"cypher": "RETURN 1", "at": "2126-01-01T00:00:00Z"}, "BAD_TIME", "future"),
        ({"cypher": "MATCH (c:Chip) DELETE c"}, "BAD_CYPHER", "DELETE is refused"),
        ({"cypher": QUERY}, "BAD_CYPHER", "$a has no value: add --set a=VALUE, or parameters over HTTP"),
        ({"cypher": "MATCH (c:Nothing) RETURN c"}, "BAD_CYPHER", "Table Nothing does not exist"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, body: dict[str, Any], code: str, message: str) -> None:
    answer = client.post("/cypher", json=body)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["extensions"]["code"]) == (400, code)
    assert message in error["message"]


def test_the_scope_sql_is_needed(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        tokens = {scope: bearer_tokens.create_token(connection, scope, scope, None) for scope in ("read", "sql")}
    settings = Settings(database_url=url, log="off", auth="tokens")
    with TestClient(create_app(url, settings), base_url="http://127.0.0.1") as client:
        statuses = {
            scope: client.post(
                "/cypher", json={"cypher": "LOAD"}, headers={"Authorization": f"Bearer {token}"}
            ).status_code
            for scope, token in tokens.items()
        }
        assert statuses == {"read": 403, "sql": 400}
        assert client.post("/cypher", json={"cypher": "RETURN 1"}).status_code == 401
    databases.drop(url)
