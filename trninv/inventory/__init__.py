"""What exists: the database as the single source of truth, addresses, stamping, and comparison with the catalog."""
