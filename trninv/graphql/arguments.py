"""Arguments of lists: a filter, an order, a page. What they look like is told apart from the values in them.

The look (``Page``, hashable) decides the SQL, so that a statement made once serves any values; the values are bound to
it in the order in which they stand in the arguments.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import chain, count
from typing import Any, Final

from sqlalchemy import BindParameter, and_, bindparam, false, func, not_, or_, true
from strawberry.utils.str_converters import to_camel_case as camel
from strawberry.utils.str_converters import to_snake_case as snake

from trninv.errors import FilterError, LimitError, nearest
from trninv.graphql.scalars import UNITS
from trninv.graphql.text import Writer
from trninv.inventory.fields import Field, Form, Kind, Sql, in_cluster
from trninv.inventory.template import Template

DEFAULT_PAGE = 100
MAX_PAGE = 1000
MAX_VALUES = 1000
"""That one ``in`` may name."""
MAX_TESTS = 100
"""Tests and groups of one filter."""
MAX_NUMBER = 2**63 - 1

Adapt = Callable[[Sql], Sql]
Shape = tuple[Any, ...]
_ALL: Final[Shape] = ("and",)
"""Of a filter without tests."""

_COMPARE: Final[Mapping[str, Callable[[Sql, Sql], Sql]]] = {
    "eq": lambda one, other: one == other,
    "ne": lambda one, other: one != other,
    "lt": lambda one, other: one < other,
    "lte": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "gte": lambda one, other: one >= other,
    "contains": lambda one, other: func.replace(one, other, "") != one,
    "startsWith": lambda one, other: func.substr(one, 1, func.length(other)) == other,
}
_SHORT = ("subject", "attribute", "disputed")
"""Arguments of facts that are tests by themselves."""
_TEXTS = (Form.TEXT, Form.WORD)


@dataclass(frozen=True, slots=True)
class At:
    """An address in a filter: its place's id is bound."""

    address: str
    level: str


@dataclass(frozen=True, slots=True)
class Page:
    """The look of a list's arguments.

    Attributes
    ----------
    order
        Fields and whether they descend; the id is always last.

    """

    filter: Shape = _ALL
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
            A test of something that the kind is not within, or of a value that there is not.
        LimitError
            A page that can't be, or a cursor that is not of this list in this order.

        """
        tests: list[Any] = []
        wanted = {
            "and": [
                given.get("filter") or {},
                {name: {"eq": given[name]} for name in _SHORT if given.get(name) is not None},
            ]
        }
        shape = _every(kind, wanted, tests, iter(range(MAX_TESTS)))
        order = tuple(_order(each) for each in given.get("orderBy") or ())
        size, backwards = _size(given)
        cursors = {end: given[end] for end in ("after", "before") if given.get(end) is not None}
        ends = chain.from_iterable(_opened(end, cursor, order) for end, cursor in cursors.items())
        return cls(
            Page(shape, order, backwards, "after" in cursors, "before" in cursors), tuple(tests), tuple(ends), size
        )


def _size(given: Mapping[str, Any]) -> tuple[int, bool]:
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
    parts = [part for part in parts if part != _ALL]
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
    else:
        if not value:
            raise FilterError(f"{name}: {{}} has no test: write one such as {{eq: …}}")
        field = field_of(kind, snake(name))
        for test, wanted in value.items():
            yield _test(field, test, wanted, values)


LEVELS = ("cluster", "domain", "server", "rack")


def _places(level: str, given: Mapping[str, Any], values: list[Any]) -> Shape:
    if (given.get("eq") is None) == (given.get("in") is None):
        raise FilterError(f"{level}: an address filter has either eq or in")
    addresses = given.get("in") or [] if given.get("eq") is None else [given["eq"]]
    _few(addresses)
    values += [At(str(address), level) for address in addresses]
    return "within", level, len(addresses)


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
    if field.form in _TEXTS:
        if not wanted.isprintable():
            raise FilterError(f"{name}: {wanted[:40]!a} can't be in it")
        if test in ("contains", "startsWith") and not wanted:
            raise FilterError(f"{name}: an empty text is in everything")
        if test in ("eq", "ne", "in") and field.known and wanted not in field.known():
            raise FilterError(f"{name}: there is no {wanted[:40]!r}: {nearest(wanted, field.known())}")
    if isinstance(wanted, Mapping):
        wanted = _quantity(name, wanted)
    return wanted * 10**6 if field.form is Form.MILLIONTHS else wanted


def _quantity(name: str, given: Mapping[str, Any]) -> int:
    """Base units of {unit: value}."""
    ((unit, value),) = given.items()
    if not abs(value) * UNITS[unit] <= MAX_NUMBER:
        raise FilterError(f"{name}: {value} {unit} is beyond any number here")
    base: int = round(value * UNITS[unit])
    return base


def field_of(kind: Kind, name: str) -> Field:
    return next(each for each in kind.fields if each.name == name)


class Binder:
    """Hands out the parameters of a list: its name and 0, 1, …"""

    def __init__(self, name: str = "p") -> None:
        self._name, self._next = name, count()

    def take(self, like: Sql) -> BindParameter[Any]:
        return bindparam(f"{self._name}{next(self._next)}", type_=like.type)


def conditions(kind: Kind, looks: Page, adapt: Adapt, writer: Writer, binder: Binder) -> list[Sql]:
    """What must hold of a list's rows, by parameters in the order of the values."""
    made = [_sql(kind, looks.filter, adapt, writer, binder)] if looks.filter != _ALL else []
    for given, beyond in ((looks.after, True), (looks.before, False)):
        if given:
            made.append(_beyond(kind, looks, adapt, writer, binder, after=beyond))
    return made


