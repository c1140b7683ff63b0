"""Plan and carry out moves of jobs."""
