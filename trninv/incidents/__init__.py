"""Group what is unhealthy by root cause, and estimate its cost: docs/reference/incidents.md."""
