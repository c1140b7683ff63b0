"""Kill commands at random times and check what they leave: ``./run faults``."""
