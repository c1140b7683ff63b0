"""Others that are asked the same about the same fleet."""
