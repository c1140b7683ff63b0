"""What exists: the database as the one truth, addresses, stamping, and the comparison with the catalog."""
