"""Inputs of lists, made from the table of fields: a filter and an order of each kind."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import strawberry
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.graphql.arguments import LEVELS, TEXTS, is_ordered
from trninv.graphql.connections import Direction
from trninv.graphql.enums import enum_of
from trninv.graphql.lazy import lazy, list_of
from trninv.graphql.scalars import Address, Bandwidth, BandwidthInput, BigInt, Capacity, CapacityInput
from trninv.inventory.fields import Enumeration, Field, Form, Kind
from trninv.inventory.kinds import KINDS

_SCALAR: Final[dict[Form, Any]] = {
    Form.ID: strawberry.ID,
    Form.ADDRESS: Address,
    Form.WORD: str,
    Form.TEXT: str,
    Form.WHOLE: int,
    Form.EXACT: BigInt,
    Form.MILLIONTHS: float,
    Form.THOUSANDTHS: float,
    Form.YES: bool,
    Form.CAPACITY: Capacity,
    Form.BANDWIDTH: Bandwidth,
}

_TESTS: Final = {
    "eq": "Equal to this; null: has no value.",
    "ne": "Not equal to this; null: has a value.",
    "lt": "Less than this.",
    "lte": "Less than this, or equal to it.",
    "gt": "More than this.",
    "gte": "More than this, or equal to it.",
    "in": "Equal to any of these.",
    "contains": "Has this text somewhere in it.",
    "startsWith": "Begins with this text.",
}
_COMPARISONS: Final = ("eq", "ne", "lt", "lte", "gt", "gte", "in")

Members = Mapping[str, tuple[Any, str]]
"""Types and descriptions of an input's fields by name."""


def type_of(field: Field) -> Any:
    return enum_of(field.enumeration) if field.enumeration else _SCALAR[field.form]


def _input(name: str, says: str, members: Members, *, one_of: bool = False) -> type:
    namespace: dict[str, Any] = {"__annotations__": {}, "__module__": __name__}
    maybe: Any = strawberry.Maybe
    default = {} if one_of else {"default": strawberry.UNSET}
    for member, (of, described) in members.items():
        namespace["__annotations__"][f"{member}_"] = maybe[of] if one_of else of | None
        namespace[f"{member}_"] = strawberry.field(name=camel(member), description=described, **default)
    made: type = strawberry.input(description=says, one_of=one_of)(type(name, (), namespace))
    return made


def _tests(name: str, of: Any, what: str, tests: tuple[str, ...] = _COMPARISONS) -> type:
    """An input of tests of values of a type."""
    members = {test: (list_of(of) if test == "in" else of, _TESTS[test]) for test in tests}
    return _input(name, f"Tests of {what}, all of which must hold.", members)


_TEXT: Final = _tests("TextFilter", str, "a text", (*_COMPARISONS, "contains", "startsWith"))
_FILTER: Final[dict[Form, type]] = {
    Form.ADDRESS: _input(
        "AddressFilter",
        "Tests of a thing's own address, all of which must hold.",
        {
            "eq": (Address, "The thing at this address."),
            "in": (list_of(Address), "The things at these addresses."),
            "starts_with": (str, "Its address begins so; up to its last / it must name a place that exists."),
            "contains": (str, "Its address has this text in it; add a cluster or domain lest all be compared."),
        },
    ),
    Form.WORD: _TEXT,
    Form.TEXT: _TEXT,
    Form.WHOLE: _tests("IntFilter", int, "a number"),
    Form.EXACT: _tests("BigIntFilter", BigInt, "an exact number"),
    Form.MILLIONTHS: _tests("FloatFilter", float, "a fraction"),
    Form.CAPACITY: _tests("CapacityFilter", CapacityInput, "a size of memory"),
    Form.BANDWIDTH: _tests("BandwidthFilter", BandwidthInput, "a bandwidth of one direction"),
    Form.YES: _tests("BooleanFilter", bool, "a truth value", ("eq",)),
}
_PLACE: Final = _input(
    "PlaceFilter",
    "Which place contains a thing: one, or any of several.",
    {"eq": (Address, "The place at this address."), "in": (list_of(Address), "Any of the places at these addresses.")},
)


@cache
def _filter_by(enumeration: Enumeration) -> type:
    of = enum_of(enumeration)
    return _tests(f"{enumeration.name}Filter", of, f"a {enumeration.name}", ("eq", "ne", "in"))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _filter_of(kind: Kind) -> type:
    levels = (["cluster"] if kind.block else []) + [level for level in LEVELS if level in kind.within]
    tested = [each for each in kind.fields if each.listed or each.form is Form.ADDRESS]
    own = lazy(f"{kind.type}Filter")
    members: dict[str, tuple[Any, str]] = {level: (_PLACE, f"The {level} that it is in.") for level in levels}
    members |= {
        each.name: (
            _filter_by(each.enumeration) if each.enumeration else _FILTER[each.form],
            f"Tests of {_words(each.name)}. {each.says}",
        )
        for each in tested
    }
    members |= {
        "and": (list_of(own), "All of these hold."),
        "or": (list_of(own), "At least one of these holds."),
        "not": (own, "This does not hold."),
    }
    return _input(f"{kind.type}Filter", "What must hold of the things listed; every field given must.", members)


def _order_says(field: Field) -> str:
    ascending = "alphabetical" if field.form in TEXTS or field.enumeration else "lowest first"
    return f"Order by {_words(field.name)}: ascending is {ascending}."


def _order_of(kind: Kind) -> type | None:
    members = {each.name: (Direction, _order_says(each)) for each in kind.fields if is_ordered(each)}
    says = "One field to order by; things equal in it are ordered by what comes next, at last by their ids."
    return _input(f"{kind.type}Order", says, members, one_of=True) if members else None


_PAGED: Final = [kind for kind in KINDS.values() if kind.is_node or kind.name == "fact"]
FILTERS: Final = {kind.name: _filter_of(kind) for kind in _PAGED}
ORDERS: Final = {kind.name: _order_of(kind) for kind in _PAGED}
