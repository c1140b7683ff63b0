"""Open databases, read consistent snapshots and migrate the schema."""
