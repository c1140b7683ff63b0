"""Group unhealthy parts into incidents by root cause, and estimate their cost: docs/reference/incidents.md."""
