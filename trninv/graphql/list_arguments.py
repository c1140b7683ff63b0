"""Parse a list's filter, order and page, and separate their shape from their values.

The shape (`ArgumentShape`, hashable) determines the SQL, so that a statement compiled once serves any values; values
are bound in the order in which they appear in the arguments. For `first: 5, filter: {state: {eq: DOWN}}` the shape
contains ("eq", "state"), the value is "down", and the page size is 5. `list_conditions` compiles shapes to SQL.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from math import isclose
from typing import Any, Final

from strawberry.utils.str_converters import to_camel_case as camel
from strawberry.utils.str_converters import to_snake_case as snake

from trninv.database.finding_rules import SEVERITIES
from trninv.errors import AddressError, FilterError, InvalidArgumentError, suggestion
from trninv.graphql.scalars import UNITS
from trninv.history.point_in_time import parse_time
from trninv.history.scope_filter import ALLOCATION_LEVELS
from trninv.incidents.incident_thing import CLOSED_INCIDENT, INCIDENT
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.address.rows_in import check_level, is_matched_by_address
from trninv.inventory.address.syntax import Address, level_of, parse
from trninv.inventory.schema.thing import Field, Thing, ValueFormat
from trninv.inventory.schema.things import THINGS
from trninv.units import format_lower_bound, format_timestamp

DEFAULT_PAGE = 100
"""Number of items on a page if neither `first` nor `last` is set."""
MAX_PAGE = 1000
"""Maximum number of items on a page."""
MAX_VALUES = 1000
"""Maximum number of values in one `in` test."""
MAX_TESTS = 100
"""Maximum number of tests and groups in one filter."""
MAX_NUMBER = 2**63 - 1
"""Largest integer that the database stores."""

LISTED_THINGS: Final = tuple(kind for kind in (*THINGS.values(), INCIDENT, CLOSED_INCIDENT) if kind.list_name)
"""The kinds that can be listed."""

FilterShape = tuple[Any, ...]
"""A test and what it tests, such as ("in", "model", 3) for three values; "and", "or" and "not" contain shapes."""
NO_TESTS: Final[FilterShape] = ("and",)
"""Shape of a filter without tests."""
CURRENT: Final[FilterShape] = ("current",)
"""Shape of the test that a row is current (`trninv.inventory.schema.thing.Lifetime`)."""

_FACT_ARGUMENTS = ("subject", "attribute", "disputed")
"""Arguments of the lists of facts and conflicts that act as equality tests."""
TEXT_FORMATS = (ValueFormat.TEXT, ValueFormat.IDENTIFIER, ValueFormat.PLACE)
"""Formats whose values are texts, which can be searched for a part of them."""


@dataclass(frozen=True, slots=True)
class AddressTest:
    """An address in a filter, to be resolved when the statement runs: by default to the id of a place that must exist.

    Attributes
    ----------
    level
        Level that the place must have, such as server.
    by_name
        Whether it is resolved to an address as the database stores it, even if the place does not exist any more.
    may_be_gone
        Whether it is resolved to an id even if the place does not exist any more, as events outlive places.
    as_address
        Whether it is resolved to the address of a place that must exist.

    """

    address: str
    level: str
    by_name: bool = False
    may_be_gone: bool = False
    as_address: bool = False


@dataclass(frozen=True, slots=True)
class ArgumentShape:
    """Shape of a list's arguments, without values.

    Attributes
    ----------
    order
        Names of the fields to sort by, each with whether it is descending; ties are sorted by id.
    backwards
        Whether the page is read from the end of the list (`last`).
    after, before
        Whether there is a cursor of this name.

    """

    filter: FilterShape = NO_TESTS
    order: tuple[tuple[str, bool], ...] = ()
    backwards: bool = False
    after: bool = False
    before: bool = False


@dataclass(frozen=True, slots=True)
class ListArguments:
    """A list's arguments: their shape, the values of filter and cursors, and the page size."""

    shape: ArgumentShape
    test_values: tuple[Any, ...]
    cursor_values: tuple[Any, ...]
    size: int

    @classmethod
    def parse(cls, kind: Thing, arguments: Mapping[str, Any]) -> "ListArguments":
        """Parse a list's coerced GraphQL arguments.

        Raises
        ------
        FilterError
            The kind cannot be filtered by such a place, or the filter is malformed or tests an unknown value.
        InvalidArgumentError
            The page is impossible, or its cursor belongs to another list or order.

        """
        test_values: list[Any] = []
        fact_tests = {name: {"eq": arguments[name]} for name in _FACT_ARGUMENTS if arguments.get(name) is not None}
        extra_tests = {name: arguments[name] for name in _EXTRA_ARGUMENTS if arguments.get(name) is not None}
        # SQLite evaluates tests in this order: put the slow ones last
        all_tests = {"and": [fact_tests, extra_tests, arguments.get("filter") or {}]}
        filter_shape = _compile_group(kind, all_tests, test_values, iter(range(MAX_TESTS)))
        if kind.lifetime and not arguments.get(camel(kind.lifetime.argument)):
            filter_shape = ("and", CURRENT, filter_shape)
        default_order = ((name, False) for name in kind.default_order)
        order = tuple(_parse_order(item) for item in arguments.get("orderBy") or ()) or tuple(default_order)
        size, backwards = read_page_size(arguments)
        cursors = {name: arguments[name] for name in ("after", "before") if arguments.get(name) is not None}
        cursor_values = chain.from_iterable(_parse_cursor(name, cursor, order) for name, cursor in cursors.items())
        return cls(
            ArgumentShape(filter_shape, order, backwards, "after" in cursors, "before" in cursors),
            tuple(test_values),
            tuple(cursor_values),
            size,
        )


