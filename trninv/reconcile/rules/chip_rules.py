"""Declare the drift rules that apply to one chip."""

from trninv.reconcile.occupied_slots import SlotModel
from trninv.reconcile.rules.registry import CHIP_RULES, ComparedChip
from trninv.units import Capacity


@CHIP_RULES("memory-wrong", "device memory (neuron-ls, neuron-monitor) with the memory of the chip model")
def check_memory_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips with other memory than the model, exact to the byte."""
    if chip.memory_bytes in (None, model.memory_bytes):
        return None
    return f"{Capacity(model.memory_bytes)} of memory", str(Capacity(chip.memory_bytes))


@CHIP_RULES(
    "cores-wrong", "logical cores times their configuration, or core_count of sysfs, with the cores of the chip model"
)
def check_cores_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips with another number of physical cores than the model."""
    if chip.cores in (None, model.cores):
        return None
    return f"{model.cores} cores", str(chip.cores)


@CHIP_RULES(
    "neighbour-wrong", "connected_to of neuron-ls, the driver's table, with the design's links; not for switched chips"
)
def check_neighbour_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips with other neighbours than the design; tools list neighbours in different orders."""
    expected = model.neighbours[chip.ordinal] if model.neighbours else None
    if expected is None or chip.neighbours in (None, expected) or not _has_host_ordinal(chip, model):
        return None
    return f"linked to {expected}", chip.neighbours


@CHIP_RULES("numa-wrong", "NUMA node of a device (neuron-ls) with the documentation of its type")
def check_numa_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips at another NUMA node than documented for their type."""
    table = model.numa_nodes if model.has_type(chip.type) else ()
    if chip.numa_node is None or chip.ordinal >= len(table) or not _has_host_ordinal(chip, model):
        return None
    expected = table[chip.ordinal]
    return None if chip.numa_node == expected else (f"NUMA node {expected}", str(chip.numa_node))


@CHIP_RULES("efa-map-wrong", "EFA device of a chip (ResourceSlices) with the map of its type")
def check_efa_map_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Find chips with another EFA device than in Neuron's map of their type."""
    table = model.efa_addresses if model.has_type(chip.type) else ()
    if chip.efa_bdf is None or chip.ordinal >= len(table):
        return None
    expected = table[chip.ordinal]
    return None if chip.efa_bdf == expected else (f"EFA device {expected}", chip.efa_bdf)


def _has_host_ordinal(chip: ComparedChip, model: SlotModel) -> bool:
    """Return whether its number is the machine's: containers number their own chips unless PCI addresses are known."""
    return not chip.is_partial or (model.has_type(chip.type) and chip.bdf in model.chip_addresses)
