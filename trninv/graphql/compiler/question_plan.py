"""Compile a question field to a plan that asks the question and writes its answer."""

from typing import Any

from graphql import GraphQLField, ListValueNode, ObjectValueNode, ValueNode, VariableNode
from graphql.execution.values import get_argument_values

from trninv.graphql.compiler.json_builder import Variables
from trninv.graphql.compiler.object_serializer import ObjectSerializer
from trninv.graphql.compiler.selections import Nodes, field_metadata
from trninv.graphql.compiler.statement_plan import DocumentParts
from trninv.graphql.question_fields import question_arguments
from trninv.routing.fleet import BaseFleet
from trninv.routing.question import Question


class CompiledQuestion:
    """A question field of a document, with the selections of its answer.

    Attributes
    ----------
    nodes, key
        The nodes that select the field, and its response key.
    serializer
        Writes the selected part of the answer.

    """

    question: Question

    def __init__(self, document: DocumentParts, definition: GraphQLField, nodes: Nodes, variables: Variables) -> None:
        self.question = field_metadata(definition)["question"]
        self.nodes, self.key = nodes, (nodes[0].alias or nodes[0].name).value
        self.serializer = ObjectSerializer(document, definition.type, nodes, variables)
        self._definition, self._values = definition, dict[str, Any]()
        arguments = {argument.name.value: argument.value for argument in nodes[0].arguments or ()}
        self._has_variables = any(map(_has_variable, arguments.values()))
        self._variables = {
            name: value.name.value for name, value in arguments.items() if isinstance(value, VariableNode)
        }
        self._has_only_whole_variables = not any(
            _has_variable(value) for name, value in arguments.items() if name not in self._variables
        )
        self._constants: dict[str, Any] | None = None  # coerced arguments that are not variables

    def values(self, variables: Variables) -> dict[str, Any]:
        """Return the question's arguments for these variables."""
        if self._values:
            return self._values
        values = question_arguments(self.question, self._coerce_arguments(variables))
        if not self._has_variables:
            self._values = values
        return values

    def _coerce_arguments(self, variables: Variables) -> dict[str, Any]:
        """Return the field's arguments by name; variables are coerced already, and the others only once."""
        passed = {name: variables.coerced.get(variable) for name, variable in self._variables.items()}
        if self._constants is not None and None not in passed.values():
            return self._constants | passed
        coerced = get_argument_values(self._definition, self.nodes[0], variables)
        if self._has_only_whole_variables:
            self._constants = {name: value for name, value in coerced.items() if name not in self._variables}
        return coerced

    def ask(self, fleet: BaseFleet, variables: Variables) -> bytes:
        """Ask the question and return the answer's JSON; the rows that it refers to are read from the same fleet."""
        return self.serializer.read_json(fleet.ask(self.question, **self.values(variables)), fleet, variables)


def _has_variable(value: ValueNode) -> bool:
    """Return whether a value contains a variable."""
    if isinstance(value, ListValueNode):
        return any(map(_has_variable, value.values))
    if isinstance(value, ObjectValueNode):
        return any(_has_variable(field.value) for field in value.fields)
    return isinstance(value, VariableNode)
