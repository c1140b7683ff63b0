"""Generate tools from the fields of the GraphQL schema, and the documents that their calls run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLSchema,
    get_named_type,
    is_leaf_type,
)

from trninv.agents.argument_values import check_values
from trninv.agents.json_schema import arguments_schema, input_schema
from trninv.agents.selection import select_answer, select_evidence, select_sources
from trninv.errors import UsageError
from trninv.graphql import graphql_schema
from trninv.graphql.compiler.selections import field_metadata

_UNSUITABLE: Final = frozenset({"asOf", "whatIf", "node", "nodes", "layout", "sweepJob", "startSweep", "cancelSweep"})
"""Fields without a tool: tools take `at` and `down` instead; ids, positions and jobs are for programs."""
AT: Final = "at"
_COMMON: Final[Mapping[str, Any]] = {
    AT: {"type": "string", "description": "Time with its zone, or number of an event; by default now."},
    "page": {"type": "integer", "minimum": 1, "default": 1, "description": "Page of the answer's long lists."},
}
_DOWN: Final = "down"
"""The argument of `whatIf` that every question takes."""
_FIRST: Final = "first"
_INCIDENTS: Final = "incidents"
UNAPPLIED: Final = "unappliedFindingCount"
"""The field that says whether drift found failed parts that are still up; the answer of incidents has it too."""
_ROWS: Final = 20
"""Rows of a list if a call does not set `first`."""
_BACKWARD: Final = frozenset({"last", "before"})
"""Arguments of lists that no tool takes: pages go forward."""
PLAN: Final = "plan"
_CONFIRM: Final[Mapping[str, Any]] = {
    PLAN: {
        "type": "string",
        "description": "The plan to carry out, from a first call with the same arguments, which changes nothing.",
    }
}


@dataclass(frozen=True)
class Tool:
    """A tool: one field of the GraphQL API.

    Attributes
    ----------
    scope
        The scope that a token needs.
    is_change
        Whether it changes the inventory, so that a call has to be confirmed.
    input_schema
        JSON Schema of the arguments.

    """

    name: str
    description: str
    scope: str
    is_change: bool
    field: GraphQLField
    input_schema: Mapping[str, Any]

    @property
    def command(self) -> str:
        """Return the name of its command on the command line; its own name if it has none."""
        metadata = field_metadata(self.field)
        return str(metadata["question"].command if "question" in metadata else metadata.get("command", self.name))

    def document(self, arguments: Mapping[str, Any], *, is_dry_run: bool = False) -> tuple[str, dict[str, Any]]:
        """Return the GraphQL document of a call, and its variables.

        Raises
        ------
        UsageError
            There is no such argument, or one is missing or of the wrong type.

        """
        selection = select_answer(self.field)
        if sources := select_sources(self.field):
            selection = f"{selection.removesuffix('}')} {sources} }}"
        return self._document(arguments, selection, is_dry_run=is_dry_run)

    def evidence_document(self, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the GraphQL document that asks for the evidence of a call's answer, and its variables."""
        selection = select_evidence(self.field)
        if not selection:
            raise UsageError(f"{self.name} has no evidence; it lists what the database holds")
        return self._document(arguments, selection)

    def _document(
        self, arguments: Mapping[str, Any], selection: str, *, is_dry_run: bool = False
    ) -> tuple[str, dict[str, Any]]:
        for name in arguments:
            if name not in self.input_schema["properties"]:
                expected = ", ".join(self.input_schema["properties"])
                raise UsageError(f"{self.name} takes no argument {name!r:.40}; use {expected}")
        sent = {name: value for name, value in arguments.items() if name not in (*_COMMON, *_CONFIRM)}
        check_values(self.name, self._declared_arguments(), sent)
        if "after" in self.field.args:
            sent.setdefault(_FIRST, _ROWS)
        if self.is_change:
            variables = {"input": sent | {"dryRun": is_dry_run}}
            type_by_name = {"input": self.field.args["input"].type}
        else:
            variables = sent
            type_by_name = {name: self.field.args[name].type for name in sent if name in self.field.args}
        scenario = {name: argument for name, argument in _scenario_arguments().items() if name in sent}
        scenario_types = {name: argument.type for name, argument in scenario.items()}
        call = f"{self.name}{_pass(type_by_name)} {selection}"
        if scenario_types:
            call = f"whatIf{_pass(scenario_types)} {{ {call} }}"
        if self.name == _INCIDENTS:
            call += f" {UNAPPLIED}{'(scope: $scope)' if 'scope' in sent else ''}"
        declared = ", ".join(f"${name}: {kind}" for name, kind in (type_by_name | scenario_types).items())
        operation = "mutation" if self.is_change else "query"
        return f"{operation}{f'({declared})' if declared else ''} {{ {call} }}", variables

    def _declared_arguments(self) -> Mapping[str, GraphQLArgument | GraphQLInputField]:
        if not self.is_change:
            return {**_scenario_arguments(), **self.field.args}
        change_input = get_named_type(self.field.args["input"].type)
        return change_input.fields if isinstance(change_input, GraphQLInputObjectType) else {}

    def read_data(self, data: Mapping[str, Any]) -> Any:
        """Return the field's value from the data of a response."""
        return (data.get("whatIf") or data)[self.name]


def _pass(names: Mapping[str, Any]) -> str:
    return f"({', '.join(f'{name}: ${name}' for name in names)})" if names else ""


@cache
def all_tools() -> Mapping[str, Tool]:
    """Return the tools by name, changes last."""
    schema = graphql_schema.core_schema(graphql_schema.schema())
    return {tool.name: tool for tool in (*_read_tools(schema), *_change_tools(schema))}


def _read_tools(schema: GraphQLSchema) -> Iterator[Tool]:
    query = schema.query_type
    if query is None:
        return
    for name, field in query.fields.items():
        if name in _UNSUITABLE or is_leaf_type(get_named_type(field.type)):
            continue
        metadata = field_metadata(field)
        properties = arguments_schema({key: value for key, value in field.args.items() if key not in _BACKWARD})
        scenario = arguments_schema(_scenario_arguments())["properties"] if "question" in metadata else {}
        merged = properties | {"properties": {**properties["properties"], **scenario, **_COMMON}}
        scope = str(metadata.get("scope", "read"))
        yield Tool(name, field.description or "", scope, False, field, merged)


def _change_tools(schema: GraphQLSchema) -> Iterator[Tool]:
    mutation = schema.mutation_type
    if mutation is None:
        return
    for name, field in mutation.fields.items():
        if name in _UNSUITABLE:
            continue
        change_input = get_named_type(field.args["input"].type)
        if not isinstance(change_input, GraphQLInputObjectType):
            raise TypeError(f"the mutation {name} has no input type")
        properties = input_schema(change_input)
        own = {key: value for key, value in properties["properties"].items() if key not in _INTERNAL}
        merged = properties | {"properties": {**own, **_CONFIRM}}
        scope = str(field_metadata(field)["scope"])
        yield Tool(name, field.description or "", scope, True, field, merged)


_INTERNAL: Final = frozenset({"dryRun", "clientMutationId"})
"""Fields of a change's input that a tool sets itself."""


@cache
def _scenario_arguments() -> Mapping[str, Any]:
    query = graphql_schema.core_schema(graphql_schema.schema()).query_type
    return {_DOWN: query.fields["whatIf"].args[_DOWN]} if query else {}
