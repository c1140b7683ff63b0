"""Describe a two-dimensional drawing of a domain."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot
from typing import Final, NamedTuple

from trninv.topology.blueprint import BlueprintNode

RADIUS: Final = 12.5
"""The radius of a chip drawn as a circle."""


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
    """A text; ``anchor`` is the part of it at x: start, middle or end. Titles of panels are strong."""

    text: str
    x: float
    y: float
    anchor: str = "start"
    strong: bool = False


Stroke = tuple[Point2D, ...]


class LinkPath(NamedTuple):
    """The strokes of a drawn link, and the position of the symbol of its state."""

    strokes: tuple[Stroke, ...]
    symbol_position: Point2D


LinkRouter = Callable[[int, int], LinkPath]
"""Returns the path of a link between two nodes; called only for existing links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanarLayout:
    """A planar layout.

    Attributes
    ----------
    positions
        Centers of chips and switches, by node number.
    route
        Returns the path of a link.
    sizes
        Sizes of chips and switches that differ from the default.
    texts
        Labels of chips and switches that differ from the default.
    panels, labels
        Rectangles behind the nodes, and texts beside them.
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
        usual = SymbolSize(2 * RADIUS, 2 * RADIUS) if node.kind == "chip" else SymbolSize(41.0, 18.0)
        return self.sizes.get(key, usual)

    def text(self, key: int, node: BlueprintNode) -> str:
        """Return the label of a chip or switch."""
        return self.texts.get(key) or (str(node.ordinal) if node.kind == "chip" else f"sw{node.ordinal}")


def straight_lines(positions: Mapping[int, Point2D]) -> LinkRouter:
    """Return a router that draws links as straight lines."""

    def route(a: int, b: int) -> LinkPath:
        one, two = positions[a], positions[b]
        return LinkPath(((one, two),), Point2D((one.x + two.x) / 2, (one.y + two.y) / 2))

    return route


def wraparound_stubs(one: Point2D, two: Point2D, length: float) -> LinkPath:
    """Return the path of a link that leads around the back: a stub at each end, pointing away from the other end."""
    distance = max(hypot(two.x - one.x, two.y - one.y), 1)
    dx, dy = (two.x - one.x) * length / distance, (two.y - one.y) * length / distance
    end = Point2D(one.x - dx, one.y - dy)
    return LinkPath(((one, end), (two, Point2D(two.x + dx, two.y + dy))), end)
