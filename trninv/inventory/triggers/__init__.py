"""Declare the database triggers that record changes as events and protect rows."""
