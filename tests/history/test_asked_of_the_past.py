"""A time, wherever something is asked: the command line, SQL, reports, GraphQL, HTTP."""

import json
from pathlib import Path

import pytest
from queries import run_query
from sqlalchemy import text
from starlette.testclient import TestClient

import trninv
from conftest import Databases, Run, both_ways
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.reports.query_compiler import compile_query
from trninv.service.application import create_app

U = "u-trn2x64/d0"
"""Events 1 to 33: server 1 goes down; 34: a link of server 0; 35 to 67: the server is back."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lived(request: pytest.FixtureRequest, databases: Databases) -> str:
    """URL of a database with a history, which no test changes."""
    url = databases.seeded(request.param)
    with temporary_engine(url) as engine:
        for address, state in ((f"{U}/s1", "down"), (f"{U}/s0/c0--{U}/s0/c1", "down"), (f"{U}/s1", "up")):
            with write_transaction(engine) as connection:
                set_state(connection, [address], Condition.from_user(state), why="a test", who="tester")
    return url


DOWN = {"0": 0, "1": 16, "34": 16, "35": 0, "67": 0}
"""Chips that are down after an event."""


@pytest.mark.parametrize("at", DOWN)
def test_sql_and_views_are_as_of_a_time(run: Run, lived: str, at: str) -> None:
    count = "SELECT count(*) AS chips FROM v_chip WHERE state <> 'up' AND cluster = 'u-trn2x64'"
    status, out, _ = run("sql", count, "--at", at, "--format", "json", database=lived)
    assert (status, json.loads(out)["rows"]) == (0, [{"chips": DOWN[at]}])
    both = "SELECT (SELECT count(*) FROM node WHERE state <> 'up'), (SELECT count(*) FROM v_event)"
    with trninv.open(lived) as fleet:
        past = fleet.at(at).engine
        (row,) = run_query(past, compile_query(both, past.dialect.name), seconds=60).rows
        assert row == (2 * DOWN[at], {"0": 0, "1": 33, "34": 34}.get(at, 67))
        assert run_query(fleet.engine, compile_query(both, past.dialect.name), seconds=60).rows == [(0, 67)]


@pytest.mark.slow
def test_an_export_is_as_of_a_time(run: Run, lived: str, tmp_path: Path) -> None:
    assert run("export", f"{tmp_path}/then", "--format", "ndjson", "--at", "1", database=lived)[0] == 0
    servers = map(json.loads, (tmp_path / "then" / "v_server.ndjson").read_text().splitlines())
    assert [row["address"] for row in servers if row["state"] == "down"] == [f"{U}/s1"]


@pytest.mark.slow_on_postgresql
def test_reports_topologies_and_pictures_are_as_of_a_time(run: Run, lived: str) -> None:
    _, out, _ = run("report", "unhealthy", "--at", "1", "--format", "json", database=lived)
    assert len(json.loads(out)["rows"]) == 33
    _, out, _ = run("report", "unhealthy", "--format", "json", database=lived)
    assert len(json.loads(out)["rows"]) == 1
    then, now = (run("draw", U, "-o", "-", *at, database=lived)[1] for at in (["--at", "1"], []))
    assert then != now
    assert "u-trn2x64/d0/s1/c5" in run("show", f"{U}/s1", "--at", "1", "--format", "json", database=lived)[1]
    listed = [run("topology", "u-trn2x64", "--as", "slurm-nodes", *at, database=lived)[1] for at in (["--at", "1"], [])]
    assert listed[0] != listed[1]


@pytest.mark.slow_on_postgresql
def test_questions_are_as_of_a_time(run: Run, lived: str) -> None:
    for at, chips in (("1", 48), ("35", 64)):
        _, out, _ = run("pool", f"{U}/s0/c0", "--at", at, "--format", "json", database=lived)
        assert json.loads(out)["chips"] == chips
    _, out, _ = run("pool", f"{U}/s0/c0", "--at", "1", "--down", f"{U}/s2/c0", "--format", "json", database=lived)
    assert (json.loads(out)["chips"], json.loads(out)["baseline"]["chips"]) == (47, 48)
    assert run("pool", f"{U}/s0/c0", "--at", "1999-01-01", database=lived)[0] == 2
    document = f'{{ memoryPool(scope: "{U}/s0/c0") {{ chips }} }}'
    _, out, _ = run("query", document, "--at", "1", database=lived)
    assert json.loads(out)["data"] == {"memoryPool": {"chips": 48}}


LISTED = 'chips(filter: {state: {eq: DOWN}, cluster: {eq: "u-trn2x64"}}) { totalCount }'


@pytest.mark.slow_on_postgresql
def test_graphql_has_moments_side_by_side(lived: str) -> None:
    with trninv.open(lived) as fleet:
        ask = both_ways(fleet)
        found = ask(
            "query ($then: String!) {"
            f' then: asOf(time: $then) {{ {LISTED} memoryPool(scope: "{U}/s0/c0") {{ chips }} ...more }}'
            f' now: {LISTED} before: asOf(time: "0") {{ {LISTED} }}'
            "} fragment more on Query { servers(first: 1, filter: {state: {eq: DOWN}}) { nodes { address state } } }",
            then="34",
        )
        assert found["errors"] == []
        assert found["data"] == {
            "then": {
                "chips": {"totalCount": 16},
                "memoryPool": {"chips": 48},
                "servers": {"nodes": [{"address": f"{U}/s1", "state": "DOWN"}]},
            },
            "now": {"totalCount": 0},
            "before": {"chips": {"totalCount": 0}},
        }


def test_graphql_says_which_moment_is_wrong_and_answers_the_others(lived: str) -> None:
    with trninv.open(lived) as fleet:
        found = both_ways(fleet)(
            f'{{ a: asOf(time: "2999-01-01T00:00Z") {{ {LISTED} }} b: asOf(time: "1") {{ {LISTED} }} }}'
        )
        assert found["data"] == {"a": None, "b": {"chips": {"totalCount": 16}}}
        (error,) = found["errors"]
        assert (error["path"], error["extensions"]["code"]) == (["a"], "BAD_TIME")
        nested = both_ways(fleet)('{ asOf(time: "1") { asOf(time: "0") { clusters { totalCount } } } }')
        assert nested["errors"][0]["path"] == ["asOf", "asOf"]
        lost = both_ways(fleet)('{ asOf(time: "1") { path(from: "nowhere/d0", to: "nowhere/d1") { reachable } } }')
        assert lost["errors"][0]["path"] == ["asOf", "path"]


@pytest.mark.slow_on_postgresql
def test_http_takes_a_time(lived: str) -> None:
    with TestClient(create_app(lived), base_url="http://127.0.0.1") as client:
        document = f"{{ {LISTED} }}"
        for at, chips in (("1", 16), ("35", 0), ("0", 0)):
            for answer in (
                client.post("/graphql", json={"query": document, "at": at}),
                client.post("/graphql", params={"at": at}, json={"query": document}),
                client.get("/graphql", params={"query": document, "at": at}),
            ):
                assert answer.json()["data"] == {"chips": {"totalCount": chips}}
        tags = {client.get("/graphql", params={"query": document, **at}).headers["etag"] for at in ({}, {"at": "1"})}
        assert len(tags) == 2
        packed = [client.get("/chips/u-trn2x64", params=at) for at in ({}, {"at": "1"}, {"at": "0"})]
        assert packed[0].content == packed[2].content != packed[1].content
        assert len({each.headers["etag"] for each in packed}) == 3
        assert packed[1].headers["X-As-Of"] != packed[2].headers["X-As-Of"]
        assert len(client.get("/reports/unhealthy.json", params={"at": "1"}).json()["rows"]) == 33
        exported = client.get("/export/v_server.ndjson", params={"at": "1"}).text
        assert [json.loads(line)["address"] for line in exported.splitlines() if '"down"' in line] == [f"{U}/s1"]
        refused = client.get("/chips/u-trn2x64", params={"at": "2999-01-01T00:00:00Z"})
        assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (400, "BAD_TIME")
        change = 'mutation { setState(input: {addresses: [], state: UP, why: "a"}) { clientMutationId } }'
        told = client.post("/graphql", json={"query": change, "at": "1"}).json()["errors"][0]["message"]
        assert told == "the past cannot be changed; send the mutation without at"


def test_sql_over_http_takes_a_time(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with temporary_engine(url) as engine, engine.begin() as connection:
        connection.execute(text("UPDATE node SET state = 'down' WHERE id = 1"))
    with TestClient(create_app(url), base_url="http://127.0.0.1") as client:
        asked = {"sql": "SELECT count(*) AS down FROM node WHERE state = 'down'"}
        answers = client.post("/sql", json=asked), client.post("/sql", json=asked | {"at": "0"})
        assert [answer.json()["rows"] for answer in answers] == [[{"down": 1}], [{"down": 0}]]
        assert client.post("/sql", json=asked | {"at": 0}).status_code == 400
