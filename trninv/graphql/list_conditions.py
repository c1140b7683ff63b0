"""Compile a list's filter, order and cursors to SQL."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from sqlalchemy import BindParameter, and_, bindparam, false, func, not_, or_, select, true, union_all

from trninv.database.sql_constructs import Concat
from trninv.database.tables import TABLES
from trninv.graphql.json_sql import JsonWriter
from trninv.graphql.list_arguments import NO_TESTS, TEXT_FORMS, ArgumentShape, FilterShape, find_field, order_signature
from trninv.history.scope_filter import ALLOCATION_LEVELS, in_place
from trninv.inventory.address.containment import node_condition_at
from trninv.inventory.schema.event_fields import EVENT
from trninv.inventory.schema.thing import Field, Sql, Thing, ValueFormat, is_in_cluster

Adapt = Callable[[Sql], Sql]

_COLLATED_FORMS = (*TEXT_FORMS, ValueFormat.ENUM)

_COMPARISONS: Final[Mapping[str, Callable[[Sql, Sql], Sql]]] = {
    "eq": lambda one, other: one == other,
    "ne": lambda one, other: one != other,
    "lt": lambda one, other: one < other,
    "lte": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "gte": lambda one, other: one >= other,
    "contains": lambda one, other: func.replace(one, other, "") != one,
    "startsWith": lambda one, other: func.substr(one, 1, func.length(other)) == other,
}


class ParameterBinder:
    """Numbers the bind parameters of one list: a prefix and 0, 1, …"""

    def __init__(self, name: str = "p") -> None:
        self._name, self._next = name, count()

    def take(self, typed_like: Sql) -> BindParameter[Any]:
        """Return the next parameter, typed like an expression."""
        return bindparam(f"{self._name}{next(self._next)}", type_=typed_like.type)


def compile_conditions(
    kind: Thing, shape: ArgumentShape, adapt: Adapt, writer: JsonWriter, binder: ParameterBinder
) -> list[Sql]:
    """Return the conditions on a list's rows, with parameters in the order of the values."""
    compiler = _ConditionCompiler(kind, adapt, writer, binder)
    compiled = [compiler.compile_filter(shape.filter)] if shape.filter != NO_TESTS else []
    for is_given, after in ((shape.after, True), (shape.before, False)):
        if is_given:
            compiled.append(compiler.cursor_condition(shape, after=after))
    return compiled


@dataclass(frozen=True, slots=True)
class _ConditionCompiler:
    kind: Thing
    adapt: Adapt
    writer: JsonWriter
    binder: ParameterBinder

    def compile_filter(self, shape: FilterShape) -> Sql:
        match shape:
            case ("and", *parts):
                return and_(true(), *map(self.compile_filter, parts))
            case ("or", *parts):
                return or_(false(), *map(self.compile_filter, parts))
            case ("not", part):
                return not_(func.coalesce(self.compile_filter(part), false()))
            case ("within", level, number):
                return self._place_condition(level, number)
            case ("between" | "scope" as test, *levels):
                return self._between_condition(*levels) if test == "between" else self._event_condition(*levels)
        return self._compile_test(*shape)

    def _compile_test(self, test: str, name: str, number: int = 1) -> Sql:
        field = find_field(self.kind, name)
        column = self.adapt(field.filter_expression)
        match test:
            case "null":
                return column.is_(None)
            case "not null":
                return column.is_not(None)
            case "in":
                return self._membership(column, number)
        return _COMPARISONS[test](_comparable_sql(field, self.adapt, self.writer), self.binder.take(column))

    def _place_condition(self, level: str, number: int) -> Sql:
        key = self.adapt(self.kind.key)
        if level == "cluster":
            return or_(false(), *(is_in_cluster(self.kind, key, self.binder.take(key)) for _ in range(number)))
        return self._membership(self.adapt(self.kind.containers[level]), number)

    def _membership(self, column: Sql, number: int) -> Sql:
        return column.in_([self.binder.take(column) for _ in range(number)]) if number else false()

    def _between_condition(self, *levels: str) -> Sql:
        """Select links that join two places, in either direction."""
        node, link = TABLES["node"], TABLES["link"].alias("joining")
        endpoint_ids = [
            select(node.c.id).where(node_condition_at(level, self.binder.take(self.kind.key))) for level in levels
        ]
        directions = (
            select(link.c.id).where(link.c.a_id.in_(a), link.c.b_id.in_(b))
            for a, b in (endpoint_ids, reversed(endpoint_ids))
        )
        return self.adapt(self.kind.key).in_(union_all(*directions))

    def _event_condition(self, level: str) -> Sql:
        first = EVENT.c.id if level == "rack" else EVENT.c.address
        typed_columns = iter([first, EVENT.c.id if level in ALLOCATION_LEVELS else EVENT.c.address])
        return self.adapt(in_place(level, lambda: self.binder.take(next(typed_columns))))

    def cursor_condition(self, shape: ArgumentShape, *, after: bool) -> Sql:
        """Require that a row comes after, or before, a cursor's row."""
        keys = sort_keys(self.kind, shape, self.adapt, self.writer)
        cursor_values = [self.binder.take(column) for column, _ in keys]
        alternatives = []
        for index, (column, descends) in enumerate(keys):
            same = [keys[earlier][0] == cursor_values[earlier] for earlier in range(index)]
            alternatives.append(
                and_(*same, column < cursor_values[index] if descends == after else column > cursor_values[index])
            )
        return or_(*alternatives)


def sort_keys(kind: Thing, shape: ArgumentShape, adapt: Adapt, writer: JsonWriter) -> list[tuple[Sql, bool]]:
    """Return the sort keys, the id last, and whether each is descending."""
    fields_descending = [(find_field(kind, name), descends) for name, descends in shape.order]
    return [
        *((_comparable_sql(field, adapt, writer), descending) for field, descending in fields_descending),
        (adapt(kind.key), False),
    ]


def sort_direction(columns: Iterable[Sql], descends: Iterable[bool], *, backwards: bool = False) -> list[Sql]:
    """Return the ORDER BY terms, reversed if backwards."""
    return [
        column.desc() if descending != backwards else column.asc()
        for column, descending in zip(columns, descends, strict=True)
    ]


def _comparable_sql(field: Field, adapt: Adapt, writer: JsonWriter) -> Sql:
    column = adapt(field.filter_expression)
    return writer.collated(column) if field.format in _COLLATED_FORMS else column


def cursor_sql(kind: Thing, shape: ArgumentShape, adapt: Adapt, writer: JsonWriter) -> Sql:
    """Return a row's cursor: its id, or a JSON array of the order's signature, the sort values and the id."""
    if not shape.order:
        return Concat(["", adapt(kind.key)])
    pieces: list[str | Sql] = [f'["{order_signature(shape.order)}"']
    for name, _ in shape.order:
        field = find_field(kind, name)
        pieces += [",", writer.quote(adapt(field.sql)) if field.format in _COLLATED_FORMS else adapt(field.sql)]
    return Concat([*pieces, ",", adapt(kind.key), "]"])
