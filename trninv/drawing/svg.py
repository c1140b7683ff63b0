"""SVG documents whose bytes depend on nothing but what they show."""

import re
from typing import Final
from xml.etree.ElementTree import Element, SubElement, tostring

Point = tuple[float, float]

PAPER, SUNKEN, EDGE, IDLE = "#ffffff", "#eef0f4", "#e1e5eb", "#868f9e"
INK, QUIET = "#12161c", "#626b7a"
MARK, CUT, SIDE = "#c2125c", "#9a6a00", "#fbf0d6"
"""Colours of a path, of what is cut, and of one of its sides."""
WORN, BAD, REPAIR = "#f0a202", "#c2182b", "#5a3da8"
WORN_SOFT, BAD_SOFT, REPAIR_SOFT = "#fdf3dc", "#fdeaec", "#efebfa"
"""Colours of what is degraded, down, and in maintenance: of its edge, and of what it fills."""
LINKS: Final = ("#6f92d8", "#176a5c", "#a98556")
"""Colours of links, widest first."""

_TITLE, _LINE = 34.0, 20.0
_NOT_IN_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


Style = dict[str, float | str]


def number(value: float) -> str:
    """A number with one decimal, without a negative zero or trailing zeros."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def add(parent: Element, tag: str, title: str = "", /, **attributes: float | str) -> Element:
    """Add a child element, with a title that browsers show as a tooltip."""
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    shown = {name: value if isinstance(value, str) else number(value) for name, value in named.items()}
    made = SubElement(parent, tag, shown)
    if title:
        SubElement(made, "title").text = title
    return made


def line(parent: Element, a: Point, b: Point, title: str = "", /, **style: float | str) -> None:
    """A line below an element."""
    add(parent, "line", title, x1=a[0], y1=a[1], x2=b[0], y2=b[1], **style)


def label(parent: Element, at: Point, text: str, size: float = 12, fill: str = INK, /, **style: float | str) -> None:
    """Text below an element, in points."""
    font: Style = {"font_family": "sans-serif", "font_size": size, "fill": fill}
    add(parent, "text", x=at[0], y=at[1], **font, **style).text = text


class Picture:
    """An SVG document: a drawing in its own coordinates, a title and a caption above, a legend below."""

    def __init__(self, title: str, caption: str = "") -> None:
        self.title, self.caption = title, caption
        self.legend: list[tuple[str, str]] = []
        self.drawing = Element("g")

    def text(self, left: float, top: float, right: float, bottom: float) -> str:
        """The document; the box is that of the drawing."""
        above = _TITLE + (_LINE if self.caption else 0)
        below = _LINE * len(self.legend) + 10
        width = max(right - left, 420.0)
        root = Element("svg", xmlns="http://www.w3.org/2000/svg")
        root.set("viewBox", " ".join(map(number, (left, top - above, width, bottom - top + above + below))))
        SubElement(root, "title").text = self.title
        add(root, "rect", x=left, y=top - above, width=width, height=bottom - top + above + below, fill=PAPER)
        label(root, (left + 16, top - above + 24), self.title, 16, font_weight="bold")
        if self.caption:
            label(root, (left + 16, top - above + 44), self.caption, 13)
        root.append(self.drawing)
        for at, (colour, says) in enumerate(self.legend):
            y = bottom + _LINE * at + 4
            add(root, "rect", x=left + 16, y=y, width=22.0, height=6.0, fill=colour)
            label(root, (left + 46, y + 8), says, 13)
        return _NOT_IN_XML.sub("\ufffd", tostring(root, encoding="unicode")) + "\n"
