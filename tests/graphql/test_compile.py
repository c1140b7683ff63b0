"""Compiled documents against the executor: the same bytes, for random documents generated from the schema."""

import json
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    get_named_type,
    is_leaf_type,
)
from hypothesis import given
from hypothesis import strategies as st

from conftest import both_ways, examples
from trninv.graphql.graphql_schema import schema
from trninv.routing.fleet import BaseFleet

PLAIN = [
    *("clusters", "cluster", "sources", "resolve", "node", "nodes", "conflicts", "viewer", "chips", "servers"),
    *("cores", "racks", "domains", "switches", "nics", "links", "facts"),
]
TYPES = schema()._schema.type_map
ADDRESSES = [
    "u-trn2x64",
    "u-trn2x64/d0",
    "u-trn2x64/d0/s2",
    "u-trn2x64/d0/s0/c3",
    "trn3-gen1/d0/sw1",
    "trn1.32xlarge/d0/s0/efa1",
    "trn3-gen2/r1",
    "trn1.2xlarge/d0/s0/c0/nc1",
    "trn1.32xlarge/d0/s0/c0--trn1.32xlarge/d0/s0/c1",
    "nowhere/d0",
]
IDS = ["chip:1", "chip:90", "server:3", "link:77", "core:5", "rack:999", "nonsense", "switch:253"]
FILTERS = {
    "Chip": [
        "{state: {ne: UP}, generation: {in: [TRN1, TRN2]}}",
        '{address: {startsWith: "u-trn2x64/d0/s1/c1"}}',
        '{address: {in: ["u-trn2x64/d0/s1/c1", "trn1.2xlarge/d0/s0/c0"]}}',
        '{domain: {eq: "u-trn2x64/d0"}}',
        "{not: {ordinal: {in: [1, 2]}}}",
    ],
    "Cluster": ['{slug: {startsWith: "trn"}}', '{address: {contains: "x"}}'],
    "Domain": ["{wiring: {ne: TORUS}}"],
    "Server": ['{cluster: {in: ["u-trn2x64", "trn3-gen1"]}}', "{hostMemory: {gt: {gibibytes: 600}}}"],
    "Link": [
        "{bandwidth: {lt: {gigabytesPerSecond: 100}}}",
        '{technology: {startsWith: "Neuron"}}',
        "{scope: {eq: HOST}}",
        "{scope: {eq: NONE}}",
        '{address: {startsWith: "trn1.32xlarge/d0/s0/c1--"}, state: {in: [DEGRADED, DOWN]}}',
        '{address: {contains: "efa1"}}',
    ],
    "Core": ["{ordinal: {gte: 1}}"],
    "Fact": ['{attribute: {contains: "memory"}}', "{disputed: {eq: true}}", "{exact: {eq: null}}"],
}
ORDERS = {
    "Chip": ["{memory: DESC}", "{state: ASC}"],
    "Link": ["{bandwidth: ASC}", "{scope: DESC}"],
    "Fact": ["{attribute: DESC}"],
}


