"""Declare the fields, relations and lists of each kind of thing that can be queried, and describe single places."""
