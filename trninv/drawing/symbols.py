"""Draw chips, switches, links and the symbols of their states."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from trninv.drawing.svg import (
    CUT_SIDE_FILL,
    DEGRADED,
    DEGRADED_FILL,
    DOWN,
    DOWN_FILL,
    HIGHLIGHT,
    INACTIVE,
    INK,
    MAINTENANCE,
    MAINTENANCE_FILL,
    PAPER,
    Coordinates,
    Style,
    add_element,
    draw_label,
    format_number,
)
from trninv.drawing.wiring_layout import DrawnPart, NodeBox


class _StateStyle(NamedTuple):
    """Colours and glyph of an unhealthy state."""

    stroke: str
    fill: str
    text_color: str
    glyph: str


STATE_STYLES: Final = {
    "down": _StateStyle(DOWN, DOWN_FILL, "#b01325", "✕"),
    "degraded": _StateStyle(DEGRADED, DEGRADED_FILL, "#8a5600", "◐"),
    "maintenance": _StateStyle(MAINTENANCE, MAINTENANCE_FILL, MAINTENANCE, "◆"),
}


class NodeStyle(NamedTuple):
    """The state of a chip or switch, whether a scenario assumes it, and how it is marked."""

    state: str
    is_assumed: bool
    is_highlighted: bool
    is_endpoint: bool
    is_on_cut_side: bool


def draw_polyline(root: Element, points: Sequence[Coordinates], title: str = "", /, **style: float | str) -> None:
    """Draw a line through points."""
    coordinates = " ".join(f"{format_number(x)},{format_number(y)}" for x, y in points)
    add_element(root, "polyline", title, points=coordinates, fill="none", stroke_linejoin="round", **style)


def draw_state_symbol(root: Element, center: Coordinates, state: str, *, backed: bool) -> None:
    """Draw the glyph of a state, on a white disc if ``backed``, so that what is below does not show through."""
    x, y = center
    stroke = STATE_STYLES[state].stroke
    if backed:
        add_element(root, "circle", cx=x, cy=y, r=6.5, fill=PAPER)
    if state == "degraded":
        add_element(root, "circle", cx=x, cy=y, r=4.4, fill="none", stroke=stroke, stroke_width=1.6)
        add_element(root, "path", d=f"M{format_number(x)},{format_number(y - 4.4)}a4.4,4.4 0 0 1 0,8.8z", fill=stroke)
    elif state == "maintenance":
        add_element(
            root, "path", d=f"M{format_number(x)},{format_number(y - 4.8)}l4.8,4.8l-4.8,4.8l-4.8,-4.8z", fill=stroke
        )
    else:
        cross = f"M{format_number(x - 3.2)},{format_number(y - 3.2)}l6.4,6.4m0,-6.4l-6.4,6.4"
        add_element(root, "path", d=cross, fill="none", stroke=stroke, stroke_width=2.2, stroke_linecap="round")


def draw_node(root: Element, part: DrawnPart, box: NodeBox, node_style: NodeStyle, font: float) -> None:
    """Draw a chip or switch with its label and the symbol of its state."""
    (x, y), (width, height) = box.center, box.size
    state = STATE_STYLES.get(node_style.state)
    style: Style = {
        "fill": HIGHLIGHT
        if node_style.is_endpoint
        else state.fill
        if state
        else CUT_SIDE_FILL
        if node_style.is_on_cut_side
        else PAPER,
        "stroke": HIGHLIGHT
        if node_style.is_highlighted or node_style.is_endpoint
        else state.stroke
        if state
        else INACTIVE,
        "stroke_width": 2.6 if node_style.is_highlighted or node_style.is_endpoint else 1.6 if state else 1.2,
    }
    if node_style.is_assumed:
        style |= {"stroke_dasharray": "4 3"}
    title = f"{part.address}, {node_style.state}"
    if box.is_circle:
        add_element(root, "circle", title, cx=x, cy=y, r=width / 2, **style)
    else:
        add_element(root, "rect", title, x=x - width / 2, y=y - height / 2, width=width, height=height, rx=4.0, **style)
    text_color = PAPER if node_style.is_endpoint else state.text_color if state else INK
    rotation: Style = {"transform": f"rotate(-90 {format_number(x)} {format_number(y)})"} if box.is_upright else {}
    weight: Style = {"font_weight": "600"} if part.kind == "chip" or box.is_upright else {}
    draw_label(root, (x, y + 0.35 * font), box.text, font, text_color, text_anchor="middle", **weight, **rotation)
    if state:
        draw_state_symbol(root, box.symbol_position, node_style.state, backed=box.is_circle or part.kind == "switch")
