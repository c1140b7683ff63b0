"""What is not up now, grouped by what brought it about, and what that costs: docs/reference/incidents.md."""
