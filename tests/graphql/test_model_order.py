"""Lists ordered by what their rows' models have read few rows, and are the lists that a sort of all rows gives."""

import json
from typing import Any

import pytest
from plans import plan_of, run_compiled

from trninv.graphql.compiler import connection_json
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

ORDERS = {
    "chips": ("{memory: ASC}", "{memory: DESC}", "{generation: DESC}, {memory: ASC}", "{memory: DESC}, {ordinal: ASC}"),
    "servers": ("{hostMemory: DESC}", "{vcpus: ASC}, {hostMemory: DESC}"),
}
PAGES = (
    "first: 0",
    "first: 1",
    "first: 7",
    "last: 7",
    "first: 150",
    "last: 1000",
    "first: 9, filter: {state: {ne: UP}}",
)


@pytest.mark.parametrize(
    ("things", "order"), [(things, order) for things, orders in ORDERS.items() for order in orders]
)
def test_pages_are_those_of_a_sort(worn: BaseFleet, monkeypatch: pytest.MonkeyPatch, things: str, order: str) -> None:
    for page in PAGES:
        selected = "nodes { address } pageInfo { endCursor hasNextPage }"
        document = f"{{ {things}({page}, orderBy: [{order}]) {{ {selected} }} }}"
        with monkeypatch.context() as patched:
            data, _, _ = run_compiled(worn, patched, document)
        with monkeypatch.context() as patched:
            patched.setattr(connection_json, "first_rows", lambda *_: None)
            assert data == run_compiled(worn, patched, document)[0], page


@pytest.mark.parametrize("page", ["first: 5", "last: 5"])
@pytest.mark.parametrize(("things", "order"), [("chips", "memory"), ("servers", "hostMemory")])
def test_pages_are_found_by_an_index(
    fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, things: str, order: str, page: str
) -> None:
    table = things.removesuffix("s")
    document = f"{{ {things}({page}, orderBy: [{{{order}: DESC}}]) {{ nodes {{ address }} }} }}"
    plan = plan_of(fleet, monkeypatch, document)
    assert f"ix_{table}_{table}_model_id_id" in plan
    assert {"sqlite": "SCAN t1_0", "postgresql": f"Seq Scan on {table} "}[fleet.engine.dialect.name] not in plan


def test_pages_that_continue_at_a_cursor(fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(page: str) -> Any:
        selected = "nodes { address } pageInfo { endCursor }"
        with monkeypatch.context() as patched:
            document = f"{{ chips({page}, orderBy: [{{memory: DESC}}]) {{ {selected} }} }}"
            return run_compiled(fleet, patched, document)[0]["chips"]

    first = read("first: 60")
    rest = read(f"first: 180, after: {json.dumps(first['pageInfo']['endCursor'])}")
    assert first["nodes"] + rest["nodes"] == read("first: 240")["nodes"]
