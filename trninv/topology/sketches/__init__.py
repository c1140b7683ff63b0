"""Flat pictures of wiring patterns, wide and for a narrow screen."""