def _sql(  # noqa: PLR0911 # a case a test
    kind: Kind, shape: Shape, adapt: Adapt, writer: Writer, binder: Binder
) -> Sql:
    match shape:
        case ("and", *parts):
            return and_(true(), *[_sql(kind, part, adapt, writer, binder) for part in parts])
        case ("or", *parts):
            return or_(false(), *[_sql(kind, part, adapt, writer, binder) for part in parts])
        case ("not", part):
            return not_(func.coalesce(_sql(kind, part, adapt, writer, binder), false()))
        case ("within", "cluster", number):
            key = adapt(kind.key)
            return or_(false(), *[in_cluster(kind, key, binder.take(kind.key)) for _ in range(number)])
        case ("within", level, number) if level in kind.within:
            return _in(adapt(kind.within[level]), number, binder)
        case ("null", name):
            return adapt(field_of(kind, name).sql).is_(None)
        case ("not null", name):
            return adapt(field_of(kind, name).sql).is_not(None)
        case ("in", name, number):
            return _in(adapt(field_of(kind, name).sql), number, binder)
        case (test, name):
            field = field_of(kind, name)
            return _COMPARE[test](_comparable(field, adapt, writer), binder.take(adapt(field.sql)))
    raise AssertionError(shape)


def _in(column: Sql, number: int, binder: Binder) -> Sql:
    return column.in_([binder.take(column) for _ in range(number)]) if number else false()


def _beyond(kind: Kind, looks: Page, adapt: Adapt, writer: Writer, binder: Binder, *, after: bool) -> Sql:
    """That a row comes after, or before, the one of a cursor."""
    keys = sort_keys(kind, looks, adapt, writer)
    bound = [binder.take(column) for column, _ in keys]
    ways = []
    for at, (column, descends) in enumerate(keys):
        same = [keys[before][0] == bound[before] for before in range(at)]
        ways.append(and_(*same, column < bound[at] if descends == after else column > bound[at]))
    return or_(*ways)


def sort_keys(kind: Kind, looks: Page, adapt: Adapt, writer: Writer) -> list[tuple[Sql, bool]]:
    """What rows are ordered by, the id last, and whether each descends."""
    named = [(field_of(kind, name), descends) for name, descends in looks.order]
    return [*((_comparable(field, adapt, writer), down) for field, down in named), (adapt(kind.key), False)]


def directed(columns: Iterable[Sql], descends: Iterable[bool], *, backwards: bool = False) -> list[Sql]:
    """An order, or the same from its end."""
    return [
        column.desc() if down != backwards else column.asc() for column, down in zip(columns, descends, strict=True)
    ]


def _comparable(field: Field, adapt: Adapt, writer: Writer) -> Sql:
    column = adapt(field.sql)
    return writer.ordered(column) if field.form in _TEXTS else column


def cursor(kind: Kind, looks: Page, adapt: Adapt, writer: Writer) -> Sql:
    """A row's cursor: its id, or a JSON array of the order's signature, the order's values, and the id."""
    if not looks.order:
        return Template(["", adapt(kind.key)])
    pieces: list[str | Sql] = [f'["{signature(looks.order)}"']
    for name, _ in looks.order:
        field = field_of(kind, name)
        pieces += [",", writer.quote(adapt(field.sql)) if field.form in _TEXTS else adapt(field.sql)]
    return Template([*pieces, ",", adapt(kind.key), "]"])


def is_ordered(field: Field) -> bool:
    """Whether lists may be ordered by it."""
    return field.listed and not field.null and field.form not in (Form.ID, Form.ADDRESS, Form.YES)
