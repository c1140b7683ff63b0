"""Define the schema's scalars and quantities (bandwidth, memory size, duration), and references to types and rows.

`lazy_type` refers to a type that is defined later. A resolver returns a `Reference` in place of an inventory row; the
compiler then reads the fields of the row that the document selects.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any, Final, NewType

import strawberry
from graphql import GraphQLError
from strawberry.types.field import StrawberryField
from strawberry.types.scalar import ScalarDefinition

from trninv import units
from trninv.errors import InvalidArgumentError


class Reference:
    """A reference to an inventory row, which the compiler reads."""


@dataclass(frozen=True, slots=True)
class RowReference(Reference):
    """A reference to a row by its kind and id; written as null if the row does not exist."""

    kind: str
    id: int


@dataclass(frozen=True, slots=True)
class AddressReference(Reference):
    """A reference to the thing at an address."""

    address: str


@dataclass(frozen=True, slots=True)
class FactReference(Reference):
    """A reference to the preferred fact about an attribute of a subject; written as null if no source states it."""

    subject: str
    attribute: str


def lazy_type(name: str) -> Any:
    """Return a reference to an inventory type by name, so that it may be defined later."""
    return Annotated[name, strawberry.lazy("trninv.graphql.inventory_types")]


def lazy_list(name: str) -> GenericAlias:
    """Return the type of a list of an inventory type, referred to by name."""
    return list_type(lazy_type(name))


def list_type(item_type: object) -> GenericAlias:
    """Return the type of a list of a type."""
    return GenericAlias(list, (item_type,))


Address = NewType("Address", str)
BigInt = NewType("BigInt", int)
MAX_GIGABYTES = 10**9
"""Exclusive maximum of a bandwidth in gigabytes per second; does not apply to one in bytes per second."""
UNITS: Final[Mapping[str, int]] = {
    "bytesPerSecond": 1,
    "gigabytesPerSecond": 10**9,
    "gigabitsPerSecond": 10**9 // 8,
    "bytes": 1,
    "gibibytes": 2**30,
}
"""The unit of each field of a quantity, in bytes or bytes per second."""
_INTEGER = re.compile(r"-?\d{1,20}", re.ASCII)


def _parse_big_int(value: object) -> int:
    if isinstance(value, int | str) and _INTEGER.fullmatch(str(value)) and abs(int(value)) < 2**63:
        return int(value)
    raise GraphQLError(f"BigInt is a whole number below 2^63 as a decimal string, not {str(value)[:40]!r}")


def _parse_address(value: object) -> str:
    if isinstance(value, str):
        return value
    raise GraphQLError(f"an Address must be a string such as u-trn2x64/d0/s1/c5, not {str(value)[:40]!r}")


SCALARS: Mapping[object, ScalarDefinition] = {
    Address: strawberry.scalar(
        name="Address",
        description="An address such as u-trn2x64/d0/s1/c5, or A--B for a link. @i-0abc or @hostname is the server of "
        "that instance or host, and @hostname/c5 a chip of it.",
        parse_value=_parse_address,
    ),
    BigInt: strawberry.scalar(
        name="BigInt",
        description="An exact integer as a decimal string: it may need more than 53 bits.",
        serialize=str,
        parse_value=_parse_big_int,
    ),
}


class CitedBandwidth(units.Bandwidth):
    """A bandwidth with the fact that states it, if any."""

    fact: FactReference | None = None


class CitedCapacity(units.Capacity):
    """A capacity with the fact that states it, if any."""

    fact: FactReference | None = None


def _fact_field() -> StrawberryField:
    field: StrawberryField = strawberry.field(
        description="The fact that it comes from; null if it is computed from several.",
        graphql_type=lazy_type("Fact") | None,
        metadata={"is_optional": True},
    )
    return field


@strawberry.type(name="Bandwidth", description="The bandwidth of a link, path, flow or cut, one direction.")
class BandwidthType:
    fact: Any = _fact_field()
    bytes_per_second: BigInt = strawberry.field(description="Exact bytes per second, one direction.")
    gigabytes_per_second: float = strawberry.field(description="10⁹ bytes per second, one direction.")
    gigabits_per_second: float = strawberry.field(description="10⁹ bits per second, one direction.")


@strawberry.type(name="Capacity", description="A memory size.")
class CapacityType:
    fact: Any = _fact_field()
    bytes: BigInt = strawberry.field(description="Exact bytes.")
    gibibytes: float = strawberry.field(description="2³⁰ bytes.")


@strawberry.type(name="Duration", description="A duration.")
class DurationType:
    nanoseconds: BigInt = strawberry.field(description="Exact nanoseconds.")
    microseconds: float = strawberry.field(description="10⁻⁶ seconds.")


@strawberry.input(one_of=True, description="A bandwidth, one direction, in the unit of the field that is set.")
class BandwidthInput:
    bytes_per_second: strawberry.Maybe[BigInt] = strawberry.field(description="Exact bytes per second.")
    gigabytes_per_second: strawberry.Maybe[float] = strawberry.field(description="Units of 10⁹ bytes per second.")
    gigabits_per_second: strawberry.Maybe[float] = strawberry.field(description="Units of 10⁹ bits per second.")


@strawberry.input(one_of=True, description="A memory size, in the unit of the field that is set.")
class CapacityInput:
    bytes: strawberry.Maybe[BigInt] = strawberry.field(description="Exact bytes.")
    gibibytes: strawberry.Maybe[float] = strawberry.field(description="Units of 2³⁰ bytes.")


def exact_bandwidth(quantity: Mapping[str, float]) -> int:
    """Convert a coerced BandwidthInput, {unit: value}, to bytes per second.

    Raises
    ------
    InvalidArgumentError
        It is out of range.

    """
    ((unit, value),) = quantity.items()
    if unit != "bytesPerSecond" and not abs(value) * UNITS[unit] < MAX_GIGABYTES * UNITS["gigabytesPerSecond"]:
        raise InvalidArgumentError(f"the bandwidth is out of range; use less than {MAX_GIGABYTES:,} GB/s")
    return round(value * UNITS[unit])
