"""Change states, bindings and history, and verify what the history says."""
