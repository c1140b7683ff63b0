"""Compile an object field to a JSON expression."""

from collections.abc import Mapping
from typing import Any, Final

from graphql import GraphQLField
from sqlalchemy import Text, case, func, literal_column, or_, select
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.database.tables import TABLES
from trninv.graphql.compiler import connection_json
from trninv.graphql.compiler.json_builder import BoundArguments, JsonBuilder, ListCondition
from trninv.graphql.compiler.selections import Nodes
from trninv.graphql.compiler.table_aliases import TableAliases, or_null
from trninv.graphql.json_sql import NULL
from trninv.graphql.list_conditions import ParameterBinder
from trninv.inventory.schema.event_fields import is_at_or_below
from trninv.inventory.schema.thing import Field, RelatedList, Relation, Sql, Thing, ValueFormat, is_in_cluster
from trninv.inventory.schema.things import THINGS

_MEMBERS: Final[Mapping[str, Mapping[str, Field | Relation | RelatedList]]] = {
    kind.name: {camel(member.name): member for member in kind.members} for kind in THINGS.values()
}


class ObjectCompiler(JsonBuilder):
    """Writes the JSON of rows according to the table of fields."""

    def compile_object(self, kind: Thing, aliases: TableAliases, nodes: Nodes) -> Sql:
        """Compile a row to a JSON object."""
        runtime = self.selections.object_type(kind.type)

        def member(name: str, member_nodes: Nodes) -> Sql:
            definition = _MEMBERS[kind.name][name]
            if isinstance(definition, Field):
                return self._compile_field(kind, definition, aliases, member_nodes)
            if isinstance(definition, Relation):
                return self._compile_to_one(definition, aliases, member_nodes)
            return self._compile_to_many(kind, definition, runtime.fields[name], aliases, member_nodes)

        return self.json_object(runtime, nodes, member)

    def compile_list(self, kind: Thing, nodes: Nodes, condition: ListCondition) -> Sql:
        """Compile a list without pages."""
        aliases = TableAliases(kind, self.numbers)
        object_json, where = self.compile_object(kind, aliases, nodes), condition(aliases)
        query = aliases.select(select(object_json.label("j")), where).order_by(aliases.key)
        return self.json_list(query)

    def _compile_field(self, kind: Thing, field: Field, aliases: TableAliases, nodes: Nodes) -> Sql:
        sql = aliases.adapt(field.sql)
        if field.format in (ValueFormat.CAPACITY, ValueFormat.BANDWIDTH):
            if not field.fact:
                return self.json_quantity(field.format, sql, nodes)
            subject, attribute = field.fact
            # lazy, so that the fact table is joined only if the fact is selected
            return self.json_quantity(
                field.format, sql, nodes, lambda named: self._compile_fact(aliases.adapt(subject), attribute, named)
            )
        return self.writer.value(field.format, sql, kind.name, null=field.nullable)

    def _compile_fact(self, subject: Sql, attribute: str, nodes: Nodes) -> Sql:
        kind, table = THINGS["fact"], TABLES["fact"]
        aliases = TableAliases(kind, self.numbers)
        where = [
            aliases.adapt(table.c.subject) == subject,
            aliases.adapt(table.c.attribute) == literal_column(f"'{attribute}'", Text),
            aliases.adapt(table.c.preference) == literal_column("0"),
        ]
        return or_null(aliases.select(select(self.compile_object(kind, aliases, nodes)), where))

    def _compile_to_one(self, one: Relation, aliases: TableAliases, nodes: Nodes) -> Sql:
        """Compile a related object: from the same row if its table is aliased, else selected by id."""
        if not one.things[1:] and aliases.has(THINGS[one.things[0]].table):
            object_json = self.compile_object(THINGS[one.things[0]], aliases, nodes)
            return case((aliases.adapt(one.key).is_(None), NULL), else_=object_json) if one.nullable else object_json
        alternatives = []
        for kind in map(THINGS.__getitem__, one.things):
            inner_aliases = TableAliases(kind, self.numbers)
            query = inner_aliases.select(
                select(self.compile_object(kind, inner_aliases, nodes)), [inner_aliases.key == aliases.adapt(one.key)]
            )
            alternatives.append(query.scalar_subquery())
        return func.coalesce(*alternatives, NULL)

    def _compile_to_many(
        self, kind: Thing, many: RelatedList, definition: GraphQLField, aliases: TableAliases, nodes: Nodes
    ) -> Sql:
        child = THINGS[many.thing]
        key, own = aliases.adapt(many.key), aliases.adapt(kind.key)

        def is_below(inner_aliases: TableAliases) -> list[Sql]:
            if not many.foreign_columns:
                return [is_in_cluster(child, inner_aliases.key, key)]
            if many.by_containment:
                return [is_at_or_below(inner_aliases.adapt(many.foreign_columns[0]), key)]
            other = [] if many.exclude is None else [inner_aliases.adapt(many.exclude) != own]
            return [or_(*(inner_aliases.adapt(column) == key for column in many.foreign_columns)), *other]

        if many.paged:
            return connection_json.compile_connection(self, self.compile_object, child, definition, nodes, is_below)
        if "attribute" in definition.args:
            return self.compile_list(child, nodes, self._with_attribute(definition, nodes, is_below))
        return self.compile_list(child, nodes, is_below)

    def _with_attribute(self, definition: GraphQLField, nodes: Nodes, condition: ListCondition) -> ListCondition:
        prefix = self.next_prefix()

        def bind(arguments: Mapping[str, Any]) -> BoundArguments:
            attribute = arguments.get("attribute")
            return attribute is not None, {} if attribute is None else {f"{prefix}0": attribute}

        if self.add_call(definition, nodes, bind) is False:
            return condition

        def has_attribute(aliases: TableAliases) -> list[Sql]:
            column = aliases.adapt(TABLES["fact"].c.attribute)
            return [*condition(aliases), column == ParameterBinder(prefix).take(column)]

        return has_attribute
