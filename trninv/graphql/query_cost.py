"""Limit a GraphQL document's size and its cost before it runs.

`compute_cost` prices a valid operation: an object costs 1; a list multiplies the cost of its items by its length, which
is the requested page size, but at most the longest such list in any documented system. A field that routes, scans or
writes declares its own price, one of those in `trninv.routing.question`.

`check_size` limits what a document selects, before it is validated. A chain of fragments, each of which spreads
the next one twice, selects exponentially many fields: it is refused here, where each fragment is counted once, because
every later step would take exponential time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
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

from trninv.errors import CostLimitError, DocumentError
from trninv.graphql.compiler.selections import SelectionCollector, field_metadata
from trninv.graphql.list_arguments import DEFAULT_PAGE, MAX_PAGE

_RUNS_PER_QUESTION: Final = {"Scenario": 2}
"""Times that a question is answered, by parent type, if not 1: a scenario also answers it for the baseline."""
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
    ("Layout", "wrapLinks"): 96,
    ("Query", "clusters"): 32,
    ("Query", "systems"): 16,
    ("Query", "sources"): 64,
    ("Query", "conflicts"): 64,
    ("Query", "reports"): 32,
    ("Query", "search"): 20,
    ("Impact", "domains"): 4,
    ("Path", "steps"): 32,
    ("PoolAnswer", "byHops"): 16,
    ("HopRing", "reached"): 64,
    ("SweepAnswer", "classes"): 2_000,
}
"""Lengths of the longest lists in documented systems, or their maximum lengths, by type and field."""
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
                f"the document costs {self.value:,}, more than {max_cost:,}, most of it in "
                f"{'.'.join(self.costliest_path)}; nest less, page with first, or use several requests"
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
    """Adds up the costs of an operation's fields, from the root down."""

    schema: GraphQLSchema
    collector: SelectionCollector
    variables: VariableValues

    def visit(
        self, object_type: GraphQLObjectType, selection_sets: list[SelectionSetNode], *, page_length: int = 1
    ) -> Cost:
        """Sum the costs of an object's fields; `page_length` applies to the nodes and edges of a connection."""
        field_costs = []
        for key, nodes in self.collector.collect(object_type, selection_sets).items():
            if nodes[0].name.value in object_type.fields:
                cost = self._visit_field(object_type, nodes, page_length)
                field_costs.append(Cost(cost.value, (key, *cost.costliest_path), cost.objects))
        total = sum(cost.value for cost in field_costs)
        costliest = max(field_costs, key=lambda cost: cost.value, default=Cost(0, ()))
        objects = sum(cost.objects for cost in field_costs)
        # the path ends where no single field has half of the cost
        return Cost(total, costliest.costliest_path if 2 * costliest.value > total else (), objects)

    def _visit_field(self, object_type: GraphQLObjectType, nodes: list[FieldNode], page_length: int) -> Cost:
        name = nodes[0].name.value
        definition = object_type.fields[name]
        price = _field_price(definition) * _RUNS_PER_QUESTION.get(object_type.name, 1)
        field_type = get_named_type(definition.type)
        selection_sets = [node.selection_set for node in nodes if node.selection_set]
        if not selection_sets:
            return Cost(price, ())
        arguments = get_argument_values(definition, nodes[0], self.variables)
        if field_type.name.endswith("Connection"):  # its page length applies to the nodes and edges below
            requested_length = self._page_length(object_type, name, arguments)
            below = self._visit_below(field_type, selection_sets, page_length=requested_length)
        elif object_type.name.endswith("Connection") and name in ("nodes", "edges"):
            below = self._visit_below(field_type, selection_sets)
            objects = page_length * (1 + below.objects)
            return Cost(price + page_length * (1 + below.value), below.costliest_path, objects)
        else:
            below = self._visit_below(field_type, selection_sets)
        repeats = max(arguments.get("k", 1), 1) if field_type.name == "PathAnswer" else 1  # it has up to k paths
        length = self._list_length(object_type, name, arguments) if _is_list(definition.type) else 1
        objects = length * (1 + repeats * below.objects)
        return Cost(price + length * (1 + repeats * below.value), below.costliest_path, objects)

    def _visit_below(self, field_type: object, selection_sets: list[SelectionSetNode], *, page_length: int = 1) -> Cost:
        """Return the cost of selections on a type; for an interface, that of its costliest type."""
        if isinstance(field_type, GraphQLObjectType):
            return self.visit(field_type, selection_sets, page_length=page_length)
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
    return int(field_metadata(definition).get("price", 0))


def _is_list(output_type: GraphQLOutputType) -> bool:
    return is_list_type(output_type.of_type if is_non_null_type(output_type) else output_type)


