"""Declare the drift rules that apply to one chip."""

from trninv.reconcile.occupied_slots import SlotModel
from trninv.reconcile.rules.registry import CHIP_RULES, ComparedChip
from trninv.units import Capacity


@CHIP_RULES("memory-wrong", "memory of a device, by neuron-ls or neuron-monitor, with that of the chip's model")
def check_memory_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Exact to the byte."""
    if chip.memory_bytes in (None, model.memory_bytes):
        return None
    return f"{Capacity(model.memory_bytes)} of memory", str(Capacity(chip.memory_bytes))


@CHIP_RULES(
    "cores-wrong", "logical cores times their configuration, or core_count of sysfs, with the cores of the model"
)
def check_cores_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Physical cores."""
    if chip.cores in (None, model.cores):
        return None
    return f"{model.cores} cores", str(chip.cores)


@CHIP_RULES(
    "neighbour-wrong", "connected_to of neuron-ls, the driver's table, with the design's links; not of switched chips"
)
def check_neighbour_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """As sets: tools list them in different orders."""
    expected = model.neighbours[chip.ordinal] if model.neighbours else None
    if expected is None or chip.neighbours in (None, expected) or not _has_host_ordinal(chip, model):
        return None
    return f"joined with {expected}", chip.neighbours


@CHIP_RULES("numa-wrong", "NUMA node of a device, by neuron-ls, with that of its number in the type's documentation")
def check_numa_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Of types whose documentation says."""
    table = model.numa_nodes if model.has_type(chip.type) else ()
    if chip.numa_node is None or chip.ordinal >= len(table) or not _has_host_ordinal(chip, model):
        return None
    expected = table[chip.ordinal]
    return None if chip.numa_node == expected else (f"NUMA node {expected}", str(chip.numa_node))


@CHIP_RULES("efa-map-wrong", "EFA device beside a chip, by ResourceSlices, with the map of its type")
def check_efa_map_wrong(chip: ComparedChip, model: SlotModel) -> tuple[str, str] | None:
    """Of types that Neuron's map of EFA devices has."""
    table = model.efa_addresses if model.has_type(chip.type) else ()
    if chip.efa_bdf is None or chip.ordinal >= len(table):
        return None
    expected = table[chip.ordinal]
    return None if chip.efa_bdf == expected else (f"EFA device {expected}", chip.efa_bdf)


def _has_host_ordinal(chip: ComparedChip, model: SlotModel) -> bool:
    """Whether its number is the machine's: a container counts its own, unless PCI addresses tell."""
    return not chip.is_partial or (model.has_type(chip.type) and chip.bdf in model.chip_addresses)
