"""Compute positions for a domain's wiring diagram, for SVG and, over GraphQL, for the explorer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trninv.topology.blueprint import BlueprintNode, Sides
from trninv.topology.pattern import Point3D
from trninv.topology.planar_layout import LinkPath, PlanarLayout, Point2D, Rectangle, SymbolSize, TextLabel
from trninv.topology.registry import get_pattern
from trninv.units import Bandwidth


@dataclass(frozen=True, slots=True)
class DrawnPart:
    """A chip or switch of a domain; ``server`` is None for a switch that belongs to a rack."""

    address: str
    kind: str
    ordinal: int
    server: int | None
    rack: int
    state: str = "up"


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A link of a domain; ``nominal_bandwidth`` is that of a healthy link, in bytes per second of one direction."""

    a: str
    b: str
    nominal_bandwidth: int
    technology: str
    state: str = "up"

    @property
    def endpoints(self) -> frozenset[str]:
        """The addresses of both ends."""
        return frozenset((self.a, self.b))


@dataclass(frozen=True, slots=True)
class NodeBox:
    """The box of a chip or switch: its center, its size, its text, and the position of its state's symbol."""

    center: Point2D
    size: SymbolSize
    text: str
    symbol_position: Point2D

    @property
    def is_upright(self) -> bool:
        """Whether the text runs from bottom to top."""
        return self.size.height > self.size.width

    @property
    def is_circle(self) -> bool:
        """Whether it is drawn as a circle, because width and height are equal."""
        return self.size.height == self.size.width


@dataclass(frozen=True, slots=True)
class WiringLayout:
    """The geometry of a domain's diagram.

    Attributes
    ----------
    node_boxes, space_positions
        By address; ``space_positions`` has the positions in three dimensions, and is empty if the pattern has none.
    link_paths
        By the addresses of both ends.
    panels, labels
        Rectangles to draw behind everything, and texts beside the nodes' own.
    bounds
        The rectangle around everything, with a margin.
    wraparound_links
        Ends of the links between chips that close a ring or torus.

    """

    node_boxes: Mapping[str, NodeBox]
    link_paths: Mapping[frozenset[str], LinkPath]
    panels: Sequence[Rectangle]
    labels: Sequence[TextLabel]
    font_size: float
    stroke_width: float
    bounds: Rectangle
    space_positions: Mapping[str, Point3D]
    wraparound_links: frozenset[frozenset[str]]


def compute_layout(
    wiring: str, sides: Sides, parts: Sequence[DrawnPart], links: Sequence[DrawnLink], *, narrow: bool = False
) -> WiringLayout:
    """Compute the layout of a domain, or a part of one, by the pattern of its wiring; ``narrow`` is for small screens.

    Raises
    ------
    UnknownPatternError
        There is no such pattern.

    """
    wiring_pattern = get_pattern(wiring)
    nodes = {
        index: BlueprintNode("chip" if drawn.kind == "chip" else "switch", drawn.server, drawn.rack, drawn.ordinal)
        for index, drawn in enumerate(parts)
    }
    index_of = {drawn.address: index for index, drawn in enumerate(parts)}
    node_pairs = {link.endpoints: (index_of[link.a], index_of[link.b]) for link in links}
    planar_layout = wiring_pattern.planar_layout(nodes, sides, narrow=narrow)
    node_boxes = {
        drawn.address: _place_node(planar_layout, index, nodes[index], _describe_links(drawn, links))
        for index, drawn in enumerate(parts)
    }
    link_paths = {endpoints: planar_layout.route(a, b) for endpoints, (a, b) in node_pairs.items()}
    space_positions = wiring_pattern.space_positions(nodes, sides) if wiring_pattern.space_positions else {}
    return WiringLayout(
        node_boxes,
        link_paths,
        planar_layout.panels,
        planar_layout.labels,
        planar_layout.font_size,
        planar_layout.stroke_width,
        _bounding_box(node_boxes.values(), link_paths.values(), planar_layout.panels),
        {parts[index].address: point for index, point in space_positions.items()},
        frozenset(
            endpoints
            for endpoints, (a, b) in node_pairs.items()
            if nodes[a].kind == nodes[b].kind == "chip" and wiring_pattern.wraps_around(nodes[a], nodes[b], sides)
        ),
    )


_MIN_LABELED_HEIGHT = 240.0
"""Minimum height of a bar, a box higher than wide, that fits a summary of its switch's links."""


def _describe_links(part: DrawnPart, links: Sequence[DrawnLink]) -> str:
    """Return the number and bandwidth of a switch's links as text; empty for chips."""
    switch_links = [link for link in links if part.address in link.endpoints] if part.kind == "switch" else []
    return f" · {len(switch_links)} × {Bandwidth(switch_links[0].nominal_bandwidth)}" if switch_links else ""


def _place_node(planar_layout: PlanarLayout, index: int, node: BlueprintNode, link_summary: str) -> NodeBox:
    """Return the box of a node, with its text and the position of its state's symbol."""
    center, size, text = (
        planar_layout.positions[index],
        planar_layout.size(index, node),
        planar_layout.text(index, node),
    )
    is_bar = size.height > size.width
    if is_bar:
        symbol_position = Point2D(center.x, center.y - size.height / 2 + 14)
    elif size.width == size.height:
        # just outside the circle, on its upper right
        symbol_position = Point2D(center.x + 0.76 * size.width / 2, center.y - 0.76 * size.height / 2)
    elif node.kind == "chip":
        symbol_position = Point2D(center.x + size.width / 2 - 9, center.y)
    else:
        symbol_position = Point2D(center.x + size.width / 2 - 1, center.y - size.height / 2 + 1)
    return NodeBox(
        center, size, text + (link_summary if is_bar and size.height > _MIN_LABELED_HEIGHT else ""), symbol_position
    )


_MARGIN = 6.0


def _bounding_box(
    node_boxes: Iterable[NodeBox], link_paths: Iterable[LinkPath], panels: Iterable[Rectangle]
) -> Rectangle:
    """Return the rectangle around everything, with a margin."""
    corners = [
        *((box.center.x + side * box.size.width / 2, box.center.y + side * box.size.height / 2)
          for box in node_boxes for side in (-1, 1)),
        *(point for link_path in link_paths for stroke in link_path.strokes for point in stroke),
        *((panel.x + side * panel.width, panel.y + side * panel.height) for panel in panels for side in (0, 1)),
    ]  # fmt: skip
    min_x, max_x = min(x for x, _ in corners) - _MARGIN, max(x for x, _ in corners) + _MARGIN
    min_y, max_y = min(y for _, y in corners) - _MARGIN, max(y for _, y in corners) + _MARGIN
    return Rectangle(min_x, min_y, max_x - min_x, max_y - min_y)
