"""Project the inventory into a graph that answers read-only Cypher: `trninv cypher` and POST /cypher."""
