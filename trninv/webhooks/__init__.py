"""Send events, incidents and results of checks to the URLs in a file, signed, at least once, for `trninv serve`."""
