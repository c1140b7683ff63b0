"""Create, grow, remove and verify clusters."""
