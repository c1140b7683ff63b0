"""Random damage: check every answer against an oracle and on every interface: ``./run damage``."""
