"""What the documents say: sources, facts with their readings, hardware models, and the audit that compares them."""
