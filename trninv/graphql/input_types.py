"""Generate the filter and order inputs of lists from the declared fields of each kind (`trninv.inventory.schema`).

For a kind such as Chip this makes ChipFilter and ChipOrder; `inventory_types` gives them to the list fields.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import strawberry
from strawberry.utils.str_converters import to_camel_case as camel

from trninv.graphql.enums import Direction, stored_enum
from trninv.graphql.list_arguments import LISTED_THINGS, TEXT_FORMATS, ordered_fields, place_levels
from trninv.graphql.scalars import (
    Address,
    BandwidthInput,
    BandwidthType,
    BigInt,
    CapacityInput,
    CapacityType,
    lazy_type,
    list_type,
)
from trninv.inventory.schema.thing import Enumeration, Field, Thing, ValueFormat

_TYPE_BY_FORMAT: Final[dict[ValueFormat, Any]] = {
    ValueFormat.ID: strawberry.ID,
    ValueFormat.ADDRESS: Address,
    ValueFormat.IDENTIFIER: str,
    ValueFormat.TEXT: str,
    ValueFormat.PLACE: Address,
    ValueFormat.TIME: str,
    ValueFormat.KEY: strawberry.ID,
    ValueFormat.INTS: list_type(int),
    ValueFormat.INT: int,
    ValueFormat.BIGINT: BigInt,
    ValueFormat.MILLIONTHS: float,
    ValueFormat.THOUSANDTHS: float,
    ValueFormat.BOOLEAN: bool,
    ValueFormat.CAPACITY: CapacityType,
    ValueFormat.BANDWIDTH: BandwidthType,
}

_TEST_DESCRIPTIONS: Final = {
    "eq": "Equal to this; null: has no value.",
    "ne": "Not equal to this; null: has a value.",
    "lt": "Less than this.",
    "lte": "Less than this, or equal to it.",
    "gt": "More than this.",
    "gte": "More than this, or equal to it.",
    "in": "Equal to any of these.",
    "contains": "Contains this text.",
    "containsIgnoreCase": "Contains this text; the letters A to Z are the same as a to z.",
    "startsWith": "Starts with this text.",
}
_COMPARISON_TESTS: Final = ("eq", "ne", "lt", "lte", "gt", "gte", "in")

Members = Mapping[str, tuple[Any, str]]
"""Types and descriptions of an input's fields, by name."""


def field_type(field: Field) -> Any:
    """Return the GraphQL type of a field's values."""
    return stored_enum(field.enumeration) if field.enumeration else _TYPE_BY_FORMAT[field.format]


def _create_input(name: str, description: str, members: Members, *, one_of: bool = False) -> type:
    """Create an input class; with `one_of`, a client must set exactly one of its fields."""
    namespace: dict[str, Any] = {"__annotations__": {}, "__module__": __name__}
    maybe: Any = strawberry.Maybe
    default = {} if one_of else {"default": strawberry.UNSET}
    for member, (member_type, member_description) in members.items():  # names end in _, as "in" and "not" are keywords
        namespace["__annotations__"][f"{member}_"] = maybe[member_type] if one_of else member_type | None
        namespace[f"{member}_"] = strawberry.field(name=camel(member), description=member_description, **default)
    generated: type = strawberry.input(description=description, one_of=one_of)(type(name, (), namespace))
    return generated


def _create_test_input(name: str, value_type: Any, noun: str, tests: tuple[str, ...] = _COMPARISON_TESTS) -> type:
    """Create the input with tests for values of a type."""
    members = {
        test: (list_type(value_type) if test == "in" else value_type, _TEST_DESCRIPTIONS[test]) for test in tests
    }
    return _create_input(name, f"Tests of {noun}; all must be true.", members)


