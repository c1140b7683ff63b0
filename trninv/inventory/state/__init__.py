"""Change the states and bindings of parts, record the history of changes, and verify it."""
