"""Answers written by a plan: as graphql-core writes them, with rows that are read for them, and with errors."""

import json
from collections.abc import Iterator
from typing import Any

import graphql
import pytest
from graphql import GraphQLObjectType, get_named_type, is_leaf_type

import trninv
from conftest import Ask, both_ways
from trninv.graphql import api as apis
from trninv.graphql.compiler.selections import field_metadata
from trninv.graphql.graphql_schema import core_schema, schema
from trninv.inventory.schema.things import THINGS
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions import all_questions

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

DOMAIN, CHIP, OTHER = "u-trn2x64/d0", "u-trn2x64/d0/s0/c0", "u-trn2x64/d0/s2/c10"
ENDS = f'from: "{CHIP}", to: "{OTHER}"'
ASKED = {
    "bandwidth": [f"({ENDS})", f'(from: "{CHIP}", to: "trn1.32xlarge/d0/s0/c1")'],
    "bisection": [
        '(scope: "trn1.32xlarge")',
        f'(scope: "{DOMAIN}/s0", chips: ["{CHIP}", "{DOMAIN}/s0/c1"], transit: true)',
    ],
    "collectives": ['(scope: "trn1.32xlarge")'],
    "capability": ['(scope: "trn1.32xlarge")'],
    "measuredBandwidth": ['(scope: "trn1.32xlarge")'],
    "expectedBandwidth": ['(scope: "trn1.32xlarge")'],
    "cutTree": ['(scope: "trn1.32xlarge")'],
    "distances": [f'(scope: "{DOMAIN}")', f'(scope: "{DOMAIN}", via: ANY)'],
    "memoryPool": [
        f'(scope: "{CHIP}")',
        f'(scope: "{CHIP}", maxHops: 3, minBandwidth: {{gigabytesPerSecond: 100}})',
        '(scope: "trn3-gen2/d0/s0", via: ANY)',
    ],
    "path": [
        f"({ENDS})",
        f"({ENDS}, shape: ALL, k: 3)",
        f'({ENDS}, by: TIME, message: "1000", avoid: ["{DOMAIN}/s1"])',
        f"({ENDS}, by: BANDWIDTH)",
        f'(from: "{CHIP}", to: "{CHIP}")',
    ],
    "memoryPlacement": [f'(scope: "{DOMAIN}", bytes: "1000000000000")'],
    "splitProfile": ['(scope: "trn1.32xlarge", chips: 3)'],
}
ROW_TYPES = {kind.type for kind in THINGS.values()}
WRONG = [
    '{ path(from: "nowhere/d0", to: "nowhere/d1") { reachable } }',
    f"{{ a: path({ENDS}, k: 0) {{ reachable }} }}",
    f'{{ a: path({ENDS}, message: "5") {{ reachable }} }}',
    f'{{ bandwidth(from: "{CHIP}", to: "{CHIP}") {{ reason }} }}',
    f'query ($b: BandwidthInput) {{ memoryPool(scope: "{CHIP}", minBandwidth: $b) {{ chips }} }}',
    '{ cutTree(scope: "u-trn2x64/d0/s0/efa0") { definition } }',
]


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Collect each execution by graphql-core."""
    executions: list[object] = []

    def execute(*arguments: Any, **keywords: Any) -> Any:
        executions.append(arguments)
        return graphql.execute(*arguments, **keywords)

    monkeypatch.setattr(apis, "execute", execute)
    return executions


def _attributes(object_type: GraphQLObjectType, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield a selection of every attribute of an answer, as far down as no type leads to itself."""
    yield "__typename kind_of: __typename"
    for name, field in object_type.fields.items():
        metadata, named = field_metadata(field), get_named_type(field.type)
        if metadata.keys() & {"is_page", "late", "is_optional"} or named.name in ROW_TYPES:
            continue
        if is_leaf_type(named):
            yield name
        elif isinstance(named, GraphQLObjectType) and named.name not in (object_type.name, *above):
            yield f"{name} {{ {' '.join(_attributes(named, (object_type.name, *above)))} }}"


def test_every_question_is_here() -> None:
    ending_now = {"availability", "diff", "timeline"}
    assert ASKED.keys() | ending_now == {question.field for question in all_questions() if question.field}


@pytest.mark.parametrize(("name", "given"), [(name, given) for name, each in ASKED.items() for given in each])
def test_an_answer_is_written_as_graphql_core_writes_it(
    fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, name: str, given: str
) -> None:
    core = core_schema(schema())
    answer_type = get_named_type(core.query_type.fields[name].type)  # type: ignore[union-attr]
    assert isinstance(answer_type, GraphQLObjectType)
    selection = " ".join(_attributes(answer_type))
    document = f"{{ some: {name}{given} {{ ...All }} }} fragment All on {answer_type.name} {{ {selection} }}"
    answers: list[object] = []
    ask = BaseFleet.ask

    def record(*arguments: Any, **keywords: Any) -> object:
        answers.append(ask(*arguments, **keywords))
        return answers[-1]

    def answer_root(resolve: Any, source: object, info: Any, **arguments: Any) -> object:
        return answers[0] if source is None else resolve(source, info, **arguments)

    monkeypatch.setattr(BaseFleet, "ask", record)
    monkeypatch.setattr(BaseFleet, "cached_answer", lambda *_, **__: None)
    response = both_ways(fleet)(document)
    expected = graphql.execute(core, graphql.parse(document), middleware=[answer_root])
    assert isinstance(expected, graphql.ExecutionResult)
    assert (response["errors"], expected.errors) == ([], None)
    assert json.dumps(response["data"]) == json.dumps(expected.data)


