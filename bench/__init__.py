"""Benchmarks (``./run bench``), and long tests with random damage, kills and malformed inputs."""
