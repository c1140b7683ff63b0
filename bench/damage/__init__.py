"""Random damage, and what every question says of it, against an oracle and on every interface: ``./run damage``."""
