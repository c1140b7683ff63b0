"""Compute the planar layouts of wiring patterns, for wide and narrow screens."""
