"""Resolve the layout of a domain's wiring diagram."""

from typing import Annotated, Self

import strawberry
from sqlalchemy import Connection

from trninv.drawing import wiring_diagram
from trninv.drawing.wiring_layout import DrawnWire
from trninv.errors import WrongLevelError
from trninv.graphql.scalars import Address
from trninv.inventory.address.lookup import resolve_place
from trninv.topology.planar_layout import LinkPath

NarrowArgument = Annotated[bool, strawberry.argument(description="For a screen as narrow as a phone's.")]
DomainArgument = Annotated[Address, strawberry.argument(description="A domain.")]


@strawberry.type(name="Solid", description="A place in space about a domain's middle.")
class SolidType:
    x: float = strawberry.field(description="To the right.")
    y: float = strawberry.field(description="Towards the bottom.")
    z: float = strawberry.field(description="Towards the reader.")


@strawberry.type(name="Box", description="A rectangle by its upper left corner.")
class BoxType:
    x: float = strawberry.field(description="Of its left side, to the right.")
    y: float = strawberry.field(description="Of its upper side, down.")
    width: float = strawberry.field(description="To its right side.")
    height: float = strawberry.field(description="To its lower side.")


@strawberry.type(name="Label", description="A text in a flat picture.")
class LabelType:
    text: str = strawberry.field(description="What it says.")
    x: float = strawberry.field(description="To the right.")
    y: float = strawberry.field(description="Of its baseline, down.")
    anchor: str = strawberry.field(description="What of it is at x: start, middle or end.")
    strong: bool = strawberry.field(description="Whether it names a panel.")


@strawberry.type(
    name="DrawnNode", description="Where a chip or switch is drawn: its middle and size, a circle where both are equal."
)
class DrawnNodeType:
    address: Address = strawberry.field(description="Its address.")
    x: float = strawberry.field(description="To the right, in a flat picture.")
    y: float = strawberry.field(description="Down, in a flat picture.")
    width: float = strawberry.field(description="In a flat picture.")
    height: float = strawberry.field(description="In a flat picture; text runs upwards where it exceeds the width.")
    text: str = strawberry.field(description="Its label.")
    sign: list[float] = strawberry.field(description="Where the sign of its state stands: x, y.")
    solid: SolidType | None = strawberry.field(description="In space; null of a wiring that is drawn flat only.")


@strawberry.type(name="DrawnLink", description="How a link is drawn in a flat picture.")
class DrawnLinkType:
    address: Address = strawberry.field(description="The link, as A--B.")
    strokes: list[list[float]] = strawberry.field(description="Lines, each x, y of one point after another.")
    sign: list[float] = strawberry.field(description="Where the sign of its state stands: x, y.")


@strawberry.type(name="Layout", description="Where the parts of a domain are drawn, in units of about a pixel.")
class LayoutType:
    wiring: str = strawberry.field(description="The pattern that it follows.")
    is_rotatable: bool = strawberry.field(
        description="Whether its parts have places in space, so that it can be turned."
    )
    box: BoxType = strawberry.field(description="That holds the flat picture.")
    font: float = strawberry.field(description="Height of texts.")
    stroke_width: float = strawberry.field(description="Width of the widest link.")
    panels: list[BoxType] = strawberry.field(description="Behind servers or racks.")
    labels: list[LabelType] = strawberry.field(description="Texts beside chips and switches.")
    places: list[DrawnNodeType] = strawberry.field(description="Its chips and switches.")
    routes: list[DrawnLinkType] = strawberry.field(description="Its links.")
    wrap_links: list[Address] = strawberry.field(
        description="Links that lead around the back, as A--B: in space drawn as a stub at either end."
    )

    @classmethod
    def from_domain(cls, connection: Connection, address: str, narrow: bool) -> Self:
        """Compute the layout of a domain, for a wide or a narrow screen."""
        place = resolve_place(connection, address)
        if place.level != "domain":
            raise WrongLevelError(f"{place.address} is no domain: name one, such as {place.address.split('/')[0]}/d0")
        diagram = wiring_diagram.read_diagram(connection, place.address)
        layout = diagram.layout(narrow=narrow)
        return cls(
            wiring=diagram.pattern,
            is_rotatable=bool(layout.space_positions),
            box=BoxType(**layout.bounds._asdict()),
            font=layout.font_size,
            stroke_width=layout.stroke_width,
            panels=[BoxType(**shape._asdict()) for shape in layout.panels],
            labels=[LabelType(**shape._asdict()) for shape in layout.labels],
            places=[
                DrawnNodeType(
                    address=Address(address),
                    x=node.center.x,
                    y=node.center.y,
                    width=node.size.width,
                    height=node.size.height,
                    text=node.text,
                    sign=list(node.symbol_position),
                    solid=SolidType(x=solid.x, y=solid.y, z=solid.z)
                    if (solid := layout.space_positions.get(address))
                    else None,
                )
                for address, node in layout.node_boxes.items()
            ],
            routes=[_to_drawn_link(wire, layout.link_paths[wire.endpoints]) for wire in diagram.links],
            wrap_links=[
                Address(f"{wire.a}--{wire.b}") for wire in diagram.links if wire.endpoints in layout.wraparound_links
            ],
        )


def _to_drawn_link(wire: DrawnWire, route: LinkPath) -> DrawnLinkType:
    strokes = [[round(value, 1) for point in stroke for value in point] for stroke in route.strokes]
    return DrawnLinkType(address=Address(f"{wire.a}--{wire.b}"), strokes=strokes, sign=list(route.symbol_position))
