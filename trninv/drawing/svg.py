"""Write SVG documents deterministically: the same content gives the same bytes."""

import re
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

Coordinates = tuple[float, float]

PAPER, PANEL_FILL, PANEL_STROKE, INACTIVE = "#ffffff", "#eef0f4", "#e1e5eb", "#868f9e"
INK, MUTED = "#12161c", "#626b7a"
HIGHLIGHT, CUT_COLOR, CUT_SIDE_FILL = "#c2125c", "#9a6a00", "#fbf0d6"
"""Colours of a path, of a cut's links, and of the chips on one side of it."""
DEGRADED, DOWN, MAINTENANCE = "#f0a202", "#c2182b", "#5a3da8"
DEGRADED_FILL, DOWN_FILL, MAINTENANCE_FILL = "#fdf3dc", "#fdeaec", "#efebfa"
"""Stroke and fill colours of the states degraded, down and maintenance."""
LINK_COLORS: Final = ("#6f92d8", "#176a5c", "#a98556")
"""Colours of links, widest first."""

_TITLE_HEIGHT, _LINE_HEIGHT = 34.0, 20.0
_NOT_IN_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Style = dict[str, float | str]


def format_number(value: float) -> str:
    """Return a number with at most one decimal, and no negative zero."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def add_element(parent: Element, tag: str, title: str = "", /, **attributes: float | str) -> Element:
    """Add a child element and return it; browsers show its title as a tooltip."""
    hyphenated = {name.replace("_", "-"): value for name, value in attributes.items()}
    formatted = {name: value if isinstance(value, str) else format_number(value) for name, value in hyphenated.items()}
    element = SubElement(parent, tag, formatted)
    if title:
        SubElement(element, "title").text = title
    return element


def draw_line(parent: Element, start: Coordinates, end: Coordinates, title: str = "", /, **style: float | str) -> None:
    """Add a line to an element."""
    add_element(parent, "line", title, x1=start[0], y1=start[1], x2=end[0], y2=end[1], **style)


def draw_label(
    parent: Element, baseline: Coordinates, text: str, size: float = 12, fill: str = INK, /, **style: float | str
) -> None:
    """Add text to an element."""
    font: Style = {"font_family": "sans-serif", "font_size": size, "fill": fill}
    add_element(parent, "text", x=baseline[0], y=baseline[1], **font, **style).text = text


class SvgDocument:
    """An SVG document: a drawing in its own coordinates, a title and a caption above, a legend below."""

    def __init__(self, title: str, caption: str = "") -> None:
        self.title, self.caption = title, caption
        self.legend: list[tuple[str, str]] = []
        self.drawing = Element("g")

    def render(self, min_x: float, min_y: float, max_x: float, max_y: float) -> str:
        """Return the document's text; the arguments are the bounds of the drawing, without title and legend."""
        header_height = _TITLE_HEIGHT + (_LINE_HEIGHT if self.caption else 0)
        legend_height = _LINE_HEIGHT * len(self.legend) + 10
        width = max(max_x - min_x, 420.0)
        root = Element("svg", xmlns="http://www.w3.org/2000/svg")
        root.set(
            "viewBox",
            " ".join(
                map(format_number, (min_x, min_y - header_height, width, max_y - min_y + header_height + legend_height))
            ),
        )
        SubElement(root, "title").text = self.title
        add_element(
            root,
            "rect",
            x=min_x,
            y=min_y - header_height,
            width=width,
            height=max_y - min_y + header_height + legend_height,
            fill=PAPER,
        )
        draw_label(root, (min_x + 16, min_y - header_height + 24), self.title, 16, font_weight="bold")
        if self.caption:
            draw_label(root, (min_x + 16, min_y - header_height + 44), self.caption, 13)
        root.append(self.drawing)
        for index, (color, text) in enumerate(self.legend):
            y = max_y + _LINE_HEIGHT * index + 4
            add_element(root, "rect", x=min_x + 16, y=y, width=22.0, height=6.0, fill=color)
            draw_label(root, (min_x + 46, y + 8), text, 13)
        return _NOT_IN_XML.sub("\ufffd", tostring(root, encoding="unicode")) + "\n"