def read_page_size(arguments: Mapping[str, Any]) -> tuple[int, bool]:
    """Return the page size, and whether the page is read from the end of the list.

    Raises
    ------
    InvalidArgumentError
        Both first and last are passed, or the size exceeds MAX_PAGE.

    """
    first, last = arguments.get("first"), arguments.get("last")
    if first is not None and last is not None:
        raise InvalidArgumentError("first and last exclude each other; pass only one of them")
    size, backwards = (last, True) if last is not None else (DEFAULT_PAGE if first is None else first, False)
    if not 0 <= size <= MAX_PAGE:
        name, cursor_name = ("last", "before") if backwards else ("first", "after")
        raise InvalidArgumentError(
            f"{name}: {size} items are out of range; ask for 0 to {MAX_PAGE} and page on with {cursor_name}"
        )
    return size, backwards


def _parse_order(item: Mapping[str, Enum]) -> tuple[str, bool]:
    ((name, direction),) = item.items()
    return snake(name), direction.name == "DESC"


def order_signature(order: tuple[tuple[str, bool], ...]) -> str:
    """Return a text that identifies an order; cursors contain it, so that they are refused in another order."""
    return ",".join(f"{'-' if descends else ''}{name}" for name, descends in order)


def _parse_cursor(name: str, cursor: str, order: tuple[tuple[str, bool], ...]) -> list[Any]:
    """Return the sort values and id in a cursor: ID, or [SIGNATURE, VALUE, …, ID] (`list_conditions.cursor_sql`)."""
    try:
        decoded = json.loads(cursor)
        values = [decoded] if not order and isinstance(decoded, int) else decoded[1:]
        is_of_order = isinstance(decoded, int) or decoded[0] == order_signature(order)
        if is_of_order and len(values) == len(order) + 1 and all(_is_cursor_value(value) for value in values):
            return list(values)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        pass
    raise InvalidArgumentError(
        f"{name}: {cursor[:40]!r} is not a cursor of this list in this order; pass one from its pages"
    )


