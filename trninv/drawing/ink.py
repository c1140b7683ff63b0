"""Chips, switches and links of a domain's picture, and the signs of their states."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from trninv.drawing.layout import Part, Place
from trninv.drawing.svg import (
    BAD,
    BAD_SOFT,
    IDLE,
    INK,
    MARK,
    PAPER,
    REPAIR,
    REPAIR_SOFT,
    SIDE,
    WORN,
    WORN_SOFT,
    Point,
    Style,
    add,
    label,
    number,
)


class _State(NamedTuple):
    """Colours and glyph of what is not up."""

    ink: str
    soft: str
    text: str
    glyph: str


STATES: Final = {
    "down": _State(BAD, BAD_SOFT, "#b01325", "✕"),
    "degraded": _State(WORN, WORN_SOFT, "#8a5600", "◐"),
    "maintenance": _State(REPAIR, REPAIR_SOFT, REPAIR, "◆"),
}


class Stand(NamedTuple):
    """How a chip or switch stands: its state, whether that is only supposed, and what marks it."""

    state: str
    supposed: bool
    marked: bool
    end: bool
    side: bool


def way(root: Element, points: Sequence[Point], title: str = "", /, **style: float | str) -> None:
    """A line through points."""
    drawn = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    add(root, "polyline", title, points=drawn, fill="none", stroke_linejoin="round", **style)


def sign(root: Element, at: Point, state: str, *, around: bool) -> None:
    """The glyph of a state, on a disc of paper if something lies below it."""
    x, y = at
    ink = STATES[state].ink
    if around:
        add(root, "circle", cx=x, cy=y, r=6.5, fill=PAPER)
    if state == "degraded":
        add(root, "circle", cx=x, cy=y, r=4.4, fill="none", stroke=ink, stroke_width=1.6)
        add(root, "path", d=f"M{number(x)},{number(y - 4.4)}a4.4,4.4 0 0 1 0,8.8z", fill=ink)
    elif state == "maintenance":
        add(root, "path", d=f"M{number(x)},{number(y - 4.8)}l4.8,4.8l-4.8,4.8l-4.8,-4.8z", fill=ink)
    else:
        cross = f"M{number(x - 3.2)},{number(y - 3.2)}l6.4,6.4m0,-6.4l-6.4,6.4"
        add(root, "path", d=cross, fill="none", stroke=ink, stroke_width=2.2, stroke_linecap="round")


def node(root: Element, part: Part, place: Place, stand: Stand, font: float) -> None:
    """A chip or switch with its label."""
    (x, y), (width, height) = place.at, place.size
    state = STATES.get(stand.state)
    style: Style = {
        "fill": MARK if stand.end else state.soft if state else SIDE if stand.side else PAPER,
        "stroke": MARK if stand.marked or stand.end else state.ink if state else IDLE,
        "stroke_width": 2.6 if stand.marked or stand.end else 1.6 if state else 1.2,
    }
    if stand.supposed:
        style |= {"stroke_dasharray": "4 3"}
    title = f"{part.address}, {stand.state}"
    if place.round:
        add(root, "circle", title, cx=x, cy=y, r=width / 2, **style)
    else:
        add(root, "rect", title, x=x - width / 2, y=y - height / 2, width=width, height=height, rx=4.0, **style)
    colour = PAPER if stand.end else state.text if state else INK
    turned: Style = {"transform": f"rotate(-90 {number(x)} {number(y)})"} if place.upright else {}
    weight: Style = {"font_weight": "600"} if part.kind == "chip" or place.upright else {}
    label(root, (x, y + 0.35 * font), place.text, font, colour, text_anchor="middle", **weight, **turned)
    if state:
        sign(root, place.sign, stand.state, around=place.round or part.kind == "switch")
