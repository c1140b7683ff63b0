"""The JSON of things, by the columns of their scopes."""

from collections.abc import Mapping
from typing import Any, Final

from graphql import GraphQLField
from sqlalchemy import Text, case, func, literal_column, or_, select
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.graphql.compile import lists
from trninv.graphql.compile.builder import Below, Bound, Builder
from trninv.graphql.compile.scope import Scope, or_null
from trninv.graphql.compile.selections import Nodes
from trninv.graphql.conditions import Binder
from trninv.graphql.text import NULL
from trninv.inventory.fields import Field, Form, Kind, Many, One, Sql, in_cluster
from trninv.inventory.happened import inside
from trninv.inventory.kinds import KINDS
from trninv.inventory.schema import TABLES

_MEMBERS: Final[Mapping[str, Mapping[str, Field | One | Many]]] = {
    kind.name: {camel(member.name): member for member in kind.members} for kind in KINDS.values()
}


class Objects(Builder):
    """Writes the JSON of things of the table of fields."""

    def thing(self, kind: Kind, scope: Scope, nodes: Nodes) -> Sql:
        """An object of the table of fields."""
        runtime = self.selections.type(kind.type)

        def member(name: str, named: Nodes) -> Sql:
            found = _MEMBERS[kind.name][name]
            if isinstance(found, Field):
                return self._value(kind, found, scope, named)
            if isinstance(found, One):
                return self._one(found, scope, named)
            return self._many(kind, found, runtime.fields[name], scope, named)

        return self.fields(runtime, nodes, member)

    def every(self, kind: Kind, nodes: Nodes, below: Below) -> Sql:
        """A list without pages."""
        scope = Scope(kind, self.names)
        made, where = self.thing(kind, scope, nodes), below(scope)
        query = scope.select(select(made.label("j")), where).order_by(scope.key)
        return self.listed(query)

    def _value(self, kind: Kind, found: Field, scope: Scope, nodes: Nodes) -> Sql:
        sql = scope.adapt(found.sql)
        if found.form in (Form.CAPACITY, Form.BANDWIDTH):
            if not found.fact:
                return self.quantity(found.form, sql, nodes)
            subject, attribute = found.fact
            # only where it is selected: its table is not joined otherwise
            return self.quantity(
                found.form, sql, nodes, lambda named: self._fact(scope.adapt(subject), attribute, named)
            )
        return self.writer.value(found.form, sql, kind.name, null=found.null)

    def _fact(self, subject: Sql, attribute: str, nodes: Nodes) -> Sql:
        kind, table = KINDS["fact"], TABLES["fact"]
        scope = Scope(kind, self.names)
        where = [
            scope.adapt(table.c.subject) == subject,
            scope.adapt(table.c.attribute) == literal_column(f"'{attribute}'", Text),
            scope.adapt(table.c.preference) == literal_column("0"),
        ]
        return or_null(scope.select(select(self.thing(kind, scope, nodes)), where))

    def _one(self, one: One, scope: Scope, nodes: Nodes) -> Sql:
        """Another thing: the same row where the scope has it, else found by its id."""
        if not one.kinds[1:] and scope.has(KINDS[one.kinds[0]].table):
            made = self.thing(KINDS[one.kinds[0]], scope, nodes)
            return case((scope.adapt(one.key).is_(None), NULL), else_=made) if one.null else made
        found = []
        for kind in map(KINDS.__getitem__, one.kinds):
            inner = Scope(kind, self.names)
            query = inner.select(select(self.thing(kind, inner, nodes)), [inner.key == scope.adapt(one.key)])
            found.append(query.scalar_subquery())
        return func.coalesce(*found, NULL)

    def _many(self, kind: Kind, many: Many, definition: GraphQLField, scope: Scope, nodes: Nodes) -> Sql:
        child = KINDS[many.kind]
        key, own = scope.adapt(many.key), scope.adapt(kind.key)

        def below(inner: Scope) -> list[Sql]:
            if not many.on:
                return [in_cluster(child, inner.key, key)]
            if many.inside:
                return [inside(inner.adapt(many.on[0]), key)]
            other = [] if many.but is None else [inner.adapt(many.but) != own]
            return [or_(*(inner.adapt(column) == key for column in many.on)), *other]

        if many.paged:
            return lists.connection(self, self.thing, child, definition, nodes, below)
        if "attribute" in definition.args:
            return self.every(child, nodes, self._of_attribute(definition, nodes, below))
        return self.every(child, nodes, below)

    def _of_attribute(self, definition: GraphQLField, nodes: Nodes, below: Below) -> Below:
        prefix = self.prefix()

        def bind(given: Mapping[str, Any]) -> Bound:
            wanted = given.get("attribute")
            return wanted is not None, {} if wanted is None else {f"{prefix}0": wanted}

        if self.call(definition, nodes, bind) is False:
            return below

        def of_attribute(scope: Scope) -> list[Sql]:
            column = scope.adapt(TABLES["fact"].c.attribute)
            return [*below(scope), column == Binder(prefix).take(column)]

        return of_attribute
