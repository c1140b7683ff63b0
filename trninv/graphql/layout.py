"""Where the parts of a domain are drawn: the numbers of `trninv draw`, for the explorer and whoever else draws."""

from typing import Annotated, Self

import strawberry
from sqlalchemy import Connection

from trninv.drawing import wiring
from trninv.errors import WrongLevelError
from trninv.graphql.scalars import Address
from trninv.inventory.address import resolve

OfDomain = Annotated[Address, strawberry.argument(description="A domain.")]


@strawberry.type(description="A place in space about a domain's middle.")
class Solid:
    x: float = strawberry.field(description="To the right.")
    y: float = strawberry.field(description="Towards the bottom.")
    z: float = strawberry.field(description="Towards the reader.")


@strawberry.type(description="Where a chip or switch is drawn.")
class Placed:
    address: Address = strawberry.field(description="Its address.")
    x: float = strawberry.field(description="To the right, in a flat picture.")
    y: float = strawberry.field(description="Down, in a flat picture.")
    solid: Solid | None = strawberry.field(description="In space; null of a wiring that is drawn flat only.")


@strawberry.type(description="Where the parts of a domain are drawn, in a picture where a chip's radius is 11.")
class Layout:
    wiring: str = strawberry.field(description="The pattern that it follows.")
    turns: bool = strawberry.field(description="Whether its parts have places in space, so that it can be turned.")
    places: list[Placed] = strawberry.field(description="Its chips and switches.")
    wrapping: list[Address] = strawberry.field(
        description="Links that lead around the back, as A--B: drawn as a stub at either end."
    )

    @classmethod
    def of(cls, connection: Connection, address: str) -> Self:
        """The layout of a domain.

        Raises
        ------
        AddressError, UnknownAddressError
        WrongLevelError
            The address is not of a domain.
        UnknownWiringError
            The database names a wiring pattern that does not exist.

        """
        place = resolve(connection, address)
        if place.level != "domain":
            raise WrongLevelError(f"{place.address} is no domain: name one, such as {place.address.split('/')[0]}/d0")
        diagram = wiring.read(connection, place.address)
        layout = diagram.layout
        return cls(
            wiring=diagram.wiring,
            turns=bool(layout.solid),
            places=[
                Placed(
                    address=Address(address),
                    x=at.x,
                    y=at.y,
                    solid=Solid(x=solid.x, y=solid.y, z=solid.z) if (solid := layout.solid.get(address)) else None,
                )
                for address, at in layout.flat.items()
            ],
            wrapping=[Address(f"{wire.a}--{wire.b}") for wire in diagram.wires if wire.ends in layout.wrapping],
        )
