"""Declare the triggers that record changes and keep rows."""
