"""What stands in a slot is shown beside it: in GraphQL, Python, SQL, commands and other programs' files."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text as sql

import trninv
from conftest import Databases, Run, both_ways, services
from trninv.cli.output import encode
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.errors import UsageError
from trninv.graphql.document_request import Request
from trninv.inventory.address.hostnames import ServerAddress, hostnames
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.state.bindings import ProposedBinding, bind
from trninv.routing.evidence import servers_in_answer
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql

S = "u-trn2x64/d0/s{}"
BINDINGS = """query ($scope: Address, $ended: Boolean) { bindings(scope: $scope, includeEnded: $ended) {
    totalCount nodes {
    slot instance host method confidence who endedAt ending endedBy } } }"""
BIND = """mutation ($i: BindInput!) { bind(input: $i) { clientMutationId created { slot instance host who method }
    ended { slot instance ending } } }"""
UNBIND = "mutation ($i: UnbindInput!) { unbind(input: $i) { clientMutationId ended { instance ending endedBy } } }"


def fill(url: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for server, (instance, host) in enumerate([("i-0a", "n0.ec2.internal"), ("i-0b", None), (None, "n2")]):
            place = resolve_place(connection, S.format(server))
            standing = ProposedBinding(place.id, place.address, instance, host, "host-name", "likely", 'host "n0"')
            bind(connection, [standing], who="anna")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def bound(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    url = databases.seeded(request.param)
    fill(url)
    with trninv.open(url) as fleet:
        yield fleet


def asked(fleet: BaseFleet, document: str, **variables: Any) -> Any:
    answer = asyncio.run(services(fleet)["compiled"].run(Request(document, variables)))
    return json.loads(answer.body)


def test_servers_have_their_instance_and_host(bound: BaseFleet) -> None:
    found = both_ways(bound)('{ servers(filter: {domain: {eq: "@i-0a/../d0"}}) { nodes { instance } } }')
    assert found["errors"][0]["extensions"]["code"] == "BAD_ADDRESS"
    document = """{ servers(filter: {domain: {eq: "u-trn2x64/d0"}}) { nodes { address instance host } }
        one: servers(filter: {instance: {eq: "i-0b"}}) { nodes { address } }
        free: servers(filter: {instance: {eq: null}, host: {eq: null}, rack: {eq: "u-trn2x64/r1"}}) { totalCount } }"""
    found = both_ways(bound)(document)["data"]
    assert [(each["instance"], each["host"]) for each in found["servers"]["nodes"]] == [
        ("i-0a", "n0.ec2.internal"),
        ("i-0b", None),
        (None, "n2"),
        (None, None),
    ]
    assert found["one"]["nodes"] == [{"address": S.format(1)}]
    assert found["free"]["totalCount"] == 1


def test_answers_say_what_stands_where_they_lead(bound: BaseFleet) -> None:
    of = "instances { server instance host }"
    document = f"""{{ path(from: "@n0/c0", to: "{S.format(2)}/c0") {{ {of} }}
        within: path(from: "@n0/c0", to: "@n0/c1") {{ {of} }}
        bandwidth(from: "{S.format(1)}", to: "{S.format(2)}") {{ {of} }}
        nobody: bisection(scope: "trn1.2xlarge") {{ {of} }} {{down}} }}"""
    down = f'whatIf(down: ["@n2"]) {{ memoryPool(scope: "@i-0b/c0") {{ {of} baseline {{ {of} }} }} }}'
    one, two, three = (
        {"server": S.format(server), "instance": instance, "host": host}
        for server, (instance, host) in enumerate([("i-0a", "n0.ec2.internal"), ("i-0b", None), (None, "n2")])
    )
    found = both_ways(bound)(document.replace("{down}", down))["data"]
    assert found["path"]["instances"] == [one, two, three]
    assert found["within"]["instances"] == [one]
    assert found["bandwidth"]["instances"] == [two, three]
    assert found["nobody"]["instances"] == []
    supposed = found["whatIf"]["memoryPool"]
    assert (supposed["instances"], supposed["baseline"]["instances"]) == ([one, two], [one, two, three])


def test_servers_of_an_answer_are_those_that_its_json_names(bound: BaseFleet) -> None:
    answers = (
        bound.path(f"{S.format(0)}/c0", f"{S.format(2)}/c0"),
        bound.memory_pool(f"{S.format(1)}/c0"),
        bound.bisection("u-trn2x64"),
        bound.cut_tree(S.format(3)),
        bound.memory_placement("trn1.2xlarge", "1 GiB"),
    )
    for answer in answers:
        written = json.dumps({name: of for name, of in encode(answer).items() if name not in ("facts", "baseline")})
        named = servers_in_answer(answer, 100)
        assert sorted(named) == sorted(set(re.findall(r"[\w.-]+/d\d+/s\d+", written.replace("--", " "))))
        assert servers_in_answer(answer, 1) == named[:1]


def test_names_are_addresses_in_documents(bound: BaseFleet) -> None:
    document = """query ($a: Address!) { resolve(address: $a) { address ... on Chip { ordinal server { host } } }
        link: resolve(address: "@n2/c5--@n2/c6") { address }
        path(from: $a, to: "@i-0b/c5") { source target paths { hops } }
        chips(first: 1, filter: {server: {eq: "@n2"}}) { totalCount nodes { server { host } } }
        down: whatIf(down: ["@n2"]) { path(from: "@n0/c0", to: "@n2/c0") { reachable } } }"""
    found = both_ways(bound)(document, a="@n0/c5")["data"]
    assert found["resolve"] == {"address": f"{S.format(0)}/c5", "ordinal": 5, "server": {"host": "n0.ec2.internal"}}
    assert found["link"]["address"] == f"{S.format(2)}/c5--{S.format(2)}/c6"
    assert (found["path"]["source"], found["path"]["paths"][0]["hops"]) == (f"{S.format(0)}/c5", 1)
    assert found["chips"] == {"totalCount": 16, "nodes": [{"server": {"host": "n2"}}]}
    assert found["down"]["path"]["reachable"] is False
    wrong = both_ways(bound)('{ resolve(address: "@n7") { address } }')["errors"][0]
    assert wrong["extensions"]["code"] == "UNKNOWN_ADDRESS"
    hostile = both_ways(bound)('{ resolve(address: "@a[1-9]") { address } }')["errors"][0]
    assert hostile["extensions"]["code"] == "BAD_ADDRESS"


def test_bindings_are_listed(bound: BaseFleet) -> None:
    found = both_ways(bound)(BINDINGS, scope="u-trn2x64/d0")["data"]["bindings"]
    assert found["totalCount"] == 3
    assert found["nodes"][0] == {
        "slot": S.format(0),
        "instance": "i-0a",
        "host": "n0.ec2.internal",
        "method": "HOST_NAME",
        "confidence": "LIKELY",
        "who": "anna",
        "endedAt": None,
        "ending": None,
        "endedBy": None,
    }
    page = """{ bindings(first: 2) { pageInfo { endCursor hasNextPage } } }"""
    info = both_ways(bound)(page)["data"]["bindings"]["pageInfo"]
    after = "query ($after: String) { bindings(after: $after) { nodes { host } } }"
    assert both_ways(bound)(after, after=info["endCursor"])["data"]["bindings"]["nodes"] == [{"host": "n2"}]
    wrong = both_ways(bound)('{ bindings(scope: "u-trn2x64/d0/s0/c0") { totalCount } }')["errors"][0]
    assert wrong["extensions"]["code"] == "WRONG_LEVEL"


def test_views_have_them(bound: BaseFleet) -> None:
    with read_transaction(bound.engine) as connection:
        servers = connection.execute(
            sql("SELECT instance, host FROM v_server WHERE domain = 'u-trn2x64/d0' ORDER BY ordinal")
        ).all()
        bindings = connection.execute(sql("SELECT address, cluster, method FROM v_binding ORDER BY address")).all()
        assert connection.execute(sql("SELECT count(*) FROM v_drift")).scalar_one() == 0
    assert list(map(tuple, servers)) == [("i-0a", "n0.ec2.internal"), ("i-0b", None), (None, "n2"), (None, None)]
    assert [tuple(each) for each in bindings] == [(S.format(n), "u-trn2x64", "host-name") for n in range(3)]


def test_python(databases: Databases) -> None:
    url = databases.seeded("sqlite")
    with trninv.open(url) as fleet:
        (made,) = fleet.bind(S.format(0), "i-0a", who="anna").created
        assert fleet.bindings() == fleet.bindings("u-trn2x64/d0") == [made]
        assert fleet.path("@i-0a/c0", "@i-0a/c1").source == f"{S.format(0)}/c0"
        assert fleet.unbind("@i-0a", who="bert").ending == "undone"
        assert fleet.bindings() == []
        assert [each.ended_by for each in fleet.bindings(include_ended=True)] == ["bert"]


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_mutations(databases: Databases, backend: str) -> None:
    with trninv.open(databases.seeded(backend)) as fleet:
        given = {"slot": S.format(0), "instance": "i-0a", "who": "anna", "clientMutationId": "x"}
        answer = asked(fleet, BIND, i=given)["data"]["bind"]
        made = {"slot": S.format(0), "instance": "i-0a", "host": None, "who": "anna", "method": "PIN"}
        assert answer == {"clientMutationId": "x", "created": [made], "ended": []}
        moved = asked(fleet, BIND, i=given | {"slot": S.format(1)})["data"]["bind"]
        assert moved["ended"] == [{"slot": S.format(0), "instance": "i-0a", "ending": "MOVED"}]
        ended = asked(fleet, UNBIND, i={"slot": "@i-0a", "who": "bert"})["data"]["unbind"]["ended"]
        assert ended == {"instance": "i-0a", "ending": "UNDONE", "endedBy": "bert"}
        refused = asked(fleet, BIND, i=given | {"instance": "a[1-9]"})["errors"][0]
        assert refused["extensions"]["code"] == "BAD_USE"
        assert asked(fleet, UNBIND, i={"slot": S.format(0), "who": "a"})["errors"][0]["extensions"]["code"] == (
            "UNKNOWN_ADDRESS"
        )


def test_commands_show_them(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    assert (
        "one direction    instance" not in run("path", f"{S.format(0)}/c0", f"{S.format(2)}/c0", "-v", database=url)[1]
    )
    fill(url)
    shown = run("show", "@n0", database=url)[1]
    assert "u-trn2x64/d0/s0 (server)" in shown
    assert "n0.ec2.internal" in shown
    assert "by anna, host-name, likely" in shown
    lines = run("path", "@n0/c0", "@n2/c0", "-v", database=url)[1].splitlines()
    assert "instance" in lines[2]
    first = next(line for line in lines if f"chip  {S.format(0)}" in line)
    assert first.split()[-2:] == ["n0.ec2.internal", "i-0a"]
    assert any(line.endswith(" n2") for line in lines)
    written = json.loads(run("path", "@n0/c0", "@n2/c0", "--format", "json", database=url)[1])
    assert written["instances"][0] == {"server": S.format(0), "instance": "i-0a", "host": "n0.ec2.internal"}
    assert "instances" not in json.loads(run("bisection", "trn1.2xlarge", "--format", "json", database=url)[1])
    assert run("set", "@n0/c5", "down", "--why", "ECC", "--who", "anna", database=url)[0] == 0
    assert f"{S.format(0)}/c5" in run("events", "@n0/c5", database=url)[1]
    link = ["@n0/c0--@n0/c1", "degraded", "--factor", "0.5", "--why", "cable", "--who", "anna"]
    assert run("set", *link, database=url)[0] == 0


def test_files_of_other_programs_have_the_hosts_that_are_bound(run: Run, databases: Databases) -> None:
    url = databases.seeded("sqlite")
    fill(url)
    lines = run("topology", "u-trn2x64", "--as", "slurm-tree", database=url)[1]
    assert "n0.ec2.internal" in lines
    assert "n2" in lines
    assert "u-trn2x64-d0-s1,n2,u-trn2x64-d0-s3" in lines
    assert run("topology", "u-trn2x64", "--as", "slurm-tree", "--check", database=url)[0] == 0
    assert run("topology", "u-trn2x64", "--as", "slurm-tree", "--hostname", "n{server}", database=url)[0] == 0


def test_no_name_is_given_twice() -> None:
    slots = [ServerAddress("lab", 0, server) for server in range(3)]
    assert hostnames(slots, "n{server}", [None, "x", None]) == ["n0", "x", "n2"]
    with pytest.raises(UsageError, match="or a bound host's name, calls lab/d0/s0 and lab/d0/s1 both n0"):
        hostnames(slots, "n{server}", [None, "n0", None])
