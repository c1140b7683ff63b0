"""Compile a list's filter, order and cursors to SQL.

The shapes that are compiled come from `list_arguments`. The compiler and `thing_listing` add the conditions to their
statements.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    Connection,
    and_,
    bindparam,
    false,
    func,
    literal_column,
    not_,
    or_,
    select,
    true,
    union_all,
)

from trninv.database.sql_constructs import Concat
from trninv.database.tables import TABLES
from trninv.errors import FilterError
from trninv.graphql.json_sql import JsonWriter
from trninv.graphql.list_arguments import (
    NO_TESTS,
    TEXT_FORMATS,
    AddressTest,
    ArgumentShape,
    FilterShape,
    find_field,
    order_signature,
)
from trninv.history.scope_filter import ALLOCATION_LEVELS, in_place, place_id
from trninv.inventory.address.lookup import parse_or_look_up, resolve_link, resolve_place
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.address.rows_in import is_matched_by_address, rows_at
from trninv.inventory.schema.event_fields import EVENT
from trninv.inventory.schema.thing import Field, Sql, Thing, ValueFormat, is_in_cluster

Adapt = Callable[[Sql], Sql]
"""Rewrites an expression to use the aliases of the tables in a statement."""


class RowSource:
    """The rows that a statement reads to list a kind: here the kind's own tables, without aliases."""

    def __init__(self, kind: Thing) -> None:
        self.kind = kind

    def adapt(self, sql: Sql) -> Sql:
        """Rewrite an expression to use the aliases of the tables in the statement."""
        return sql

    @property
    def key(self) -> Sql:
        """The id column."""
        return self.adapt(self.kind.key)

    def in_cluster(self, cluster: Sql) -> Sql:
        """Return the condition that rows are in a cluster, by its id."""
        return is_in_cluster(self.kind, self.key, cluster)

    def is_unusual(self, field: Field, test: Callable[[Sql], Sql]) -> Sql:
        """Match rows whose value differs from the usual one (`Field.usual`) and meets a test.

        The partial index of just these rows finds them. The usual value is a literal, because databases cannot use that
        index for a parameter.
        """
        table = field.sql.table.alias("unusual")
        column = table.c[field.sql.name]
        is_unusual = column != literal_column(f"'{field.usual}'")
        return self.key.in_(select(table.c.id).where(is_unusual, test(column)))


_COLLATED_FORMATS = (*TEXT_FORMATS, ValueFormat.ENUM, ValueFormat.TIME)
"""Formats of values that are stored as texts, and compared by code points."""

# replace and substr, because LIKE has wildcards that would have to be escaped
_COMPARISONS: Final[Mapping[str, Callable[[Sql, Sql], Sql]]] = {
    "eq": lambda column, value: column == value,
    "ne": lambda column, value: column != value,
    "lt": lambda column, value: column < value,
    "lte": lambda column, value: column <= value,
    "gt": lambda column, value: column > value,
    "gte": lambda column, value: column >= value,
    "contains": lambda column, value: func.replace(column, value, "") != column,
    "containsIgnoreCase": lambda column, value: func.replace(func.lower(column), value, "") != func.lower(column),
    "startsWith": lambda column, value: func.substr(column, 1, func.length(value)) == value,
}


class ParameterBinder:
    """Numbers the bind parameters of one list: a prefix and 0, 1, …"""

    def __init__(self, prefix: str = "p") -> None:
        self._prefix, self._numbers = prefix, count()

    def next_parameter(self, typed_like: Sql) -> BindParameter[Any]:
        """Return the next parameter, with the type of an expression."""
        return bindparam(f"{self._prefix}{next(self._numbers)}", type_=typed_like.type)


def compile_conditions(rows: RowSource, shape: ArgumentShape, writer: JsonWriter, binder: ParameterBinder) -> list[Sql]:
    """Return the conditions on a list's rows, with parameters in the order of `test_values` and `cursor_values`."""
    compiler = _ConditionCompiler(rows, writer, binder)
    compiled = [compiler.compile_filter(shape.filter)] if shape.filter != NO_TESTS else []
    if shape.after:
        compiled.append(compiler.cursor_condition(shape, after=True))
    if shape.before:
        compiled.append(compiler.cursor_condition(shape, after=False))
    return compiled


