"""Kill commands at random moments and check what they leave: ``./run faults``."""
