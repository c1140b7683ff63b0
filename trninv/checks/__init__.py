"""Check a fleet against bounds that a file of the user's pipeline names, for `trninv check`."""
