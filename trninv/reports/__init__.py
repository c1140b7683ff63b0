"""SQL for reports: one query that can only read, reports that are files, whole tables for other programs."""
