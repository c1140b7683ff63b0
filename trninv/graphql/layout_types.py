"""Resolve the layout field: where the explorer draws the chips, switches and links of a domain.

A domain is the largest group of chips that NeuronLink connects, such as an UltraServer.
"""

from typing import Annotated, Self

import strawberry
from sqlalchemy import Connection

from trninv.drawing import wiring_diagram
from trninv.drawing.wiring_layout import DrawnLink
from trninv.errors import WrongLevelError
from trninv.graphql.scalars import Address
from trninv.inventory.address.lookup import resolve_place
from trninv.topology.planar_layout import LinkPath

NarrowArgument = Annotated[bool, strawberry.argument(description="Whether to fit a narrow screen, such as a phone's.")]
PlaceArgument = Annotated[Address, strawberry.argument(description="A domain or a server.")]


@strawberry.type(name="Solid", description="A point in space, relative to the center of a domain.")
class SolidType:
    x: float = strawberry.field(description="Distance to the right.")
    y: float = strawberry.field(description="Distance down.")
    z: float = strawberry.field(description="Distance towards the viewer.")


@strawberry.type(name="Box", description="A rectangle: the position of its upper left corner, and its size.")
class BoxType:
    x: float = strawberry.field(description="Position of its left side.")
    y: float = strawberry.field(description="Position of its upper side.")
    width: float = strawberry.field(description="Its width.")
    height: float = strawberry.field(description="Its height.")


@strawberry.type(name="Label", description="A label in the flat drawing.")
class LabelType:
    text: str = strawberry.field(description="Its text.")
    x: float = strawberry.field(description="Horizontal position.")
    y: float = strawberry.field(description="Vertical position of the baseline.")
    anchor: str = strawberry.field(description="Part of the text that is at x: start, middle or end.")
    strong: bool = strawberry.field(description="Whether it is the title of a panel.")


@strawberry.type(
    name="DrawnNode",
    description="Where a chip or switch is drawn: center and size; a circle if width and height are equal.",
)
class DrawnNodeType:
    address: Address = strawberry.field(description="Its address.")
    x: float = strawberry.field(description="Horizontal position in the flat drawing.")
    y: float = strawberry.field(description="Vertical position in the flat drawing.")
    width: float = strawberry.field(description="Width in the flat drawing.")
    height: float = strawberry.field(
        description="Height in the flat drawing; text runs upwards if it exceeds the width."
    )
    text: str = strawberry.field(description="Its label.")
    sign: list[float] = strawberry.field(description="Position of its state sign: x, y.")
    solid: SolidType | None = strawberry.field(
        description="Position in space; null if the wiring has only a flat drawing."
    )


@strawberry.type(name="DrawnLink", description="How a link is drawn in the flat drawing.")
class DrawnLinkType:
    address: Address = strawberry.field(description="The link, as A--B.")
    strokes: list[list[float]] = strawberry.field(description="Lines, each a list x, y, x, y, … of points.")
    sign: list[float] = strawberry.field(description="Position of its state sign: x, y.")


@strawberry.type(
    name="Layout", description="Where the parts of a domain or a server are drawn, in units of about a pixel."
)
class LayoutType:
    wiring: str = strawberry.field(description="Wiring pattern of the domain.")
    is_rotatable: bool = strawberry.field(
        description="Whether its parts have positions in space, so that it can be rotated."
    )
    box: BoxType = strawberry.field(description="Bounds of the flat drawing.")
    font: float = strawberry.field(description="Height of text.")
    stroke_width: float = strawberry.field(description="Width of the widest link.")
    panels: list[BoxType] = strawberry.field(description="Backgrounds of servers or racks.")
    labels: list[LabelType] = strawberry.field(description="Labels other than those in chips and switches.")
    places: list[DrawnNodeType] = strawberry.field(description="Its chips and switches.")
    routes: list[DrawnLinkType] = strawberry.field(description="Its links.")
    wrap_links: list[Address] = strawberry.field(
        description="Links that wrap around, as A--B; in space, each end is drawn as a stub."
    )

    @classmethod
    def from_place(cls, connection: Connection, address: str, narrow: bool) -> Self:
        """Compute the layout of a domain or a server, for a wide or a narrow screen.

        Raises
        ------
        WrongLevelError
            The place is neither.

        """
        place = resolve_place(connection, address)
        if place.level not in ("domain", "server"):
            raise WrongLevelError(
                f"{place.address} is neither a domain nor a server; name one, such as {place.address.split('/')[0]}/d0"
            )
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
            routes=[_to_drawn_link(link, layout.link_paths[link.endpoints]) for link in diagram.links],
            wrap_links=[
                Address(f"{link.a}--{link.b}") for link in diagram.links if link.endpoints in layout.wraparound_links
            ],
        )


def _to_drawn_link(link: DrawnLink, path: LinkPath) -> DrawnLinkType:
    """Convert a link and its path, with each stroke's points as one list of coordinates."""
    strokes = [[round(value, 1) for point in stroke for value in point] for stroke in path.strokes]
    return DrawnLinkType(address=Address(f"{link.a}--{link.b}"), strokes=strokes, sign=list(path.symbol_position))
