"""Who holds which chips, and where the next job fits."""
