"""Find the sets of free chips on which a job can run, and rank them."""
