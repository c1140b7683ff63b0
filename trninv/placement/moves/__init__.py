"""Plan moves of jobs that free chips."""