def test_what_stands_there_is_read_anew_for_each_answer(seeded: str, executed: list[object]) -> None:
    document = f'query ($b: Address!) {{ path(from: "{CHIP}", to: $b) {{ instances {{ server instance host }} }} }}'
    with trninv.open(seeded) as fleet:
        ask = both_ways(fleet)
        found = []
        for server, instance in ((0, "i-0a"), (2, "i-0b"), (0, "i-0c")):
            fleet.bind(f"{DOMAIN}/s{server}", instance, who="tests")
            for _ in range(5):
                told = ask(document, b=OTHER)["data"]["path"]["instances"]
            found.append([each["instance"] for each in told])
    assert found == [["i-0a"], ["i-0a", "i-0b"], ["i-0c", "i-0b"]]
    assert len(executed) == 3 * 5


@pytest.mark.parametrize("document", WRONG)
def test_what_is_wrong_is_said_as_the_executor_says_it_and_asked_once(
    ask: Ask, executed: list[object], document: str
) -> None:
    assert ask(document, b={"gigabytesPerSecond": 1e30})["errors"]
    assert len(executed) == 1


def test_rows_that_an_answer_refers_to_are_read(ask: Ask, fleet: BaseFleet, executed: list[object]) -> None:
    document = f"""{{ path({ENDS}, k: 2) {{ facts {{ subject value source {{ title }} }}
        paths {{ bandwidth {{ fact {{ value }} }} bottlenecks {{ address a {{ address __typename }} }} }} }} }}"""
    answer = fleet.path(CHIP, OTHER, k=2)
    found = ask(document)["data"]["path"]
    assert [(fact["subject"], fact["value"]) for fact in found["facts"]] == [
        (fact.subject, fact.value) for fact in answer.facts
    ]
    for path, expected in zip(found["paths"], answer.paths, strict=True):
        assert path["bandwidth"] == {"fact": None}
        assert [link["address"] for link in path["bottlenecks"]] == [link.address for link in expected.bottlenecks]
        assert [link["a"] for link in path["bottlenecks"]] == [
            {"address": link.a, "__typename": "Chip"} for link in expected.bottlenecks
        ]
    assert len(executed) == 1


def test_pages_of_an_answer(ask: Ask, fleet: BaseFleet) -> None:
    document = """query ($first: Int!, $after: String) { bisection(scope: "trn1.32xlarge") {
        cut(first: $first, after: $after) { totalCount nodes { address } pageInfo { hasNextPage endCursor } }
        up: cut(filter: {state: {ne: DOWN}}) { totalCount aggregates { count } }
        degraded: cut(filter: {factor: {ne: null}}) { totalCount }
        chipsA(first: $first) { totalCount nodes pageInfo { hasNextPage } edges { cursor node } } } }"""
    answer = fleet.bisection("trn1.32xlarge")
    links, after = [], None
    while True:
        page = ask(document, first=5, after=after)["data"]["bisection"]
        links += [link["address"] for link in page["cut"]["nodes"]]
        after = page["cut"]["pageInfo"]["endCursor"]
        if not page["cut"]["pageInfo"]["hasNextPage"]:
            break
    assert sorted(links) == sorted(link.address for link in answer.cut)
    assert page["cut"]["totalCount"] == page["up"]["totalCount"] == len(links)
    assert page["degraded"]["totalCount"] == 0
    assert page["up"]["aggregates"] == [{"count": len(links)}]
    chips = list(answer.chips_a[:5])
    assert page["chipsA"] == {
        "totalCount": len(answer.chips_a),
        "nodes": chips,
        "pageInfo": {"hasNextPage": len(answer.chips_a) > 5},
        "edges": [{"cursor": chip, "node": chip} for chip in chips],
    }


@pytest.mark.parametrize(
    ("below", "message"),
    [
        ("cut(first: 1, last: 1) { totalCount }", "first and last exclude each other"),
        ('cut(after: "x") { totalCount }', "'x' is not a cursor"),
        ('chipsA(after: "x") { totalCount }', "'x' is not a cursor"),
        ('cut { nodes { domain { links(filter: {domain: {eq: "x/d0"}}) { totalCount } } } }', "no cluster x"),
    ],
)
def test_a_wrong_argument_inside_an_answer_is_an_error_of_its_question(ask: Ask, below: str, message: str) -> None:
    (error,) = ask(f'{{ half: bisection(scope: "trn1.32xlarge") {{ {below} }} }}')["errors"]
    assert message in error["message"]
    assert error["path"] == ["half"]


def test_arguments_with_and_without_variables_go_together(ask: Ask, executed: list[object]) -> None:
    document = (
        "query ($b: Address!, $not: [Address!], $one: Address!) "
        f'{{ path(from: "{CHIP}", to: $b, k: 2, avoid: $not, orTo: [$one]) {{ target paths {{ hops }} }} }}'
    )
    for other, avoided in ((OTHER, []), (f"{DOMAIN}/s1/c1", [f"{DOMAIN}/s1/c0"])):
        found = ask(document, b=other, **{"not": avoided}, one=f"{DOMAIN}/s3/c9")
        assert found["data"]["path"]["target"] == other
    assert len(executed) == 2


def test_directives_choose_among_plans(ask: Ask, executed: list[object]) -> None:
    document = (
        f"query ($deep: Boolean!, $via: LinkSelection) {{ path({ENDS}, via: $via) "
        "{ reachable paths @include(if: $deep) { hops } } }"
    )
    assert ask(document, deep=False)["data"]["path"] == {"reachable": True}
    assert ask(document, deep=True, via="SCALE_UP")["data"]["path"]["paths"]
    assert len(executed) == 2
