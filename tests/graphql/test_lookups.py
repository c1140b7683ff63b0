"""Finding things: by ids, by parts of their addresses, between two places."""

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import text

import trninv
from conftest import Ask, Databases, both_ways, services
from trninv.database.engine import read_transaction
from trninv.graphql.document_request import Request
from trninv.routing.fleet import BaseFleet

U = "u-trn2x64/d0"
PAGE = "nodes { address }"


def test_several_ids_in_their_order(ask: Ask) -> None:
    ids = ["chip:1", "server:1", "chip:999999", "link:1", "chip:1", "cluster:1"]
    found = ask("query ($i: [ID!]!) { nodes(ids: $i) { __typename id } }", i=ids)["data"]["nodes"]
    assert [each and each["id"] for each in found] == ["chip:1", "server:1", None, "link:1", "chip:1", "cluster:1"]
    assert [each["__typename"] for each in found if each] == ["Chip", "Server", "Link", "Chip", "Cluster"]
    assert ask("{ nodes(ids: []) { id } }")["data"] == {"nodes": []}


_QUICK = ("chips", "links")
"""Kinds that stand for all in the quick tests on PostgreSQL."""

KINDS = ["clusters", "domains", "racks", "servers", "chips", "cores", "switches", "nics", "links"]


def _quick(*values: str) -> Any:
    return pytest.param(*values, marks=pytest.mark.quick_on_postgresql)


@pytest.fixture(scope="module")
def addresses(fleet: BaseFleet) -> dict[str, list[str]]:
    """Every address of each kind, in the order of the ids."""
    return {kind: _all(both_ways(fleet), kind) for kind in KINDS}


