"""availability: how much of a time parts were up, as a table, as JSON, and as a chart."""

from trninv.cli.charted import chart_command
from trninv.drawing.availability import draw_availability

availability = chart_command(
    "availability", draw_availability, "Also draw availability with its confidence intervals there."
)
