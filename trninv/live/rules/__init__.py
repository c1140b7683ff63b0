"""The rules of drift: pure comparisons of what was seen with the design, by what they are asked of."""

from trninv.live.rules import chips, domains, fleet, servers
from trninv.live.rules.register import CHIP, COMPARES, DOMAIN, FLEET, SERVER, Difference, Shown

__all__ = [
    "CHIP",
    "COMPARES",
    "DOMAIN",
    "FLEET",
    "SERVER",
    "Difference",
    "Shown",
    "chips",
    "domains",
    "fleet",
    "servers",
]