def _is_cursor_value(value: object) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _compile_group(kind: Thing, tests: Mapping[str, Any], values: list[Any], budget: Iterator[int]) -> FilterShape:
    """Return the shape of tests that must all be true, and append their values.

    Parameters
    ----------
    budget
        Yields MAX_TESTS items; each test or group takes one, and a filter for which they do not suffice is refused.

    """
    parts = [part for name, value in tests.items() for part in _compile_tests(kind, name, value, values, budget)]
    parts = [part for part in parts if part != NO_TESTS]
    return parts[0] if len(parts) == 1 else ("and", *parts)


def _compile_tests(
    kind: Thing, name: str, value: Any, values: list[Any], budget: Iterator[int]
) -> Iterator[FilterShape]:
    if next(budget, None) is None:
        raise FilterError(f"filter: more than {MAX_TESTS} tests and groups; use fewer")
    if value is None:
        raise FilterError(f"filter {name}: null is not a filter; omit it")
    field_names = {item.name for item in kind.fields}
    if name in ("and", "or"):
        yield _join_groups(name, [_compile_group(kind, item, values, budget) for item in value])
    elif name == "not":
        first = len(values)
        yield _negate(kind, _compile_group(kind, value, values, budget), values[first:])
    elif name in LEVELS and name not in field_names:
        yield _compile_place(name, value, values)
    elif name in _EXTRA_ARGUMENTS and name not in field_names:  # links have a field named scope, too
        yield _EXTRA_ARGUMENTS[name](kind, value, values)
    elif name == "address" and kind.is_located:
        for test, expected in _require_tests(name, value).items():
            yield _compile_address(kind, test, expected, values)
    else:
        field = find_field(kind, snake(name))
        for test, expected in _require_tests(name, value).items():
            yield _compile_test(field, test, expected, values)


def _join_groups(name: str, groups: Sequence[FilterShape]) -> FilterShape:
    if name == "or":
        return _exclude_usual_of(("or", *groups))
    return ("and", *(group for group in groups if group != NO_TESTS))


def _require_tests(name: str, tests: Mapping[str, Any]) -> Mapping[str, Any]:
    if not tests:
        raise FilterError(f"{name}: {{}} has no test; write one such as {{eq: …}}")
    return tests


LEVELS = ("cluster", "domain", "server", "rack")
"""Levels of places by which lists can be filtered."""


def _compile_place(level: str, tests: Mapping[str, Any], values: list[Any]) -> FilterShape:
    """Compile a test that a thing is in a place, or in any of several places."""
    if (tests.get("eq") is None) == (tests.get("in") is None):
        raise FilterError(f"{level}: an address filter takes either eq or in; pass one of them")
    addresses = tests.get("in") or [] if tests.get("eq") is None else [tests["eq"]]
    _check_length(addresses)
    values += [AddressTest(str(address), level) for address in addresses]
    return "within", level, len(addresses)


def _compile_between(_: Thing, endpoints: Mapping[str, str], values: list[Any]) -> FilterShape:
    """Compile a test that a link joins two places."""
    levels = [level_of(address) for address in endpoints.values()]
    if wrong_level := next((level for level in levels if level in ("link", "core")), None):
        raise FilterError(
            f"between: a {wrong_level} has no links; name a chip, switch, NIC, server, rack, domain or cluster"
        )
    values += [AddressTest(address, level) for address, level in zip(endpoints.values(), levels, strict=True)]
    return "between", *levels


def _compile_scope(kind: Thing, address: str, values: list[Any]) -> FilterShape:
    """Compile a test that a thing is at or below a place."""
    level = level_of(address)
    if kind.name == "event":
        return _compile_event_scope(address, level, values)
    check_level(address, level, kind.name)
    values.append(AddressTest(address, level, as_address=is_matched_by_address(level, kind.name)))
    return "scope", level


def _compile_event_scope(address: str, level: str, values: list[Any]) -> FilterShape:
    """Compile a test that an event belongs to a place or link; `list_conditions` takes the values in this order."""
    addresses = (
        ["--".join(split_link(address)), "--".join(reversed(split_link(address)))] if level == "link" else [address]
    )
    # a rack is tested by its id: addresses do not contain their rack
    values += [AddressTest(item, level, by_name=level != "rack") for item in addresses]
    if level in ALLOCATION_LEVELS:
        values.append(AddressTest(address, level, may_be_gone=True))
    return "scope", level


