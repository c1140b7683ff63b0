"""Compile a connection (a list that is read page by page) to a JSON expression.

Its items, page info, count and aggregates are separate subqueries. `object_json` and `operation` call
`compile_connection`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLField
from sqlalchemy import BigInteger, Integer, Select, Text, bindparam, case, cast, exists, func, literal_column, select

from trninv.database.sql_constructs import Concat
from trninv.errors import FilterError
from trninv.graphql.compiler.counted_rows import CountedRows, NotCountedError
from trninv.graphql.compiler.json_builder import BoundArguments, JsonBuilder, ListCondition, ObjectWriter
from trninv.graphql.compiler.model_order import first_rows
from trninv.graphql.compiler.selections import Nodes
from trninv.graphql.compiler.table_aliases import TableAliases, or_null
from trninv.graphql.json_sql import NULL
from trninv.graphql.list_arguments import NO_TESTS, ArgumentShape, ListArguments
from trninv.graphql.list_conditions import (
    ParameterBinder,
    RowSource,
    compile_conditions,
    cursor_sql,
    sort_direction,
    sort_keys,
)
from trninv.inventory.schema.enumerations import GROUPS
from trninv.inventory.schema.thing import Sql, Thing, ValueFormat

_ONE = literal_column("1", Integer)
"""The literal 1, which PostgreSQL plans better than a bound limit."""


def compile_connection(
    builder: JsonBuilder,
    write_object: ObjectWriter,
    kind: Thing,
    definition: GraphQLField,
    nodes: Nodes,
    condition: ListCondition,
    total: Sql | None = None,
) -> Sql:
    """Compile a field that pages rows of a kind to a JSON expression.

    Parameters
    ----------
    total
        The totalCount without a filter, if the condition selects only the beginning of a longer list; None to count.

    """
    prefix = builder.next_prefix()

    def bind(arguments: Mapping[str, Any]) -> BoundArguments:
        list_arguments = ListArguments.parse(kind, arguments)
        bound = {
            f"{prefix}{index}": value
            for index, value in enumerate((*list_arguments.test_values, *list_arguments.cursor_values))
        }
        rounded_limit = 0 if builder.dialect == "sqlite" else 1 << max(list_arguments.size - 1, 0).bit_length()
        return (list_arguments.shape, rounded_limit), {**bound, f"{prefix}size": list_arguments.size}

    shape_and_limit = builder.bind_arguments(definition, nodes, bind)
    assert isinstance(shape_and_limit, tuple)
    shape, rounded_limit = shape_and_limit
    return _ConnectionCompiler(
        builder, write_object, kind, shape, rounded_limit, prefix, condition, total
    ).compile_page(nodes)


@dataclass(frozen=True, slots=True)
class _ConnectionCompiler:
    """Compiles one connection; `rounded_limit` is its page size rounded up to a power of two, or 0 on SQLite."""

    builder: JsonBuilder
    write_object: ObjectWriter
    kind: Thing
    shape: ArgumentShape
    rounded_limit: int
    prefix: str
    condition: ListCondition
    total: Sql | None

    def compile_page(self, nodes: Nodes) -> Sql:
        object_type = self.builder.selections.object_type(f"{self.kind.type}Connection")
        aliases, writer = self._new_aliases(), self.builder.writer
        # by the id() of the first selecting node, because under GraphQL aliases a document may select nodes twice
        items: dict[int, Sql] = {}
        for field_nodes in self.builder.selections.fields_below(object_type, nodes).values():
            if field_nodes[0].name.value == "nodes":
                items[id(field_nodes[0])] = self.write_object(self.kind, aliases, field_nodes)
            elif field_nodes[0].name.value == "edges":
                items[id(field_nodes[0])] = self._compile_edge(aliases, field_nodes)
        columns = {key: sql.label(f"j{index}") for index, (key, sql) in enumerate(items.items())}
        page = (
            self._page_query(aliases, list(columns.values())).subquery(f"l{next(self.builder.numbers)}")
            if columns
            else None
        )

        def member(name: str, member_nodes: Nodes) -> Sql:
            if page is not None and id(member_nodes[0]) in columns:
                return Concat(["[", writer.collect(page.c[columns[id(member_nodes[0])].name]), "]"])
            match name:
                case "pageInfo":
                    return self._compile_page_info(member_nodes)
                case "totalCount":
                    return self._compile_count()
            return self._compile_aggregates(object_type.fields[name], member_nodes)

        query = select(self.builder.json_object(object_type, nodes, member))
        return (query if page is None else query.select_from(page)).scalar_subquery()

    def _new_aliases(self) -> TableAliases:
        return TableAliases(self.kind, self.builder.numbers)

    def _conditions(self, rows: RowSource, shape: ArgumentShape) -> list[Sql]:
        return [
            *self.condition(rows),
            *compile_conditions(rows, shape, self.builder.writer, ParameterBinder(self.prefix)),
        ]

    def _counted(self, groups: Iterable[str] = ()) -> tuple[CountedRows | TableAliases, list[Sql]]:
        """Return what counts the rows and groups them, and the conditions: ``part_count`` where that suffices."""
        shape = ArgumentShape(self.shape.filter)
        try:
            counted = CountedRows(self.kind, self.builder.numbers)
            for name in groups:
                counted.adapt(self.kind.groups[name])
            return counted, self._conditions(counted, shape)
        except NotCountedError:
            aliases = self._new_aliases()
            return aliases, self._conditions(aliases, shape)

    def _sort_keys(self, aliases: TableAliases) -> list[tuple[Sql, bool]]:
        return sort_keys(self.kind, self.shape, aliases.adapt, self.builder.writer)

    def _page_size(self) -> Sql:
        return bindparam(f"{self.prefix}size", type_=Integer)

    def _visible_limit(self) -> Sql:
        """Return the page size or, rounded up, a literal that PostgreSQL's planner sees."""
        return literal_column(str(self.rounded_limit), Integer) if self.rounded_limit else self._page_size()

    def _page_query(self, aliases: TableAliases, columns: list[Any]) -> Select[Any]:
        """Select the page's rows in list order."""
        keys, descends = zip(*self._sort_keys(aliases), strict=True)
        sort_columns = [key.label(f"s{index}") for index, key in enumerate(keys)] if self.shape.backwards else []
        where = self._conditions(aliases, self.shape)
        if not where and (ids := first_rows(self.kind, self.shape, self._visible_limit(), self.builder)) is not None:
            where = [aliases.key.in_(ids)]
        order = sort_direction(keys, descends, backwards=self.shape.backwards)
        query = self._with_literal_limit(aliases.select(select(*columns, *sort_columns), where).order_by(*order)).limit(
            self._page_size()
        )
        if not self.shape.backwards:
            return query
        page_rows = query.subquery(f"l{next(self.builder.numbers)}")
        forward_order = sort_direction((page_rows.c[sort.name] for sort in sort_columns), descends)
        return (
            select(*(page_rows.c[column.name] for column in columns)).order_by(*forward_order).limit(self._page_size())
        )

    def _with_literal_limit(self, query: Select[Any], extra: int = 0) -> Select[Any]:
        """Limit a query to the rounded page size plus `extra` rows, by a literal that PostgreSQL's planner sees.

        For a limit in a parameter the planner assumes a tenth of the table, and plans anew at each execution, which
        takes milliseconds. The page size is rounded up so that few statements are compiled; the caller adds the exact
        limit as a parameter. SQLite needs no literal.
        """
        if not self.rounded_limit:
            return query
        limit = literal_column(str(self.rounded_limit + extra), Integer)
        return select(query.limit(limit).subquery(f"l{next(self.builder.numbers)}"))

    def _cursor_sql(self, aliases: TableAliases) -> Sql:
        return cursor_sql(self.kind, self.shape, aliases.adapt, self.builder.writer)

    def _compile_edge(self, aliases: TableAliases, nodes: Nodes) -> Sql:
        def member(name: str, member_nodes: Nodes) -> Sql:
            if name == "node":
                return self.write_object(self.kind, aliases, member_nodes)
            return self.builder.writer.quote(self._cursor_sql(aliases))

        return self.builder.json_object(self.builder.selections.object_type(f"{self.kind.type}Edge"), nodes, member)

    def _compile_page_info(self, nodes: Nodes) -> Sql:
        shape, writer = self.shape, self.builder.writer

        def member(name: str, _: Nodes) -> Sql:
            if name in ("startCursor", "endCursor"):
                return self._compile_end_cursor(last=name == "endCursor")
            # at the end of the page where reading began, there are more items if it began at a cursor
            if (name == "hasNextPage") == shape.backwards:
                return Concat(["true" if (shape.before if shape.backwards else shape.after) else "false"])
            aliases = self._new_aliases()
            where = self._conditions(aliases, shape)
            next_row = (
                self._with_literal_limit(aliases.select(select(_ONE.label("one")), where), 1)
                .limit(_ONE)
                .offset(self._page_size())
            )
            return writer.value(ValueFormat.BOOLEAN, exists(next_row))

        return self.builder.json_object(self.builder.selections.object_type("PageInfo"), nodes, member)

    def _compile_end_cursor(self, *, last: bool) -> Sql:
        """Select the cursor of the page's first or last row."""
        aliases = self._new_aliases()
        keys, descends = zip(*self._sort_keys(aliases), strict=True)
        key_columns = [key.label(f"k{index}") for index, key in enumerate(keys)]
        page = self._page_query(aliases, [self._cursor_sql(aliases).label("cursor"), *key_columns]).subquery(
            f"l{next(self.builder.numbers)}"
        )
        order = sort_direction((page.c[key.name] for key in key_columns), descends, backwards=last)
        return or_null(select(self.builder.writer.quote(page.c.cursor)).order_by(*order).limit(_ONE))

    def _compile_count(self) -> Sql:
        if self.total is not None and self.shape.filter == NO_TESTS:
            return Concat([self.total])
        rows, where = self._counted()
        return rows.select(select(cast(rows.count(), Text)), where).scalar_subquery()

    def _compile_aggregates(self, definition: GraphQLField, nodes: Nodes) -> Sql:
        def bind(arguments: Mapping[str, Any]) -> BoundArguments:
            return _check_groups(self.kind, (group.value for group in arguments.get("by") or ())), {}

        groups = self.builder.bind_arguments(definition, nodes, bind)
        assert isinstance(groups, tuple)
        object_type = self.builder.selections.object_type("Aggregate")
        rows, where = self._counted(groups)
        group_columns = {name: rows.adapt(self.kind.groups[name]) for name in groups}

        def member(name: str, member_nodes: Nodes) -> Sql:
            if name == "teraflops":
                return self._compile_teraflops(object_type.fields[name], member_nodes, rows)
            return self._compile_aggregate(name, member_nodes, rows, group_columns)

        aggregate_json = self.builder.json_object(object_type, nodes, member)
        query = rows.select(select(aggregate_json.label("j")), where)
        if not group_columns:
            # without groups, count() makes this an aggregate query, which always returns one row
            return self.builder.json_list(query.add_columns(func.count()))
        order = [self.builder.writer.collated(group_sql) for group_sql in group_columns.values()]
        return self.builder.json_list(query.group_by(*group_columns.values()).order_by(*order))

    def _compile_teraflops(self, definition: GraphQLField, nodes: Nodes, rows: CountedRows | TableAliases) -> Sql:
        compute_type = str(
            self.builder.bind_arguments(definition, nodes, lambda arguments: (arguments["type"].value, {}))
        )
        if compute_type not in self.kind.sums:
            return NULL
        total = rows.sum(self.kind.sums[compute_type])  # in 10⁹ operations per second
        return case((total.is_(None), NULL), else_=self.builder.writer.decimal(total, 1000))

    def _compile_aggregate(
        self, name: str, nodes: Nodes, rows: CountedRows | TableAliases, group_columns: Mapping[str, Sql]
    ) -> Sql:
        if name == "count":
            return cast(rows.count(), Text)
        if name in group_columns:
            return self.builder.writer.value(
                ValueFormat.ENUM if name in GROUPS else ValueFormat.TEXT, group_columns[name], nullable=True
            )
        if name not in self.kind.sums:
            return NULL
        value_format = ValueFormat.CAPACITY if name == "memory" else ValueFormat.BANDWIDTH
        total = cast(rows.sum(self.kind.sums[name]), BigInteger)
        return case((total.is_(None), NULL), else_=self.builder.json_quantity(value_format, total, nodes))


def _check_groups(kind: Thing, group_names: Iterable[str]) -> tuple[str, ...]:
    """Return group names without duplicates, and refuse those that a kind cannot be grouped by."""
    names = tuple(dict.fromkeys(group_names))
    if wrong_name := next((name for name in names if name not in kind.groups), None):
        raise FilterError(
            f"{kind.name}s cannot be grouped by {wrong_name}; use {', '.join(kind.groups) or 'no groups'}"
        )
    return names
