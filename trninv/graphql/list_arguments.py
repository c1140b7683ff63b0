"""Parse a list's filter, order and page, and separate their shape from their values.

The shape (`ArgumentShape`, hashable) determines the SQL, so that a statement compiled once serves any values; values
are bound in the order in which they appear in the arguments.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any, Final

from strawberry.utils.str_converters import to_camel_case as camel
from strawberry.utils.str_converters import to_snake_case as snake

from trninv.errors import AddressError, FilterError, InvalidArgumentError, suggestion
from trninv.graphql.scalars import UNITS
from trninv.history.point_in_time import parse_time
from trninv.history.scope_filter import ALLOCATION_LEVELS
from trninv.inventory.address.machine_names import split_link
from trninv.inventory.address.syntax import Address, level_of, parse
from trninv.inventory.schema.thing import Field, Thing, ValueFormat
from trninv.units import format_lower_bound, format_timestamp

DEFAULT_PAGE = 100
MAX_PAGE = 1000
MAX_VALUES = 1000
"""Values in one `in` test."""
MAX_TESTS = 100
"""Tests and groups in one filter."""
MAX_NUMBER = 2**63 - 1

FilterShape = tuple[Any, ...]
NO_TESTS: Final[FilterShape] = ("and",)
"""Shape of a filter without tests."""

_FACT_ARGUMENTS = ("subject", "attribute", "disputed")
"""Arguments of facts lists that act as equality tests."""
TEXT_FORMS = (ValueFormat.TEXT, ValueFormat.IDENTIFIER)


@dataclass(frozen=True, slots=True)
class AddressTest:
    """An address in a filter, bound as its place's id, or as the stored address if `by_name`."""

    address: str
    level: str
    by_name: bool = False
    may_be_gone: bool = False


@dataclass(frozen=True, slots=True)
class ArgumentShape:
    """Shape of a list's arguments, without values.

    Attributes
    ----------
    order
        Fields and whether each is descending; the id is always the last key.

    """

    filter: FilterShape = NO_TESTS
    order: tuple[tuple[str, bool], ...] = ()
    backwards: bool = False
    after: bool = False
    before: bool = False


@dataclass(frozen=True, slots=True)
class ListArguments:
    """A list's arguments: their shape, and the values of filter, cursors and page size."""

    shape: ArgumentShape
    test_values: tuple[Any, ...]
    cursor_values: tuple[Any, ...]
    size: int

    @classmethod
    def parse(cls, kind: Thing, arguments: Mapping[str, Any]) -> "ListArguments":
        """Parse arguments as GraphQL coerced them.

        Raises
        ------
        FilterError
            The filter tests a place that the kind has none of, or a value that does not exist.
        InvalidArgumentError
            The page is impossible, or its cursor belongs to another list or order.

        """
        test_values: list[Any] = []
        fact_tests = {name: {"eq": arguments[name]} for name in _FACT_ARGUMENTS if arguments.get(name) is not None}
        extra_tests = {name: arguments[name] for name in _EXTRA_ARGUMENTS if arguments.get(name) is not None}
        tests_tree = {
            "and": [fact_tests, extra_tests, arguments.get("filter") or {}]
        }  # SQLite evaluates tests in this order: put the slow ones last
        filter_shape = _compile_group(kind, tests_tree, test_values, iter(range(MAX_TESTS)))
        order = tuple(_parse_order(item) for item in arguments.get("orderBy") or ())
        size, backwards = read_page_size(arguments)
        cursors = {end: arguments[end] for end in ("after", "before") if arguments.get(end) is not None}
        cursor_values = chain.from_iterable(_parse_cursor(end, cursor, order) for end, cursor in cursors.items())
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
        name, on = ("last", "before") if backwards else ("first", "after")
        raise InvalidArgumentError(
            f"{name}: {size} items are out of range; ask for 0 to {MAX_PAGE} and page on with {on}"
        )
    return size, backwards


def _parse_order(item: Mapping[str, Enum]) -> tuple[str, bool]:
    ((name, direction),) = item.items()
    return snake(name), direction.name == "DESC"


def order_signature(order: tuple[tuple[str, bool], ...]) -> str:
    """Return the text by which a cursor is tied to its order."""
    return ",".join(f"{'-' if descends else ''}{name}" for name, descends in order)


def _parse_cursor(end: str, cursor: str, order: tuple[tuple[str, bool], ...]) -> list[Any]:
    try:
        decoded = json.loads(cursor)
        values = [decoded] if not order and isinstance(decoded, int) else decoded[1:]
        is_known = isinstance(decoded, int) or decoded[0] == order_signature(order)
        if is_known and len(values) == len(order) + 1 and all(_is_cursor_value(value) for value in values):
            return list(values)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        pass
    raise InvalidArgumentError(
        f"{end}: {cursor[:40]!r} is not a cursor of this list in this order; pass one from its pages"
    )


def _is_cursor_value(value: object) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _compile_group(kind: Thing, tests: Mapping[str, Any], values: list[Any], budget: Iterator[int]) -> FilterShape:
    parts = [part for name, value in tests.items() for part in _compile_tests(kind, name, value, values, budget)]
    parts = [part for part in parts if part != NO_TESTS]
    return parts[0] if parts[:1] and not parts[1:] else ("and", *parts)


