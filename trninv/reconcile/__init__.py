"""Decide which machine stands in which slot, and detect drift."""
