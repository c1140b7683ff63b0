"""Show the availability of parts as a table, as JSON or as a chart (`availability`)."""

from trninv.cli.charted import chart_command
from trninv.drawing.availability import draw_availability

availability = chart_command(
    "availability", draw_availability, "Also draw availability with its confidence intervals there."
)
