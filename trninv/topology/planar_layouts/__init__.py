"""Lay out patterns for wide and narrow screens."""