def _compile_tests(
    kind: Thing, name: str, value: Any, values: list[Any], budget: Iterator[int]
) -> Iterator[FilterShape]:
    if next(budget, None) is None:
        raise FilterError(f"filter: more than {MAX_TESTS} tests and groups; use fewer")
    if value is None:
        raise FilterError(f"filter {name}: null is not a filter; omit it")
    field_names = {item.name for item in kind.fields}
    if name in ("and", "or"):
        yield (name, *(_compile_group(kind, item, values, budget) for item in value))
    elif name == "not":
        yield "not", _compile_group(kind, value, values, budget)
    elif name in LEVELS and name not in field_names:
        yield _compile_place(name, value, values)
    elif name in _EXTRA_ARGUMENTS and name not in field_names:  # links have a field `scope`
        yield _EXTRA_ARGUMENTS[name](value, values)
    elif name == "address" and kind.is_located:
        for test, expected in _require_tests(name, value).items():
            yield _compile_address(kind, test, expected, values)
    else:
        field = find_field(kind, snake(name))
        for test, expected in _require_tests(name, value).items():
            yield _compile_test(field, test, expected, values)


def _require_tests(name: str, tests: Mapping[str, Any]) -> Mapping[str, Any]:
    if not tests:
        raise FilterError(f"{name}: {{}} has no test; write one such as {{eq: …}}")
    return tests


LEVELS = ("cluster", "domain", "server", "rack")


def _compile_place(level: str, tests: Mapping[str, Any], values: list[Any]) -> FilterShape:
    if (tests.get("eq") is None) == (tests.get("in") is None):
        raise FilterError(f"{level}: an address filter takes either eq or in; pass one of them")
    addresses = tests.get("in") or [] if tests.get("eq") is None else [tests["eq"]]
    _check_length(addresses)
    values += [AddressTest(str(address), level) for address in addresses]
    return "within", level, len(addresses)


def _compile_between(endpoints: Mapping[str, str], values: list[Any]) -> FilterShape:
    levels = [level_of(address) for address in endpoints.values()]
    if wrong_level := next((level for level in levels if level in ("link", "core")), None):
        raise FilterError(
            f"between: a {wrong_level} has no links; name a chip, switch, NIC, server, rack, domain or cluster"
        )
    values += [AddressTest(address, level) for address, level in zip(endpoints.values(), levels, strict=True)]
    return "between", *levels


def _compile_scope(address: str, values: list[Any]) -> FilterShape:
    level = level_of(address)
    addresses = (
        ["--".join(split_link(address)), "--".join(reversed(split_link(address)))] if level == "link" else [address]
    )
    values += [AddressTest(item, level, by_name=level != "rack") for item in addresses]
    if level in ALLOCATION_LEVELS:
        values.append(AddressTest(address, level, may_be_gone=True))
    return "scope", level


def _compile_since(time: str, values: list[Any]) -> FilterShape:
    values.append(format_lower_bound(parse_time(time)))
    return "gte", "at"


def _compile_until(time: str, values: list[Any]) -> FilterShape:
    values.append(format_timestamp(parse_time(time)))
    return "lte", "at"


_EXTRA_ARGUMENTS: Final[Mapping[str, Callable[[Any, list[Any]], FilterShape]]] = {
    "between": _compile_between,
    "scope": _compile_scope,
    "since": _compile_since,
    "until": _compile_until,
}
"""Arguments of links and events lists that act as tests."""


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
    levels = {*kind.containers, *(["cluster"] if kind.id_block else [])}
    end, is_whole, _ = prefix.partition("--")
    head = end if is_whole else end.rpartition("/")[0]
    while head:
        place = _parse_or_none(head)
        if place and place.level in levels:
            return place.level, str(place)
        head = head.rpartition("/")[0]
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
        values += [_bind_value(field, item, test) for item in expected]
        return "in", field.name, len(expected)
    values.append(_bind_value(field, expected, test))
    return test, field.name


def _bind_value(field: Field, expected: Any, test: str) -> Any:
    name = camel(field.name)
    if expected is None:
        raise FilterError(f"{name}: {{in: [null]}} is not a test; use eq: null")
    if field.format is ValueFormat.ENUM:
        return expected.value
    if field.format in TEXT_FORMS:
        _check_text(name, expected, test)
        if test in ("eq", "ne", "in") and field.choices and expected not in field.choices():
            raise FilterError(f"{name}: there is no {expected[:40]!r}: {suggestion(expected, field.choices())}")
    if isinstance(expected, Mapping):
        expected = _to_base_units(name, expected)
    return expected * 10**6 if field.format is ValueFormat.MILLIONTHS else expected


def _check_text(name: str, text: str, test: str) -> None:
    if not text.isprintable():
        raise FilterError(f"{name}: {text[:40]!a} is not printable text; remove the control characters")
    if test in ("contains", "startsWith") and not text:
        raise FilterError(f"{name}: an empty text matches everything; omit it")


def _to_base_units(name: str, quantity: Mapping[str, Any]) -> int:
    """Convert {unit: value} to base units."""
    ((unit, value),) = quantity.items()
    if not abs(value) * UNITS[unit] <= MAX_NUMBER:
        raise FilterError(f"{name}: {value} {unit} is out of range; use a smaller number")
    base: int = round(value * UNITS[unit])
    return base


def find_field(kind: Thing, name: str) -> Field:
    """Return a kind's field by name."""
    return next(field for field in kind.fields if field.name == name)


def is_ordered(field: Field) -> bool:
    """Return whether lists can be ordered by a field."""
    return (
        field.is_filterable
        and not field.nullable
        and field.format not in (ValueFormat.ID, ValueFormat.ADDRESS, ValueFormat.BOOLEAN)
    )