def _all(ask: Ask, kind: str) -> list[str]:
    found: list[str] = []
    after = None
    document = (
        f"query ($a: String) {{ {kind}(first: 1000, after: $a) {{ {PAGE} pageInfo {{ hasNextPage endCursor }} }} }}"
    )
    while True:
        page = ask(document, a=after)["data"][kind]
        found += [node["address"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return found


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize("kind", [*(k for k in KINDS if k not in _QUICK), *(_quick(k) for k in _QUICK)])
def test_by_address(ask: Ask, addresses: dict[str, list[str]], kind: str) -> None:
    every = addresses[kind]
    one, other = every[len(every) // 2], every[-1]
    assert _found(ask, kind, eq=one) == [one]
    assert _found(ask, kind, **{"in": [other, one]}) == sorted({one, other}, key=every.index)
    for prefix in {one, one[:-1], one.rpartition("/")[0] or one[:3], f"{one.split('--')[0]}--", one[:4].upper()}:
        wanted = [each for each in every if each.startswith(prefix.lower())]
        assert _found(ask, kind, startsWith=prefix) == wanted[:1000]
    part = one[2:]
    assert _found(ask, kind, contains=part) == [each for each in every if part in each][:1000]
    assert _found(ask, kind, contains=part, startsWith=one[:3]) == _found(ask, kind, contains=part)


def _type(kind: str) -> str:
    return "Switch" if kind == "switches" else kind[:-1].capitalize()


def _found(ask: Ask, kind: str, **tests: Any) -> list[str]:
    type_ = _type(kind)
    document = f"query ($f: {type_}Filter) {{ {kind}(first: 1000, filter: $f) {{ {PAGE} }} }}"
    result = ask(document, f={"address": tests})
    assert result["errors"] == []
    return [each["address"] for each in result["data"][kind]["nodes"]]


@pytest.mark.parametrize(
    ("kind", "prefix", "level"),
    [
        ("chips", f"{U}/s1/c", "server"),
        ("chips", f"{U}/s1", "domain"),
        ("chips", "u-trn2x64/d", "cluster"),
        ("cores", f"{U}/s1/c3/n", "server"),
        ("switches", "trn3-gen1/d0/s", "domain"),
        ("links", f"{U}/s0/c0--u", "domain"),
        ("racks", "trn3-gen2/r", "cluster"),
    ],
)
def test_a_prefix_is_sought_in_the_place_that_it_names(
    lite_fleet: BaseFleet, kind: str, prefix: str, level: str
) -> None:
    """The statement narrows by the place before it compares addresses."""
    type_ = _type(kind)
    service = services(lite_fleet)["compiled"]
    document = f"query ($f: {type_}Filter) {{ {kind}(filter: $f) {{ totalCount }} }}"
    variables = {"f": {"address": {"startsWith": prefix}}}
    operation = service.documents.operation(document, None)
    coerced = operation.variables(variables)
    statement = operation.plan_for(coerced).statement
    assert statement
    _, parameters = statement.statement_for(lite_fleet.engine.dialect, coerced)
    assert [value.level for value in parameters.values() if hasattr(value, "level")] == [level]


BETWEEN = """query ($a: Address!, $b: Address!) {
    links(first: 1000, between: {a: $a, b: $b}) { totalCount nodes { address } } }"""


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize(
    ("a", "b"),
    [
        _quick(f"{U}/s0", f"{U}/s1"),
        (f"{U}/s0", f"{U}/s2"),
        (f"{U}/s0", f"{U}/s0"),
        (f"{U}/s0/c0", f"{U}/s0"),
        (f"{U}/s0/c0", f"{U}/s0/c1"),
        (f"{U}/s0/c0", f"{U}/s0/c10"),
        ("u-trn2x64/r0", "u-trn2x64/r1"),
        ("trn3-gen1/d0/sw1", "trn3-gen1"),
        ("trn1.32xlarge/d0/s0/efa1", "trn1.32xlarge/d0"),
        ("u-trn2x64", "trn3-gen1"),
    ],
)
def test_links_between_two_places(ask: Ask, addresses: dict[str, list[str]], a: str, b: str) -> None:
    racks = ask("{ servers(first: 1000) { nodes { address rack { address } } } }")["data"]["servers"]["nodes"]
    rack_of = {server["address"]: server["rack"]["address"] for server in racks}

    def at(end: str, place: str) -> bool:
        server = "/".join(end.split("/")[:3])
        return rack_of.get(server) == place or end == place or end.startswith(f"{place}/")

    wanted = []
    for link in addresses["links"]:
        one, other = link.split("--")
        if (at(one, a) and at(other, b)) or (at(one, b) and at(other, a)):
            wanted.append(link)
    found = ask(BETWEEN, a=a, b=b)["data"]["links"]
    assert found == {"totalCount": len(wanted), "nodes": [{"address": each} for each in wanted[:1000]]}
    assert found == ask(BETWEEN, a=b, b=a)["data"]["links"]


def test_links_between_further_narrowed(ask: Ask) -> None:
    document = """query ($a: Address!, $b: Address!) { links(between: {a: $a, b: $b},
        filter: {scope: {eq: DOMAIN}}, orderBy: [{nominal: DESC}]) {
            totalCount aggregates(by: [STATE]) { state count } } }"""
    found = ask(document, a=f"{U}/s0", b=f"{U}/s1")["data"]["links"]
    assert found["totalCount"] == 16
    assert found["aggregates"] == [{"state": "UP", "count": 16}]


def test_without_tokens_everybody_is_admin(ask: Ask) -> None:
    everything = ["READ", "SQL", "OPERATE", "OBSERVE", "ADMIN"]
    assert ask("{ viewer { name scope scopes } }")["data"] == {
        "viewer": {"name": None, "scope": "ADMIN", "scopes": everything}
    }


def test_a_mutation_without_tokens_takes_who(databases: Databases) -> None:
    document = """mutation ($i: SetStateInput!) { setState(input: $i) { changes { after factor target {
        ... on Server { address state factor chips(first: 1) { nodes { state } } } } } } }"""
    given = {"addresses": [f"{U}/s0"], "state": "MAINTENANCE", "why": "fans", "who": "anna"}
    with trninv.open(databases.seeded("sqlite")) as fleet:
        answer = asyncio.run(services(fleet)["compiled"].run(Request(document, {"i": given})))
        (change,) = json.loads(answer.body)["data"]["setState"]["changes"]
        assert change["target"]["state"] == "MAINTENANCE"
        assert change["target"]["chips"]["nodes"] == [{"state": "MAINTENANCE"}]
        with read_transaction(fleet.engine) as connection:
            assert connection.execute(text("SELECT DISTINCT who FROM state_event")).scalar_one() == "anna"


def test_a_state_is_not_set_over_a_change_that_the_client_has_not_seen(databases: Databases) -> None:
    document = "mutation ($i: SetStateInput!) { setState(input: $i) { changes { before factorBefore after factor } } }"
    half = {"addresses": [f"{U}/s0/c0"], "state": "DEGRADED", "factor": 0.5, "why": "half", "who": "anna"}
    down = {"addresses": [f"{U}/s0/c0"], "state": "DOWN", "why": "all", "who": "ben", "unchangedSince": 0}
    with trninv.open(databases.seeded("sqlite")) as fleet:

        def said(given: dict[str, object]) -> dict[str, Any]:
            answer: dict[str, Any] = json.loads(
                asyncio.run(services(fleet)["compiled"].run(Request(document, {"i": given}))).body
            )
            return answer

        assert said(half)["data"]["setState"]["changes"][0]["before"] == "UP"
        (refused,) = said(down)["errors"]
        assert refused["extensions"]["code"] == "CONFLICT"
        assert "anna: half" in refused["message"]
        for unknown, message in (
            (-1, "unchanged_since -1 is out of range; use 0 or more"),
            (2, "unchanged since event 2: there is no such event, the last one is 1"),
        ):
            (refused,) = said({**down, "unchangedSince": unknown})["errors"]
            assert refused["message"] == message
        (change,) = said({**down, "unchangedSince": 1})["data"]["setState"]["changes"]
        assert change == {"before": "DEGRADED", "factorBefore": 0.5, "after": "DOWN", "factor": None}
