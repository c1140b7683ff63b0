"""What a flat picture of a domain consists of, in units of about a pixel; the pictures only add colours and states."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot
from typing import Final, NamedTuple

from trninv.topology.blueprint import BlueprintNode

RADIUS: Final = 12.5
"""Of a chip that is drawn as a circle."""


class Point2D(NamedTuple):
    """X to the right, y down."""

    x: float
    y: float


class SymbolSize(NamedTuple):
    """Of a chip or switch; a chip is a circle where both are equal."""

    width: float
    height: float


class Rectangle(NamedTuple):
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


class TextLabel(NamedTuple):
    """A text; ``anchor`` says what of it is at x: start, middle or end. What names a panel is strong."""

    text: str
    x: float
    y: float
    anchor: str = "start"
    strong: bool = False


Stroke = tuple[Point2D, ...]


class LinkPath(NamedTuple):
    """How a link is drawn: lines, and where the sign of its state stands."""

    strokes: tuple[Stroke, ...]
    symbol_position: Point2D


LinkRouter = Callable[[int, int], LinkPath]
"""How a link between two places is drawn; asked for links that are there only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanarLayout:
    """A flat picture.

    Attributes
    ----------
    at
        Middles of chips and switches, under the numbers of the places.
    route
        How links are drawn.
    sizes
        Of chips and switches that differ from the usual.
    texts
        What they are labelled, where it is not what `called` says.
    panels, labels
        What stands behind them and beside them.
    font
        Height of texts.
    thick
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
        """Of a chip or switch."""
        usual = SymbolSize(2 * RADIUS, 2 * RADIUS) if node.kind == "chip" else SymbolSize(41.0, 18.0)
        return self.sizes.get(key, usual)

    def text(self, key: int, node: BlueprintNode) -> str:
        """The label of a chip or switch."""
        return self.texts.get(key) or (str(node.ordinal) if node.kind == "chip" else f"sw{node.ordinal}")


def straight_lines(positions: Mapping[int, Point2D]) -> LinkRouter:
    """Links as straight lines between places."""

    def route(a: int, b: int) -> LinkPath:
        one, two = positions[a], positions[b]
        return LinkPath(((one, two),), Point2D((one.x + two.x) / 2, (one.y + two.y) / 2))

    return route


def wraparound_stubs(one: Point2D, two: Point2D, length: float) -> LinkPath:
    """A link that leads around the back: a short end at either place, away from the other."""
    distance = max(hypot(two.x - one.x, two.y - one.y), 1)
    dx, dy = (two.x - one.x) * length / distance, (two.y - one.y) * length / distance
    end = Point2D(one.x - dx, one.y - dy)
    return LinkPath(((one, end), (two, Point2D(two.x + dx, two.y + dy))), end)
