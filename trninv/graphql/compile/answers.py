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
from trninv.graphql.compile.selections import Nodes, Selections
from trninv.graphql.questions import values
from trninv.routing.question import Question
from trninv.routing.servers import StandingThere

_STRAWBERRY: Final = "strawberry-definition"
Read = Callable[[Any], Any]
"""Gives what is shown of a value, as JSON has it."""


class _NotHeldError(Exception):
    """A field shows what the answer does not hold."""


class _Beside:
    """An answer, and what stands in the servers that it names."""

    def __init__(self, answer: object, standing: tuple[StandingThere, ...]) -> None:
        self._answer, self.standing = answer, standing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answer, name)


@dataclass(frozen=True, slots=True)
class Asked:
    """The only field of a query, a question, and what it shows of the answer.

    Attributes
    ----------
    stands
        Whether it shows what stands in the servers that the answer names.

    """

    question: Question
    key: str
    nodes: Nodes
    stands: bool
    _given: "_Given"
    _read: Read

    @classmethod
    def of(cls, schema: GraphQLSchema, selections: Selections, roots: Mapping[str, Nodes]) -> "Asked | None":
        """The question that an operation of these roots is, if it is just one that answers with what it holds."""
        if len(roots) != 1:
            return None
        ((key, nodes),) = roots.items()
        definition = selections.type("Query").fields.get(nodes[0].name.value)
        question = definition and _declared(definition).metadata.get("question")
        if definition is None or question is None:
            return None
        plan = _Plan(selections)
        try:
            read = plan.value(definition.type, nodes)
        except _NotHeldError:
            return None
        return cls(question, key, nodes, plan.stands, _Given(schema, definition, nodes[0]), read)

    def values(self, variables: Variables) -> dict[str, Any]:
        """What is asked."""
        return self._given.values(variables)

    def json(self, answer: object, standing: tuple[StandingThere, ...] = ()) -> bytes:
        """What is shown of an answer, and of what stands in the servers that it names."""
        return orjson.dumps(self._read(_Beside(answer, standing) if self.stands else answer))


class _Given:
    """The arguments of a field; those without a variable in them are read once."""

    def __init__(self, schema: GraphQLSchema, definition: GraphQLField, node: FieldNode) -> None:
        self._whole, self._node = schema.extensions[_STRAWBERRY], node
        vary = {each.name.value for each in node.arguments or () if _varies(each.value)}
        self._same, self._varying = (_only(definition, names) for names in (definition.args.keys() - vary, vary))
        self._known: dict[str, Any] | None = None

    def values(self, variables: Variables) -> dict[str, Any]:
        """As the question takes them."""
        if self._known is None:
            self._known = self._read(self._same, variables)
        return self._known | self._read(self._varying, variables)

    def _read(self, field: GraphQLField, variables: Variables) -> dict[str, Any]:
        given = get_argument_values(field, self._node, variables)
        registry = self._whole.schema_converter.scalar_registry
        arguments = _declared(field).arguments
        return values(convert_arguments(given, arguments, scalar_registry=registry, config=self._whole.config))


def _only(definition: GraphQLField, names: AbstractSet[str]) -> GraphQLField:
    """A field with some of its arguments."""
    args = {name: argument for name, argument in definition.args.items() if name in names}
    declared = [each for each in _declared(definition).arguments if each.graphql_name in names]
    return GraphQLField(definition.type, args, extensions={_STRAWBERRY: SimpleNamespace(arguments=declared)})


def _varies(value: ValueNode) -> bool:
    """Whether a variable is in it."""
    if isinstance(value, ListValueNode):
        return any(map(_varies, value.values))
    if isinstance(value, ObjectValueNode):
        return any(_varies(each.value) for each in value.fields)
    return isinstance(value, VariableNode)


class _Plan:
    """Puts together what reads the selections of a document."""

    def __init__(self, selections: Selections) -> None:
        self._selections = selections
        self.stands = False

    def value(self, of: GraphQLOutputType, nodes: Nodes) -> Read:
        """Reads a value of a type."""
        if not isinstance(of, GraphQLNonNull):
            shown = self._some(of, nodes)
            return lambda value: None if value is None else shown(value)
        shown = self._some(of.of_type, nodes)

        def always(value: Any) -> Any:
            if value is None:
                raise TypeError(f"null where the schema has {of}")
            return shown(value)

        return always

    def _some(self, of: GraphQLOutputType, nodes: Nodes) -> Read:
        if isinstance(of, GraphQLList):
            item = self.value(of.of_type, nodes)
            return lambda values: [item(value) for value in values]
        if is_leaf_type(of):
            coerce: Read = of.coerce_output_value
            return coerce
        if isinstance(of, GraphQLObjectType):
            return self._object(of, nodes)
        raise _NotHeldError

    def _object(self, of: GraphQLObjectType, nodes: Nodes) -> Read:
        members = [(key, *self._member(of, named)) for key, named in self._selections.of(of, nodes).items()]
        return lambda value: {key: read(get(value)) for key, get, read in members}

    def _member(self, of: GraphQLObjectType, nodes: Nodes) -> tuple[Read, Read]:
        """What gives a member of an object, and what reads it."""
        name = nodes[0].name.value
        if name == "__typename":
            return lambda _: of.name, lambda named: named
        definition = of.fields[name]
        declared = _declared(definition)
        held = declared.metadata.get("held", None if declared.base_resolver else declared.python_name)
        if held is None:
            raise _NotHeldError
        self.stands |= "stands" in declared.metadata
        return attrgetter(held), self.value(definition.type, nodes)


def _declared(definition: GraphQLField) -> Any:
    """A field as strawberry has it."""
    return definition.extensions[_STRAWBERRY]
