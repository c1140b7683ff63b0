"""Declare the formats: one module for each, named like the format; `trninv.exporters.register` finds them."""
