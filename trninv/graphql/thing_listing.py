"""List the rows of a declared kind, as `trninv list` prints them.

Filters are written as in the explorer, such as ``state=down`` or ``ordinal>4``. They become arguments of the kind's
GraphQL list, so that the command and the API return the same rows in the same order.
"""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection
from strawberry.utils.str_converters import to_camel_case

from trninv.database.query_result import QueryResult, RowStream
from trninv.errors import FilterError, InvalidArgumentError, suggestion
from trninv.graphql.computed_lists import select_items
from trninv.graphql.enums import Direction, stored_enum
from trninv.graphql.json_sql import JsonWriter
from trninv.graphql.list_arguments import LISTED_THINGS, TEXT_FORMATS, ListArguments, ordered_fields, place_levels
from trninv.graphql.list_conditions import (
    ParameterBinder,
    RowSource,
    compile_conditions,
    resolve_values,
    sort_direction,
    sort_keys,
)
from trninv.inventory.address.syntax import level_of
from trninv.inventory.schema.listing import QUANTITIES, cell, choose_fields
from trninv.inventory.schema.thing import DIVISORS, Field, Thing, ValueFormat, select_thing

LISTED_KINDS: Final[Mapping[str, Thing]] = {kind.name.replace("_", "-"): kind for kind in LISTED_THINGS}
"""Kinds that can be listed, by their names on the command line."""
_WORD: Final = re.compile(r"(?P<name>[\w-]+)(?P<sign>!=|>=|<=|=|>|<|~)(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>\S*))|\S+")
"""A test, whose value may be quoted, or else any word, which is refused."""
_TESTS: Final[Mapping[str, str]] = {
    "=": "eq",
    "<": "lt",
    "<=": "lte",
    ">": "gt",
    ">=": "gte",
    "~": "containsIgnoreCase",
}
_SIGNS_BY_FORMAT: Final[Mapping[ValueFormat, Sequence[str]]] = {
    ValueFormat.ADDRESS: ("=", "!=", "~"),
    ValueFormat.ENUM: ("=", "!="),
    ValueFormat.BOOLEAN: ("=", "!="),
} | dict.fromkeys(TEXT_FORMATS, ("=", "!=", "<", "<=", ">", ">=", "~"))
_ROWS_AT_A_TIME: Final = 1000
"""Number of rows that are fetched from the database at a time."""
_NUMBER_SIGNS: Final = ("=", "!=", "<", "<=", ">", ">=")
_MAX_INT: Final = 2**31 - 1
"""Largest number that GraphQL's Int allows."""
_UNITS: Final = {ValueFormat.BANDWIDTH: "bytesPerSecond", ValueFormat.CAPACITY: "bytes"}


def filter_fields(kind: Thing) -> dict[str, Field | None]:
    """Return the names that a filter can test, each with its field, or None for a level of places, such as server."""
    fields = {field.name: field for field in kind.fields if field.is_filterable or field.format is ValueFormat.ADDRESS}
    return dict.fromkeys(place_levels(kind)) | fields


def sort_names(kind: Thing) -> list[str]:
    """Return the names of the fields by which a kind can be sorted."""
    return [field.name for field in ordered_fields(kind)]


def signs_of(field: Field | None) -> Sequence[str]:
    """Return the signs of the tests that a field allows; None stands for a level of places, such as server."""
    return ("=", "!=") if field is None else _SIGNS_BY_FORMAT.get(field.format, _NUMBER_SIGNS)


def list_arguments(
    kind: Thing, place: str | None, where: Sequence[str], sort: Sequence[str], *, everything: bool = False
) -> dict[str, Any]:
    """Return the arguments of a kind's GraphQL list, as GraphQL coerces them.

    Parameters
    ----------
    where
        Filters; each has one or more tests, such as ``state=down ordinal>4``, and all must hold.
    sort
        Fields to sort by, each with a "-" in front for a descending order.
    everything
        Whether to also list things that are not current, such as ended bindings.

    Raises
    ------
    FilterError
        The kind has no such field or test, or is not listed by such a place.
    InvalidArgumentError
        The kind cannot be sorted by a field.
    """
    tests = [test for text in where for test in _parse_where(kind, text)]
    arguments: dict[str, Any] = {"orderBy": [_parse_sort_key(kind, name) for name in sort]}
    if place is not None and kind.has_scope:
        arguments["scope"] = place
    elif place is not None:
        tests.insert(0, _place_test(kind, place))
    if kind.lifetime:
        arguments[to_camel_case(kind.lifetime.argument)] = everything
    return arguments | {"filter": {"and": tests}}


