"""What objects and lists of a statement are built with: the arguments of calls, JSON objects, JSON lists."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from graphql import GraphQLField, GraphQLObjectType
from graphql.execution.values import VariableValues, get_argument_values
from sqlalchemy import Select, select

from trninv.graphql.compile.scope import Scope
from trninv.graphql.compile.selections import Nodes, Selections
from trninv.graphql.scalars import UNITS
from trninv.graphql.text import NULL, Writer
from trninv.inventory.fields import Form, Kind, Sql
from trninv.inventory.template import Template

Variables = VariableValues
Bound = tuple[Hashable, dict[str, Any]]
"""The look of a call's arguments, and the parameters that they bind."""
Bind = Callable[[Mapping[str, Any]], Bound]
Member = Callable[[str, Nodes], Sql]
Below = Callable[[Scope], list[Sql]]
"""The condition under which rows of a scope are those of a list."""
Thing = Callable[[Kind, Scope, Nodes], Sql]
"""Writes the object of a scope's row."""


class Builder:
    """Writes JSON around the columns of a statement, and notes how the arguments in a document are bound.

    Attributes
    ----------
    binders
        What gives, for any variables, the look of each call's arguments and its parameters; in the order of the calls.

    """

    def __init__(self, selections: Selections, dialect: str, variables: Variables) -> None:
        self.selections, self.dialect, self.writer = selections, dialect, Writer(dialect)
        self.names = iter(range(10**6))
        self.binders: list[Callable[[Variables], Bound]] = []
        self._variables = variables

    def call(self, definition: GraphQLField, nodes: Nodes, bind: Bind) -> Hashable:
        """Note a call; returns the look of its arguments."""

        def bound(variables: Variables) -> Bound:
            return bind(get_argument_values(definition, nodes[0], variables))

        self.binders.append(bound)
        return bound(self._variables)[0]

    def prefix(self) -> str:
        """A name for parameters of one call."""
        return f"p{next(self.names)}_"

    def fields(self, runtime: GraphQLObjectType, nodes: Nodes, member: Member) -> Sql:
        """An object of members."""
        pieces: list[str | Sql] = ["{"]
        for key, named in self.selections.of(runtime, nodes).items():
            name = named[0].name.value
            pieces += [f'{"," if pieces[1:] else ""}"{key}":']
            pieces += [f'"{runtime.name}"' if name == "__typename" else member(name, named)]
        return Template([*pieces, "}"])

    def quantity(self, form: Form, sql: Sql, nodes: Nodes, fact: Callable[[Nodes], Sql] = lambda _: NULL) -> Sql:
        """A bandwidth or a capacity, and the fact that it rests on."""
        runtime = self.selections.type("Capacity" if form is Form.CAPACITY else "Bandwidth")

        def member(name: str, named: Nodes) -> Sql:
            if name == "fact":
                return fact(named)
            exact = UNITS[name] == 1
            return self.writer.value(Form.EXACT, sql) if exact else self.writer.decimal(sql, UNITS[name])

        return self.fields(runtime, nodes, member)

    def listed(self, query: Select[Any]) -> Sql:
        """The items of a query as a JSON list."""
        found = query.subquery(f"l{next(self.names)}")
        return select(Template(["[", self.writer.collect(found.c.j), "]"])).scalar_subquery()
