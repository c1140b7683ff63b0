"""Decide which machine is in which slot, and detect drift."""
