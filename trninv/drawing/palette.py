"""Assign each job in a picture a letter, a colour and, from the thirteenth on, a hatch.

Every colour contrasts with white as much as with ink, so that both white letters and ink hatches are visible on it.
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
"""Colours of jobs, in order of use."""
HATCH_ANGLES: Final = (45, 0, 90, 135)
"""Angles of hatches in degrees, in order of use."""
CAPACITY_COLORS: Final = ("#8291a7", "#5d83b5", "#3f70b8", "#2a5cad", "#1d4a96", "#143a7c", "#0c2a60")
"""Colours of free blocks, the smallest first."""
_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def job_letters(index: int) -> str:
    """Return the letters for the job with an index: A to Z, then AA, AB and so on."""
    prefix_index, letter_index = divmod(index, len(_ALPHABET))
    return (job_letters(prefix_index - 1) if prefix_index else "") + _ALPHABET[letter_index]


def job_color(index: int) -> str:
    """Return the colour of the job with an index."""
    return JOB_COLORS[index % len(JOB_COLORS)]


def job_hatch(index: int) -> str | None:
    """Return the SVG fill of the hatch over a job's colour, defined by `define_hatches`, or None."""
    hatch_index = index // len(JOB_COLORS) % (1 + len(HATCH_ANGLES))
    return f"url(#hatch{HATCH_ANGLES[hatch_index - 1]})" if hatch_index else None


def define_hatches(root: Element) -> None:
    """Add the patterns of all hatches to a picture."""
    for angle in HATCH_ANGLES:
        hatch = add_element(root, "pattern", id=f"hatch{angle}", width=6.0, height=6.0, patternUnits="userSpaceOnUse")
        hatch.set("patternTransform", f"rotate({angle})")
        add_element(hatch, "rect", width=1.5, height=6.0, fill=INK)