@dataclass(frozen=True, slots=True)
class _ConditionCompiler:
    """Compiles one list's filter and cursors; each test takes its parameters from the binder in order."""

    rows: RowSource
    writer: JsonWriter
    binder: ParameterBinder

    @property
    def kind(self) -> Thing:
        return self.rows.kind

    def adapt(self, sql: Sql) -> Sql:
        return self.rows.adapt(sql)

    def compile_filter(self, shape: FilterShape) -> Sql:
        match shape:
            case ("and", ("eq" | "ne" | "in" as test, name, *number), ("unusual", unusual)) if name == unusual:
                return self._unusual_test(name, test, *number)
            case ("and", *parts):
                return and_(true(), *map(self.compile_filter, parts))
            case ("or", *parts):
                return or_(false(), *map(self.compile_filter, parts))
            case ("not", part):
                # a test of a missing value is null in SQL, and so would be its negation
                return not_(func.coalesce(self.compile_filter(part), false()))
            case ("within" | "current" | "between" | "scope" as name, *levels):
                return self._compile_argument(name, levels)
        return self._compile_test(*shape)

    def _compile_argument(self, name: str, levels: Sequence[Any]) -> Sql:
        """Compile a test of a place, or one that comes from an argument of the list other than `filter`."""
        if name == "within":
            return self._place_condition(*levels)
        if name == "between":
            return self._between_condition(*levels)
        if self.kind.lifetime and name == "current":
            return self.adapt(self.kind.lifetime.is_current)
        return (self._event_condition if self.kind.name == "event" else self._scope_condition)(*levels)

    def _compile_test(self, test: str, name: str, number: int = 1) -> Sql:
        field = find_field(self.kind, name)
        if test == "unusual":
            return self.rows.is_unusual(field, lambda _: true())
        if field.lookup is None or test == "null":
            return self._compare(field, self.adapt(field.filter_expression), test, number)
        # an index has the values of this field; null, which has no row there, passes no such test
        key, value = field.lookup.selected_columns
        ids = field.lookup.with_only_columns(key).where(self._compare(field, value, test, number))
        return self.rows.key.in_(ids.correlate(None))

    def _unusual_test(self, name: str, test: str, number: int = 1) -> Sql:
        """Compile a test that only rows with an unusual value meet, as one on the index of these rows."""
        field = find_field(self.kind, name)
        return self.rows.is_unusual(field, lambda column: self._compare(field, column, test, number))

    def _compare(self, field: Field, column: Sql, test: str, number: int) -> Sql:
        match test:
            case "null":
                return column.is_(None)
            case "not null":
                return column.is_not(None)
            case "in":
                return self._membership(column, number)
        return _COMPARISONS[test](_comparable_sql(field, column, self.writer), self.binder.next_parameter(column))

    def _place_condition(self, level: str, number: int) -> Sql:
        if level == "cluster":
            clusters = (self.binder.next_parameter(self.kind.key) for _ in range(number))
            return or_(false(), *map(self.rows.in_cluster, clusters))
        return self._membership(self.adapt(self.kind.containers[level]), number)

    def _membership(self, column: Sql, number: int) -> Sql:
        return column.in_([self.binder.next_parameter(column) for _ in range(number)]) if number else false()

    def _between_condition(self, *levels: str) -> Sql:
        """Select links that join two places, in either direction."""
        node, link = TABLES["node"], TABLES["link"].alias("joining")
        endpoint_ids = [
            select(node.c.id).where(rows_at(level, self.binder.next_parameter(self.kind.key), "node"))
            for level in levels
        ]
        directions = (
            select(link.c.id).where(link.c.a_id.in_(a), link.c.b_id.in_(b))
            for a, b in (endpoint_ids, reversed(endpoint_ids))
        )
        return self.rows.key.in_(union_all(*directions))

    def _scope_condition(self, level: str) -> Sql:
        """Select the rows in a place; the parameter is the place's id or address."""
        table = TABLES[self.kind.name]
        typed_like = table.c.address if is_matched_by_address(level, self.kind.name) else table.c.id
        is_in_place = rows_at(level, self.binder.next_parameter(typed_like), self.kind.name)
        return self.rows.key.in_(select(table.c.id).where(is_in_place).correlate(None))

    def _event_condition(self, level: str) -> Sql:
        """Select events of a place; the parameters have the order and types that `in_place` requires."""
        first = EVENT.c.id if level == "rack" else EVENT.c.address
        second = EVENT.c.id if level in ALLOCATION_LEVELS else EVENT.c.address
        typed_like = iter([first, second])
        return self.adapt(in_place(level, lambda: self.binder.next_parameter(next(typed_like))))

    def cursor_condition(self, shape: ArgumentShape, *, after: bool) -> Sql:
        """Require that a row comes after, or before, a cursor's row, by the first sort key that differs."""
        keys = sort_keys(self.kind, shape, self.adapt, self.writer)
        cursor_values = [self.binder.next_parameter(column) for column, _ in keys]
        alternatives = []
        for index, (column, descends) in enumerate(keys):
            is_tied = [keys[earlier][0] == cursor_values[earlier] for earlier in range(index)]
            alternatives.append(
                and_(*is_tied, column < cursor_values[index] if descends == after else column > cursor_values[index])
            )
        return or_(*alternatives)


