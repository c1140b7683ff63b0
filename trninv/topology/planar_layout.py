"""Describe a two-dimensional drawing of a domain.

Wiring patterns describe drawings of their domains as a `PlanarLayout`; `trninv.drawing` and the explorer draw it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot
from typing import Final, NamedTuple

from trninv.topology.blueprint import BlueprintNode

RADIUS: Final = 12.5
"""The radius of a chip that is drawn as a circle. All lengths in a layout have the same unit."""


class Point2D(NamedTuple):
    """A point; x to the right, y down."""

    x: float
    y: float


class SymbolSize(NamedTuple):
    """The size of a chip or switch; a chip with equal width and height is a circle."""

    width: float
    height: float


class Rectangle(NamedTuple):
    """A rectangle, by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


class TextLabel(NamedTuple):
    """A text at a point; ``anchor`` says whether x is its start, middle or end, and ``strong`` whether it is bold."""

    text: str
    x: float
    y: float
    anchor: str = "start"
    strong: bool = False


Stroke = tuple[Point2D, ...]
"""The points of one continuous line."""


class LinkPath(NamedTuple):
    """The strokes that draw a link, and the position of the symbol that shows the link's state."""

    strokes: tuple[Stroke, ...]
    symbol_position: Point2D


LinkRouter = Callable[[int, int], LinkPath]
"""Returns the path of a link between two nodes; called only for existing links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanarLayout:
    """Where the chips, switches, links and texts of a domain are drawn.

    Attributes
    ----------
    positions
        Centers of chips and switches, by node number.
    route
        Returns the path of a link.
    sizes
        Sizes of chips and switches that do not have the default size, which for a chip is a circle of the radius 12.5.
    texts
        Labels of chips and switches that do not have the default label, such as 5 for a chip or sw5 for a switch.
    panels, labels
        Rectangles behind the nodes, such as racks, and texts that name them.
    font_size
        Height of texts.
    stroke_width
        Width of the widest link.
    """

    positions: Mapping[int, Point2D]
    route: LinkRouter
    sizes: Mapping[int, SymbolSize] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    panels: Sequence[Rectangle] = ()
    labels: Sequence[TextLabel] = ()
    font_size: float = 12.0
    stroke_width: float = 3.2

    def size(self, key: int, node: BlueprintNode) -> SymbolSize:
        """Return the size of a chip or switch."""
        default = SymbolSize(2 * RADIUS, 2 * RADIUS) if node.kind == "chip" else SymbolSize(41.0, 18.0)
        return self.sizes.get(key, default)

    def text(self, key: int, node: BlueprintNode) -> str:
        """Return the label of a chip or switch."""
        return self.texts.get(key) or (str(node.ordinal) if node.kind == "chip" else f"sw{node.ordinal}")


def straight_lines(positions: Mapping[int, Point2D]) -> LinkRouter:
    """Return a router that draws links as straight lines."""

    def route(a: int, b: int) -> LinkPath:
        start, end = positions[a], positions[b]
        return LinkPath(((start, end),), Point2D((start.x + end.x) / 2, (start.y + end.y) / 2))

    return route


def wraparound_stubs(start: Point2D, end: Point2D, length: float) -> LinkPath:
    """Return the path of a link that wraps around, as a stub at each end that points away from the other end."""
    distance = max(hypot(end.x - start.x, end.y - start.y), 1)
    dx, dy = (end.x - start.x) * length / distance, (end.y - start.y) * length / distance
    stub_end = Point2D(start.x - dx, start.y - dy)
    return LinkPath(((start, stub_end), (end, Point2D(end.x + dx, end.y + dy))), stub_end)
