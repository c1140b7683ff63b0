"""Compare trninv with other systems, which get the same questions about the same fleet."""
