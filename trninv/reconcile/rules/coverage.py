"""Find the chip fields that drift rules could not compare, as sources report neither them nor one type for their table.

The summary of ``trninv drift`` counts all of these; a field that a source should have reported is also a finding.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from trninv.reconcile.drift_input import DriftInput
from trninv.reconcile.latest_observations import MachineObservation
from trninv.reconcile.occupied_slots import OccupiedSlot
from trninv.reconcile.rules.registry import SERVER_RULES, FindingDraft, FindingDrafts

_RULE_BY_FIELD: Final[Mapping[str, str]] = {
    "memory_bytes": "memory-wrong",
    "cores": "cores-wrong",
    "neighbours": "neighbour-wrong",
    "ecc_uncorrected": "ecc-uncorrected",
}
"""The rule that compares each field of a chip; only fields that every type of chip has are counted."""
COMPARED_FIELDS: Final = tuple(_RULE_BY_FIELD)
_RULE_BY_TABLE: Final[Mapping[str, str]] = {"numa_nodes": "numa-wrong", "efa_addresses": "efa-map-wrong"}
"""The rule that compares with each documented table of an instance type, by its name in `SlotModel`."""


@SERVER_RULES("field-missing")
def check_field_missing(slot: OccupiedSlot, _: DriftInput) -> FindingDrafts:
    """Find fields that no source reports although a source should; the importer recorded them as missing."""
    missing, by_field = _unreported_fields(slot), defaultdict[str, list[MachineObservation]](list)
    for observation in slot.machine.observations if slot.machine else ():
        for name in missing & set((observation.missing_fields or "").split()):
            by_field[name].append(observation)
    for name, observations in sorted(by_field.items()):
        sources = " and ".join(sorted({item.source for item in observations}))
        evidence = tuple(sorted({item.observation for item in observations}))
        yield FindingDraft(slot.address, slot.instance, f"{name} by {sources}", "not reported", evidence)


def count_uncompared(drift_input: DriftInput) -> dict[str, int]:
    """Return the number of bound slots in which a rule could not compare, by rule."""
    counts = Counter[str]()
    for slot in drift_input.slots:
        if slot.bound_name is not None:
            counts.update(_RULE_BY_FIELD[name] for name in _unreported_fields(slot))
            if drift_input.agreed_value(slot.machine, "instance_type") is None:
                counts.update(rule for table, rule in _RULE_BY_TABLE.items() if getattr(slot.model, table))
    return dict(sorted(counts.items()))


def _unreported_fields(slot: OccupiedSlot) -> set[str]:
    """Return the fields that no source reports for all chips.

    Sources that list fewer chips than another source do not count, unless they list as many as the model has.

    Neighbours are not expected if the model has none, as with switched chips.
    """
    most_chips = max((view.chip_bits.bit_count() for view in slot.chip_views.values()), default=0)
    complete_views = (
        view for view in slot.chip_views.values() if view.chip_bits.bit_count() >= min(most_chips, slot.model.chips)
    )
    reported = set[str]().union(*(view.fields for view in complete_views))
    return {name for name in _RULE_BY_FIELD if name not in reported and (name != "neighbours" or slot.model.neighbours)}