class Maker:
    """Draws documents of plain inventory."""

    def __init__(self, draw: Any) -> None:
        self.draw, self.aliases, self.fragments = draw, 0, list[str]()

    def document(self) -> str:
        query = TYPES["Query"]
        assert isinstance(query, GraphQLObjectType)
        names = self.draw(st.lists(st.sampled_from(PLAIN), min_size=1, max_size=3))
        fields = " ".join(self.field(name, query.fields[name], 0) for name in names)
        return f"query Q {{ {fields} }} {' '.join(self.fragments)}"

    def field(self, name: str, field: GraphQLField, depth: int) -> str:
        named = get_named_type(field.type)
        self.aliases += 1
        directive = self.draw(st.sampled_from(["", "", "", " @skip(if: true)", " @include(if: true)"]))
        below = "" if is_leaf_type(named) else self.selections(named, depth + 1)
        return f"a{self.aliases}: {name}{self.arguments(name, field, depth)}{directive}{below}"

    def selections(self, named: GraphQLNamedType, depth: int) -> str:
        if isinstance(named, GraphQLInterfaceType):
            types = self.draw(st.lists(st.sampled_from(schema()._schema.get_possible_types(named)), max_size=2))
            parts = [f"... on {each.name} {self.selections(each, depth)}" for each in types]
            return " { " + " ".join(["__typename", *named.fields, *parts]) + " }"
        assert isinstance(named, GraphQLObjectType)
        leaves = [name for name, each in named.fields.items() if is_leaf_type(get_named_type(each.type))]
        others = [name for name in named.fields if name not in leaves] if depth < 6 else []
        if named.name.endswith("Connection"):
            leaves, others = ["totalCount"], [each for each in named.fields if each != "totalCount"]
        if named.name.endswith("Edge"):
            others = ["node"]
        chosen = self.draw(st.lists(st.sampled_from(["__typename", *leaves]), min_size=1, max_size=4, unique=True))
        if others:
            chosen += self.draw(st.lists(st.sampled_from(others), max_size=2, unique=True))
        parts = [name if name == "__typename" else self.field(name, named.fields[name], depth) for name in chosen]
        if self.draw(st.integers(0, 4)) == 0:
            self.fragments.append(f"fragment F{self.aliases} on {named.name} {{ {' '.join(parts)} }}")
            parts = [f"...F{self.aliases}", f"... on {named.name} {{ x{self.aliases}: __typename }}"]
        return " { " + " ".join(parts) + " }"

    def arguments(self, name: str, field: GraphQLField, depth: int) -> str:
        given = []
        if name == "cluster" and "slug" in field.args:
            given = [f'slug: "{self.draw(st.sampled_from(["u-trn2x64", "nope"]))}"']
        elif name == "resolve":
            given = [f'address: "{self.draw(st.sampled_from(ADDRESSES))}"']
        elif name == "nodes" and "ids" in field.args:
            ids = self.draw(st.lists(st.sampled_from(IDS[:6]), max_size=3))
            given = [f"ids: {json.dumps(ids)}"]
        elif name == "node" and "id" in field.args:
            given = [f'id: "{self.draw(st.sampled_from(IDS))}"']
        elif "first" in field.args:
            given = self.page(name, field, depth)
        elif name == "aggregates":
            groups = TYPES["GroupBy"]
            assert isinstance(groups, GraphQLEnumType)
            by = self.draw(st.lists(st.sampled_from(sorted(groups.values)), max_size=2))
            given = [f"by: [{', '.join(by)}]"]
        elif "attribute" in field.args and self.draw(st.booleans()):
            given = ['attribute: "bandwidth"']
        return f"({', '.join(given)})" if given else ""

    def page(self, name: str, field: GraphQLField, depth: int) -> list[str]:
        of = get_named_type(field.type).name.removesuffix("Connection")
        way = self.draw(st.sampled_from(["first", "first", "last"]))
        given = [f"{way}: {self.draw(st.integers(0, 3 if depth else 5))}"]
        if name == "links" and "between" in field.args and self.draw(st.booleans()):
            ends = self.draw(st.tuples(st.sampled_from(ADDRESSES[:7]), st.sampled_from(ADDRESSES[:7])))
            given.append(f'between: {{a: "{ends[0]}", b: "{ends[1]}"}}')
        if self.draw(st.booleans()) and of in FILTERS and "filter" in field.args:
            given.append(f"filter: {self.draw(st.sampled_from(FILTERS[of]))}")
        if self.draw(st.booleans()) and of in ORDERS:
            given.append(f"orderBy: [{self.draw(st.sampled_from(ORDERS[of]))}]")
        return given


@pytest.mark.drawing
def test_documents_made_at_random_are_answered_alike(worn: BaseFleet) -> None:
    ask = both_ways(worn)
    answered = []

    @examples(30)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        found = ask(Maker(data.draw).document())
        answered.append(found["data"] is not None)
        assert all(error["extensions"]["code"] != "INTERNAL" for error in found["errors"])

    check()
    assert any(answered)


@pytest.mark.parametrize(
    "document",
    [
        """{ clusters { nodes { slug } } path(from: "trn1.2xlarge/d0/s0/c0", to: "trn1.2xlarge") { reachable }
            sources { slug } }""",
        '{ clusters { nodes { slug } } nope: resolve(address: "nowhere") { address } }',
        """{ a: chips(first: 1) { nodes { id } } ... on Query { chips(first: 2) { nodes { id } } } ...F }
        fragment F on Query { chips(first: 2) { totalCount } }""",
        "{ __typename __schema { queryType { name } } clusters { __typename } }",
        "{ chips(first: 1) { nodes { memory { fact { value unit quote disputed others { source { title } } } } } } }",
        (
            '{ bisection(scope: "trn1.32xlarge") { upper { fact { value } bytesPerSecond } cut(last: 1) { nodes { '
            "id } } } }"
        ),
        "{ links(last: 1, filter: {factor: {ne: null}}) { nodes { factor bandwidth { bytesPerSecond } state } } }",
    ],
)
def test_both_kinds_of_fields_in_one_document(worn: BaseFleet, document: str) -> None:
    both_ways(worn)(document)


@pytest.mark.parametrize("shown", [True, False])
def test_directives_with_variables(worn: BaseFleet, shown: bool) -> None:
    document = """query ($s: Boolean!, $n: Int, $a: Address!) { chips(first: $n, filter: {cluster: {eq: $a}}) {
        nodes { ordinal @include(if: $s) ...F @skip(if: $s) } } } fragment F on Chip { id }"""
    ask = both_ways(worn)
    for cluster in ("u-trn2x64", "trn3-gen1"):
        (node,) = ask(document, s=shown, n=1, a=cluster)["data"]["chips"]["nodes"]
        assert list(node) == (["ordinal"] if shown else ["id"])
