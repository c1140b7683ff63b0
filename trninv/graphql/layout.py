"""Resolve the layout of a domain's wiring diagram, with the positions that `trninv draw` uses."""

from typing import Annotated, Self

import strawberry
from sqlalchemy import Connection

from trninv.drawing import wiring
from trninv.drawing.layout import DrawnWire
from trninv.errors import WrongLevelError
from trninv.graphql.scalars import Address
from trninv.inventory.address import resolve_place
from trninv.topology.sketch import LinkPath

NarrowArgument = Annotated[bool, strawberry.argument(description="For a screen as narrow as a phone's.")]
DomainArgument = Annotated[Address, strawberry.argument(description="A domain.")]


@strawberry.type(description="A place in space about a domain's middle.")
class Solid:
    x: float = strawberry.field(description="To the right.")
    y: float = strawberry.field(description="Towards the bottom.")
    z: float = strawberry.field(description="Towards the reader.")


@strawberry.type(description="A rectangle by its upper left corner.")
class Box:
    x: float = strawberry.field(description="Of its left side, to the right.")
    y: float = strawberry.field(description="Of its upper side, down.")
    width: float = strawberry.field(description="To its right side.")
    height: float = strawberry.field(description="To its lower side.")


@strawberry.type(description="A text in a flat picture.")
class Label:
    text: str = strawberry.field(description="What it says.")
    x: float = strawberry.field(description="To the right.")
    y: float = strawberry.field(description="Of its baseline, down.")
    anchor: str = strawberry.field(description="What of it is at x: start, middle or end.")
    strong: bool = strawberry.field(description="Whether it names a panel.")


@strawberry.type(description="Where a chip or switch is drawn: its middle and size, a circle where both are equal.")
class Placed:
    address: Address = strawberry.field(description="Its address.")
    x: float = strawberry.field(description="To the right, in a flat picture.")
    y: float = strawberry.field(description="Down, in a flat picture.")
    width: float = strawberry.field(description="In a flat picture.")
    height: float = strawberry.field(description="In a flat picture; text runs upwards where it exceeds the width.")
    text: str = strawberry.field(description="Its label.")
    sign: list[float] = strawberry.field(description="Where the sign of its state stands: x, y.")
    solid: Solid | None = strawberry.field(description="In space; null of a wiring that is drawn flat only.")


@strawberry.type(description="How a link is drawn in a flat picture.")
class Routed:
    address: Address = strawberry.field(description="The link, as A--B.")
    strokes: list[list[float]] = strawberry.field(description="Lines, each x, y of one point after another.")
    sign: list[float] = strawberry.field(description="Where the sign of its state stands: x, y.")


@strawberry.type(description="Where the parts of a domain are drawn, in units of about a pixel.")
class Layout:
    wiring: str = strawberry.field(description="The pattern that it follows.")
    turns: bool = strawberry.field(description="Whether its parts have places in space, so that it can be turned.")
    box: Box = strawberry.field(description="That holds the flat picture.")
    font: float = strawberry.field(description="Height of texts.")
    thick: float = strawberry.field(description="Width of the widest link.")
    panels: list[Box] = strawberry.field(description="Behind servers or racks.")
    labels: list[Label] = strawberry.field(description="Texts beside chips and switches.")
    places: list[Placed] = strawberry.field(description="Its chips and switches.")
    routes: list[Routed] = strawberry.field(description="Its links.")
    wrapping: list[Address] = strawberry.field(
        description="Links that lead around the back, as A--B: in space drawn as a stub at either end."
    )

    @classmethod
    def from_domain(cls, connection: Connection, address: str, narrow: bool) -> Self:
        """Compute the layout of a domain, for a wide or a narrow screen."""
        place = resolve_place(connection, address)
        if place.level != "domain":
            raise WrongLevelError(f"{place.address} is no domain: name one, such as {place.address.split('/')[0]}/d0")
        diagram = wiring.read_diagram(connection, place.address)
        layout = diagram.layout(narrow=narrow)
        return cls(
            wiring=diagram.pattern,
            turns=bool(layout.space_positions),
            box=Box(**layout.bounds._asdict()),
            font=layout.font_size,
            thick=layout.stroke_width,
            panels=[Box(**shape._asdict()) for shape in layout.panels],
            labels=[Label(**shape._asdict()) for shape in layout.labels],
            places=[
                Placed(
                    address=Address(address),
                    x=node.center.x,
                    y=node.center.y,
                    width=node.size.width,
                    height=node.size.height,
                    text=node.text,
                    sign=list(node.symbol_position),
                    solid=Solid(x=solid.x, y=solid.y, z=solid.z)
                    if (solid := layout.space_positions.get(address))
                    else None,
                )
                for address, node in layout.node_boxes.items()
            ],
            routes=[_to_drawn_link(wire, layout.link_paths[wire.endpoints]) for wire in diagram.links],
            wrapping=[
                Address(f"{wire.a}--{wire.b}") for wire in diagram.links if wire.endpoints in layout.wraparound_links
            ],
        )


def _to_drawn_link(wire: DrawnWire, route: LinkPath) -> Routed:
    strokes = [[round(value, 1) for point in stroke for value in point] for stroke in route.strokes]
    return Routed(address=Address(f"{wire.a}--{wire.b}"), strokes=strokes, sign=list(route.symbol_position))
