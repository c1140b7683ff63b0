"""Where the parts of a domain are drawn, here and in the explorer, which asks for these numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trninv.topology.blueprint import Node, Sides
from trninv.topology.pattern import Solid
from trninv.topology.register import pattern
from trninv.topology.sketch import Box, Label, Point, Route, Size, Sketch
from trninv.units import Bandwidth


@dataclass(frozen=True, slots=True)
class Part:
    """A chip or switch of a domain; server is None of a switch that is a rack's."""

    address: str
    kind: str
    ordinal: int
    server: int | None
    rack: int
    state: str = "up"


@dataclass(frozen=True, slots=True)
class Wire:
    """A link of a domain; bandwidth when healthy, in bytes per second of one direction."""

    a: str
    b: str
    nominal: int
    technology: str
    state: str = "up"

    @property
    def ends(self) -> frozenset[str]:
        """Addresses of both ends."""
        return frozenset((self.a, self.b))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chip or switch is drawn: its middle, its size (a circle if both are equal), and the sign of its state."""

    at: Point
    size: Size
    text: str
    sign: Point

    @property
    def upright(self) -> bool:
        """Whether its text runs from bottom to top."""
        return self.size.height > self.size.width

    @property
    def round(self) -> bool:
        """Whether it is a circle."""
        return self.size.height == self.size.width


@dataclass(frozen=True, slots=True)
class Layout:
    """What a picture of a domain consists of, by address or by the ends of links.

    Attributes
    ----------
    flat, routes, panels, labels, font, thick
        A flat picture.
    box
        That holds all of it.
    solid
        Places in space, of a wiring that can be turned; else empty.
    wrapping
        Ends of the wires that lead around the back.

    """

    flat: Mapping[str, Place]
    routes: Mapping[frozenset[str], Route]
    panels: Sequence[Box]
    labels: Sequence[Label]
    font: float
    thick: float
    box: Box
    solid: Mapping[str, Solid]
    wrapping: frozenset[frozenset[str]]


def layout(wiring: str, sides: Sides, parts: Sequence[Part], wires: Sequence[Wire], *, narrow: bool = False) -> Layout:
    """Place the parts of a domain, or of a part of one, as the pattern of its wiring says.

    Raises
    ------
    UnknownWiringError
        No pattern is called so.

    """
    of = pattern(wiring)
    nodes = {
        at: Node("chip" if part.kind == "chip" else "switch", part.server, part.rack, part.ordinal)
        for at, part in enumerate(parts)
    }
    number = {part.address: at for at, part in enumerate(parts)}
    ends = {wire.ends: (number[wire.a], number[wire.b]) for wire in wires}
    sketch = of.sketched(nodes, sides, narrow=narrow)
    flat = {part.address: _place(sketch, at, nodes[at], _joined(part, wires)) for at, part in enumerate(parts)}
    routes = {each: sketch.route(a, b) for each, (a, b) in ends.items()}
    solid = of.solid(nodes, sides) if of.solid else {}
    return Layout(
        flat,
        routes,
        sketch.panels,
        sketch.labels,
        sketch.font,
        sketch.thick,
        _box(flat.values(), routes.values(), sketch.panels),
        {parts[at].address: point for at, point in solid.items()},
        frozenset(
            each
            for each, (a, b) in ends.items()
            if nodes[a].kind == nodes[b].kind == "chip" and of.wraps(nodes[a], nodes[b], sides)
        ),
    )


_LONG = 240.0
"""Height from which a bar has room for what its switch joins."""


def _joined(part: Part, wires: Sequence[Wire]) -> str:
    """How many links of which bandwidth a switch has."""
    own = [wire for wire in wires if part.address in wire.ends] if part.kind == "switch" else []
    return f" · {len(own)} × {Bandwidth(own[0].nominal)}" if own else ""


def _place(sketch: Sketch, key: int, node: Node, joined: str) -> Place:
    at, size, text = sketch.at[key], sketch.size(key, node), sketch.text(key, node)
    bar = size.height > size.width
    if bar:
        sign = Point(at.x, at.y - size.height / 2 + 14)
    elif size.width == size.height:
        sign = Point(at.x + 0.76 * size.width / 2, at.y - 0.76 * size.height / 2)
    elif node.kind == "chip":
        sign = Point(at.x + size.width / 2 - 9, at.y)
    else:
        sign = Point(at.x + size.width / 2 - 1, at.y - size.height / 2 + 1)
    return Place(at, size, text + (joined if bar and size.height > _LONG else ""), sign)


_MARGIN = 6.0


def _box(places: Iterable[Place], routes: Iterable[Route], panels: Iterable[Box]) -> Box:
    """That holds everything, with a margin."""
    corners = [
        *((place.at.x + way * place.size.width / 2, place.at.y + way * place.size.height / 2)
          for place in places for way in (-1, 1)),
        *(point for route in routes for stroke in route.strokes for point in stroke),
        *((box.x + part * box.width, box.y + part * box.height) for box in panels for part in (0, 1)),
    ]  # fmt: skip
    left, right = min(x for x, _ in corners) - _MARGIN, max(x for x, _ in corners) + _MARGIN
    top, bottom = min(y for _, y in corners) - _MARGIN, max(y for _, y in corners) + _MARGIN
    return Box(left, top, right - left, bottom - top)
