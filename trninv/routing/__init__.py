"""Answer questions about the wiring: paths, flows, memory pools and bisection."""
