"""Read events and earlier states of the fleet."""
