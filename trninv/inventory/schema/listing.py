"""Select the rows of a kind of thing (such as chips or jobs) in its default order, and read their fields."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Select

from trninv.errors import InvalidArgumentError, suggestion
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import rows_in
from trninv.inventory.schema.thing import DIVISORS, Field, Thing, ValueFormat, select_thing
from trninv.units import Bandwidth, Capacity

QUANTITIES: Final[Mapping[ValueFormat, type[Bandwidth | Capacity]]] = {
    ValueFormat.BANDWIDTH: Bandwidth,
    ValueFormat.CAPACITY: Capacity,
}
"""The classes of values that have a unit, by format."""


def select_things(kind: Thing, place: Place | None = None, *, everything: bool = False) -> Select[Any]:
    """Select the rows of a kind in a place, or in all places, in the kind's default order.

    Rows that are not current, such as bindings that have ended, are selected only with `everything`.

    Raises
    ------
    WrongLevelError
        A place of this level contains no rows of this kind.
    """
    order = (
        field.sql for name in kind.default_order for field in (*kind.fields, *kind.sort_keys) if field.name == name
    )
    query = select_thing(kind).order_by(*order, kind.key)
    if place is not None:
        query = query.where(rows_in(place, kind.name))
    return query.where(kind.lifetime.is_current) if kind.lifetime and not everything else query


def choose_fields(kind: Thing, names: Sequence[str]) -> list[Field]:
    """Return the fields with these names; without names, all but the opaque id.

    Raises
    ------
    InvalidArgumentError
        The kind has no such field.
    """
    fields = {field.name: field for field in kind.fields}
    for name in names:
        if name not in fields:
            raise InvalidArgumentError(f"{kind.title} has no column {name[:40]!r}: {suggestion(name, fields)}")
    return [fields[name] for name in names] or [field for field in kind.fields if field.format is not ValueFormat.ID]


def cell(kind: Thing, field: Field, row: Mapping[Any, Any]) -> Any:
    """Return a row's value of a field: a quantity with its unit, an enumeration's value as the database stores it."""
    if field.format is ValueFormat.ID:
        return f"{kind.name}:{row['id']}"
    value = row[field.name]
    if value is None:
        return None
    if field.format in QUANTITIES:
        return QUANTITIES[field.format](value)
    if field.format is ValueFormat.BOOLEAN:
        return bool(value)
    if field.enumeration and field.enumeration.choices:  # computed: the name of a member of an enum
        return value.lower()
    return value / DIVISORS[field.format] if field.format in DIVISORS else value
