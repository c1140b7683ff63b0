"""Change the states of parts and the service's tokens; one file per change."""
