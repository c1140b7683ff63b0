"""Compare observations with the design: all drift rules."""

from trninv.live.rules import chips, coverage, domains, fleet, servers
from trninv.live.rules.coverage import COMPARED_FIELDS, count_uncompared
from trninv.live.rules.register import (
    CHIP_RULES,
    COMPARISONS,
    DOMAIN_RULES,
    FLEET_RULES,
    SERVER_RULES,
    ComparedChip,
    FindingDraft,
)

__all__ = [
    "CHIP_RULES",
    "COMPARED_FIELDS",
    "COMPARISONS",
    "DOMAIN_RULES",
    "FLEET_RULES",
    "SERVER_RULES",
    "ComparedChip",
    "FindingDraft",
    "chips",
    "count_uncompared",
    "coverage",
    "domains",
    "fleet",
    "servers",
]
