"""Arguments of lists: a filter, an order, a page. What they look like is told apart from the values in them.

The look (``Page``, hashable) decides the SQL, so that a statement made once serves any values; the values are bound to
it in the order in which they stand in the arguments.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import Any, Final

from strawberry.utils.str_converters import to_camel_case as camel
from strawberry.utils.str_converters import to_snake_case as snake

from trninv.errors import AddressError, FilterError, LimitError, nearest
from trninv.graphql.scalars import UNITS
from trninv.history.events import HOLDING
from trninv.history.moment import instant
from trninv.inventory.address import Address, level_of, parse
from trninv.inventory.fields import Field, Form, Kind
from trninv.inventory.named import ends
from trninv.timestamps import format_lower_bound, format_timestamp

DEFAULT_PAGE = 100
MAX_PAGE = 1000
MAX_VALUES = 1000
"""That one ``in`` may name."""
MAX_TESTS = 100
"""Tests and groups of one filter."""
MAX_NUMBER = 2**63 - 1

Shape = tuple[Any, ...]
ALL: Final[Shape] = ("and",)
"""Of a filter without tests."""

_SHORT = ("subject", "attribute", "disputed")
"""Arguments of facts that are tests by themselves."""
TEXTS = (Form.TEXT, Form.WORD)


@dataclass(frozen=True, slots=True)
class At:
    """An address in a filter: its place's id is bound, or the address itself as the database has it."""

    address: str
    level: str
    by_name: bool = False
    may_be_gone: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """The look of a list's arguments.

    Attributes
    ----------
    order
        Fields and whether they descend; the id is always last.

    """

    filter: Shape = ALL
    order: tuple[tuple[str, bool], ...] = ()
    backwards: bool = False
    after: bool = False
    before: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A list's arguments: their look, and the values of its filter, of its cursors, and of its size."""

    looks: Page
    tests: tuple[Any, ...]
    ends: tuple[Any, ...]
    size: int

    @classmethod
    def of(cls, kind: Kind, given: Mapping[str, Any]) -> "Asked":
        """Arguments as GraphQL coerced them.

        Raises
        ------
        FilterError
            The filter tests a place that the kind has none of, or a value that does not exist.
        LimitError
            The page is impossible, or its cursor belongs to another list or order.

        """
        tests: list[Any] = []
        short = {name: {"eq": given[name]} for name in _SHORT if given.get(name) is not None}
        more = {name: given[name] for name in _MORE if given.get(name) is not None}
        wanted = {"and": [short, more, given.get("filter") or {}]}  # SQLite asks in this order: what takes long, last
        shape = _every(kind, wanted, tests, iter(range(MAX_TESTS)))
        order = tuple(_order(each) for each in given.get("orderBy") or ())
        size, backwards = size_of(given)
        cursors = {end: given[end] for end in ("after", "before") if given.get(end) is not None}
        ends = chain.from_iterable(_opened(end, cursor, order) for end, cursor in cursors.items())
        return cls(
            Page(shape, order, backwards, "after" in cursors, "before" in cursors), tuple(tests), tuple(ends), size
        )


def size_of(given: Mapping[str, Any]) -> tuple[int, bool]:
    """How many items a page has at most, and whether it is read from its end.

    Raises
    ------
    LimitError
        Both first and last are given, or more than a page holds.

    """
    first, last = given.get("first"), given.get("last")
    if first is not None and last is not None:
        raise LimitError("first and last together are unclear: a page is the first of what follows, or the last")
    size, backwards = (last, True) if last is not None else (DEFAULT_PAGE if first is None else first, False)
    if not 0 <= size <= MAX_PAGE:
        name, on = ("last", "before") if backwards else ("first", "after")
        raise LimitError(f"{name}: {size} items: ask for 0 to {MAX_PAGE} and page on with {on}")
    return size, backwards


def _order(given: Mapping[str, Enum]) -> tuple[str, bool]:
    ((name, direction),) = given.items()
    return snake(name), direction.name == "DESC"


def signature(order: tuple[tuple[str, bool], ...]) -> str:
    """What tells a cursor of one order from another's."""
    return ",".join(f"{'-' if descends else ''}{name}" for name, descends in order)


def _opened(end: str, cursor: str, order: tuple[tuple[str, bool], ...]) -> list[Any]:
    try:
        found = json.loads(cursor)
        values = [found] if not order and isinstance(found, int) else found[1:]
        known = isinstance(found, int) or found[0] == signature(order)
        if known and len(values) == len(order) + 1 and all(_fits(value) for value in values):
            return list(values)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        pass
    raise LimitError(f"{end}: {cursor[:40]!r} is not a cursor of this list in this order: pass one of a page of it")


def _fits(value: object) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _every(kind: Kind, given: Mapping[str, Any], values: list[Any], left: Iterator[int]) -> Shape:
    parts = [part for name, value in given.items() for part in _tests(kind, name, value, values, left)]
    parts = [part for part in parts if part != ALL]
    return parts[0] if parts[:1] and not parts[1:] else ("and", *parts)


def _tests(kind: Kind, name: str, value: Any, values: list[Any], left: Iterator[int]) -> Iterator[Shape]:
    if next(left, None) is None:
        raise FilterError(f"a filter has at most {MAX_TESTS} tests and groups")
    if value is None:
        raise FilterError(f"{name}: null says nothing: leave it out")
    if name in ("and", "or"):
        yield (name, *(_every(kind, each, values, left) for each in value))
    elif name == "not":
        yield "not", _every(kind, value, values, left)
    elif name in LEVELS and name not in {each.name for each in kind.fields}:
        yield _places(name, value, values)
    elif name in _MORE:
        yield _MORE[name](value, values)
    elif name == "address" and kind.is_located:
        for test, wanted in _some(name, value).items():
            yield _addressed(kind, test, wanted, values)
    else:
        field = field_of(kind, snake(name))
        for test, wanted in _some(name, value).items():
            yield _test(field, test, wanted, values)


