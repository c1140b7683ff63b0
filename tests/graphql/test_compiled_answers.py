"""Answers written by a plan against the executor: the same bytes, whatever an answer holds, and whatever is wrong."""

from collections.abc import Iterator
from typing import Any

import graphql
import pytest
from graphql import GraphQLObjectType, get_named_type, is_leaf_type

import trninv
from conftest import Ask, both_ways
from trninv.graphql import api as apis
from trninv.graphql.graphql_schema import schema
from trninv.routing.questions import all_questions

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
    """Notes each execution."""
    seen: list[object] = []

    def noted(*given: Any, **named: Any) -> Any:
        seen.append(given)
        return graphql.execute(*given, **named)

    monkeypatch.setattr(apis, "execute", noted)
    return seen


def _held(of: GraphQLObjectType, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Every field that an answer holds, as far down as no type leads to itself."""
    yield "__typename kind_of: __typename"
    for name, field in of.fields.items():
        declared, named = field.extensions["strawberry-definition"], get_named_type(field.type)
        if declared.base_resolver and "held" not in declared.metadata:
            continue
        if is_leaf_type(named):
            yield name
        elif isinstance(named, GraphQLObjectType) and named.name not in (of.name, *above):
            yield f"{name} {{ {' '.join(_held(named, (of.name, *above)))} }}"


def test_every_question_is_here() -> None:
    ending_now = {"availability", "diff", "timeline"}
    assert ASKED.keys() | ending_now == {question.field for question in all_questions() if question.field}


@pytest.mark.parametrize(("name", "given"), [(name, given) for name, each in ASKED.items() for given in each])
def test_an_answer_is_written_as_the_executor_writes_it(
    ask: Ask, executed: list[object], name: str, given: str
) -> None:
    answer = get_named_type(schema()._schema.query_type.fields[name].type)  # type: ignore[union-attr]
    assert isinstance(answer, GraphQLObjectType)
    document = f"{{ some: {name}{given} {{ ...All }} }} fragment All on {answer.name} {{ {' '.join(_held(answer))} }}"
    found = ask(document)
    assert (found["errors"], len(executed)) == ([], 1)


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


@pytest.mark.parametrize(
    "below",
    ["facts { value }", "paths { bottlenecks { address } }", "paths { bandwidth { fact { value } } }"],
)
def test_what_an_answer_does_not_hold_is_executed(ask: Ask, executed: list[object], below: str) -> None:
    assert ask(f"{{ path({ENDS}) {{ {below} }} }}")["data"]["path"]
    assert len(executed) == 2


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
