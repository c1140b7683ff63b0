"""Decide which root fields of an operation compile to SQL, and build the statement."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import FragmentDefinitionNode, GraphQLField, GraphQLSchema, OperationDefinitionNode, OperationType
from sqlalchemy import Dialect, select
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.database.sql_constructs import Concat
from trninv.graphql.compiler import connection_json
from trninv.graphql.compiler.json_builder import BoundArguments, Variables
from trninv.graphql.compiler.object_json import ObjectCompiler
from trninv.graphql.compiler.question_plan import CompiledQuestion
from trninv.graphql.compiler.selections import Nodes, SelectionCollector
from trninv.graphql.compiler.table_aliases import TableAliases, or_null
from trninv.graphql.list_arguments import AddressTest
from trninv.graphql.list_conditions import ParameterBinder
from trninv.graphql.query_root import QUERY_LISTS, parse_id
from trninv.inventory.address.syntax import level_of
from trninv.inventory.schema.thing import Sql
from trninv.inventory.schema.things import THINGS

_LIST_KINDS: Final = {camel(name): THINGS[kind] for name, kind in QUERY_LISTS.items()}
_WHOLE_LISTS: Final = {"sources": THINGS["source"]}
_SINGLE_LOOKUPS: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[str, str, Any]]]] = {
    "cluster": lambda arguments: ("cluster", "slug", arguments["slug"]),
    "node": lambda arguments: (parse_id(arguments["id"])[0], "id", parse_id(arguments["id"])[1]),
    "resolve": lambda arguments: (
        level_of(arguments["address"]),
        "id",
        AddressTest(arguments["address"], level_of(arguments["address"])),
    ),
}
"""Kind, column and value that a look-up field selects by."""


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """A statement that returns one row with the JSON of each compiled field.

    Attributes
    ----------
    keys
        Response keys of the statement's columns.
    constants
        Parameters that are the same for every request.

    """

    keys: tuple[str, ...]
    sql: str
    constants: Mapping[str, Any]


class OperationPlan:
    """An operation's root fields, for given values of its Boolean variables.

    Attributes
    ----------
    roots
        Response keys and nodes, in the order of the response.
    compiled_keys
        Response keys of the fields that are compiled.
    question
        The compiled question, if the operation is a single question that can be compiled.
    as_of_roots, current_roots
        The asOf fields, and all others.

    """

    def __init__(
        self,
        schema: GraphQLSchema,
        operation: OperationDefinitionNode,
        fragments: Mapping[str, FragmentDefinitionNode],
        variables: Variables,
    ) -> None:
        self._schema, self._fragments = schema, fragments
        self._query = SelectionCollector(schema, fragments, variables).object_type("Query")
        is_query = operation.operation is OperationType.QUERY
        runtime = self._query if is_query else schema.mutation_type
        assert runtime is not None
        selections = SelectionCollector(schema, fragments, variables)
        self.roots = selections.collect(runtime, [operation.selection_set])
        self.question = CompiledQuestion.from_roots(schema, selections, self.roots) if is_query else None
        self.as_of_roots = {key: nodes for key, nodes in self.roots.items() if nodes[0].name.value == "asOf"}
        self.current_roots = {key: nodes for key, nodes in self.roots.items() if key not in self.as_of_roots}
        compiled_names = {"__typename", *_LIST_KINDS, *_WHOLE_LISTS, *_SINGLE_LOOKUPS} if is_query else set()
        self.compiled_keys = tuple(key for key, nodes in self.roots.items() if nodes[0].name.value in compiled_names)
        self._statements: dict[Hashable, tuple[CompiledStatement, list[Callable[[Variables], BoundArguments]]]] = {}

    @property
    def introspects(self) -> bool:
        """Whether the operation queries the schema."""
        return any(nodes[0].name.value in ("__schema", "__type") for nodes in self.roots.values())

    def statement_for(self, dialect: Dialect, variables: Variables) -> tuple[CompiledStatement, dict[str, Any]]:
        """Return the statement for these variables and its parameters, with addresses not yet resolved.

        Raises
        ------
        TrninvError
            An argument is wrong.

        """
        for statement, binders in self._statements.values():
            shapes, parameters = _bind_arguments(binders, variables)
            if self._statements.get(shapes, (None,))[0] is statement:
                return statement, {**statement.constants, **parameters}
        statement, binders = self._compile(dialect, variables)
        shapes, parameters = _bind_arguments(binders, variables)
        if len(self._statements) >= _MAX_STATEMENTS:
            self._statements.clear()
        self._statements[shapes] = statement, binders
        return statement, {**statement.constants, **parameters}

    def _compile(
        self, dialect: Dialect, variables: Variables
    ) -> tuple[CompiledStatement, list[Callable[[Variables], BoundArguments]]]:
        objects = ObjectCompiler(SelectionCollector(self._schema, self._fragments, variables), dialect.name, variables)
        columns = [
            self._compile_root(objects, self.roots[key]).label(f"r{index}")
            for index, key in enumerate(self.compiled_keys)
        ]
        compiled = select(*columns).compile(dialect=dialect)
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        return CompiledStatement(self.compiled_keys, str(compiled), constants), objects.binders

    def _compile_root(self, objects: ObjectCompiler, nodes: Nodes) -> Sql:
        field_name = nodes[0].name.value
        if field_name == "__typename":
            return Concat(['"Query"'])
        definition = self._query.fields[field_name]
        if field_name in _LIST_KINDS:
            return connection_json.compile_connection(
                objects, objects.compile_object, _LIST_KINDS[field_name], definition, nodes, lambda _: []
            )
        if field_name in _WHOLE_LISTS:
            return objects.compile_list(_WHOLE_LISTS[field_name], nodes, lambda _: [])
        return _compile_single(objects, field_name, definition, nodes)


_MAX_STATEMENTS = 64
"""Statements that are cached per operation, one for each shape of its arguments."""


def _bind_arguments(
    binders: Iterable[Callable[[Variables], BoundArguments]], variables: Variables
) -> tuple[tuple[Hashable, ...], dict[str, Any]]:
    shapes: list[Hashable] = []
    parameters: dict[str, Any] = {}
    for binder in binders:
        shape, bound = binder(variables)
        shapes.append(shape)
        parameters |= bound
    return tuple(shapes), parameters


def _compile_single(objects: ObjectCompiler, name: str, definition: GraphQLField, nodes: Nodes) -> Sql:
    prefix = objects.next_prefix()

    def bind(arguments: Mapping[str, Any]) -> BoundArguments:
        kind, column, value = _SINGLE_LOOKUPS[name](arguments)
        return (kind, column), {f"{prefix}0": value}

    call_shape = objects.add_call(definition, nodes, bind)
    assert isinstance(call_shape, tuple)
    kind, column = THINGS[call_shape[0]], call_shape[1]
    aliases = TableAliases(kind, objects.numbers)
    column_sql = aliases.adapt(kind.table.c[column])
    where = [column_sql == ParameterBinder(prefix).take(column_sql)]
    return or_null(aliases.select(select(objects.compile_object(kind, aliases, nodes)), where))