def _compile_since(_: Thing, time: str, values: list[Any]) -> FilterShape:
    values.append(format_lower_bound(parse_time(time)))
    return "gte", "at"


def _compile_until(_: Thing, time: str, values: list[Any]) -> FilterShape:
    values.append(format_timestamp(parse_time(time)))
    return "lte", "at"


def _compile_min_severity(_: Thing, severity: Enum, values: list[Any]) -> FilterShape:
    severities = SEVERITIES[SEVERITIES.index(severity.value) :]
    values += severities
    return "in", "severity", len(severities)


_EXTRA_ARGUMENTS: Final[Mapping[str, Callable[[Thing, Any, list[Any]], FilterShape]]] = {
    "between": _compile_between,
    "scope": _compile_scope,
    "since": _compile_since,
    "until": _compile_until,
    "minSeverity": _compile_min_severity,
}
"""Arguments of some lists that act as tests."""


def _compile_address(kind: Thing, test: str, expected: Any, values: list[Any]) -> FilterShape:
    if expected is None:
        raise FilterError(f"address: {{{test}: null}} matches nothing, since everything has an address; omit it")
    if test in ("eq", "in"):
        addresses = [expected] if test == "eq" else expected
        _check_length(addresses)
        values += [AddressTest(str(address), kind.name) for address in addresses]
        return "in", "id", len(addresses)
    text = str(expected).strip().lower()
    _check_text("address", text, test)
    level, place = _smallest_container(kind, text) if test == "startsWith" else ("", "")
    values += [AddressTest(place, level), text] if place else [text]
    return ("and", ("within", level, 1), (test, "address")) if place else (test, "address")


def _smallest_container(kind: Thing, prefix: str) -> tuple[str, str]:
    """Return level and address of the smallest place that contains all addresses with this prefix."""
    levels = place_levels(kind)
    first_end, is_complete, _ = prefix.partition("--")  # a link's address is A--B
    address = first_end if is_complete else first_end.rpartition("/")[0]
    while address:
        place = _parse_or_none(address)
        if place and place.level in levels:
            return place.level, str(place)
        address = address.rpartition("/")[0]
    return "", ""


def _parse_or_none(text: str) -> Address | None:
    try:
        return parse(text)
    except AddressError:
        return None


def _check_length(items: list[Any]) -> None:
    if len(items) > MAX_VALUES:
        raise FilterError(f"in: {len(items)} values are too many; pass at most {MAX_VALUES}")


def _compile_test(field: Field, test: str, expected: Any, values: list[Any]) -> FilterShape:
    if expected is None:
        if test in ("eq", "ne") and field.nullable:
            return ("null" if test == "eq" else "not null"), field.name
        raise FilterError(f"{camel(field.name)}: {{{test}: null}} is not a test; pass a value")
    if test == "in":
        _check_length(expected)
        bound = [_bind_value(field, item, test) for item in expected]
        values += bound
        return _exclude_usual(field, bound, ("in", field.name, len(expected)))
    bound = [_bind_value(field, expected, test)]
    values += bound
    return _exclude_usual(field, bound, (test, field.name))


def _exclude_usual(field: Field, bound: list[Any], shape: FilterShape) -> FilterShape:
    """Add the test that a field does not have its usual value, if the shape's test implies it.

    Nearly all rows have the usual value (`Field.usual`). With the added test, the database can use the partial index,
    which contains only the other rows.
    """
    test = shape[0]
    is_implied = field.usual in bound if test == "ne" else test in ("eq", "in") and field.usual not in bound
    return ("and", shape, ("unusual", field.name)) if field.usual and is_implied else shape


