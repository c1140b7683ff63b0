"""Send malformed inputs to every interface: each must be answered or rejected, and nothing may break."""
