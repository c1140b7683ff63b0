"""Load what documents state: sources, facts with their readings, and hardware models; check derived numbers."""
