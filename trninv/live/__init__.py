"""What is known of a living fleet: the newest that was seen of each machine, and which of them stands in which slot."""
