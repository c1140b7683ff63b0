"""Parse, look up, search and complete addresses."""
