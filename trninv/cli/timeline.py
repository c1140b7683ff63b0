"""timeline: how many parts were not up over time, as bars, as JSON, and as a picture."""

from trninv.cli.charted import charted
from trninv.drawing.timeline import picture

timeline = charted("timeline", picture, "Draw it there as well.")