def _some(name: str, tests: Mapping[str, Any]) -> Mapping[str, Any]:
    if not tests:
        raise FilterError(f"{name}: {{}} has no test: write one such as {{eq: …}}")
    return tests


LEVELS = ("cluster", "domain", "server", "rack")


def _places(level: str, given: Mapping[str, Any], values: list[Any]) -> Shape:
    if (given.get("eq") is None) == (given.get("in") is None):
        raise FilterError(f"{level}: an address filter has either eq or in")
    addresses = given.get("in") or [] if given.get("eq") is None else [given["eq"]]
    _few(addresses)
    values += [At(str(address), level) for address in addresses]
    return "within", level, len(addresses)


def _between(given: Mapping[str, str], values: list[Any]) -> Shape:
    levels = [level_of(address) for address in given.values()]
    if wrong := next((level for level in levels if level in ("link", "core")), None):
        raise FilterError(f"between: a {wrong} has no links: name a chip, switch, NIC, server, rack, domain or cluster")
    values += [At(address, level) for address, level in zip(given.values(), levels, strict=True)]
    return "between", *levels


def _of(address: str, values: list[Any]) -> Shape:
    level = level_of(address)
    named = ["--".join(ends(address)), "--".join(reversed(ends(address)))] if level == "link" else [address]
    values += [At(each, level, by_name=level != "rack") for each in named]
    if level in HOLDING:
        values.append(At(address, level, may_be_gone=True))
    return "of", level


def _since(time: str, values: list[Any]) -> Shape:
    values.append(format_lower_bound(instant(time)))
    return "gte", "at"


def _until(time: str, values: list[Any]) -> Shape:
    values.append(format_timestamp(instant(time)))
    return "lte", "at"


_MORE: Final[Mapping[str, Callable[[Any, list[Any]], Shape]]] = {
    "between": _between,
    "of": _of,
    "since": _since,
    "until": _until,
}
"""Arguments of links and events that are tests by themselves."""


def _addressed(kind: Kind, test: str, wanted: Any, values: list[Any]) -> Shape:
    if wanted is None:
        raise FilterError(f"address: {{{test}: null}}: everything in a list has an address")
    if test in ("eq", "in"):
        addresses = [wanted] if test == "eq" else wanted
        _few(addresses)
        values += [At(str(address), kind.name) for address in addresses]
        return "in", "id", len(addresses)
    text = str(wanted).strip().lower()
    _check_text("address", text, test)
    level, place = _container(kind, text) if test == "startsWith" else ("", "")
    values += [At(place, level), text] if place else [text]
    return ("and", ("within", level, 1), (test, "address")) if place else (test, "address")


def _container(kind: Kind, prefix: str) -> tuple[str, str]:
    """Level and address of the smallest place that holds whatever of a kind has an address that begins so."""
    within = {*kind.within, *(["cluster"] if kind.block else [])}
    end, is_whole, _ = prefix.partition("--")
    head = end if is_whole else end.rpartition("/")[0]
    while head:
        place = _parsed(head)
        if place and place.level in within:
            return place.level, str(place)
        head = head.rpartition("/")[0]
    return "", ""


def _parsed(text: str) -> Address | None:
    try:
        return parse(text)
    except AddressError:
        return None


def _few(listed: list[Any]) -> None:
    if len(listed) > MAX_VALUES:
        raise FilterError(f"in: {len(listed)} values: name at most {MAX_VALUES}")


def _test(field: Field, test: str, wanted: Any, values: list[Any]) -> Shape:
    if wanted is None:
        if test in ("eq", "ne") and field.null:
            return ("null" if test == "eq" else "not null"), field.name
        raise FilterError(f"{camel(field.name)}: {{{test}: null}}: it is never null, or has no order")
    if test == "in":
        _few(wanted)
        values += [_value(field, each, test) for each in wanted]
        return "in", field.name, len(wanted)
    values.append(_value(field, wanted, test))
    return test, field.name


def _value(field: Field, wanted: Any, test: str) -> Any:
    name = camel(field.name)
    if wanted is None:
        raise FilterError(f"{name}: {{in: [null]}}: use eq: null")
    if field.form is Form.ENUM:
        return wanted.value
    if field.form in TEXTS:
        _check_text(name, wanted, test)
        if test in ("eq", "ne", "in") and field.known and wanted not in field.known():
            raise FilterError(f"{name}: there is no {wanted[:40]!r}: {nearest(wanted, field.known())}")
    if isinstance(wanted, Mapping):
        wanted = _quantity(name, wanted)
    return wanted * 10**6 if field.form is Form.MILLIONTHS else wanted


def _check_text(name: str, wanted: str, test: str) -> None:
    if not wanted.isprintable():
        raise FilterError(f"{name}: {wanted[:40]!a} can't be in it")
    if test in ("contains", "startsWith") and not wanted:
        raise FilterError(f"{name}: an empty text is in everything")


def _quantity(name: str, given: Mapping[str, Any]) -> int:
    """Base units of {unit: value}."""
    ((unit, value),) = given.items()
    if not abs(value) * UNITS[unit] <= MAX_NUMBER:
        raise FilterError(f"{name}: {value} {unit} is beyond any number here")
    base: int = round(value * UNITS[unit])
    return base


def field_of(kind: Kind, name: str) -> Field:
    """The field of a kind by its name."""
    return next(each for each in kind.fields if each.name == name)


def is_ordered(field: Field) -> bool:
    """Whether lists may be ordered by it."""
    return field.listed and not field.null and field.form not in (Form.ID, Form.ADDRESS, Form.YES)
