"""Compile selections to SQL statements that write their JSON, and cache the statements by the shape of arguments.

An `OperationPlan` has one `StatementPlan` for a whole operation; `compiling_executor` has one for each root field that
it resolves. `RowPlan` and `PageRowsPlan` read rows whose ids are known already, such as the links in an answer.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphql import FragmentDefinitionNode, GraphQLField, GraphQLSchema
from orjson import Fragment
from sqlalchemy import Connection, Dialect, Integer, Row, Select, bindparam, select
from sqlalchemy.dialects import sqlite

from trninv.database.sql_constructs import CLOCKS
from trninv.graphql.compiler.connection_json import compile_connection
from trninv.graphql.compiler.json_builder import BoundArguments, Variables
from trninv.graphql.compiler.object_json import ObjectCompiler
from trninv.graphql.compiler.selections import Nodes, SelectionCollector
from trninv.graphql.compiler.table_aliases import TableAliases
from trninv.graphql.list_conditions import RowSource, resolve_values
from trninv.inventory.schema.thing import Thing
from trninv.inventory.state.observation_commits import reads_observations

_MAX_STATEMENTS: Final = 64
"""Maximum number of statements that a plan caches, one for each shape of its arguments."""
_SQLITE: Final = sqlite.dialect(paramstyle="named")
"""SQLite's dialect with named parameters, like PostgreSQL's."""
Binders = list[Callable[[Variables], BoundArguments]]
"""One function for each field with arguments, which returns their shape and parameters for a request's variables."""


@dataclass(frozen=True, slots=True)
class DocumentParts:
    """The schema and a document's fragments, which are needed to interpret the document's selections."""

    schema: GraphQLSchema
    fragments: Mapping[str, FragmentDefinitionNode]

    def collector(self, variables: Variables) -> SelectionCollector:
        """Return a collector of selections for these variables, which @skip and @include may use."""
        return SelectionCollector(self.schema, self.fragments, variables)


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """A statement that writes JSON, with the parameters that are the same for every request.

    `reads_clock` says whether its result depends on the current time as well as on the tables, and `reads_observations`
    whether it depends on what machines have reported.
    """

    sql: str
    constants: Mapping[str, Any]
    reads_clock: bool
    reads_observations: bool


class StatementPlan:
    """Compiles selections to a statement, once for each shape of their arguments.

    Parameters
    ----------
    write_query
        Builds the query; parameters that do not come from the document's arguments, such as ids, are passed to `fetch`.

    """

    def __init__(self, document: DocumentParts, write_query: Callable[[ObjectCompiler], Select[Any]]) -> None:
        self._document, self._write_query = document, write_query
        self._statements: dict[Hashable, tuple[CompiledStatement, Binders]] = {}

    def statement_for(self, dialect: Dialect, variables: Variables) -> tuple[CompiledStatement, dict[str, Any]]:
        """Return the statement for these variables and its parameters, in which each address is still an `AddressTest`.

        Raises
        ------
        GraphQLError
            An argument is wrong.

        """
        for statement, binders in tuple(self._statements.values()):  # other threads may add some meanwhile
            # a statement can be reused if its own binders return the shapes that it was compiled for
            shapes, parameters = _bind_arguments(binders, variables)
            if (entry := self._statements.get(shapes)) and entry[0] is statement:
                return statement, {**statement.constants, **parameters}
        statement, binders = self._compile(_SQLITE if dialect.name == "sqlite" else dialect, variables)
        shapes, parameters = _bind_arguments(binders, variables)
        if len(self._statements) >= _MAX_STATEMENTS:
            self._statements.clear()
        self._statements[shapes] = statement, binders
        return statement, {**statement.constants, **parameters}

    def _compile(self, dialect: Dialect, variables: Variables) -> tuple[CompiledStatement, Binders]:
        objects = ObjectCompiler(self._document.collector(variables), dialect.name, variables)
        compiled = self._write_query(objects).compile(dialect=dialect)
        constants = {name: value for name, value in compiled.params.items() if value is not None}
        sql = str(compiled)
        reads_clock = any(str(clock().compile(dialect=dialect)) in sql for clock in CLOCKS)
        return CompiledStatement(sql, constants, reads_clock, reads_observations(sql)), objects.binders

    def fetch(self, connection: Connection, variables: Variables, **parameters: Any) -> Sequence[Row[Any]]:
        """Run the statement and return its rows.

        Raises
        ------
        GraphQLError, TrninvError
            An argument is wrong, or an address in it does not exist.

        """
        statement, bound = self.statement_for(connection.dialect, variables)
        values = dict(zip(bound, resolve_values(connection, bound.values()), strict=True))
        return connection.exec_driver_sql(statement.sql, {**values, **parameters}).all()


def _bind_arguments(binders: Binders, variables: Variables) -> tuple[tuple[Hashable, ...], dict[str, Any]]:
    shapes: list[Hashable] = []
    parameters: dict[str, Any] = {}
    for binder in binders:
        shape, bound = binder(variables)
        shapes.append(shape)
        parameters |= bound
    return tuple(shapes), parameters


class RowPlan:
    """Reads rows of a kind, such as chips or links, by id, and returns the part that a field selects as JSON."""

    def __init__(self, document: DocumentParts, kind: Thing, nodes: Nodes) -> None:
        def write_query(objects: ObjectCompiler) -> Select[Any]:
            aliases = TableAliases(kind, objects.numbers)
            query = select(aliases.key.label("id"), objects.compile_object(kind, aliases, nodes).label("json"))
            return aliases.select(query, [objects.is_one_of_ids(aliases.key)])

        self._statement = StatementPlan(document, write_query)

    def fetch(self, connection: Connection, variables: Variables, ids: Iterable[int]) -> dict[int, Fragment]:
        """Return the JSON of the rows that exist, by id."""
        rows = self._statement.fetch(connection, variables, ids=_bind_ids(connection, ids))
        return {row.id: Fragment(row.json) for row in rows}


class PageRowsPlan:
    """Reads one page of the rows with given ids, as the arguments and selections of a connection field require."""

    def __init__(self, document: DocumentParts, kind: Thing, definition: GraphQLField, nodes: Nodes) -> None:
        def write_query(objects: ObjectCompiler) -> Select[Any]:
            def has_id(rows: RowSource) -> list[Any]:
                return [objects.is_one_of_ids(rows.key)]

            total = bindparam("total", type_=Integer)
            page = compile_connection(objects, objects.compile_object, kind, definition, nodes, has_id, total)
            return select(page.label("json"))

        self._statement = StatementPlan(document, write_query)

    def fetch(self, connection: Connection, variables: Variables, ids: Iterable[int], total: int) -> Fragment:
        """Return the JSON of the page; `total`, its totalCount without a filter, may exceed the number of ids."""
        (row,) = self._statement.fetch(connection, variables, ids=_bind_ids(connection, ids), total=total)
        return Fragment(row.json)


def _bind_ids(connection: Connection, ids: Iterable[int]) -> str | list[int]:
    """Return ids as the parameter of `JsonBuilder.is_one_of_ids`."""
    distinct_ids = sorted(set(ids))
    return json.dumps(distinct_ids) if connection.dialect.name == "sqlite" else distinct_ids
