"""Draw chips, switches, links and the symbols of their states, for the pictures of domains."""

from collections.abc import Mapping, Sequence
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
    UP,
    Coordinates,
    Style,
    add_element,
    draw_label,
    format_number,
    truncate,
)
from trninv.drawing.wiring_layout import DrawnPart, NodeBox
from trninv.units import pluralize


class _StateStyle(NamedTuple):
    """Colors and glyph of an unhealthy state."""

    stroke: str
    fill: str
    text_color: str
    glyph: str


STATE_STYLES: Final = {
    "down": _StateStyle(DOWN, DOWN_FILL, "var(--down-text)", "✕"),
    "degraded": _StateStyle(DEGRADED, DEGRADED_FILL, "var(--degraded-text)", "◐"),
    "maintenance": _StateStyle(MAINTENANCE, MAINTENANCE_FILL, MAINTENANCE, "◆"),
}


def body_style(state: str) -> Style:
    """Return the fill and stroke of a part in a state."""
    style = STATE_STYLES.get(state)
    return {"fill": style.fill, "stroke": style.stroke} if style else {"fill": PAPER, "stroke": INACTIVE}


def text_color(state: str, healthy: str = INK) -> str:
    """Return the color of text about a part in a state."""
    return STATE_STYLES[state].text_color if state in STATE_STYLES else healthy


class NodeStyle(NamedTuple):
    """The state of a chip or switch, whether only a scenario takes it down (``is_assumed``), and how it is marked."""

    state: str
    is_assumed: bool
    is_highlighted: bool
    is_endpoint: bool
    is_on_cut_side: bool


def draw_polyline(root: Element, points: Sequence[Coordinates], title: str = "", /, **style: float | str) -> None:
    """Draw a line through points."""
    coordinates = " ".join(f"{format_number(x)},{format_number(y)}" for x, y in points)
    add_element(root, "polyline", title, points=coordinates, fill="none", stroke_linejoin="round", **style)


def draw_state_symbol(
    root: Element, center: Coordinates, state: str, *, backed: bool = False, color: str | None = None
) -> None:
    """Draw the glyph of a state, in its color or another, on a disc if ``backed``, so that nothing shows through."""
    x, y = center
    if backed:
        add_element(root, "circle", cx=x, cy=y, r=6.5, fill=PAPER)
    if state == "up":
        add_element(root, "circle", cx=x, cy=y, r=3.5, fill=UP)
        return
    stroke = color or STATE_STYLES[state].stroke
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


def draw_state_counts(root: Element, corner: Coordinates, width: float, counts: Mapping[tuple[str, str], int]) -> float:
    """Draw a line for each state with the numbers of parts, by kind and state; return the bottom y.

    Only chips that are up are counted. Lines that fit into the width are joined.
    """
    x, y = corner
    min_x, baseline = x, y + 14
    for state in SEVERITY:
        text = describe_counts(counts, state)
        if not text:
            continue
        needed = 16 + 7.4 * len(text) + 18
        if x > min_x and x + needed > min_x + width:
            x, baseline = min_x, baseline + 20
        draw_state_symbol(root, (x + 6, baseline - 4), state)
        draw_label(root, (x + 16, baseline), truncate(text, width - 16, 13), 13, text_color(state))
        x += needed
    return baseline + 14


def describe_counts(counts: Mapping[tuple[str, str], int], state: str) -> str:
    """Return the numbers of parts in a state: "1 server, 16 chips down"; of those that are up, only chips."""
    parts = describe_parts(counts, state)
    return parts and f"{parts} {'in ' if state == 'maintenance' else ''}{state}"


def describe_parts(counts: Mapping[tuple[str, str], int], state: str) -> str:
    """Return the numbers of parts in a state, without the state: "1 server, 16 chips"."""
    kinds = {kind: number for (kind, other), number in counts.items() if other == state and number}
    if state == "up":
        kinds = {kind: number for kind, number in kinds.items() if kind == "chip"}
    ordered = sorted(kinds.items(), key=lambda item: item[0] != "server")
    nouns = [pluralize(number, _NOUNS.get(kind, kind.replace("_", " "))) for kind, number in ordered]
    return ", ".join(nouns)


_NOUNS: Final = {"nic": "NIC"}
SEVERITY: Final = (*STATE_STYLES, "up")
"""States, the worst first."""


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
    if state:  # only in a chip's rectangle is nothing below the symbol
        draw_state_symbol(root, box.symbol_position, node_style.state, backed=box.is_circle or part.kind == "switch")
