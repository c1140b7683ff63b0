"""Declare the enumerations of GraphQL's schema, each with a function that returns the meanings of its values."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from trninv.catalog.facts import CONFLICT_KIND_MEANINGS, SOURCE_KIND_MEANINGS, default_catalog
from trninv.catalog.models import COMPUTE, default_systems
from trninv.database.finding_rules import FINDING_RULES, SEVERITY_MEANINGS
from trninv.database.tables import (
    ACTION_MEANINGS,
    ALLOCATION_ROLE_MEANINGS,
    BINDING_END_MEANINGS,
    BINDING_METHOD_MEANINGS,
    CONFIDENCE_MEANINGS,
    EVENT_SOURCE_MEANINGS,
    LINK_SCOPE_MEANINGS,
    MEASURED_OPERATION_MEANINGS,
    PART_KIND_MEANINGS,
    RESERVATION_KIND_MEANINGS,
    STATE_MEANINGS,
    SWEEP_STATE_MEANINGS,
    TOKEN_ACTION_MEANINGS,
    TOKEN_SCOPE_MEANINGS,
    TRAY_KIND_MEANINGS,
)
from trninv.inventory.schema.thing import Enumeration
from trninv.inventory.state.chip_use import CHIP_USE_MEANINGS
from trninv.topology.registry import all_patterns


def _wiring_meanings() -> Mapping[str, str]:
    """Return the description of every wiring pattern."""
    return {name: f"{pattern.description.removesuffix('.')}." for name, pattern in all_patterns().items()}


def _generation_meanings() -> Mapping[str, str]:
    names = defaultdict[str, list[str]](list)
    for system in default_systems().systems:
        chip = system.domain.server.chip
        names[chip.generation].append(chip.name)
    return {generation: f"{', '.join(dict.fromkeys(chips))} chips." for generation, chips in names.items()}


def _compute_type_meanings() -> Mapping[str, str]:
    descriptions = {name: default_catalog().attributes[name].describes.removesuffix(" operations") for name in COMPUTE}
    return {
        name.removesuffix("_compute"): f"{text[0].upper()}{text[1:]} operations." for name, text in descriptions.items()
    }


STATE: Final = Enumeration("State", "The state of a part, which determines what it carries.", lambda: STATE_MEANINGS)
CHIP_USE: Final = Enumeration("ChipUse", "Whether a new job can get a chip.", lambda: CHIP_USE_MEANINGS)
WIRING: Final = Enumeration("Wiring", "A pattern in which the chips of a domain are wired.", _wiring_meanings)
GENERATION: Final = Enumeration("Generation", "A generation of chips.", _generation_meanings)
LINK_SCOPE: Final = Enumeration("LinkScope", "How far a link reaches.", lambda: LINK_SCOPE_MEANINGS)
TRAY_KIND: Final = Enumeration("TrayKind", "What a tray of a server contains.", lambda: TRAY_KIND_MEANINGS)
SOURCE_KIND: Final = Enumeration("SourceKind", "What kind of source a number comes from.", lambda: SOURCE_KIND_MEANINGS)
DIFFERENCE: Final = Enumeration("Disagreement", "How facts about one number disagree.", lambda: CONFLICT_KIND_MEANINGS)
COMPUTE_TYPE: Final = Enumeration("ComputeType", "A type of operation, by its number format.", _compute_type_meanings)
SWEEP_STATE: Final = Enumeration("SweepState", "State of a sweep.", lambda: SWEEP_STATE_MEANINGS)
TOKEN_SCOPE: Final = Enumeration("TokenScope", "What a bearer token allows.", lambda: TOKEN_SCOPE_MEANINGS)
TOKEN_ACTION: Final = Enumeration("TokenAction", "What happened to a token.", lambda: TOKEN_ACTION_MEANINGS)

EVENT_SOURCE: Final = Enumeration("EventSource", "Where a change of state came from.", lambda: EVENT_SOURCE_MEANINGS)
ACTION: Final = Enumeration(
    "EventAction", "An action on a job, on a server's cordon or on a reservation.", lambda: ACTION_MEANINGS
)
PART_KIND: Final = Enumeration("PartKind", "A kind of part that has a state.", lambda: PART_KIND_MEANINGS)
ALLOCATION_ROLE: Final = Enumeration(
    "AllocationRole", "What a chip is allocated for.", lambda: ALLOCATION_ROLE_MEANINGS
)
RESERVATION_KIND: Final = Enumeration(
    "ReservationKind", "What chips are reserved for.", lambda: RESERVATION_KIND_MEANINGS
)
BINDING_HOW: Final = Enumeration(
    "BindingMethod", "The method that matched an instance to a slot.", lambda: BINDING_METHOD_MEANINGS
)
CONFIDENCE: Final = Enumeration("Confidence", "How certain a binding is.", lambda: CONFIDENCE_MEANINGS)
BINDING_ENDING: Final = Enumeration("BindingEnding", "Why a binding ended.", lambda: BINDING_END_MEANINGS)
MEASURED_OPERATION: Final = Enumeration(
    "MeasuredOperation", "What a measurement timed.", lambda: MEASURED_OPERATION_MEANINGS
)
SEVERITY: Final = Enumeration(
    "Severity", "How bad a finding is, from the least to the worst.", lambda: SEVERITY_MEANINGS
)
RULE: Final = Enumeration(
    "DriftRule",
    "A rule that compares observations with the design.",
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
"""The enumeration of the values of a grouping, by its name in GROUP_BY; other groupings have text values."""
