"""Filter and order rows that are computed, such as incidents, as SQL does it with stored rows."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from trninv.graphql.list_arguments import FilterShape, ListArguments
from trninv.inventory.schema.thing import Thing

T = TypeVar("T")
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "gt", "contains")},
    "lte": operator.le,
    "gte": operator.ge,
    "startsWith": str.startswith,
    # as the databases' lower(): ASCII letters only, and the value to find is in lower case already
    "containsIgnoreCase": lambda text, value: value in text.encode().lower().decode(),
}


def select_items(kind: Thing, items: Sequence[T], arguments: Mapping[str, Any]) -> list[T]:
    """Return the items that pass the filter in a list's arguments, stably sorted in the order that these name."""
    parsed = ListArguments.parse(kind, {name: arguments.get(name) for name in ("filter", "orderBy")})
    passes = _compile(parsed.shape.filter, iter(parsed.test_values))
    selected = [item for item in items if passes(item)]
    for name, descending in reversed(parsed.shape.order):
        selected.sort(key=operator.attrgetter(name), reverse=descending)
    return selected


def _compile(shape: FilterShape, values: Iterator[Any]) -> Callable[[Any], bool]:
    match shape:
        case ("and" | "or" as name, *parts):
            tests, combine = [_compile(part, values) for part in parts], all if name == "and" else any
            return lambda item: combine(test(item) for test in tests)
        case ("not", part):
            passes = _compile(part, values)
            return lambda item: not passes(item)
        case ("null" | "not null" as name, field):
            return lambda item: (getattr(item, field) is None) == (name == "null")
        case ("in", field, number):
            expected = [next(values) for _ in range(number)]
            return lambda item: getattr(item, field) in expected
    test, field, bound = str(shape[0]), shape[1], next(values)
    compare = _COMPARISONS[test]
    return lambda item: (value := getattr(item, field)) is not None and compare(value, bound)
