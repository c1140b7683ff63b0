"""Benchmarks: ``./run bench``."""