def read_rows(
    connection: Connection, kind: Thing, arguments: Mapping[str, Any], limit: int
) -> Generator[Mapping[Any, Any], None, None]:
    """Yield at most `limit` rows of a list, as mappings from field names to values; close it if you stop before."""
    if kind.read_rows:
        items = select_items(kind, kind.read_rows(connection, arguments.get("scope")), arguments)
        yield from ({field.name: getattr(item, field.name) for field in kind.fields} for item in items[:limit])
        return
    parsed, writer = ListArguments.parse(kind, arguments), JsonWriter(connection.dialect.name)
    rows = RowSource(kind)
    conditions = compile_conditions(rows, parsed.shape, writer, ParameterBinder())
    keys, descends = zip(*sort_keys(kind, parsed.shape, rows.adapt, writer), strict=True)
    query = select_thing(kind).where(*conditions).order_by(*sort_direction(keys, descends)).limit(limit)
    values = resolve_values(connection, parsed.test_values)
    parameters = {f"p{index}": value for index, value in enumerate(values)}
    with connection.execute(query.execution_options(yield_per=_ROWS_AT_A_TIME), parameters) as result:
        yield from result.mappings()


def stream_cells(kind: Thing, fields: Sequence[Field], rows: Iterable[Mapping[Any, Any]]) -> RowStream:
    """Return rows of a list with the values of fields; quantities are integers of their base unit."""
    cells = (tuple(_to_number(cell(kind, field, row)) for field in fields) for row in rows)
    return RowStream(tuple(str(field.name) for field in fields), cells)  # some are a subclass, which JSON refuses


def with_units(kind: Thing, rows: QueryResult) -> QueryResult:
    """Return rows of `stream_cells` with their quantities, which print with a unit."""
    types = [QUANTITIES.get(field.format) for field in choose_fields(kind, rows.columns)]
    cells = [
        tuple(
            quantity(value) if quantity and value is not None else value
            for quantity, value in zip(types, row, strict=True)
        )
        for row in rows.rows
    ]
    return replace(rows, rows=cells)


def _to_number(value: Any) -> Any:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _place_test(kind: Thing, place: str) -> dict[str, Any]:
    level, levels = level_of(place), place_levels(kind)
    if level in levels or level == kind.name:
        return {level if level in levels else "address": {"eq": place}}
    advice = f"name a {' or '.join(levels)}" if levels else "omit the place"
    raise FilterError(f"{place}: {kind.title}s are not listed by {level}; {advice}")


def _parse_where(kind: Thing, text: str) -> Iterator[dict[str, Any]]:
    for match in _WORD.finditer(text):
        if not match["sign"]:
            raise FilterError(
                f"--where: {match[0][:40]!r} is not a test; write FIELD=VALUE, with a field of {kind.title}"
            )
        yield _parse_test(kind, match["name"], match["sign"], match["quoted"] or match["plain"] or "")


def _parse_test(kind: Thing, name: str, sign: str, value: str) -> dict[str, Any]:
    fields = filter_fields(kind)
    if name not in fields:
        raise FilterError(f"--where: {kind.title} has no field {name[:40]!r} to test: {suggestion(name, fields)}")
    field = fields[name]
    if sign not in signs_of(field):
        raise FilterError(f"--where {name}{sign}{value[:40]}: use {', '.join(signs_of(field))} with {name}")
    if sign == "!=":  # rows without a value match, too, as in the explorer
        return {"not": {name: {"eq": _parse_value(field, name, value)}}}
    if sign == "~" and field and field.format is ValueFormat.ADDRESS:  # addresses have no capitals
        return {name: {"contains": value.lower()}}
    return {name: {_TESTS[sign]: _parse_value(field, name, value)}}


def _parse_value(field: Field | None, name: str, value: str) -> Any:
    if field and field.nullable and not value:
        return None
    if field is None or field.format in (ValueFormat.ADDRESS, ValueFormat.TIME, *TEXT_FORMATS):
        return value
    if field.enumeration:
        return _find_choice(
            name, value.lower(), {member.value.lower(): member for member in stored_enum(field.enumeration)}
        )
    if field.format is ValueFormat.BOOLEAN:
        return _find_choice(name, value.lower(), {"true": True, "false": False})
    if field.format in QUANTITIES:
        return {_UNITS[field.format]: int(QUANTITIES[field.format].parse(value))}
    return _parse_number(name, value, float if field.format in DIVISORS else int)


def _find_choice(name: str, value: str, choices: Mapping[str, Any]) -> Any:
    if value not in choices:
        raise FilterError(f"--where {name}: there is no {value[:40]!r}: {suggestion(value, choices)}")
    return choices[value]


def _parse_number(name: str, value: str, number_type: type[int | float]) -> int | float:
    try:
        number = number_type(value)
    except ValueError:
        raise FilterError(f"--where {name}: {value[:40]!r} is not a number") from None
    if not abs(number) <= _MAX_INT:
        raise FilterError(f"--where {name}: {value[:40]} is out of range; use a smaller number")
    return number


def _parse_sort_key(kind: Thing, key: str) -> dict[str, Direction]:
    name = key.removeprefix("-")
    names = sort_names(kind)
    if name not in names:
        raise InvalidArgumentError(f"--sort: {kind.title}s are not sorted by {name[:40]!r}: {suggestion(name, names)}")
    return {name: Direction.DESC if key.startswith("-") else Direction.ASC}
