"""Compile an inventory row, and the objects and lists that it refers to, to a JSON expression."""

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
from trninv.graphql.list_conditions import ParameterBinder, RowSource
from trninv.inventory.address.rows_in import is_at_or_below
from trninv.inventory.schema.thing import Field, RelatedList, Relation, Sql, Thing, ValueFormat
from trninv.inventory.schema.things import THINGS

_MEMBERS: Final[Mapping[str, Mapping[str, Field | Relation | RelatedList]]] = {
    kind.name: {camel(member.name): member for member in kind.members} for kind in THINGS.values()
}
"""Declared fields, relations and lists by kind and GraphQL name."""


class ObjectCompiler(JsonBuilder):
    """Writes the JSON of rows according to the declared kinds (`trninv.inventory.schema`)."""

    def compile_object(self, kind: Thing, aliases: TableAliases, nodes: Nodes) -> Sql:
        """Compile a row to a JSON object."""
        object_type = self.selections.object_type(kind.type)

        def member(name: str, member_nodes: Nodes) -> Sql:
            definition = _MEMBERS[kind.name][name]
            if isinstance(definition, Field):
                return self._compile_field(kind, definition, aliases, member_nodes)
            if isinstance(definition, Relation):
                return self._compile_to_one(definition, aliases, member_nodes)
            return self._compile_to_many(kind, definition, object_type.fields[name], aliases, member_nodes)

        return self.json_object(object_type, nodes, member)

    def compile_list(self, kind: Thing, nodes: Nodes, condition: ListCondition) -> Sql:
        """Compile an unpaged list of the rows that meet a condition, in the order of their ids."""
        aliases = TableAliases(kind, self.numbers)
        object_json, where = self.compile_object(kind, aliases, nodes), condition(aliases)
        query = aliases.select(select(object_json.label("j")), where).order_by(aliases.key)
        return self.json_list(query)

    def _compile_field(self, kind: Thing, field: Field, aliases: TableAliases, nodes: Nodes) -> Sql:
        sql = aliases.adapt(field.sql)
        if field.format in (ValueFormat.CAPACITY, ValueFormat.BANDWIDTH):
            if not field.fact:
                quantity = self.json_quantity(field.format, sql, nodes)
                return case((sql.is_(None), NULL), else_=quantity) if field.nullable else quantity
            subject, attribute = field.fact
            # lazy, so that the fact table is joined only if the fact is selected
            return self.json_quantity(
                field.format, sql, nodes, lambda below: self._compile_fact(aliases.adapt(subject), attribute, below)
            )
        if field.enumeration and field.enumeration.has_hyphens:
            sql = func.replace(sql, literal_column("'-'"), literal_column("'_'"))
        return self.writer.value(field.format, sql, kind.name, nullable=field.nullable)

    def _compile_fact(self, subject: Sql, attribute: str, nodes: Nodes) -> Sql:
        kind, table = THINGS["fact"], TABLES["fact"]
        aliases = TableAliases(kind, self.numbers)
        where = [
            aliases.adapt(table.c.subject) == subject,
            aliases.adapt(table.c.attribute) == literal_column(f"'{attribute}'", Text),
            aliases.adapt(table.c.preference) == literal_column("0"),
        ]
        return or_null(aliases.select(select(self.compile_object(kind, aliases, nodes)), where))

    def _compile_to_one(self, relation: Relation, aliases: TableAliases, nodes: Nodes) -> Sql:
        """Compile a related object, from the same row if its table is joined there, else from a subquery by id."""
        if len(relation.things) == 1 and aliases.has(THINGS[relation.things[0]].table):
            object_json = self.compile_object(THINGS[relation.things[0]], aliases, nodes)
            return (
                case((aliases.adapt(relation.key).is_(None), NULL), else_=object_json)
                if relation.nullable
                else object_json
            )
        alternatives = []
        for kind in map(THINGS.__getitem__, relation.things):
            inner_aliases = TableAliases(kind, self.numbers)
            query = inner_aliases.select(
                select(self.compile_object(kind, inner_aliases, nodes)),
                [inner_aliases.key == aliases.adapt(relation.key)],
            )
            alternatives.append(query.scalar_subquery())
        return func.coalesce(*alternatives, NULL)

    def _compile_to_many(
        self, kind: Thing, related_list: RelatedList, definition: GraphQLField, aliases: TableAliases, nodes: Nodes
    ) -> Sql:
        child = THINGS[related_list.thing]
        key, own_id = aliases.adapt(related_list.key), aliases.adapt(kind.key)

        def is_related(inner_aliases: RowSource) -> list[Sql]:
            if not related_list.foreign_columns:  # a cluster's list: its rows' ids are in the cluster's block
                return [inner_aliases.in_cluster(key)]
            if related_list.by_containment:
                return [is_at_or_below(inner_aliases.adapt(related_list.foreign_columns[0]), key)]
            not_itself = [] if related_list.exclude is None else [inner_aliases.adapt(related_list.exclude) != own_id]
            return [or_(*(inner_aliases.adapt(column) == key for column in related_list.foreign_columns)), *not_itself]

        if related_list.paged:
            return connection_json.compile_connection(self, self.compile_object, child, definition, nodes, is_related)
        if "attribute" in definition.args:
            return self.compile_list(child, nodes, self._with_attribute(definition, nodes, is_related))
        return self.compile_list(child, nodes, is_related)

    def _with_attribute(self, definition: GraphQLField, nodes: Nodes, condition: ListCondition) -> ListCondition:
        """Extend a condition on facts by the argument `attribute`, if it is passed."""
        prefix = self.next_prefix()

        def bind(arguments: Mapping[str, Any]) -> BoundArguments:
            attribute = arguments.get("attribute")
            return attribute is not None, {} if attribute is None else {f"{prefix}0": attribute}

        if self.bind_arguments(definition, nodes, bind) is False:
            return condition

        def has_attribute(aliases: RowSource) -> list[Sql]:
            column = aliases.adapt(TABLES["fact"].c.attribute)
            return [*condition(aliases), column == ParameterBinder(prefix).next_parameter(column)]

        return has_attribute
