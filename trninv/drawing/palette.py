"""What tells jobs apart in a picture: a letter, a colour, and, from the thirteenth on, a hatch over it.

Every colour is as far from paper as from ink, so that white letters can be read on it, and hatches of ink be seen.
"""

from typing import Final
from xml.etree.ElementTree import Element

from trninv.drawing.svg import INK, add

COLOURS: Final = (
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
HATCHES: Final = (45, 0, 90, 135)
"""Degrees by which the lines of a hatch are turned, in the order in which they are given out."""
ROOM: Final = ("#8291a7", "#5d83b5", "#3f70b8", "#2a5cad", "#1d4a96", "#143a7c", "#0c2a60")
"""Of free blocks, the smallest first."""
_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(at: int) -> str:
    """What stands for the job with a number: A to Z, then AA, AB and on."""
    more, last = divmod(at, len(_ALPHABET))
    return (letters(more - 1) if more else "") + _ALPHABET[last]


def colour(at: int) -> str:
    """The colour of the job with a number."""
    return COLOURS[at % len(COLOURS)]


def hatch(at: int) -> str | None:
    """What is drawn over the colour of the job with a number, as an SVG fill; `define` makes it one."""
    turn = at // len(COLOURS) % (1 + len(HATCHES))
    return f"url(#hatch{HATCHES[turn - 1]})" if turn else None


def define(root: Element) -> None:
    """Let a picture have hatches."""
    for degrees in HATCHES:
        made = add(root, "pattern", id=f"hatch{degrees}", width=6.0, height=6.0, patternUnits="userSpaceOnUse")
        made.set("patternTransform", f"rotate({degrees})")
        add(made, "rect", width=1.5, height=6.0, fill=INK)
