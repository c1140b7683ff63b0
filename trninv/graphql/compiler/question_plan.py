"""Compile a document that is a single question into a plan that writes its JSON.

Answers are frozen values, so a selection reads attributes of attributes: composed getters take a tenth of the time that
the executor takes field by field. Errors are left to the executor, and so are fields that an answer does not store,
such as the rows of links and facts. The instances in an answer's servers can change while the cached answer does not:
they are read for each request and passed along with the answer.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, Final

import orjson
from graphql import (
    FieldNode,
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    ListValueNode,
    ObjectValueNode,
    ValueNode,
    VariableNode,
    is_leaf_type,
)
from graphql.execution.values import get_argument_values
from strawberry.types.arguments import convert_arguments

from trninv.graphql.compiler.json_builder import Variables
from trninv.graphql.compiler.selections import Nodes, SelectionCollector
from trninv.graphql.question_fields import question_arguments
from trninv.routing.evidence import ServerInstance
from trninv.routing.question import Question

_STRAWBERRY: Final = "strawberry-definition"
Serializer = Callable[[Any], Any]
"""Returns the selected part of a value as JSON data."""


class _FieldNotCachedError(Exception):
    """A selected field is not stored in the answer."""


class _AnswerWithInstances:
    """An answer with the instances in its servers."""

    def __init__(self, answer: object, instances: tuple[ServerInstance, ...]) -> None:
        self._answer, self.instances = answer, instances

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answer, name)


@dataclass(frozen=True, slots=True)
class CompiledQuestion:
    """A query whose only field is a question.

    Attributes
    ----------
    key
        The field's response key.
    has_instances
        Whether the instances in the answer's servers are selected.

    """

    question: Question
    key: str
    nodes: Nodes
    has_instances: bool
    _arguments: "_FieldArguments"
    _serialize: Serializer

    @classmethod
    def from_roots(
        cls, schema: GraphQLSchema, selections: SelectionCollector, roots: Mapping[str, Nodes]
    ) -> "CompiledQuestion | None":
        """Compile root fields that are one question whose selected fields its answer stores; else return None."""
        if len(roots) != 1:
            return None
        ((key, nodes),) = roots.items()
        definition = selections.object_type("Query").fields.get(nodes[0].name.value)
        question = definition and _strawberry_field(definition).metadata.get("question")
        if definition is None or question is None:
            return None
        builder = _SerializerBuilder(selections)
        try:
            serialize = builder.build(definition.type, nodes)
        except _FieldNotCachedError:
            return None
        return cls(
            question, key, nodes, builder.has_instances, _FieldArguments(schema, definition, nodes[0]), serialize
        )

    def values(self, variables: Variables) -> dict[str, Any]:
        """Return the question's arguments for these variables."""
        return self._arguments.values(variables)

    def json(self, answer: object, instances: tuple[ServerInstance, ...] = ()) -> bytes:
        """Encode the selected part of an answer, and of the instances in its servers."""
        return orjson.dumps(self._serialize(_AnswerWithInstances(answer, instances) if self.has_instances else answer))


class _FieldArguments:
    """The arguments of a field; those without variables are read once."""

    def __init__(self, schema: GraphQLSchema, definition: GraphQLField, node: FieldNode) -> None:
        self._schema, self._node = schema.extensions[_STRAWBERRY], node
        variable_names = {argument.name.value for argument in node.arguments or () if _has_variable(argument.value)}
        self._constant_field, self._variable_field = (
            _keep_arguments(definition, names) for names in (definition.args.keys() - variable_names, variable_names)
        )
        self._constants: dict[str, Any] | None = None

    def values(self, variables: Variables) -> dict[str, Any]:
        """Return the arguments as the question takes them."""
        if self._constants is None:
            self._constants = self._read_values(self._constant_field, variables)
        return self._constants | self._read_values(self._variable_field, variables)

    def _read_values(self, field: GraphQLField, variables: Variables) -> dict[str, Any]:
        coerced = get_argument_values(field, self._node, variables)
        registry = self._schema.schema_converter.scalar_registry
        arguments = _strawberry_field(field).arguments
        return question_arguments(
            convert_arguments(coerced, arguments, scalar_registry=registry, config=self._schema.config)
        )


def _keep_arguments(definition: GraphQLField, names: AbstractSet[str]) -> GraphQLField:
    """Copy a field with some of its arguments."""
    args = {name: argument for name, argument in definition.args.items() if name in names}
    declared = [
        declaration for declaration in _strawberry_field(definition).arguments if declaration.graphql_name in names
    ]
    return GraphQLField(definition.type, args, extensions={_STRAWBERRY: SimpleNamespace(arguments=declared)})


def _has_variable(value: ValueNode) -> bool:
    """Return whether a value contains a variable."""
    if isinstance(value, ListValueNode):
        return any(map(_has_variable, value.values))
    if isinstance(value, ObjectValueNode):
        return any(_has_variable(field.value) for field in value.fields)
    return isinstance(value, VariableNode)


class _SerializerBuilder:
    """Composes the serializer of a document's selections."""

    def __init__(self, selections: SelectionCollector) -> None:
        self._selections = selections
        self.has_instances = False

    def build(self, output_type: GraphQLOutputType, nodes: Nodes) -> Serializer:
        """Return the serializer for values of a type."""
        if not isinstance(output_type, GraphQLNonNull):
            serialize = self._build_non_null(output_type, nodes)
            return lambda value: None if value is None else serialize(value)
        serialize = self._build_non_null(output_type.of_type, nodes)

        def serialize_required(value: Any) -> Any:
            if value is None:
                raise TypeError(f"null where the schema has {output_type}")
            return serialize(value)

        return serialize_required

    def _build_non_null(self, output_type: GraphQLOutputType, nodes: Nodes) -> Serializer:
        if isinstance(output_type, GraphQLList):
            item = self.build(output_type.of_type, nodes)
            return lambda values: [item(value) for value in values]
        if is_leaf_type(output_type):
            coerce: Serializer = output_type.coerce_output_value
            return coerce
        if isinstance(output_type, GraphQLObjectType):
            return self._build_object(output_type, nodes)
        raise _FieldNotCachedError

    def _build_object(self, object_type: GraphQLObjectType, nodes: Nodes) -> Serializer:
        members = [
            (key, *self._build_member(object_type, nodes_below))
            for key, nodes_below in self._selections.fields_below(object_type, nodes).items()
        ]
        return lambda value: {key: read(get(value)) for key, get, read in members}

    def _build_member(self, object_type: GraphQLObjectType, nodes: Nodes) -> tuple[Serializer, Serializer]:
        """Return the getter of a member and the serializer of its value."""
        name = nodes[0].name.value
        if name == "__typename":
            return lambda _: object_type.name, lambda named: named
        definition = object_type.fields[name]
        declared = _strawberry_field(definition)
        attribute = declared.metadata.get("attribute", None if declared.base_resolver else declared.python_name)
        if attribute is None:
            raise _FieldNotCachedError
        self.has_instances |= "has_instances" in declared.metadata
        return attrgetter(attribute), self.build(definition.type, nodes)


def _strawberry_field(definition: GraphQLField) -> Any:
    """Return strawberry's definition of a field."""
    return definition.extensions[_STRAWBERRY]
