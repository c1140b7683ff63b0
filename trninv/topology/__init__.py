"""Build wiring patterns and fabrics from local node numbers, without a database or hardware models."""
