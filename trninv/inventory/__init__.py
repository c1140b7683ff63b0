"""Create clusters in the database, address and describe their parts, record changes, and verify all of it."""
