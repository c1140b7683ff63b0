"""Ask a service over HTTP: the methods of a fleet as remote calls, and values as JSON."""
