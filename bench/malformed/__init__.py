"""Malformed inputs by the thousand: each must be answered or rejected, and nothing may break."""
