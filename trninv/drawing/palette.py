"""Assign each job in a picture letters, a color and a hatch, and define the colors of free blocks.

The first twelve jobs have no hatch; each hatch serves the next twelve, and after the last one all begins again.
"""

from string import ascii_lowercase, ascii_uppercase
from typing import Final
from xml.etree.ElementTree import Element

from trninv.drawing.svg import define_hatch

JOB_COLORS: Final = tuple(f"var(--job-{letter})" for letter in ascii_lowercase[:12])
"""Colors of jobs, in order of use."""
HATCH_ANGLES: Final = (45, 0, 90, 135)
"""Angles of hatches in degrees, in order of use."""
CAPACITY_COLORS: Final = ("#8291a7", "#5d83b5", "#3f70b8", "#2a5cad", "#1d4a96", "#143a7c", "#0c2a60")
"""Colors of free blocks, the smallest first."""


def job_letters(index: int) -> str:
    """Return the letters for the job at an index (`job_ordinals`): A to Z, then AA, AB and so on."""
    prefix_index, letter_index = divmod(index, len(ascii_uppercase))
    return (job_letters(prefix_index - 1) if prefix_index else "") + ascii_uppercase[letter_index]


def job_color(index: int) -> str:
    """Return the color of the job at an index."""
    return JOB_COLORS[index % len(JOB_COLORS)]


def on_job_color(index: int) -> str:
    """Return the color of letters on the color of the job at an index."""
    return job_color(index).replace("--", "--on-")


def job_hatch_angle(index: int) -> int | None:
    """Return the angle of the hatch over the color of the job at an index, or None if it has no hatch."""
    hatch_index = index // len(JOB_COLORS) % (1 + len(HATCH_ANGLES))
    return HATCH_ANGLES[hatch_index - 1] if hatch_index else None


def hatch_job(root: Element, index: int) -> str | None:
    """Add the pattern of a job's hatch to a picture and return the fill that uses it, or None if it has no hatch."""
    angle = job_hatch_angle(index)
    return None if angle is None else define_hatch(root, f"hatch-job-{index}", on_job_color(index), angle)
