"""What a flat picture of a domain consists of, in units of about a pixel; the pictures only add colours and states."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot
from typing import Final, NamedTuple

from trninv.topology.blueprint import Node

RADIUS: Final = 12.5
"""Of a chip that is drawn as a circle."""


class Point(NamedTuple):
    """X to the right, y down."""

    x: float
    y: float


class Size(NamedTuple):
    """Of a chip or switch; a chip is a circle where both are equal."""

    width: float
    height: float


class Box(NamedTuple):
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float


class Label(NamedTuple):
    """A text; ``anchor`` says what of it is at x: start, middle or end. What names a panel is strong."""

    text: str
    x: float
    y: float
    anchor: str = "start"
    strong: bool = False


Stroke = tuple[Point, ...]


class Route(NamedTuple):
    """How a link is drawn: lines, and where the sign of its state stands."""

    strokes: tuple[Stroke, ...]
    sign: Point


Routing = Callable[[int, int], Route]
"""How a link between two places is drawn; asked for links that are there only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
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

    at: Mapping[int, Point]
    route: Routing
    sizes: Mapping[int, Size] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    panels: Sequence[Box] = ()
    labels: Sequence[Label] = ()
    font: float = 12.0
    thick: float = 3.2

    def size(self, key: int, node: Node) -> Size:
        """Of a chip or switch."""
        usual = Size(2 * RADIUS, 2 * RADIUS) if node.kind == "chip" else Size(41.0, 18.0)
        return self.sizes.get(key, usual)

    def text(self, key: int, node: Node) -> str:
        """The label of a chip or switch."""
        return self.texts.get(key) or (str(node.ordinal) if node.kind == "chip" else f"sw{node.ordinal}")


def straight(at: Mapping[int, Point]) -> Routing:
    """Links as straight lines between places."""

    def route(a: int, b: int) -> Route:
        one, two = at[a], at[b]
        return Route(((one, two),), Point((one.x + two.x) / 2, (one.y + two.y) / 2))

    return route


def stubs(one: Point, two: Point, long: float) -> Route:
    """A link that leads around the back: a short end at either place, away from the other."""
    far = max(hypot(two.x - one.x, two.y - one.y), 1)
    dx, dy = (two.x - one.x) * long / far, (two.y - one.y) * long / far
    end = Point(one.x - dx, one.y - dy)
    return Route(((one, end), (two, Point(two.x + dx, two.y + dy))), end)
