"""One file a wiring pattern, each with a ``PATTERN``: a new file here is a new pattern, and nothing lists them."""
