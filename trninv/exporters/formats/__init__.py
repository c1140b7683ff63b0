"""Declare the formats: one module for each, named like the format; `trninv.exporters.format` finds them."""
