"""Create, authenticate and limit bearer tokens."""
