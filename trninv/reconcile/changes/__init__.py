"""Implement the changes that bind instances to slots or compare the two, one change per file."""
