"""Collect the enumerations that fields use."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from trninv.catalog.facts import CONFLICT_KIND_MEANINGS, SOURCE_KIND_MEANINGS, default_catalog
from trninv.catalog.models import COMPUTE, DomainModel, default_systems
from trninv.database.finding_rules import FINDING_RULES, SEVERITY_MEANINGS
from trninv.database.tables import (
    ACTION_MEANINGS,
    BINDING_END_MEANINGS,
    BINDING_METHOD_MEANINGS,
    CONFIDENCE_MEANINGS,
    EVENT_SOURCE_MEANINGS,
    LINK_SCOPE_MEANINGS,
    PART_KIND_MEANINGS,
    STATE_MEANINGS,
    TOKEN_SCOPE_MEANINGS,
    TRAY_KIND_MEANINGS,
)
from trninv.inventory.schema.thing import Enumeration
from trninv.inventory.state.chip_use import CHIP_USE_MEANINGS
from trninv.topology.registry import all_patterns


def _domains_by(value: Callable[[DomainModel], str]) -> dict[str, list[DomainModel]]:
    domains: dict[str, list[DomainModel]] = {}
    for system in default_systems().systems:
        domains.setdefault(value(system.domain), []).append(system.domain)
    return domains


def _join_unique(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _wiring_meanings() -> Mapping[str, str]:
    """Return the description of every wiring pattern."""
    return {name: f"{pattern.description.removesuffix('.')}." for name, pattern in all_patterns().items()}


def _generation_meanings() -> Mapping[str, str]:
    domains_by_generation = _domains_by(lambda domain: domain.server.chip.generation)
    return {
        name: f"{_join_unique(domain.server.chip.name for domain in domains)} chips."
        for name, domains in domains_by_generation.items()
    }


def _compute_type_meanings() -> Mapping[str, str]:
    descriptions = {name: default_catalog().attributes[name].describes.removesuffix(" operations") for name in COMPUTE}
    return {
        name.removesuffix("_compute"): f"{text[0].upper()}{text[1:]} operations." for name, text in descriptions.items()
    }


STATE: Final = Enumeration("State", "The condition of something, which says what it carries.", lambda: STATE_MEANINGS)
CHIP_USE: Final = Enumeration("ChipUse", "What a chip is to the next job.", lambda: CHIP_USE_MEANINGS)
WIRING: Final = Enumeration("Wiring", "A pattern in which the chips of a domain are wired.", _wiring_meanings)
GENERATION: Final = Enumeration("Generation", "A generation of chips.", _generation_meanings)
LINK_SCOPE: Final = Enumeration("LinkScope", "How far a link reaches.", lambda: LINK_SCOPE_MEANINGS)
TRAY_KIND: Final = Enumeration("TrayKind", "What a tray of a server holds.", lambda: TRAY_KIND_MEANINGS)
SOURCE_KIND: Final = Enumeration("SourceKind", "What kind of source a number comes from.", lambda: SOURCE_KIND_MEANINGS)
DIFFERENCE: Final = Enumeration("Disagreement", "What facts of one number differ in.", lambda: CONFLICT_KIND_MEANINGS)
COMPUTE_TYPE: Final = Enumeration("ComputeType", "A type of operation, by its number format.", _compute_type_meanings)
TOKEN_SCOPE: Final = Enumeration("TokenScope", "What a bearer token allows.", lambda: TOKEN_SCOPE_MEANINGS)

EVENT_SOURCE: Final = Enumeration("EventSource", "Where a change of state came from.", lambda: EVENT_SOURCE_MEANINGS)
ACTION: Final = Enumeration(
    "EventAction", "What is done to jobs, and to servers for their sake.", lambda: ACTION_MEANINGS
)
PART_KIND: Final = Enumeration("PartKind", "A kind of part that has a state.", lambda: PART_KIND_MEANINGS)
BINDING_HOW: Final = Enumeration(
    "BindingMethod", "How it is known which instance stands in a slot.", lambda: BINDING_METHOD_MEANINGS
)
CONFIDENCE: Final = Enumeration("Confidence", "How sure a binding is.", lambda: CONFIDENCE_MEANINGS)
BINDING_ENDING: Final = Enumeration("BindingEnding", "Why a binding ended.", lambda: BINDING_END_MEANINGS)
SEVERITY: Final = Enumeration(
    "Severity", "How bad a finding is, from the least to the worst.", lambda: SEVERITY_MEANINGS
)
RULE: Final = Enumeration(
    "DriftRule",
    "A rule by which what was seen is compared with the design.",
    lambda: {name: rule.description for name, rule in FINDING_RULES.items()},
)

GROUP_BY: Final = Enumeration(
    "GroupBy",
    "What aggregates are grouped by.",
    lambda: {
        "generation": "The generation of their chips.",
        "model": "Their hardware model.",
        "state": "Their state.",
        "cluster": "The cluster that they belong to.",
    },
)
GROUPS: Final[Mapping[str, Enumeration]] = {"generation": GENERATION, "state": STATE}
"""The enumeration of a group's values, for the groups that have one."""
