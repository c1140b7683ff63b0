"""Build JSON objects and lists in SQL, and record how a document's arguments are bound.

`ObjectCompiler` extends `JsonBuilder` with the kinds of things in the inventory.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from graphql import GraphQLError, GraphQLField, GraphQLObjectType
from graphql.execution.values import VariableValues, get_argument_values
from sqlalchemy import ARRAY, Integer, Select, any_, bindparam, func, select

from trninv.database.sql_constructs import Concat
from trninv.errors import TrninvError
from trninv.graphql.compiler.selections import Nodes, SelectionCollector
from trninv.graphql.compiler.table_aliases import TableAliases
from trninv.graphql.json_sql import NULL, JsonWriter
from trninv.graphql.list_conditions import RowSource
from trninv.graphql.scalars import UNITS
from trninv.inventory.schema.thing import Sql, Thing, ValueFormat

Variables = VariableValues
BoundArguments = tuple[Hashable, dict[str, Any]]
"""The shape of a field's arguments, which determines the SQL, and the values of the bound parameters by name."""
ArgumentBinder = Callable[[Mapping[str, Any]], BoundArguments]
"""Returns the shape and parameters of coerced arguments."""
MemberWriter = Callable[[str, Nodes], Sql]
"""Writes the JSON value of one member of an object, from its field's name and the nodes that select it."""
ListCondition = Callable[[RowSource], list[Sql]]
"""Returns the conditions that select a list's rows, from the aliases of the rows' tables."""
ObjectWriter = Callable[[Thing, TableAliases, Nodes], Sql]
"""Writes a row as a JSON object, from its kind, the aliases of its tables and the nodes that select it."""


class JsonBuilder:
    """Writes JSON around the columns of a statement, and records how the document's arguments are bound.

    Attributes
    ----------
    binders
        Functions from variables to the shape and parameters of a field's arguments, in the order of the fields.
    numbers
        Numbers for aliases and parameters, unique in the statement.

    """

    def __init__(self, selections: SelectionCollector, dialect: str, variables: Variables) -> None:
        self.selections, self.dialect, self.writer = selections, dialect, JsonWriter(dialect)
        self.numbers = iter(range(10**6))
        self.binders: list[Callable[[Variables], BoundArguments]] = []
        self._variables = variables

    def bind_arguments(self, definition: GraphQLField, nodes: Nodes, bind: ArgumentBinder) -> Hashable:
        """Record how a field's arguments are bound; return their shape for the variables with which it is compiled."""

        def bind_variables(variables: Variables) -> BoundArguments:
            try:
                return bind(get_argument_values(definition, nodes[0], variables))
            except TrninvError as error:  # locate the error at this field, not at the root field
                raise GraphQLError(str(error), nodes, original_error=error) from error

        self.binders.append(bind_variables)
        return bind_variables(self._variables)[0]

    def next_prefix(self) -> str:
        """Return a prefix for the parameters of one field."""
        return f"p{next(self.numbers)}_"

    def is_one_of_ids(self, key: Sql) -> Sql:
        """Return the condition that a key is one of the ids in the single parameter `ids`, a JSON text or an array."""
        if self.dialect == "sqlite":
            return key.in_(select(func.json_each(bindparam("ids")).table_valued("value").c.value))
        return key == any_(bindparam("ids", type_=ARRAY(Integer)))

    def json_object(self, runtime: GraphQLObjectType, nodes: Nodes, member: MemberWriter) -> Sql:
        """Write an object of type `runtime` with the selected members."""
        pieces: list[str | Sql] = ["{"]
        for key, member_nodes in self.selections.fields_below(runtime, nodes).items():
            name = member_nodes[0].name.value
            pieces += [f'{"," if pieces[1:] else ""}"{key}":']
            pieces += [f'"{runtime.name}"' if name == "__typename" else member(name, member_nodes)]
        return Concat([*pieces, "}"])

    def json_quantity(
        self, value_format: ValueFormat, sql: Sql, nodes: Nodes, write_fact: Callable[[Nodes], Sql] = lambda _: NULL
    ) -> Sql:
        """Write a bandwidth or a capacity, with its fact if selected."""
        runtime = self.selections.object_type("Capacity" if value_format is ValueFormat.CAPACITY else "Bandwidth")

        def member(name: str, member_nodes: Nodes) -> Sql:
            if name == "fact":
                return write_fact(member_nodes)
            is_exact = UNITS[name] == 1
            return self.writer.value(ValueFormat.BIGINT, sql) if is_exact else self.writer.decimal(sql, UNITS[name])

        return self.json_object(runtime, nodes, member)

    def json_list(self, query: Select[Any]) -> Sql:
        """Write the column `j` of a query as a JSON list."""
        items = query.subquery(f"l{next(self.numbers)}")
        return select(Concat(["[", self.writer.collect(items.c.j), "]"])).scalar_subquery()