def sort_keys(kind: Thing, shape: ArgumentShape, adapt: Adapt, writer: JsonWriter) -> list[tuple[Sql, bool]]:
    """Return the sort keys, each with whether it is descending; the last one is the id."""
    fields_descending = [(find_field(kind, name), descends) for name, descends in shape.order]
    return [
        *(
            (_comparable_sql(field, adapt(field.filter_expression), writer), descending)
            for field, descending in fields_descending
        ),
        (adapt(kind.key), False),
    ]


def sort_direction(columns: Iterable[Sql], descends: Iterable[bool], *, backwards: bool = False) -> list[Sql]:
    """Return the ORDER BY terms, reversed if backwards."""
    return [
        column.desc() if descending != backwards else column.asc()
        for column, descending in zip(columns, descends, strict=True)
    ]


def _comparable_sql(field: Field, column: Sql, writer: JsonWriter) -> Sql:
    return writer.collated(column) if field.format in _COLLATED_FORMATS else column


def cursor_sql(kind: Thing, shape: ArgumentShape, adapt: Adapt, writer: JsonWriter) -> Sql:
    """Return a row's cursor: its id, or a JSON array of the order's signature, the sort values and the id."""
    if not shape.order:
        return Concat(["", adapt(kind.key)])
    pieces: list[str | Sql] = [f'["{order_signature(shape.order)}"']
    for name, _ in shape.order:
        field = find_field(kind, name)
        pieces += [",", writer.quote(adapt(field.sql)) if field.format in _COLLATED_FORMATS else adapt(field.sql)]
    return Concat([*pieces, ",", adapt(kind.key), "]"])


def resolve_values(connection: Connection, values: Iterable[Any]) -> list[Any]:
    """Return a filter's values with addresses resolved to ids or stored addresses.

    Raises
    ------
    FilterError
        A place has a different level than the filter requires.

    """
    return [_resolve_address(connection, value) if isinstance(value, AddressTest) else value for value in values]


def _resolve_address(connection: Connection, test: AddressTest) -> int | str:
    """Return the value to bind for an address: an id, or the address as the database stores it."""
    if test.by_name:
        return "--".join(str(parse_or_look_up(connection, end)) for end in split_link(test.address))
    if test.may_be_gone:
        return place_id(connection, test.address)
    place = (resolve_link if test.level == "link" else resolve_place)(connection, test.address)
    if place.level != test.level:
        raise FilterError(f"{place.address} is a {place.level}; name a {test.level}")
    return place.address if test.as_address else place.id