def _negate(kind: Thing, shape: FilterShape, bound: list[Any]) -> FilterShape:
    """Return the negation of a shape; that of one test of a state excludes the usual state if the test matches it."""
    test, *rest = shape
    if test in ("eq", "in", "ne") and rest[0] != "id":
        field = find_field(kind, rest[0])
        if field.usual and (field.usual in bound) == (test != "ne"):
            return "and", ("not", shape), ("unusual", field.name)
    return "not", shape


def _exclude_usual_of(shape: FilterShape) -> FilterShape:
    """Add the tests that fields do not have their usual values, if every alternative of the shape has that test."""
    names = set.intersection(*map(_unusual_fields, shape[1:])) if shape[1:] else set()
    return ("and", shape, *(("unusual", name) for name in sorted(names))) if names else shape


def _unusual_fields(shape: FilterShape) -> set[str]:
    """Return the fields that do not have their usual value in any row that meets a shape's tests."""
    match shape:
        case ("unusual", name):
            return {name}
        case ("and", *parts):
            return set().union(*map(_unusual_fields, parts))
        case ("or", *parts) if parts:
            return set.intersection(*map(_unusual_fields, parts))
    return set()


def _bind_value(field: Field, expected: Any, test: str) -> Any:
    name = camel(field.name)
    if expected is None:
        raise FilterError(f"{name}: {{in: [null]}} is not a test; use eq: null")
    if field.format is ValueFormat.ENUM:
        return expected.value
    if field.format in TEXT_FORMATS:
        _check_text(name, expected, test)
        if test in ("eq", "ne", "in") and field.choices and expected not in field.choices():
            raise FilterError(f"{name}: there is no {expected[:40]!r}: {suggestion(expected, field.choices())}")
        if test == "containsIgnoreCase":  # lower() of the databases changes ASCII letters only
            return expected.encode().lower().decode()
    if field.format is ValueFormat.TIME:
        # a time is stored in two forms: >= and < need a text that sorts before both, <= and > the one that sorts last
        return (format_lower_bound if test in ("gte", "lt") else format_timestamp)(parse_time(expected))
    if isinstance(expected, Mapping):
        expected = _to_base_units(name, expected)
    if field.format is not ValueFormat.MILLIONTHS:
        return expected
    millionths = expected * 10**6
    nearest = round(millionths)
    return nearest if isclose(millionths, nearest, rel_tol=1e-12) else millionths  # 0.000123 is 122.99999999999999


def _check_text(name: str, text: str, test: str) -> None:
    if not text.isprintable():
        raise FilterError(f"{name}: {text[:40]!a} is not printable text; remove the control characters")
    if test in ("contains", "containsIgnoreCase", "startsWith") and not text:
        raise FilterError(f"{name}: an empty text matches everything; omit it")


def _to_base_units(name: str, quantity: Mapping[str, Any]) -> int:
    """Convert {unit: value} to base units."""
    ((unit, value),) = quantity.items()
    if not abs(value) * UNITS[unit] <= MAX_NUMBER:
        raise FilterError(f"{name}: {value} {unit} is out of range; use a smaller number")
    base: int = round(value * UNITS[unit])
    return base


def find_field(kind: Thing, name: str) -> Field:
    """Return a kind's field or sort key by name."""
    return next(field for field in (*kind.fields, *kind.sort_keys) if field.name == name)


def ordered_fields(kind: Thing) -> list[Field]:
    """Return the fields and sort keys by which a kind's lists can be ordered."""
    return [field for field in (*kind.fields, *kind.sort_keys) if is_ordered(field)]


def is_ordered(field: Field) -> bool:
    """Return whether lists can be ordered by a field."""
    return (
        field.is_filterable
        and not field.nullable
        and field.format not in (ValueFormat.ID, ValueFormat.ADDRESS, ValueFormat.BOOLEAN, ValueFormat.INTS)
    )


def place_levels(kind: Thing) -> list[str]:
    """Return the levels of the places by which a kind's lists can be filtered."""
    return [level for level in LEVELS if level in kind.containers or (level == "cluster" and kind.id_block)]
