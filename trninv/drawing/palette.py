"""What tells jobs apart in a picture: a letter, a colour, and, from the thirteenth on, a hatch over it.

Every colour is as far from paper as from ink, so that white letters can be read on it, and hatches of ink be seen.
"""

from typing import Final
from xml.etree.ElementTree import Element

from trninv.drawing.svg import INK, add_element

JOB_COLORS: Final = (
    "#d02525",
    "#246acb",
    "#1a7b43",
    "#9845c1",
    "#995e0c",
    "#11796b",
    "#be3083",
    "#44781e",
    "#655bd0",
    "#b6491a",
    "#117496",
    "#6b6b6b",
)
"""Of jobs, in the order in which they are given out."""
HATCH_ANGLES: Final = (45, 0, 90, 135)
"""Degrees by which the lines of a hatch are turned, in the order in which they are given out."""
CAPACITY_COLORS: Final = ("#8291a7", "#5d83b5", "#3f70b8", "#2a5cad", "#1d4a96", "#143a7c", "#0c2a60")
"""Of free blocks, the smallest first."""
_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def job_letters(index: int) -> str:
    """What stands for the job with a number: A to Z, then AA, AB and on."""
    prefix_index, letter_index = divmod(index, len(_ALPHABET))
    return (job_letters(prefix_index - 1) if prefix_index else "") + _ALPHABET[letter_index]


def job_color(index: int) -> str:
    """The colour of the job with a number."""
    return JOB_COLORS[index % len(JOB_COLORS)]


def job_hatch(index: int) -> str | None:
    """What is drawn over the colour of the job with a number, as an SVG fill; `define` makes it one."""
    hatch_index = index // len(JOB_COLORS) % (1 + len(HATCH_ANGLES))
    return f"url(#hatch{HATCH_ANGLES[hatch_index - 1]})" if hatch_index else None


def define_hatches(root: Element) -> None:
    """Let a picture have hatches."""
    for angle in HATCH_ANGLES:
        hatch = add_element(root, "pattern", id=f"hatch{angle}", width=6.0, height=6.0, patternUnits="userSpaceOnUse")
        hatch.set("patternTransform", f"rotate({angle})")
        add_element(hatch, "rect", width=1.5, height=6.0, fill=INK)
