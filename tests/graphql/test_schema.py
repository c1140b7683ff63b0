"""The schema that people build on: checked in, described, limited before execution, internal errors masked."""

import asyncio
import base64
import inspect
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    is_introspection_type,
    is_specified_scalar_type,
)

from conftest import Ask
from trninv.catalog.facts import SOURCE_KINDS
from trninv.catalog.models import COMPUTE, default_systems
from trninv.cli.output import encode
from trninv.database.tables import LINK_SCOPES, STATES, TOKEN_SCOPES, TRAY_KINDS
from trninv.graphql import document_cache
from trninv.graphql.api import Api
from trninv.graphql.compiler import statement_plan
from trninv.graphql.compiler.selections import declared_field
from trninv.graphql.compiler.statement_plan import StatementPlan
from trninv.graphql.document_request import Request
from trninv.graphql.graphql_schema import core_schema, schema
from trninv.routing.fleet import BaseFleet
from trninv.settings import Settings
from trninv.topology.registry import all_patterns

U = "u-trn2x64/d0"


def test_the_checked_in_schema_is_this_one() -> None:
    checked_in = (Path(__file__).parents[2] / "schema.graphql").read_text()
    assert schema().as_str() + "\n" == checked_in, "run: ./run generate"


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("State", STATES),
        ("LinkScope", LINK_SCOPES),
        ("TrayKind", TRAY_KINDS),
        ("SourceKind", SOURCE_KINDS),
        ("TokenScope", TOKEN_SCOPES),
        ("ComputeType", tuple(each.removesuffix("_compute") for each in COMPUTE)),
        ("Wiring", tuple(all_patterns())),
        ("Generation", tuple(sorted({system.domain.server.chip.generation for system in default_systems().systems}))),
    ],
)
def test_an_enum_has_the_stored_values_in_upper_case(name: str, stored: tuple[str, ...]) -> None:
    found = schema()._schema.type_map[name]
    assert isinstance(found, GraphQLEnumType)
    assert list(found.values) == [value.upper() for value in stored]


FILLER = re.compile(r"(only )?(those|these|items|things?|values?|its value)( for which this holds)?\.?", re.IGNORECASE)


