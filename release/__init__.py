"""Prepare and build a release; ``./run release --help``."""
