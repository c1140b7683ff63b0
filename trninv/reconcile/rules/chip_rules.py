"""Declare the drift rules that compare one observed chip with the model of its slot; `chip_drift` applies them.

Each rule returns the expected and the observed text, or None if there is no difference or nothing to compare.
"""

from trninv.reconcile.occupied_slots import SlotModel
from trninv.reconcile.rules.registry import CHIP_RULES, ComparedChip
from trninv.units import Capacity


@CHIP_RULES("memory-wrong")
def check_memory_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips whose memory differs from the model's, even if only by a byte."""
    if chip.memory_bytes in (None, model.memory_bytes):
        return None
    return f"{Capacity(model.memory_bytes)} of memory", str(Capacity(chip.memory_bytes))


@CHIP_RULES("cores-wrong")
def check_cores_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips whose number of physical cores differs from the model's."""
    if chip.cores in (None, model.cores):
        return None
    return f"{model.cores} cores", str(chip.cores)


@CHIP_RULES("neighbour-wrong")
def check_neighbour_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips whose neighbours differ from the design's; both are listed in ascending order."""
    expected = model.neighbours[chip.ordinal] if model.neighbours else None
    if expected is None or chip.neighbours in (None, expected) or not _has_host_ordinal(chip, model):
        return None
    return f"linked to {expected}", chip.neighbours


@CHIP_RULES("numa-wrong")
def check_numa_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips whose NUMA node differs from the one that is documented for their instance type."""
    table = model.numa_nodes if model.has_type(chip.type) else ()
    if chip.numa_node is None or chip.ordinal >= len(table) or not _has_host_ordinal(chip, model):
        return None
    expected = table[chip.ordinal]
    return None if chip.numa_node == expected else (f"NUMA node {expected}", str(chip.numa_node))


@CHIP_RULES("efa-map-wrong")
def check_efa_map_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips whose EFA device differs from the one in Neuron's map for their instance type."""
    table = model.efa_addresses if model.has_type(chip.type) else ()
    if chip.efa_bdf is None or chip.ordinal >= len(table):
        return None
    expected = table[chip.ordinal]
    return None if chip.efa_bdf == expected else (f"EFA device {expected}", chip.efa_bdf)


def _has_host_ordinal(chip: ComparedChip, model: SlotModel) -> bool:
    """Return whether a chip's number is the one that the host uses.

    Containers renumber their chips, but importers restore the host's number of a chip whose PCI address is documented.
    """
    return not chip.is_partial or (model.has_type(chip.type) and chip.bdf in model.chip_addresses)
