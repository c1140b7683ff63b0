"""Read events and past states of the fleet."""
