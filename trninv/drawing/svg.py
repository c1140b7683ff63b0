"""Write SVG documents deterministically: the same content gives the same bytes.

Colors are custom properties of ``tokens.css``, which the explorer's pages use too. A picture in a page follows its
theme; a file has the values of the light one.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Final
from urllib.parse import urlencode
from xml.etree.ElementTree import Element, SubElement, tostring

Coordinates = tuple[float, float]

PAPER, PANEL_FILL, PANEL_STROKE, INACTIVE = "var(--surface)", "var(--sunken)", "var(--line)", "var(--line-strong)"
INK, MUTED, UP = "var(--ink)", "var(--ink-3)", "var(--up)"
SELECTION, RESERVED = "var(--accent)", "var(--reserved)"
HIGHLIGHT, CUT_COLOR, CUT_SIDE_FILL = "var(--path)", "var(--cut)", "var(--side-b)"
"""Colors of a path, of a cut's links, and of the chips on one side of it."""
DEGRADED, DOWN, MAINTENANCE = "var(--degraded)", "var(--down)", "var(--maintenance)"
DEGRADED_FILL, DOWN_FILL, MAINTENANCE_FILL = "var(--degraded-soft)", "var(--down-soft)", "var(--maintenance-soft)"
"""Stroke and fill colors of the states degraded, down and maintenance."""
LINK_COLORS: Final = ("var(--link-a)", "var(--link-b)", "var(--link-c)")
"""Colors of links, widest first."""

_LIGHT_VALUES: Final = dict(
    re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]+), ", Path(__file__).with_name("tokens.css").read_text("utf-8"))
)
_TITLE_HEIGHT, _LINE_HEIGHT, _SAMPLE_HEIGHT, _MIN_FILE_WIDTH = (
    34.0,
    20.0,
    28.0,
    420.0,
)
_CHARACTER_WIDTH: Final = 0.56
"""Width of an average character in font sizes."""
_NOT_IN_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Style = dict[str, float | str]
Sample = Callable[[Element, Coordinates], Element]
"""Draws a sample around a center, and returns the element that takes the text beside it."""


def resolve_tokens(text: str) -> str:
    """Replace custom properties by their values in the light theme, for programs that know no custom properties."""
    return re.sub(r"var\(--([\w-]+)\)", lambda match: _LIGHT_VALUES[match[1]], text)


