"""Run read-only SQL: users' queries, reports from files, and exports of whole tables."""
