"""Other systems that get the same questions about the same fleet."""
