"""A routing question that is all of a document: its arguments, and the JSON of its answer by a plan made once.

Answers are frozen values, so what a selection shows of one are attributes of attributes: read by functions that are put
together once, it takes a tenth of the time that the executor takes field by field. What goes wrong is left to the
executor, and so is what an answer does not hold itself, such as the rows of links and facts. What stands in the servers
that it names changes while the answer does not: it is read for each request, and put beside the answer.
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

from trninv.graphql.compile.builder import Variables
from trninv.graphql.compile.selections import Nodes, SelectionCollector
from trninv.graphql.questions import question_arguments
from trninv.routing.question import Question
from trninv.routing.servers import StandingThere

_STRAWBERRY: Final = "strawberry-definition"
Serializer = Callable[[Any], Any]
"""Gives what is shown of a value, as JSON has it."""


class _FieldNotCachedError(Exception):
    """A field shows what the answer does not hold."""


class _AnswerWithInstances:
    """An answer, and what stands in the servers that it names."""

    def __init__(self, answer: object, instances: tuple[StandingThere, ...]) -> None:
        self._answer, self.standing = answer, instances

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answer, name)


@dataclass(frozen=True, slots=True)
class CompiledQuestion:
    """The only field of a query, a question, and what it shows of the answer.

    Attributes
    ----------
    stands
        Whether it shows what stands in the servers that the answer names.

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
        """The question that an operation of these roots is, if it is just one that answers with what it holds."""
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
        """What is asked."""
        return self._arguments.values(variables)

    def json(self, answer: object, instances: tuple[StandingThere, ...] = ()) -> bytes:
        """What is shown of an answer, and of what stands in the servers that it names."""
        return orjson.dumps(self._serialize(_AnswerWithInstances(answer, instances) if self.has_instances else answer))


class _FieldArguments:
    """The arguments of a field; those without a variable in them are read once."""

    def __init__(self, schema: GraphQLSchema, definition: GraphQLField, node: FieldNode) -> None:
        self._schema, self._node = schema.extensions[_STRAWBERRY], node
        variable_names = {argument.name.value for argument in node.arguments or () if _has_variable(argument.value)}
        self._constant_field, self._variable_field = (
            _keep_arguments(definition, names) for names in (definition.args.keys() - variable_names, variable_names)
        )
        self._constants: dict[str, Any] | None = None

    def values(self, variables: Variables) -> dict[str, Any]:
        """As the question takes them."""
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
    """A field with some of its arguments."""
    args = {name: argument for name, argument in definition.args.items() if name in names}
    declared = [
        declaration for declaration in _strawberry_field(definition).arguments if declaration.graphql_name in names
    ]
    return GraphQLField(definition.type, args, extensions={_STRAWBERRY: SimpleNamespace(arguments=declared)})


def _has_variable(value: ValueNode) -> bool:
    """Whether a variable is in it."""
    if isinstance(value, ListValueNode):
        return any(map(_has_variable, value.values))
    if isinstance(value, ObjectValueNode):
        return any(_has_variable(field.value) for field in value.fields)
    return isinstance(value, VariableNode)


class _SerializerBuilder:
    """Puts together what reads the selections of a document."""

    def __init__(self, selections: SelectionCollector) -> None:
        self._selections = selections
        self.has_instances = False

    def build(self, output_type: GraphQLOutputType, nodes: Nodes) -> Serializer:
        """Reads a value of a type."""
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
        """What gives a member of an object, and what reads it."""
        name = nodes[0].name.value
        if name == "__typename":
            return lambda _: object_type.name, lambda named: named
        definition = object_type.fields[name]
        declared = _strawberry_field(definition)
        attribute = declared.metadata.get("held", None if declared.base_resolver else declared.python_name)
        if attribute is None:
            raise _FieldNotCachedError
        self.has_instances |= "stands" in declared.metadata
        return attrgetter(attribute), self.build(definition.type, nodes)


def _strawberry_field(definition: GraphQLField) -> Any:
    """A field as strawberry has it."""
    return definition.extensions[_STRAWBERRY]
