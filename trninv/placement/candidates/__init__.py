"""Find where a job fits."""
