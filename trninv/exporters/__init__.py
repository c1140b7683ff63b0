"""Export the fleet in the formats of schedulers, graph tools and simulators: the work of ``trninv topology``."""
