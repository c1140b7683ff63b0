"""Commands killed at random moments; what they leave is looked at."""
