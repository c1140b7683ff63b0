"""What a document may cost, told before it runs.

An object costs 1, and what is below a list as often as the list is long: as long as was asked for, but not longer than
such lists are in any documented system. A field that routes, scans or writes declares its price, of those in
`trninv.routing.question`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    is_list_type,
    is_non_null_type,
)
from graphql.execution.values import VariableValues, get_argument_values

from trninv.errors import CostLimitError
from trninv.graphql.arguments import DEFAULT_PAGE, MAX_PAGE
from trninv.graphql.compile.selections import Selections

_ASKED: Final = {"Scenario": 2}
"""How often a question is asked, if not once: of a scenario also of the baseline."""
_LONGEST: Final[Mapping[tuple[str, str], int]] = {
    ("Server", "chips"): 16,
    ("Server", "nics"): 16,
    ("Server", "trays"): 9,
    ("Chip", "cores"): 8,
    ("Chip", "links"): 16,
    ("Nic", "links"): 8,
    ("Switch", "links"): 144,
    ("Domain", "servers"): 36,
    ("Domain", "switches"): 44,
    ("Rack", "servers"): 18,
    ("Fact", "others"): 8,
    ("Conflict", "facts"): 8,
    ("SetStatePayload", "changes"): 32,
    ("ChipModel", "compute"): 6,
    ("Layout", "places"): 182,
    ("Layout", "wrapping"): 96,
    ("Query", "clusters"): 32,
    ("Query", "systems"): 16,
    ("Query", "sources"): 64,
    ("Query", "conflicts"): 64,
    ("Query", "reports"): 32,
    ("Query", "search"): 20,
    ("Impact", "domains"): 4,
    ("Path", "steps"): 32,
    ("PoolAnswer", "byHops"): 16,
    ("PoolRing", "reached"): 64,
    ("SweepAnswer", "classes"): 2_000,
}
"""Lengths of lists in documented systems."""
_LENGTH: Final = 32
"""Of any other list without a page."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What something costs, the path of the field that costs most of it, and how many objects are in it at most."""

    value: int
    dearest: tuple[str, ...]
    objects: int = 0

    def check(self, most: int) -> None:
        """Refuse what is too dear.

        Raises
        ------
        CostLimitError
            Naming the dearest field.

        """
        if self.value > most:
            raise CostLimitError(
                f"the document would cost {self.value:,} of {most:,} at most, and {'.'.join(self.dearest)} most of it: "
                "nest less, page with first, or ask in several requests"
            )


def cost(
    schema: GraphQLSchema,
    operation: OperationDefinitionNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: VariableValues,
) -> Cost:
    """What an operation would cost."""
    root = schema.get_root_type(operation.operation)
    assert root is not None
    walk = _Walk(schema, Selections(schema, fragments, variables), variables)
    return walk.selections(root, [operation.selection_set])


@dataclass(frozen=True, slots=True)
class _Walk:
    schema: GraphQLSchema
    collect: Selections
    variables: VariableValues

    def selections(self, of: GraphQLObjectType, sets: list[SelectionSetNode], *, page: int = 1) -> Cost:
        """Of an object's fields together; page is the length of a connection's lists."""
        parts = []
        for key, nodes in self.collect.within(of, sets).items():
            if not key.startswith("__") and nodes[0].name.value in of.fields:
                part = self._field(of, nodes, page)
                parts.append(Cost(part.value, (key, *part.dearest), part.objects))
        total = sum(part.value for part in parts)
        dearest = max(parts, key=lambda part: part.value, default=Cost(0, ()))
        objects = sum(part.objects for part in parts)
        return Cost(total, dearest.dearest if 2 * dearest.value > total else (), objects)

    def _field(self, of: GraphQLObjectType, nodes: list[FieldNode], page: int) -> Cost:
        name = nodes[0].name.value
        definition = of.fields[name]
        price = _price(definition) * _ASKED.get(of.name, 1)
        named = get_named_type(definition.type)
        sets = [node.selection_set for node in nodes if node.selection_set]
        if not sets:
            return Cost(price, ())
        given = get_argument_values(definition, nodes[0], self.variables)
        if named.name.endswith("Connection"):
            below = self._below(named, sets, page=self._page(of, name, given))
        elif of.name.endswith("Connection") and name in ("nodes", "edges"):
            below = self._below(named, sets)
            return Cost(price + page * (1 + below.value), below.dearest, page * (1 + below.objects))
        else:
            below = self._below(named, sets)
        times = max(given.get("k", 1), 1) if named.name == "PathAnswer" else 1
        length = self._length(of, name, given) if _is_list(definition.type) else 1
        objects = length * (1 + times * below.objects)
        return Cost(price + length * (1 + times * below.value), below.dearest, objects)

    def _below(self, named: object, sets: list[SelectionSetNode], *, page: int = 1) -> Cost:
        """Of the fields of what may be of several types, those of the dearest."""
        if isinstance(named, GraphQLObjectType):
            return self.selections(named, sets, page=page)
        assert isinstance(named, GraphQLInterfaceType)
        types = self.schema.get_possible_types(named)
        return max((self.selections(each, sets) for each in types), key=lambda cost: cost.value)

    def _length(self, of: GraphQLObjectType, name: str, given: Mapping[str, Any]) -> int:
        return len(given["ids"]) if "ids" in given else _LONGEST.get((of.name, name), _LENGTH)

    def _page(self, of: GraphQLObjectType, name: str, given: Mapping[str, object]) -> int:
        asked = [size for size in (given.get("first"), given.get("last")) if isinstance(size, int)]
        return min(max(asked, default=DEFAULT_PAGE), MAX_PAGE, _LONGEST.get((of.name, name), MAX_PAGE))


def _price(definition: GraphQLField) -> int:
    """What a field costs by itself, as it was declared."""
    declared = definition.extensions.get("strawberry-definition")
    return int(declared.metadata.get("price", 0)) if declared else 0


def _is_list(of: GraphQLOutputType) -> bool:
    return is_list_type(of.of_type if is_non_null_type(of) else of)
