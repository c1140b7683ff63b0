"""Declare what can be asked of each thing: fields, relations and lists."""
