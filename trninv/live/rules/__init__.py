"""The rules of drift: pure comparisons of what was seen with the design, by what they are asked of."""

from trninv.live.rules import chips, coverage, domains, fleet, servers
from trninv.live.rules.coverage import COMPARED_FIELDS, count_not_compared
from trninv.live.rules.register import CHIP, COMPARES, DOMAIN, FLEET, SERVER, Difference, Shown

__all__ = [
    "CHIP",
    "COMPARED_FIELDS",
    "COMPARES",
    "DOMAIN",
    "FLEET",
    "SERVER",
    "Difference",
    "Shown",
    "chips",
    "count_not_compared",
    "coverage",
    "domains",
    "fleet",
    "servers",
]
