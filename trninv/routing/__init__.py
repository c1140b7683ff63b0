"""Answer questions about the wiring of a fleet and its history: paths, flows, memory pools, availability and others."""
