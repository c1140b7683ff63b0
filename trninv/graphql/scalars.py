"""Define the scalars and the quantity types, and refer to types before they are made."""

import re
from collections.abc import Mapping
from types import GenericAlias
from typing import Annotated, Any, Final, NewType

import strawberry
from graphql import GraphQLError
from strawberry.types import Info
from strawberry.types.field import StrawberryField
from strawberry.types.scalar import ScalarDefinition

from trninv import units
from trninv.errors import InvalidArgumentError


def lazy_type(name: str) -> Any:
    """Return a lazy reference to an inventory type."""
    return Annotated[name, strawberry.lazy("trninv.graphql.inventory_types")]


def lazy_list(name: str) -> GenericAlias:
    """Return a list type of a lazy reference."""
    return list_type(lazy_type(name))


def list_type(item_type: object) -> GenericAlias:
    """Return a list type."""
    return GenericAlias(list, (item_type,))


Address = NewType("Address", str)
BigInt = NewType("BigInt", int)
MAX_GIGABYTES = 10**9
UNITS: Final[Mapping[str, int]] = {
    "bytesPerSecond": 1,
    "gigabytesPerSecond": 10**9,
    "gigabitsPerSecond": 10**9 // 8,
    "bytes": 1,
    "gibibytes": 2**30,
}
"""Base units of each field of a quantity."""
_INTEGER = re.compile(r"-?\d{1,20}", re.ASCII)


def _parse_big_int(value: object) -> int:
    if isinstance(value, int | str) and _INTEGER.fullmatch(str(value)) and abs(int(value)) < 2**63:
        return int(value)
    raise GraphQLError(f"BigInt is a whole number below 2^63 as a decimal string, not {str(value)[:40]!r}")


def _parse_address(value: object) -> str:
    if isinstance(value, str):
        return value
    raise GraphQLError(f"Address is a string such as u-trn2x64/d0/s1/c5, not {str(value)[:40]!r}")


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


class CitedQuantity:
    """A quantity of the inventory with the key of its fact: subject and attribute."""

    fact_key: tuple[str, str] | None = None


class CitedBandwidth(units.Bandwidth, CitedQuantity):
    """A bandwidth with the key of its fact."""


class CitedCapacity(units.Capacity, CitedQuantity):
    """A capacity with the key of its fact."""


async def _resolve_fact(parent: strawberry.Parent[CitedQuantity], info: Info[Any, None]) -> Any:
    fact_key = getattr(parent, "fact_key", None)
    row = fact_key and await info.context.fact(*fact_key)
    return row and info.context.to_object("fact", row)


def _fact_field() -> StrawberryField:
    description = "The fact that it comes from; null if it is computed from several."
    field: StrawberryField = strawberry.field(
        resolver=_resolve_fact, description=description, graphql_type=lazy_type("Fact") | None
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

    def exact(self) -> int:
        """Return bytes per second, one direction."""
        if self.bytes_per_second:
            return self.bytes_per_second.value
        gigabytes = self.gigabytes_per_second.value if self.gigabytes_per_second else 0.0
        gigabytes += self.gigabits_per_second.value / 8 if self.gigabits_per_second else 0.0
        if not abs(gigabytes) < MAX_GIGABYTES:
            raise InvalidArgumentError(f"the bandwidth is out of range; use less than {MAX_GIGABYTES:,} GB/s")
        return round(gigabytes * UNITS["gigabytesPerSecond"])


@strawberry.input(one_of=True, description="A memory size, in the unit of the field that is set.")
class CapacityInput:
    bytes: strawberry.Maybe[BigInt] = strawberry.field(description="Exact bytes.")
    gibibytes: strawberry.Maybe[float] = strawberry.field(description="Units of 2³⁰ bytes.")