_TEXT_FILTER: Final = _create_test_input(
    "TextFilter", str, "a text", (*_COMPARISON_TESTS, "contains", "containsIgnoreCase", "startsWith")
)
_INT_FILTER: Final = _create_test_input("IntFilter", int, "a number")
_FILTER_BY_FORMAT: Final[dict[ValueFormat, type]] = {
    ValueFormat.ADDRESS: _create_input(
        "AddressFilter",
        "Tests of a thing's own address; all must be true.",
        {
            "eq": (Address, "The thing at this address."),
            "in": (list_type(Address), "The things at these addresses."),
            "starts_with": (
                str,
                "Its address starts with this; the part up to the last / must name an existing place.",
            ),
            "contains": (str, "Its address contains this text; add a cluster or domain, or every address is compared."),
        },
    ),
    ValueFormat.IDENTIFIER: _TEXT_FILTER,
    ValueFormat.TEXT: _TEXT_FILTER,
    ValueFormat.PLACE: _TEXT_FILTER,
    ValueFormat.TIME: _create_test_input(
        "TimeFilter", str, "a time: an ISO time with its zone", _COMPARISON_TESTS[:-1]
    ),
    ValueFormat.KEY: _INT_FILTER,
    ValueFormat.INT: _INT_FILTER,
    ValueFormat.BIGINT: _create_test_input("BigIntFilter", BigInt, "an exact number"),
    ValueFormat.MILLIONTHS: _create_test_input("FloatFilter", float, "a fraction"),
    ValueFormat.CAPACITY: _create_test_input("CapacityFilter", CapacityInput, "a memory size"),
    ValueFormat.BANDWIDTH: _create_test_input("BandwidthFilter", BandwidthInput, "a bandwidth of one direction"),
    ValueFormat.BOOLEAN: _create_test_input("BooleanFilter", bool, "a Boolean", ("eq",)),
}
_PLACE_FILTER: Final = _create_input(
    "PlaceFilter",
    "The place that contains a thing: one, or any of several.",
    {
        "eq": (Address, "The place at this address."),
        "in": (list_type(Address), "Any of the places at these addresses."),
    },
)


@cache
def _enum_filter(enumeration: Enumeration) -> type:
    enum = stored_enum(enumeration)
    return _create_test_input(f"{enumeration.name}Filter", enum, f"a {enumeration.name}", ("eq", "ne", "in"))


def _with_spaces(name: str) -> str:
    return name.replace("_", " ")


def _create_filter(kind: Thing) -> type:
    filterable = [field for field in kind.fields if field.is_filterable or field.format is ValueFormat.ADDRESS]
    own_filter = lazy_type(f"{kind.type}Filter")
    members: dict[str, tuple[Any, str]] = {
        level: (_PLACE_FILTER, f"The {level} that it is in.") for level in place_levels(kind)
    }
    members |= {
        field.name: (
            _enum_filter(field.enumeration) if field.enumeration else _FILTER_BY_FORMAT[field.format],
            f"Tests of {_with_spaces(field.name)}. {field.description}",
        )
        for field in filterable
    }
    members |= {
        "and": (list_type(own_filter), "All of these are true."),
        "or": (list_type(own_filter), "At least one of these is true."),
        "not": (own_filter, "This is not true."),
    }
    return _create_input(
        f"{kind.type}Filter", "Conditions on the listed items; all that are set must be true.", members
    )


def _order_description(field: Field) -> str:
    ascending = "alphabetical" if field.format in TEXT_FORMATS or field.enumeration else "lowest first"
    return f"Order by {_with_spaces(field.name)}: ascending is {ascending}."


def _create_order(kind: Thing) -> type | None:
    members = {field.name: (Direction, _order_description(field)) for field in ordered_fields(kind)}
    description = "One field to order by; ties are ordered by the next entry, and finally by id."
    return _create_input(f"{kind.type}Order", description, members, one_of=True) if members else None


FILTERS: Final = {kind.name: _create_filter(kind) for kind in LISTED_THINGS}
"""Filter inputs by the name of the kind that they filter."""
ORDERS: Final = {kind.name: _create_order(kind) for kind in LISTED_THINGS}
"""Order inputs by the name of the kind that they order; None for a kind without fields to order by."""