def described(found: GraphQLNamedType) -> Iterator[tuple[str, str | None]]:
    """Each member of a type and each argument of its fields, with its description."""
    if isinstance(found, GraphQLEnumType):
        yield from ((f"{found.name}.{name}", value.description) for name, value in found.values.items())
    if isinstance(found, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
        yield from ((f"{found.name}.{name}", field.description) for name, field in found.fields.items())
    if isinstance(found, GraphQLObjectType | GraphQLInterfaceType):
        for name, field in found.fields.items():
            yield from ((f"{found.name}.{name}({each})", given.description) for each, given in field.args.items())


def own_types() -> list[GraphQLNamedType]:
    types = schema()._schema.type_map.values()
    return [each for each in types if not is_introspection_type(each) and not is_specified_scalar_type(each)]


@pytest.mark.parametrize("found", own_types(), ids=str)
def test_everything_has_a_description_of_its_own(found: GraphQLNamedType) -> None:
    assert found.description
    members = list(described(found))
    for name, text in members:
        assert text, f"{name} has no description"
        assert len(text.split()) > 1, f"{name}: {text!r} says nothing"
        assert not FILLER.fullmatch(text), f"{name}: {text!r} says nothing"
    texts = [text for name, text in members if "(" not in name]
    twice = {text for text in texts if texts.count(text) > 1}
    assert not twice, f"{found.name} has two members that are described as {twice}"
    if found.name.endswith("Order"):
        assert all("order" in (text or "").lower() for text in texts)


def test_only_root_fields_have_resolvers() -> None:
    """Below them, the compiler reads attributes and columns, and would not call a resolver."""
    roots = {"Query", "Mutation", "Subscription", "Scenario"}
    resolved = [
        f"{found.name}.{name}"
        for found in own_types()
        if isinstance(found, GraphQLObjectType | GraphQLInterfaceType) and found.name not in roots
        for name, field in found.fields.items()
        if declared_field(field).base_resolver
    ]
    assert resolved == []


def test_root_fields_resolve_asynchronously() -> None:
    """graphql-core leaves the tasks of sibling fields behind if a resolver raises an error at once."""
    core = core_schema(schema())
    for root in ("Query", "Mutation", "Scenario"):
        found = core.type_map[root]
        assert isinstance(found, GraphQLObjectType)
        for name, field in found.fields.items():
            resolver = declared_field(field).base_resolver
            assert resolver.is_async if resolver else inspect.iscoroutinefunction(field.resolve), name


def test_directives_have_descriptions() -> None:
    assert all(
        each.description and all(a.description for a in each.args.values()) for each in schema()._schema.directives
    )


def test_names_that_users_rely_on() -> None:
    """The Query type of the interface and the fields of its answers."""
    types = schema()._schema.type_map
    fields = {
        "Query": "cluster clusters resolve node servers chips cores racks switches nics links path bandwidth "
        "memoryPool bisection whatIf systems facts conflicts sources",
        "Bandwidth": "bytesPerSecond gigabytesPerSecond gigabitsPerSecond",
        "Capacity": "bytes gibibytes",
        "PathAnswer": "metric reachable truncated paths",
        "Path": "hops bandwidth steps",
        "BandwidthAnswer": "widest maximumFlow minimumCut bothDirections",
        "PoolAnswer": "chips memory own remote byHops",
        "BisectionAnswer": "lower upper exact method balance sideA sideB cut",
        "Link": "address a b bandwidth nominal bothDirections",
        "ChipConnection": "edges nodes totalCount pageInfo",
    }
    for name, wanted in fields.items():
        found = types[name]
        assert isinstance(found, GraphQLObjectType)
        assert set(wanted.split()) <= set(found.fields)
    metric, within = types["PathMetric"], types["ChipFilter"]
    assert isinstance(metric, GraphQLEnumType)
    assert isinstance(within, GraphQLInputObjectType)
    assert set(metric.values) == {"HOPS", "BANDWIDTH", "TIME"}
    assert set(within.fields) >= {"cluster", "domain", "server", "rack", "and", "or", "not"}


FOUR = """
query ($a: Address!, $b: Address!, $scope: Address!) {
  path(from: $a, to: $b, k: 2) { ...Says metric source target reachable tiedPaths reason
    links { paths }
    bestPairs { source target }
    paths { time { nanoseconds } hops bandwidth { ...Rate } bottlenecks { ...Wire }
      steps { kind address bandwidth { ...Rate } } } }
  bandwidth(from: $a, to: $b) { ...SaysFlow source target reason widest { hops } maximumFlow { ...Rate }
    bothDirections { ...Rate } minimumCut { totalCount nodes { ...Wire } } }
  memoryPool(scope: $a) { ...SaysPool scope chips memory { ...Size } own { ...Size } remote { ...Size }
    byHops { hops chips memory { ...Size } delivery { ...Rate } reached {
      address memory { ...Size } widest { ...Rate } } } }
  bisection(scope: $scope) { ...SaysHalf scope reason lower { ...Rate } upper { ...Rate } bothDirections { ...Rate }
  exact
    method balance sideA sideB chipsA { totalCount nodes } chipsB { totalCount nodes } nominal { exact }
    cut { totalCount nodes { ...Wire } } }
}
fragment Rate on Bandwidth { bytesPerSecond gigabytesPerSecond gigabitsPerSecond }
fragment Size on Capacity { bytes gibibytes }
fragment Wire on Link { address a { address } b { address } bandwidth { ...Rate } }
fragment Cited on Fact { subject attribute value asWritten quote readingReason note disputed assumed source { title } }
fragment Says on PathAnswer { definition wiringSource via truncated disputed assumed facts { ...Cited } }
fragment SaysFlow on BandwidthAnswer { definition wiringSource via truncated disputed assumed facts { ...Cited } }
fragment SaysPool on PoolAnswer { definition wiringSource via truncated disputed assumed facts { ...Cited } }
fragment SaysHalf on BisectionAnswer { definition wiringSource via truncated disputed assumed facts { ...Cited } }
"""


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize(
    ("a", "b", "scope"),
    [
        ("trn1.2xlarge/d0/s0/c0", "trn1.32xlarge/d0/s0/c0", "trn1.2xlarge"),
        (f"{U}/s0/c0", f"{U}/s2/c10", "u-trn2x64"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (
                ("trn1.32xlarge/d0/s0/c0", "trn1.32xlarge/d0/s0/c10", "trn1.32xlarge"),
                ("trn2-16.48xlarge/d0/s0/c3", "trn2-16.48xlarge/d0/s0/c9", "trn2-16.48xlarge"),
                ("trn3-gen1/d0/s0/c0", "trn3-gen1/d0/s3/c9", "trn3-gen1"),
                ("trn3-gen2/d0/s0/c0", "trn3-gen2/d0/s35/c3", "trn3-gen2"),
            )
        ),
    ],
)
def test_the_four_questions_for_every_system(ask: Ask, fleet: BaseFleet, a: str, b: str, scope: str) -> None:
    """GraphQL and the command line's JSON say the same, field by field."""
    result = ask(FOUR, a=a, b=b, scope=scope)
    assert result["errors"] == []
    answers = {
        "path": fleet.path(a, b, k=2),
        "bandwidth": fleet.bandwidth(a, b),
        "memoryPool": fleet.memory_pool(a),
        "bisection": fleet.bisection(scope),
    }
    for name, answer in answers.items():
        as_json = json.loads(json.dumps(encode(answer)))
        if name == "bandwidth" and as_json["widest"]:
            as_json["widest"] = {"hops": as_json["widest"]["hops"]}
        assert result["data"][name] == as_json


WHAT_IF = """
query ($a: Address!, $b: Address!, $scope: Address!, $down: [Address!], $derate: [DeratingInput!]) {
  whatIf(down: $down, derate: $derate) {
    path(from: $a, to: $b) { reachable difference { hops bytesPerSecond } baseline { paths { hops } } }
    bandwidth(from: $a, to: $b) { maximumFlow { ...Rate } difference { gigabytesPerSecond }
      baseline { maximumFlow { ...Rate } } }
    memoryPool(scope: $a) { chips difference { chips bytes } }
    bisection(scope: $scope, transit: true) { upper { ...Rate } exact difference { bytesPerSecond } nominal { exact } }
    splitProfile(scope: $scope) { chips splits { chips exact upper { ...Rate } } }
    distances(scope: $scope) { diameter mean pairs unreachable byHops { hops pairs } }
    cutTree(scope: $scope) { a b minFlow { ...Rate } disconnectedChips cut { nodes { address } } tree { a b flow {
    ...Rate } } } collectives(scope: $scope) { chips allToAll { exact upper { ...Rate } } allGather { exact method links
    { address } }
      reduceScatter { exact } allReduce { exact } allReduceAlgorithm { upper { ...Rate } }
      ringAllReduce { lower { ...Rate } } }
    memoryPlacement(scope: $scope, bytes: "137438953472") { place chips radius isSufficient candidatesTried minBandwidth
    { ...Rate }
      delivery { ...Rate } memory { gibibytes } }
  }
  path(from: $a, to: $b, by: TIME, message: "1048576", shape: ALL) { paths { time { nanoseconds microseconds } }
    links { source target paths share link { address } } difference { hops } baseline { reachable } }
}
fragment Rate on Bandwidth { bytesPerSecond gigabytesPerSecond gigabitsPerSecond }
"""


@pytest.mark.slow_on_postgresql
def test_what_if_answers_every_question(ask: Ask, fleet: BaseFleet) -> None:
    a, b = "trn1.32xlarge/d0/s0/c0", "trn1.32xlarge/d0/s0/c1"
    derate = {"trn1.32xlarge/d0/s0/c10": 0.5}
    changed = [{"address": address, "factor": factor} for address, factor in derate.items()]
    result = ask(WHAT_IF, a=a, b=b, scope="trn1.32xlarge", down=[f"{a}--{b}"], derate=changed)
    assert result["errors"] == []
    data, supposed = result["data"]["whatIf"], fleet.what_if([f"{a}--{b}"], derate)
    assert data["path"] == {
        "reachable": True,
        "difference": {"hops": 2, "bytesPerSecond": "0"},
        "baseline": {"paths": [{"hops": 1}]},
    }
    assert data["bandwidth"]["difference"] == {"gigabytesPerSecond": -48.0}
    assert data["memoryPool"] == {"chips": 16, "difference": {"chips": 0, "bytes": "0"}}
    halves = supposed.bisection("trn1.32xlarge")
    assert data["bisection"]["upper"]["bytesPerSecond"] == str(int(halves.upper))
    assert halves.baseline is not None
    assert data["bisection"]["difference"]["bytesPerSecond"] == str(halves.upper - halves.baseline.upper)
    limits = supposed.collectives("trn1.32xlarge")
    assert data["collectives"]["allGather"]["links"] == [{"address": link.address} for link in limits.all_gather.links]
    assert data["cutTree"]["minFlow"]["gigabytesPerSecond"] == 96
    assert sum(int(row["pairs"]) for row in data["distances"]["byHops"]) == 120
    assert data["memoryPlacement"]["memory"]["gibibytes"] == 128
    plain = result["data"]["path"]
    assert (plain["difference"], plain["baseline"]) == (None, None)
    assert [link["share"] for link in plain["links"]] == [1.0]
    (error,) = ask('{ whatIf { bisection(scope: "trn1.32xlarge") { exact } } }')["errors"]
    assert error["extensions"]["code"] == "BAD_ARGUMENT"
    (error,) = ask('{ whatIf(down: ["nowhere/d0"]) { bisection(scope: "trn1.32xlarge") { exact } } }')["errors"]
    assert error["extensions"]["code"] == "UNKNOWN_ADDRESS"


def test_lists_page_to_the_end_without_a_gap(ask: Ask) -> None:
    document = """query ($after: String) { links(first: 100, after: $after, filter: {cluster: {eq: "trn3-gen2"}}) {
        totalCount nodes { id address } edges { cursor }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""
    seen: list[str] = []
    after = None
    while True:
        page = ask(document, after=after)["data"]["links"]
        assert page["totalCount"] == 504
        assert page["pageInfo"]["hasPreviousPage"] == (after is not None)
        assert [edge["cursor"] for edge in page["edges"]][-1] == page["pageInfo"]["endCursor"]
        seen += [link["address"] for link in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert len(seen) == len(set(seen)) == 504


@pytest.mark.parametrize(
    ("kind", "within", "size"),
    [
        ("chips", 'domain: {eq: "u-trn2x64/d0"}', 64),
        ("chips", 'rack: {eq: "trn3-gen2/r1"}', 72),
        ("chips", 'rack: {in: ["u-trn2x64/r0", "u-trn2x64/r1"]}, server: {eq: "u-trn2x64/d0/s3"}', 16),
        ("chips", "cluster: {in: []}", 0),
        ("servers", 'cluster: {in: ["trn3-gen1", "trn3-gen2"]}', 40),
        ("cores", 'server: {eq: "trn1.32xlarge/d0/s0"}', 32),
        ("racks", 'cluster: {eq: "u-trn2x64"}', 2),
        ("switches", 'rack: {eq: "trn3-gen2/r0"}', 19),
        ("nics", 'cluster: {eq: "trn1.32xlarge"}', 8),
        ("links", 'domain: {eq: "trn1.32xlarge/d0"}', 48),
    ],
)
def test_filters_by_containment(ask: Ask, kind: str, within: str, size: int) -> None:
    result = ask(f"{{ {kind}(filter: {{{within}}}, first: 1000) {{ totalCount nodes {{ address }} }} }}")
    assert result["errors"] == []
    found = result["data"][kind]
    assert found["totalCount"] == size == len(found["nodes"])


def _opaque(words: str) -> str:
    return base64.urlsafe_b64encode(words.encode()).decode()


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize(
    ("document", "code"),
    [
        ('{ chips(filter: {cluster: {eq: "nowhere"}}) { totalCount } }', "UNKNOWN_ADDRESS"),
        ('{ chips(filter: {cluster: {eq: "u-trn2x64/d0"}}) { totalCount } }', "BAD_FILTER"),
        ("{ chips(filter: {cluster: {}}) { totalCount } }", "BAD_FILTER"),
        ('{ chips(filter: {cluster: {eq: "a", in: ["b"]}}) { totalCount } }', "BAD_FILTER"),
        ('{ racks(filter: {server: {eq: "u-trn2x64/d0/s0"}}) { totalCount } }', "BAD_DOCUMENT"),
        ('{ links(filter: {rack: {eq: "u-trn2x64/r0"}}) { totalCount } }', "BAD_DOCUMENT"),
        ('{ chips(filter: {colour: {eq: "red"}}) { totalCount } }', "BAD_DOCUMENT"),
        ("{ chips(filter: {state: {eq: BROKEN}}) { totalCount } }", "BAD_DOCUMENT"),
        ('{ chips(filter: {state: {eq: "up"}}) { totalCount } }', "BAD_DOCUMENT"),
        ("{ chips(filter: {state: {in: [UP, BROKEN]}}) { totalCount } }", "BAD_DOCUMENT"),
        ("{ chips(filter: {generation: {ne: TRN9}}) { totalCount } }", "BAD_DOCUMENT"),
        ("{ chips(filter: {generation: {eq: null}}) { totalCount } }", "BAD_FILTER"),
        ('{ chips(filter: {address: {eq: "u-trn2x64/d0/s0/c16"}}) { totalCount } }', "UNKNOWN_ADDRESS"),
        ('{ chips(filter: {address: {eq: "u-trn2x64/d0/s0"}}) { totalCount } }', "BAD_FILTER"),
        ('{ chips(filter: {address: {startsWith: "u-trn2x64/d7/s"}}) { totalCount } }', "UNKNOWN_ADDRESS"),
        ('{ chips(filter: {address: {startsWith: ""}}) { totalCount } }', "BAD_FILTER"),
        ('{ chips(filter: {address: {contains: "\\u0000"}}) { totalCount } }', "BAD_DOCUMENT"),
        ('{ chips(filter: {address: {contains: "\\u0001"}}) { totalCount } }', "BAD_FILTER"),
        ("{ chips(filter: {address: {}}) { totalCount } }", "BAD_FILTER"),
        ("{ chips(filter: {address: {eq: null}}) { totalCount } }", "BAD_FILTER"),
        ('{ links(between: {a: "u-trn2x64/d0/s0", b: "nowhere"}) { totalCount } }', "UNKNOWN_ADDRESS"),
        ('{ links(between: {a: "u-trn2x64/d0/s0/c0/nc0", b: "u-trn2x64"}) { totalCount } }', "BAD_FILTER"),
        ('{ links(between: {a: "??", b: "u-trn2x64"}) { totalCount } }', "BAD_ADDRESS"),
        ('{ conflicts(subject: "trainium9") { totalCount } }', "BAD_FILTER"),
        ("{ conflicts(first: 1, last: 1) { totalCount } }", "BAD_ARGUMENT"),
        ('{ conflicts(after: "nothing") { totalCount } }', "BAD_ARGUMENT"),
        ('{ nodes(ids: ["chip:1", "nonsense"]) { id } }', "UNKNOWN_ADDRESS"),
        ('{ nodes(ids: ["chip:' + "0" * 20 + "9" * 30 + '"]) { id } }', "UNKNOWN_ADDRESS"),
        ('{ nodes(ids: ["chip:' + "9" * 5_000 + '"]) { id } }', "UNKNOWN_ADDRESS"),
        ('{ nodes(ids: ["chip:00000000000000000001"]) { id } }', "UNKNOWN_ADDRESS"),
        ("{ nodes(ids: [" + '"chip:1", ' * 1001 + "]) { id } }", "BAD_ARGUMENT"),
        ("{ chips(filter: {state: null}) { totalCount } }", "BAD_FILTER"),
        ("{ chips(filter: {state: {}}) { totalCount } }", "BAD_FILTER"),
        ("{ chips(filter: {ordinal: {eq: null}}) { totalCount } }", "BAD_FILTER"),
        ("{ chips(filter: {tray: {lt: null}}) { totalCount } }", "BAD_FILTER"),
        ('{ links(filter: {technology: {contains: ""}}) { totalCount } }', "BAD_FILTER"),
        ("{ links(filter: {bandwidth: {lt: {gigabytesPerSecond: 1e300}}}) { totalCount } }", "BAD_FILTER"),
        ("{ chips(first: 1, last: 1) { totalCount } }", "BAD_ARGUMENT"),
        ('{ chips(after: "5", orderBy: [{ordinal: ASC}]) { totalCount } }', "BAD_ARGUMENT"),
        ('{ chips(before: "[\\"ordinal\\",1]", orderBy: [{ordinal: ASC}]) { totalCount } }', "BAD_ARGUMENT"),
        ("{ racks { aggregates(by: [MODEL]) { count } } }", "BAD_FILTER"),
        ('{ facts(subject: "trainium9") { totalCount } }', "BAD_FILTER"),
        ("query A { systems { slug } } query B { systems { slug } }", "BAD_DOCUMENT"),
        ("query ($n: Int!) { chips(first: $n) { totalCount } }", "BAD_VARIABLES"),
        ("{ chips(first: 1001) { totalCount } }", "BAD_ARGUMENT"),
        ("{ chips(first: -1) { totalCount } }", "BAD_ARGUMENT"),
        ('{ chips(after: "xyz") { totalCount } }', "BAD_ARGUMENT"),
        ('{ path(from: "u-trn2x64/d0/s0/c0", to: "u-trn2x64/d0/s0/c1", k: 1000) { reachable } }', "BAD_ARGUMENT"),
        ('{ path(from: "??", to: "u-trn2x64/d0/s0/c1") { reachable } }', "BAD_ADDRESS"),
        ('{ path(from: "u-trn2x64", to: "u-trn2x64/d0/s0/c1") { reachable } }', "WRONG_LEVEL"),
        ('{ bandwidth(from: "u-trn2x64/d0", to: "u-trn2x64/d0/s0/c1") { definition } }', "SAME_PLACE"),
        ('{ resolve(address: "u-trn2x64/d0/s0/c16") { address } }', "UNKNOWN_ADDRESS"),
        ('{ node(id: "Q2hpcDox") { id } }', "UNKNOWN_ADDRESS"),
        (f'{{ node(id: "{_opaque("chip:1099511627776")}") {{ id }} }}', "UNKNOWN_ADDRESS"),
        (f'{{ chips(after: "{_opaque("id:99999999999999999999")}") {{ totalCount }} }}', "BAD_ARGUMENT"),
        ('{ memoryPool(scope: "u-trn2x64", minBandwidth: {gigabytesPerSecond: 1e308}) { chips } }', "BAD_ARGUMENT"),
        ('{ facts(subject: "a\\u0001b") { totalCount } }', "BAD_FILTER"),
        ("{" + "clusters{nodes{chips{nodes{cluster{chips{nodes{cluster{chips{nodes{id}}}}}}}}}" + "}}", "COST_LIMIT"),
        (
            "{"
            + " ".join(
                f'a{i}: path(from: "u-trn2x64/d0/s0/c0", to: "u-trn2x64/d0/s0/c{i}") {{ reachable }}'
                for i in range(1, 16)
            )
            + " "
            + " ".join(f'b{i}: memoryPool(scope: "u-trn2x64/d0/s0/c{i}") {{ chips }}' for i in range(12))
            + "}",
            "COST_LIMIT",
        ),
    ],
)
def test_an_expected_failure_has_its_code(ask: Ask, document: str, code: str) -> None:
    errors = ask(document)["errors"]
    assert errors
    assert all(error["extensions"] == {"code": code} and "\n" not in error["message"] for error in errors)


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("u-trn2x64", "Cluster"),
        ("u-trn2x64/d0", "Domain"),
        ("u-trn2x64/r1", "Rack"),
        ("u-trn2x64/d0/s3", "Server"),
        ("u-trn2x64/d0/s3/c15", "Chip"),
        ("u-trn2x64/d0/s3/c15/nc7", "Core"),
        ("u-trn2x64/d0/s3/efa2", "Nic"),
        ("trn3-gen1/d0/sw5", "Switch"),
        ("trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1", "Link"),
    ],
)
def test_any_address_resolves_and_its_id_leads_back(ask: Ask, address: str, kind: str) -> None:
    found = ask("query ($a: Address!) { resolve(address: $a) { __typename address ... on Node { id } } }", a=address)
    assert found["data"]["resolve"]["__typename"] == kind
    assert found["data"]["resolve"]["address"] == address
    again = ask("query ($i: ID!) { node(id: $i) { ... on Located { address } } }", i=found["data"]["resolve"]["id"])
    assert again["data"]["node"]["address"] == address


def test_facts_conflicts_sources_and_systems(ask: Ask) -> None:
    result = ask("""{ sources { slug title kind } systems { slug aliases chips sources { title } }
        conflicts { totalCount nodes { subject attribute note selected { value } facts { value picked } } }
        facts(subject: "trainium3", attribute: "neuronlink_bandwidth") { totalCount
          nodes { value exact asWritten quote readingUnit readingDirection picked disputed source { kind }
            others { value } } } }""")
    assert result["errors"] == []
    data = result["data"]
    assert len(data["systems"]) == len(default_systems().systems)
    assert {source["kind"] for source in data["sources"]} == {"SEED", "VENDOR", "DRIVER", "THIRD_PARTY", "ASSUMED"}
    from trninv.catalog.facts import default_catalog  # noqa: PLC0415

    conflicts = data["conflicts"]["nodes"]
    assert [(c["subject"], c["attribute"]) for c in conflicts] == [
        (conflict.subject, conflict.attribute) for conflict in default_catalog().conflicts
    ]
    assert data["conflicts"]["totalCount"] == len(conflicts)
    assert all(conflict["facts"][0]["picked"] and conflict["note"] for conflict in conflicts)
    headline = data["facts"]["nodes"][0]
    assert (headline["asWritten"], headline["readingUnit"], headline["readingDirection"]) == (
        "2,048 GiB/sec/device",
        "GB/sec",
        "both",
    )
    assert headline["exact"] == str(1_024 * 10**9)
    assert len(headline["others"]) == data["facts"]["totalCount"] - 1 == 3


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ("{ " + "servers { nodes { domain { " * 8 + "address" + " } } }" * 8 + " }", "maximum operation depth"),
        ("{ " + " ".join(f"a{i}: systems {{ slug }}" for i in range(60)) + " }", "aliases"),
        ("{ " + "systems { slug } " * 3000 + "}", "tokens"),
        ("{ systems { slug ", "Syntax Error"),
        ("{ nonsense }", "Cannot query field 'nonsense'"),
        ("query A { systems { ...F } } fragment F on System { ...G } fragment G on System { ...F }", "itself"),
        ('{ memoryPool(scope: "x", minBandwidth: {gigabytesPerSecond: 1, bytesPerSecond: "2"}) { chips } }', "one"),
        ('{ memoryPool(scope: "x", minBandwidth: {bytesPerSecond: "many"}) { chips } }', "BigInt"),
        ("\u0000", "Syntax Error"),
        ("{ ...X }", "Unknown fragment 'X'"),
        ("{ resolve(address: 5) { address } }", "an Address must be a string"),
    ],
)  # fmt: skip
def test_a_hostile_document_is_refused_before_it_runs(ask: Ask, document: str, complaint: str) -> None:
    result = ask(document)
    assert result["data"] is None
    assert complaint in " ".join(error["message"] for error in result["errors"])


def test_an_alias_hides_no_cost(lite_fleet: BaseFleet) -> None:
    service = Api(lite_fleet, Settings(database_url=str(lite_fleet.engine.url)))
    costs = [
        asyncio.run(service.run(Request(f'{{ {alias} search(text: "a") {{ name }} }}'))).cost for alias in ("", "__x:")
    ]
    assert costs[0] == costs[1] > 0


def test_what_is_inside_stays_inside(ask: Ask, fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(type(fleet), "ask", broken)
    (error,) = ask('{ bisection(scope: "u-trn2x64") { exact } }')["errors"]
    assert error["message"].startswith("internal error: see the server's log for request ")
    assert error["extensions"]["code"] == "INTERNAL"
    assert error["extensions"]["requestId"] in error["message"]
    assert "hunter2" not in json.dumps(error)


def test_a_document_is_parsed_once_and_compiled_once_for_healthy_and_once_for_unhealthy(
    lite_fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    for module, name in (
        (document_cache, "parse"),
        (document_cache, "validate"),
        (StatementPlan, "_compile"),
    ):
        real = getattr(module, name)

        def noted(*given: Any, _real: Any = real, _name: str = name, **named: Any) -> Any:
            made.append(_name)
            return _real(*given, **named)

        monkeypatch.setattr(module, name, noted)
    service = Api(lite_fleet, Settings(database_url=str(lite_fleet.engine.url)))
    document = "query ($n: Int!, $s: State!) { chips(first: $n, filter: {state: {eq: $s}}) { nodes { address } } }"
    for size, state in ((1, "UP"), (2, "DOWN"), (3, "UP"), (4, "DEGRADED")):
        asyncio.run(service.run(Request(document, {"n": size, "s": state})))
    assert made == ["parse", "validate", "_compile", "_compile"]


def test_another_thread_may_compile_a_statement_meanwhile(
    lite_fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, real_bind, real_statement = (
        list[StatementPlan](),
        statement_plan._bind_arguments,
        StatementPlan.statement_for,
    )

    def statement_for(self: StatementPlan, *given: Any) -> Any:
        plans.append(self)
        return real_statement(self, *given)

    def bind(*given: Any) -> Any:
        statements = plans[-1]._statements
        statements |= {("another", len(statements)): known for known in list(statements.values())[:1]}
        return real_bind(*given)

    monkeypatch.setattr(StatementPlan, "statement_for", statement_for)
    monkeypatch.setattr(statement_plan, "_bind_arguments", bind)
    service = Api(lite_fleet, Settings(database_url=str(lite_fleet.engine.url)))
    document = "query ($f: ChipFilter) { chips(first: 1, filter: $f) { nodes { address } } }"
    for found in ({"domain": {"eq": U}}, {"state": {"eq": "UP"}}, {"domain": {"eq": U}}, {}):
        response = asyncio.run(service.run(Request(document, {"f": found})))
        assert response.code is None, response.failures


def test_a_long_question_does_not_block_the_event_loop(fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four questions wait for each other and for the loop: asked one by one, or on the loop, none of them would end."""
    real, together, ticked = BaseFleet.ask, threading.Barrier(5), threading.Event()

    def meet(self: BaseFleet, *arguments: Any, **named: Any) -> object:
        together.wait(30)
        assert ticked.wait(30)
        return real(self, *arguments, **named)

    async def execute() -> None:
        document = "{ " + " ".join(f'a{i}: bisection(scope: "trn1.2xlarge") {{ exact }}' for i in range(4)) + " }"
        asked = asyncio.ensure_future(
            Api(fleet, Settings(database_url=str(fleet.engine.url))).run(Request(document)),
        )
        await asyncio.to_thread(together.wait, 30)
        ticked.set()
        assert (await asked).code is None

    monkeypatch.setattr(BaseFleet, "ask", meet)
    asyncio.run(execute())
