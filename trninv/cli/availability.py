"""availability: how much of a time parts were up, as a table, as JSON, and as a chart."""

from trninv.cli.charted import charted
from trninv.drawing.availability import draw

availability = charted("availability", draw, "Also draw availability with its confidence intervals there.")
