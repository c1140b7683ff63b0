"""Show how many parts were not up over time, as bars, as JSON or as a picture (`timeline`)."""

from trninv.cli.charted import chart_command
from trninv.drawing.timeline import draw_timeline

timeline = chart_command("timeline", draw_timeline, "Draw it there as well.")
