"""Write the SELECT of the SQL view that a thing, such as a server or a job, declares in `trninv.inventory.schema`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Double, FromClause, Select, cast, literal_column, select
from sqlalchemy.sql.visitors import iterate

from trninv.database.tables import TABLES
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.schema.thing import Field, Sql, Thing, ValueFormat, View
from trninv.inventory.schema.things import THINGS

_UNITS: Final[Mapping[ValueFormat, tuple[str, int]]] = {
    ValueFormat.CAPACITY: ("_gib", 2**30),
    ValueFormat.BANDWIDTH: ("_gb_per_s", 10**9),
    ValueFormat.MILLIONTHS: ("", 10**6),
    ValueFormat.THOUSANDTHS: ("", 10**3),
}
"""For each format: the end of a column's name in views, and how many of the table's units are one unit in the view."""
DECLARED_VIEWS: Final = {thing.view.name: thing for thing in THINGS.values() if thing.view}
"""The things that declare a view, by its name."""


def select_view(name: str) -> Select[Any]:
    """Select the rows of a view: an address and the places that contain it, then the other fields."""
    thing = DECLARED_VIEWS[name]
    columns = list(_columns(thing, thing.view)) if thing.view else []
    used = {table for column in columns for table in _tables(column)}
    joins = list[tuple[FromClause, Sql, bool]]()
    # from the last, because a join's condition may use an earlier table
    for table, (condition, is_outer) in reversed([*thing.joins.items()]):
        if table in used:
            joins.append((table, condition, is_outer))
            used |= _tables(condition)
    source = thing.table
    for join in reversed(joins):
        source = source.join(*join)
    return select(*columns).select_from(source)


def view_columns(thing: Thing, view: View) -> Iterator[tuple[str, Field | None]]:
    """Yield the columns of a view in order, each with its field; columns of places have none."""
    fields = [field for field in (*thing.fields, *view.further) if view.names.get(field.name, "") is not None]
    address, *others = (field for field in fields if field.format is not ValueFormat.ID)
    yield _column_name(view, address), address
    for level in view.places:
        yield level, None
        if level != "cluster":
            yield f"{level}_ordinal", None
    for field in others:
        yield _column_name(view, field), field


def _column_name(view: View, field: Field) -> str:
    suffix, _ = _UNITS.get(field.format, ("", 1))
    return f"{view.names.get(field.name) or field.name}{suffix}"


def _columns(thing: Thing, view: View) -> Iterator[Sql]:
    for name, field in view_columns(thing, view):
        yield (_place_column(name) if field is None else _value(field)).label(name)


def _place_column(name: str) -> Sql:
    level = name.removesuffix("_ordinal")
    return address_expression(level) if name == level else TABLES[level].c.ordinal


def _value(field: Field) -> Sql:
    if field.format not in _UNITS:
        return field.sql
    _, divisor = _UNITS[field.format]
    # without the cast, the division rounds down: capacities are whole GiB in views
    number = field.sql if field.format is ValueFormat.CAPACITY else cast(field.sql, Double)
    return number.op("/")(literal_column(str(divisor)))


def _tables(sql: Sql) -> set[FromClause]:
    tables = (getattr(element, "table", None) for element in iterate(sql))
    return {table for table in tables if table is not None}
