"""Malformed inputs by the thousand: each is answered or refused, and nothing breaks."""