def format_number(value: float) -> str:
    """Return a number with at most one decimal, and no negative zero."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def text_width(text: str, font: float) -> float:
    """Return about how wide a text is in a font of this size."""
    return len(text) * font * _CHARACTER_WIDTH


def truncate(text: str, width: float, font: float) -> str:
    """Shorten a text that is wider than ``width`` in a font of this size; empty if not even three characters fit."""
    count = int(width / (font * _CHARACTER_WIDTH))
    return text if len(text) <= count else f"{text[: count - 1]}…" if count > 2 else ""  # noqa: PLR2004


def truncate_name(text: str, width: float, font: float) -> str:
    """Shorten a name like `truncate`, but in its middle: names that begin alike differ at their ends."""
    count = int(width / (font * _CHARACTER_WIDTH)) - 1
    return text if len(text) <= count + 1 else f"{text[: count // 3]}…{text[count // 3 - count :]}" if count > 1 else ""


def add_element(parent: Element, tag: str, title: str = "", /, **attributes: float | str) -> Element:
    """Add a child element and return it; browsers show its title as a tooltip."""
    hyphenated = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    formatted = {name: value if isinstance(value, str) else format_number(value) for name, value in hyphenated.items()}
    element = SubElement(parent, tag, formatted)
    if title:
        SubElement(element, "title").text = title
    return element


def add_link(
    parent: Element, path: str, title: str, options: Mapping[str, str] | None = None, /, **attributes: str
) -> Element:
    """Add a link to a view of the explorer, such as at/ADDRESS, and return it; what it contains can be clicked."""
    query = f"?{urlencode(options, safe=':/')}" if options else ""
    return add_element(parent, "a", title, href=f"#/{path}{query}", **attributes)


def draw_line(parent: Element, start: Coordinates, end: Coordinates, title: str = "", /, **style: float | str) -> None:
    """Add a line to an element."""
    add_element(parent, "line", title, x1=start[0], y1=start[1], x2=end[0], y2=end[1], **style)


def draw_label(
    parent: Element, baseline: Coordinates, text: str, size: float = 12, fill: str = INK, /, **style: float | str
) -> None:
    """Add text to an element."""
    font: Style = {"font_family": "sans-serif", "font_size": size, "fill": fill}
    add_element(parent, "text", x=baseline[0], y=baseline[1], **font, **style).text = text


def define_hatch(root: Element, name: str, color: str, angle: int = 45, **style: float | str) -> str:
    """Add a pattern of lines at an angle in degrees and return the fill that uses it."""
    hatch = add_element(root, "pattern", id=name, width=6.0, height=6.0, patternUnits="userSpaceOnUse")
    hatch.set("patternTransform", f"rotate({angle})")
    add_element(hatch, "rect", width=1.5, height=6.0, fill=color, **style)
    return f"url(#{name})"


class SvgDocument:
    """An SVG document: a drawing in its own coordinates, a caption above and a legend below.

    Attributes
    ----------
    label
        What a screen reader says for it in a page; by default the title.
    legend
        Colors or samples and what they mean.
    text_scale
        By how much the text of caption and legend is enlarged.
    bounds
        The left, top, right and bottom of the drawing.
    data
        Values for the page's script, by the names of their data attributes.

    """

    def __init__(self, title: str, caption: str = "") -> None:
        self.title, self.label, self.caption = title, title, caption
        self.legend: list[tuple[str | Sample, str]] = []
        self.drawing = Element("g")
        self.text_scale = 1.0
        self.bounds = (0.0, 0.0, 0.0, 0.0)
        self.data: dict[str, str] = {}

    def to_file(self) -> str:
        """Return a document of its own: with the title, on paper, in the light theme and without links."""
        root = self._assemble(_TITLE_HEIGHT, max(self.bounds[2] - self.bounds[0], _MIN_FILE_WIDTH))
        for link in list(root.iter("a")):
            link.tag = "g"
            del link.attrib["href"]
        return resolve_tokens(_NOT_IN_XML.sub("\ufffd", tostring(root, encoding="unicode"))) + "\n"

    def to_page(self) -> str:
        """Return an element for one of the explorer's pages, which has the title and defines the tokens."""
        root = self._assemble(0, self.bounds[2] - self.bounds[0])
        _, _, width, height = root.get("viewBox", "").split(" ")
        attributes = {"class": "picture", "role": "group", "aria-label": self.label, "width": width, "height": height}
        for name, value in (attributes | {f"data-{name}": value for name, value in self.data.items()}).items():
            root.set(name, value)
        return _NOT_IN_XML.sub("\ufffd", tostring(root, encoding="unicode"))

    def _assemble(self, title_height: float, width: float) -> Element:
        """Return the document's root; it has a title and paper if ``title_height`` is not 0."""
        min_x, drawing_top, _, bottom = self.bounds
        indent = 16.0 if title_height else 0.0
        font, line_height = 13 * self.text_scale, _LINE_HEIGHT * self.text_scale
        lines = wrap(self.caption, max(20, int(width / (font * _CHARACTER_WIDTH))))
        top = drawing_top - title_height - line_height * len(lines)
        legend = Element("g")
        bottom = self._draw_legend(legend, min_x + indent, min_x + width, bottom) + 10
        root = Element("svg", xmlns="http://www.w3.org/2000/svg")
        root.set("viewBox", " ".join(map(format_number, (min_x, top, width, bottom - top))))
        if title_height:
            SubElement(root, "title").text = self.title
            add_element(root, "rect", x=min_x, y=top, width=width, height=bottom - top, fill=PAPER)
            draw_label(root, (min_x + indent, top + 24), self.title, 16, font_weight="bold")
        for index, line in enumerate(lines):
            draw_label(root, (min_x + indent, top + title_height + line_height * (index + 0.6)), line, font)
        root.append(self.drawing)
        root.append(legend)
        return root

    def _draw_legend(self, root: Element, min_x: float, max_x: float, top: float) -> float:
        """Draw the entries of the legend in rows from ``min_x`` to ``max_x``, and return the y below them."""
        x, y, font, has_samples = min_x, top, 13 * self.text_scale, any(callable(sample) for sample, _ in self.legend)
        row_height = (_SAMPLE_HEIGHT if has_samples else _LINE_HEIGHT) * self.text_scale
        for sample, text in self.legend:
            lines = wrap(text, max(20, int((max_x - min_x - 30) / (font * _CHARACTER_WIDTH))))
            width = 32 + font * _CHARACTER_WIDTH * len(lines[0]) + 16
            if x > min_x and x + width > max_x:
                x, y = min_x, y + row_height
            if callable(sample):
                entry = sample(root, (x + 14, y + row_height / 2))
            else:
                entry = add_element(root, "g")
                add_element(entry, "rect", x=x, y=y + row_height / 2 - 3, width=22.0, height=6.0, fill=sample)
            for index, line in enumerate(lines):
                draw_label(entry, (x + 32, y + row_height / 2 + 0.35 * font + _LINE_HEIGHT * index), line, font)
            x, y = x + width, y + _LINE_HEIGHT * (len(lines) - 1)
        return y + row_height if self.legend else y
