"""Pure wiring patterns: local node numbers and links, with no database and no hardware in them."""
