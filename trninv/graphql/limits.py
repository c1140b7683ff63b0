"""Estimate a document's cost and limit it before the document runs.

An object costs 1; a list multiplies the cost of its items by its length: the requested page size, but at most the
longest such list in any documented system. A field that routes, scans or writes declares its own price, one of those in
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
from trninv.graphql.compile.selections import SelectionCollector

_RUNS_PER_QUESTION: Final = {"Scenario": 2}
"""Runs of a question by parent type, if not 1: a scenario also answers it for the baseline."""
_LIST_LENGTHS: Final[Mapping[tuple[str, str], int]] = {
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
"""Longest lists in documented systems."""
_DEFAULT_LENGTH: Final = 32
"""Assumed length of any other list without pages."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost, the path of the costliest field in it, and the maximum number of objects."""

    value: int
    costliest_path: tuple[str, ...]
    objects: int = 0

    def check(self, max_cost: int) -> None:
        """Refuse a cost above the limit.

        Raises
        ------
        CostLimitError
            The cost exceeds the limit; the message names the costliest field.

        """
        if self.value > max_cost:
            raise CostLimitError(
                f"the document would cost {self.value:,} of {max_cost:,} at most, "
                f"and {'.'.join(self.costliest_path)} most of it: "
                "nest less, page with first, or ask in several requests"
            )


def compute_cost(
    schema: GraphQLSchema,
    operation: OperationDefinitionNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: VariableValues,
) -> Cost:
    """Compute the cost of an operation."""
    root = schema.get_root_type(operation.operation)
    assert root is not None
    visitor = _CostVisitor(schema, SelectionCollector(schema, fragments, variables), variables)
    return visitor.visit(root, [operation.selection_set])


@dataclass(frozen=True, slots=True)
class _CostVisitor:
    schema: GraphQLSchema
    collector: SelectionCollector
    variables: VariableValues

    def visit(self, object_type: GraphQLObjectType, selection_sets: list[SelectionSetNode], *, page: int = 1) -> Cost:
        """Sum the costs of an object's fields; page is the length of a connection's lists."""
        parts = []
        for key, nodes in self.collector.collect(object_type, selection_sets).items():
            if not key.startswith("__") and nodes[0].name.value in object_type.fields:
                part = self._visit_field(object_type, nodes, page)
                parts.append(Cost(part.value, (key, *part.costliest_path), part.objects))
        total = sum(part.value for part in parts)
        costliest = max(parts, key=lambda part: part.value, default=Cost(0, ()))
        objects = sum(part.objects for part in parts)
        return Cost(total, costliest.costliest_path if 2 * costliest.value > total else (), objects)

    def _visit_field(self, object_type: GraphQLObjectType, nodes: list[FieldNode], page: int) -> Cost:
        name = nodes[0].name.value
        definition = object_type.fields[name]
        price = _field_price(definition) * _RUNS_PER_QUESTION.get(object_type.name, 1)
        field_type = get_named_type(definition.type)
        selection_sets = [node.selection_set for node in nodes if node.selection_set]
        if not selection_sets:
            return Cost(price, ())
        arguments = get_argument_values(definition, nodes[0], self.variables)
        if field_type.name.endswith("Connection"):
            below = self._visit_below(field_type, selection_sets, page=self._page_length(object_type, name, arguments))
        elif object_type.name.endswith("Connection") and name in ("nodes", "edges"):
            below = self._visit_below(field_type, selection_sets)
            return Cost(price + page * (1 + below.value), below.costliest_path, page * (1 + below.objects))
        else:
            below = self._visit_below(field_type, selection_sets)
        repeats = max(arguments.get("k", 1), 1) if field_type.name == "PathAnswer" else 1
        length = self._list_length(object_type, name, arguments) if _is_list(definition.type) else 1
        objects = length * (1 + repeats * below.objects)
        return Cost(price + length * (1 + repeats * below.value), below.costliest_path, objects)

    def _visit_below(self, field_type: object, selection_sets: list[SelectionSetNode], *, page: int = 1) -> Cost:
        """Return the cost of selections on a type; for an interface, that of its costliest type."""
        if isinstance(field_type, GraphQLObjectType):
            return self.visit(field_type, selection_sets, page=page)
        assert isinstance(field_type, GraphQLInterfaceType)
        types = self.schema.get_possible_types(field_type)
        return max((self.visit(object_type, selection_sets) for object_type in types), key=lambda cost: cost.value)

    def _list_length(self, object_type: GraphQLObjectType, name: str, arguments: Mapping[str, Any]) -> int:
        return (
            len(arguments["ids"])
            if "ids" in arguments
            else _LIST_LENGTHS.get((object_type.name, name), _DEFAULT_LENGTH)
        )

    def _page_length(self, object_type: GraphQLObjectType, name: str, arguments: Mapping[str, object]) -> int:
        sizes = [size for size in (arguments.get("first"), arguments.get("last")) if isinstance(size, int)]
        return min(max(sizes, default=DEFAULT_PAGE), MAX_PAGE, _LIST_LENGTHS.get((object_type.name, name), MAX_PAGE))


def _field_price(definition: GraphQLField) -> int:
    """Return the price that a field declares, without its selections."""
    declared = definition.extensions.get("strawberry-definition")
    return int(declared.metadata.get("price", 0)) if declared else 0


def _is_list(output_type: GraphQLOutputType) -> bool:
    return is_list_type(output_type.of_type if is_non_null_type(output_type) else output_type)
