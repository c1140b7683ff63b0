"""How many SQL statements a document sends: the same for one object and for many."""

import asyncio
import json
import sqlite3
from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type
from sqlalchemy import Connection, event

from conftest import services
from trninv.database.postgresql import SNAPSHOT_QUERY
from trninv.graphql.api import Api
from trninv.graphql.document_request import Request
from trninv.graphql.graphql_schema import schema
from trninv.graphql.response_cache import ResponseCache
from trninv.graphql.statement_runner import StatementCounter, statement_counter
from trninv.inventory.state.observation_commits import TABLES_WRITTEN
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings

pytestmark = pytest.mark.slow_on_postgresql

WITHIN = 'filter: {cluster: {eq: "trn3-gen2"}}'
NESTED = {
    f"servers(first: $n, {WITHIN}) {{ nodes {{ %s }} }}": [
        "address vcpus hostMemory { bytes } model",
        "cluster { slug system }",
        "domain { address wiring model }",
        "rack { address rackUnits }",
        "nics { totalCount nodes { address bandwidth { bytesPerSecond } } }",
        "chips { totalCount nodes { address state } }",
        "chips { nodes { cores { totalCount nodes { address } } } }",
        "chips { nodes { cores { nodes { chip { server { domain { cluster { slug } } } } } } } }",
        "chips { nodes { links { totalCount nodes { bandwidth { bytesPerSecond } } } } }",
    ],
    f"chips(first: $n, {WITHIN}) {{ nodes {{ %s }} }}": [
        "tray memory { bytes } model { name compute { type teraflops } }",
        "model { facts { value source { title } others { source { title } } } }",
        "links { nodes { a { address } } }",
        "server { address rack { address } }",
        "lastChange { event } server { lastChange { event why } domain { lastChange { event } } }",
    ],
    f"links(first: $n, {WITHIN}) {{ nodes {{ %s }} }}": [
        "a { address }",
        "domain { address }",
        "facts { value source { title } }",
    ],
    f"switches(first: $n, {WITHIN}) {{ nodes {{ %s }} }}": ["links { totalCount }", "rack { address }"],
    f"racks(first: $n, {WITHIN}) {{ nodes {{ %s }} }}": ["servers { totalCount nodes { address } }"],
    "facts(first: $n) { nodes { %s } }": ["source { title }", "others { value }", "assumed"],
}
DOCUMENTS = [outer % inner for outer, inners in NESTED.items() for inner in inners]


def _lists() -> list[tuple[str, str]]:
    """Every list with pages in the schema: its type and name."""
    types = schema()._schema.type_map.values()
    return [
        (of.name, name)
        for of in types
        if isinstance(of, GraphQLObjectType)
        for name, field in of.fields.items()
        if "aggregates" in getattr(get_named_type(field.type), "fields", ()) and not of.name.endswith("Answer")
    ]


def _of_list(of: str, name: str) -> str:
    """A document that reads a list of each of several parents."""
    inner = f"{name}(first: $n) {{ totalCount nodes {{ __typename }} pageInfo {{ endCursor }} aggregates {{ count }} }}"
    if of == "Query":
        return inner
    roots = {"Cluster": "clusters", "NetworkNode": "networkNodes", "Switch": "switches"}
    root = roots.get(of, f"{of.lower()}s")
    return f"{root}(first: $n) {{ nodes {{ {inner} }} }}"


ALL = [*DOCUMENTS, *(_of_list(*each) for each in _lists())]


def _statements(fleet: BaseFleet, document: str, size: int, *, compiled: bool) -> list[str]:
    seen: list[str] = []

    def record(_c: Connection, _cursor: object, statement: str, *_rest: object) -> None:
        if statement not in ("BEGIN", SNAPSHOT_QUERY) and "alembic_version" not in statement:
            seen.append(statement)

    async def run() -> int:
        counter = StatementCounter()
        statement_counter.set(counter)
        service = services(fleet)["compiled" if compiled else "executed"]
        service._statement_runners[fleet]._is_checked = True
        service._responses = ResponseCache()
        answer = await service.run(Request(f"query ($n: Int!) {{ {document} }}", {"n": size}))
        assert answer.code is None, answer.body
        return counter.count

    event.listen(fleet.engine, "before_cursor_execute", record)
    try:
        direct = asyncio.run(run())
    finally:
        event.remove(fleet.engine, "before_cursor_execute", record)
    return seen + ["(compiled)"] * direct


@pytest.mark.parametrize("document", ALL)
def test_statements_do_not_grow_with_objects(fleet: BaseFleet, document: str) -> None:
    sent = {
        way: [_statements(fleet, document, size, compiled=way == "compiled") for size in (1, 4)]
        for way in ("compiled", "executed")
    }
    for runs in sent.values():
        assert len(runs[0]) == len(runs[1]) <= 2, "an address to resolve, and the statement: " + "\n\n".join(runs[-1])


@pytest.mark.parametrize("document", ALL)
def test_what_depends_on_observations_is_known(lite_fleet: BaseFleet, document: str) -> None:
    """SQLite says which tables a statement reads, whatever views it names."""
    api = Api(lite_fleet, Settings.load())
    prepared = api._prepare(Request(f"query ($n: Int!) {{ {document} }}", {"n": 1}), "admin", reads_only=True)
    assert prepared.plan.statement
    statement, parameters = prepared.plan.statement.statement_for(lite_fleet.engine.dialect, prepared.variables)
    read = set[str | None]()

    def authorize(action: int, table: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ:
            read.add(table)
        return sqlite3.SQLITE_OK

    with lite_fleet.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.set_authorizer(authorize)
        try:
            driver.execute(f"EXPLAIN {statement.sql}", dict.fromkeys(parameters))
        finally:
            driver.set_authorizer(None)
    assert statement.reads_observations >= bool(read & set(TABLES_WRITTEN)), read


REFERRED = "conflicts(first: $n) { nodes { selected { value } facts { value source { title } } } }"
QUESTION = (
    'bisection(scope: "trn1.32xlarge") { facts { value } cut(first: $n) { nodes { a { address } facts { value } } } }'
)


@pytest.mark.parametrize("document", [REFERRED, QUESTION])
def test_rows_that_objects_refer_to_are_read_together(fleet: BaseFleet, document: str) -> None:
    _, few, many = (len(_statements(fleet, document, size, compiled=True)) for size in (1, 1, 4))  # caches are filled
    assert few == many


def test_ids_cost_a_statement_a_kind(fleet: BaseFleet) -> None:
    rest = "chips(first: $n) { totalCount }"
    sent = [
        _statements(fleet, f"nodes(ids: {json.dumps(ids)}) {{ id }} {rest}", 1, compiled=False)
        for ids in ([], ["chip:1"], [f"chip:{at}" for at in range(1, 9)], ["chip:1", "chip:2", "rack:1", "rack:2"])
    ]
    none, *some = (len(each) for each in sent)
    assert [number - none for number in some] == [1, 1, 2]