MAX_DEPTH: Final = 14
"""Maximum nesting of fields; introspection fields don't count."""
MAX_ALIASES: Final = 50
"""Maximum number of aliases in a document, with its fragments expanded."""
MAX_TOKENS: Final = 5_000
"""Maximum number of tokens that are parsed."""
MAX_SELECTIONS: Final = MAX_TOKENS
"""Maximum number of selections with fragments expanded; a document without fragments cannot have more."""
MAX_REPEATS: Final = 50
"""Maximum number of fields of one name or alias in one selection set: validation compares all pairs."""
_MAX_COUNT: Final = 1_000_000
"""Maximum of a count; fragments that spread each other repeatedly would otherwise lead to huge numbers."""


@dataclass(slots=True)
class _SelectionCounts:
    """Counts of an operation or fragment; `add` includes the fragments that it spreads."""

    selections: int = 0
    aliases: int = 0
    depth: int = 0
    spreads: list[tuple[str, int | None]] = field(default_factory=list)
    """Names and depths of spreads; depth None below introspection fields."""

    def add(self, counts_by_fragment: Mapping[str, "_SelectionCounts"]) -> None:
        """Add the counts of spread fragments, which must be complete."""
        for name, depth in self.spreads:
            if (spread := counts_by_fragment.get(name)) is not None:
                self.selections = min(self.selections + spread.selections, _MAX_COUNT)
                self.aliases = min(self.aliases + spread.aliases, _MAX_COUNT)
                self.depth = self.depth if depth is None else min(max(self.depth, depth + spread.depth), _MAX_COUNT)


def check_size(document: DocumentNode) -> None:
    """Refuse a document that selects too much.

    Raises
    ------
    DocumentError
        The document is nested too deeply, or selects too many fields or one field too often.

    """
    fragments = {
        definition.name.value: _count_definition(definition.selection_set)
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    for name in _order_fragments(fragments):
        fragments[name].add(fragments)
    operations = [
        _count_definition(definition.selection_set)
        for definition in document.definitions
        if isinstance(definition, OperationDefinitionNode)
    ]
    for operation in operations:
        operation.add(fragments)
    _check_counts(operations, fragments.values())


def _check_counts(operations: list[_SelectionCounts], fragments: Iterable[_SelectionCounts]) -> None:
    if max((counts.depth for counts in operations), default=0) > MAX_DEPTH:
        raise DocumentError(f"the document exceeds the maximum operation depth of {MAX_DEPTH}; nest less")
    if (aliases := sum(counts.aliases for counts in operations)) > MAX_ALIASES:
        raise DocumentError(
            f"the document has {_format_count(aliases)} aliases, more than the {MAX_ALIASES} allowed; "
            "split it into several requests"
        )
    selections = max(sum(counts.selections for counts in operations), *(counts.selections for counts in fragments), 0)
    if selections > MAX_SELECTIONS:
        raise DocumentError(
            f"the document selects {_format_count(selections)} fields with its fragments expanded, more than "
            f"{MAX_SELECTIONS:,}; spread fewer fragments, or use several requests"
        )


def _format_count(number: int) -> str:
    return f"{number:,}" if number < _MAX_COUNT else f"{_MAX_COUNT:,} or more"


def _count_definition(selections: SelectionSetNode) -> _SelectionCounts:
    """Count a definition's selections, without the fragments that it spreads."""
    counts = _SelectionCounts()
    stack: list[tuple[SelectionSetNode, int | None, Counter[str]]] = [(selections, 0, Counter())]
    while stack:
        selection_set, depth, names = stack.pop()
        counts.selections += len(selection_set.selections)
        counts.depth = max(counts.depth, depth or 0) if selection_set.selections else counts.depth
        for node in selection_set.selections:
            if isinstance(node, FragmentSpreadNode):
                counts.spreads.append((node.name.value, depth))
            elif not isinstance(node, FieldNode):
                stack.append((node.selection_set, depth, names))  # type: ignore[attr-defined] # an inline fragment
            else:
                counts.aliases += node.alias is not None
                _count_name(names, (node.alias or node.name).value)
                if node.selection_set:
                    depth_below = None if depth is None or node.name.value.startswith("__") else depth + 1
                    stack.append((node.selection_set, depth_below, Counter()))
    return counts


def _count_name(names: Counter[str], name: str) -> None:
    names[name] += 1
    if names[name] > MAX_REPEATS:
        raise DocumentError(f"{name[:40]} is selected more than {MAX_REPEATS} times in one place; select it once")


def _order_fragments(fragments: Mapping[str, _SelectionCounts]) -> Iterable[str]:
    """Order fragments so that each follows those that it spreads."""
    spreads_by_fragment = {
        name: {spread for spread, _ in counts.spreads if spread in fragments} for name, counts in fragments.items()
    }
    try:
        return list(TopologicalSorter(spreads_by_fragment).static_order())
    except CycleError as error:
        _, cycle = error.args
        raise DocumentError(f"fragment {cycle[0][:40]} spreads itself; remove the cycle") from None
