"""What follows from the wiring: paths, flows, memory pools and bisection, computed from the links as they are now."""
