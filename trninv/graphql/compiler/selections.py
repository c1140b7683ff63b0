"""Collect the fields that a selection set selects, with fragments expanded and @skip and @include applied.

The compiler, the cost and the document cache use it. `runtime` is the object type that the fields are selected from.
What a field declares beyond GraphQL (its price, how it is compiled) is in its metadata.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLIncludeDirective,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLSkipDirective,
    InlineFragmentNode,
    NamedTypeNode,
    SelectionSetNode,
    is_abstract_type,
)
from graphql.execution.values import VariableValues, get_directive_values
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField

Nodes = list[FieldNode]
"""The nodes in a document that select one field under the same response key; their selections are merged."""


class SelectionCollector:
    """Collects fields as the GraphQL specification does (6.3.2, CollectFields), for one set of variables."""

    def __init__(
        self, schema: GraphQLSchema, fragments: Mapping[str, FragmentDefinitionNode], variables: VariableValues
    ) -> None:
        self._schema, self._fragments, self._variables = schema, fragments, variables

    def object_type(self, name: str) -> GraphQLObjectType:
        """Return an object type by name."""
        graphql_type = self._schema.type_map[name]
        assert isinstance(graphql_type, GraphQLObjectType)
        return graphql_type

    def fields_below(self, runtime: GraphQLObjectType, nodes: Nodes) -> dict[str, Nodes]:
        """Collect the subfields of fields, by response key."""
        return self.collect(runtime, (node.selection_set for node in nodes if node.selection_set))

    def collect(self, runtime: GraphQLObjectType, selections: Iterable[SelectionSetNode]) -> dict[str, Nodes]:
        """Collect the fields of selection sets, by response key."""
        fields: dict[str, Nodes] = {}
        visited_fragments: set[str] = set()
        for selection_set in selections:
            self._collect(fields, visited_fragments, runtime, selection_set)
        return fields

    def _collect(
        self,
        fields: dict[str, Nodes],
        visited_fragments: set[str],
        runtime: GraphQLObjectType,
        selections: SelectionSetNode,
    ) -> None:
        for node in selections.selections:
            if not self._is_included(node):
                continue
            if isinstance(node, FieldNode):
                fields.setdefault((node.alias or node.name).value, []).append(node)
            elif isinstance(node, InlineFragmentNode):
                if self._fragment_applies(runtime, node.type_condition):
                    self._collect(fields, visited_fragments, runtime, node.selection_set)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in visited_fragments:
                visited_fragments.add(node.name.value)
                fragment = self._fragments[node.name.value]
                if self._fragment_applies(runtime, fragment.type_condition):
                    self._collect(fields, visited_fragments, runtime, fragment.selection_set)

    def _is_included(self, node: Any) -> bool:
        if not node.directives:
            return True
        skip = get_directive_values(GraphQLSkipDirective, node, self._variables)
        include = get_directive_values(GraphQLIncludeDirective, node, self._variables)
        return not (skip and skip["if"]) and not (include and not include["if"])

    def _fragment_applies(self, runtime: GraphQLObjectType, condition: NamedTypeNode | None) -> bool:
        if condition is None or condition.name.value == runtime.name:
            return True
        condition_type = self._schema.type_map[condition.name.value]
        return is_abstract_type(condition_type) and self._schema.is_sub_type(condition_type, runtime)


def declared_field(definition: GraphQLField) -> StrawberryField:
    """Return strawberry's declaration of a field."""
    declared: StrawberryField = definition.extensions[GraphQLCoreConverter.DEFINITION_BACKREF]
    return declared


def field_metadata(definition: GraphQLField) -> Mapping[str, Any]:
    """Return the metadata of a field; introspection fields have none."""
    return declared_field(definition).metadata if definition.extensions else {}
