"""SQL for reports: read-only queries, reports kept as files, and whole tables for other programs."""
