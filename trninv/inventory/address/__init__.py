"""Parse, resolve and complete addresses."""
