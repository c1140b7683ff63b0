"""What objects and lists of a statement are built with: the arguments of calls, JSON objects, JSON lists."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from graphql import GraphQLField, GraphQLObjectType
from graphql.execution.values import VariableValues, get_argument_values
from sqlalchemy import Select, select

from trninv.graphql.compile.scope import TableAliases
from trninv.graphql.compile.selections import Nodes, SelectionCollector
from trninv.graphql.scalars import UNITS
from trninv.graphql.text import NULL, JsonWriter
from trninv.inventory.fields import Sql, Thing, ValueFormat
from trninv.inventory.template import Concat

Variables = VariableValues
BoundArguments = tuple[Hashable, dict[str, Any]]
"""The look of a call's arguments, and the parameters that they bind."""
ArgumentBinder = Callable[[Mapping[str, Any]], BoundArguments]
MemberWriter = Callable[[str, Nodes], Sql]
ListCondition = Callable[[TableAliases], list[Sql]]
"""The condition under which rows of a scope are those of a list."""
ObjectWriter = Callable[[Thing, TableAliases, Nodes], Sql]
"""Writes the object of a scope's row."""


class JsonBuilder:
    """Writes JSON around the columns of a statement, and notes how the arguments in a document are bound.

    Attributes
    ----------
    binders
        What gives, for any variables, the look of each call's arguments and its parameters; in the order of the calls.

    """

    def __init__(self, selections: SelectionCollector, dialect: str, variables: Variables) -> None:
        self.selections, self.dialect, self.writer = selections, dialect, JsonWriter(dialect)
        self.numbers = iter(range(10**6))
        self.binders: list[Callable[[Variables], BoundArguments]] = []
        self._variables = variables

    def add_call(self, definition: GraphQLField, nodes: Nodes, bind: ArgumentBinder) -> Hashable:
        """Note a call; returns the look of its arguments."""

        def bind_variables(variables: Variables) -> BoundArguments:
            return bind(get_argument_values(definition, nodes[0], variables))

        self.binders.append(bind_variables)
        return bind_variables(self._variables)[0]

    def next_prefix(self) -> str:
        """A name for parameters of one call."""
        return f"p{next(self.numbers)}_"

    def json_object(self, runtime: GraphQLObjectType, nodes: Nodes, member: MemberWriter) -> Sql:
        """An object of members."""
        pieces: list[str | Sql] = ["{"]
        for key, member_nodes in self.selections.fields_below(runtime, nodes).items():
            name = member_nodes[0].name.value
            pieces += [f'{"," if pieces[1:] else ""}"{key}":']
            pieces += [f'"{runtime.name}"' if name == "__typename" else member(name, member_nodes)]
        return Concat([*pieces, "}"])

    def json_quantity(
        self, form: ValueFormat, sql: Sql, nodes: Nodes, write_fact: Callable[[Nodes], Sql] = lambda _: NULL
    ) -> Sql:
        """A bandwidth or a capacity, and the fact that it rests on."""
        runtime = self.selections.object_type("Capacity" if form is ValueFormat.CAPACITY else "Bandwidth")

        def member(name: str, member_nodes: Nodes) -> Sql:
            if name == "fact":
                return write_fact(member_nodes)
            is_exact = UNITS[name] == 1
            return self.writer.value(ValueFormat.BIGINT, sql) if is_exact else self.writer.decimal(sql, UNITS[name])

        return self.json_object(runtime, nodes, member)

    def json_list(self, query: Select[Any]) -> Sql:
        """The items of a query as a JSON list."""
        items = query.subquery(f"l{next(self.numbers)}")
        return select(Concat(["[", self.writer.collect(items.c.j), "]"])).scalar_subquery()
