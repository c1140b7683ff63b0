"""Compare observations with the design: all drift rules, which `drift` and `chip_drift` apply."""

from trninv.reconcile.rules import chip_rules, coverage, domain_rules, fleet_rules, measurement_rules, server_rules
from trninv.reconcile.rules.coverage import COMPARED_FIELDS, count_uncompared
from trninv.reconcile.rules.registry import (
    CHIP_RULES,
    DOMAIN_RULES,
    FLEET_RULES,
    SERVER_RULES,
    ComparedChip,
    FindingDraft,
)

__all__ = [
    "CHIP_RULES",
    "COMPARED_FIELDS",
    "DOMAIN_RULES",
    "FLEET_RULES",
    "SERVER_RULES",
    "ComparedChip",
    "FindingDraft",
    "chip_rules",
    "count_uncompared",
    "coverage",
    "domain_rules",
    "fleet_rules",
    "measurement_rules",
    "server_rules",
]
