"""Declare the export formats, one per module and named like it; `trninv.exporters.format` finds them."""
