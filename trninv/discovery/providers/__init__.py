"""Providers of discovery, one per file; each file declares `PROVIDER`."""
