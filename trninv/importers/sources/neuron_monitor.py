"""Read ``neuron-monitor``: the server and the error counters of its chips.

The tool runs until it is stopped and prints one JSON object per period, so only the last complete line is read. A file
that is a single object over many lines, as formatters write it, is read too.
"""

from collections.abc import Iterator

from trninv.importers.input_file import InputFile
from trninv.importers.json_value import JsonValue
from trninv.importers.records import ObservedChip, ObservedRecord, ObservedServer
from trninv.importers.source_declaration import SourceDeclaration

_GROUPS = ("instance_info", "neuron_hardware_info", "system_data")
"""The groups of values that are read; at least one must be present."""
_INSTANCE_FIELDS = {
    "instance": "instance_info.instance_id",
    "instance_type": "instance_info.instance_type",
    "zone": "instance_info.instance_availability_zone_id",
}
EXPECTED = _INSTANCE_FIELDS | {
    "chip_count": "neuron_hardware_info.neuron_device_count",
    "ecc_uncorrected": "system_data.neuron_hw_counters",
}
_UNCORRECTED = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")
"""The counters of a device whose sum is its number of uncorrected errors."""


def read(source: InputFile) -> Iterator[ObservedRecord]:
    """Yield the server in a file.

    A group with an error has no data. An error in the hardware group comes from the driver: the machine is down.
    """
    value = source.last_value()
    if value is None:
        return
    if not (isinstance(value.raw, dict) and value.raw.keys() & set(_GROUPS)):
        value.add_error(f"has none of {', '.join(_GROUPS)}")
        return
    info, system = value.get("instance_info"), value.get("system_data")
    hardware, failure = _read_group(value, "neuron_hardware_info")
    counters, _ = _read_group(system, "neuron_hw_counters")
    logical_cores = hardware.get("logical_neuroncore_config").as_integer(8)
    cores = hardware.get("neuroncore_per_device_count").as_integer(1_024)
    memory = hardware.get("neuron_device_memory_size").as_integer()
    yield ObservedServer(
        where=value.where,
        instance=info.get("instance_id").as_name(),
        instance_type=info.get("instance_type").as_name(),
        zone=info.get("instance_availability_zone_id").as_name(),
        state="down" if failure else "up",
        reason=failure,
        logical_cores=logical_cores,
        chip_count=hardware.get("neuron_device_count").as_integer(128),
        is_partial=True,  # neuron-monitor counts all chips, but lists only those with counters
        chips=tuple(
            ObservedChip(
                ordinal, memory_bytes=memory, cores=cores and cores * (logical_cores or 1), ecc_uncorrected=errors
            )
            for ordinal, errors in sorted(dict(_read_error_counts(counters)).items())
        ),
        expected=_INSTANCE_FIELDS if failure else EXPECTED,
    )


def _read_group(parent: JsonValue, name: str) -> tuple[JsonValue, str | None]:
    """Return a group and None, or, if the group has an error, an empty group and the error with the group's name."""
    group = parent.get(name)
    error = group.get("error").as_text()
    return (group.with_raw({}), f"{name}: {error}") if error else (group, None)


def _read_error_counts(counters: JsonValue) -> Iterator[tuple[int, int]]:
    """Yield the ordinal and the number of uncorrected errors of each chip that has counters."""
    for device in counters.get("neuron_devices").objects():
        ordinal = device.get("neuron_device_index").as_integer(127)
        counts = [device.get(name).as_integer() for name in _UNCORRECTED]
        if ordinal is not None and any(count is not None for count in counts):
            yield ordinal, sum(count or 0 for count in counts)


SOURCE = SourceDeclaration(
    name="neuron-monitor",
    commands="`neuron-monitor` (trninv reads the last complete line)",
    content="the number of chips and their ECC errors",
    read=read,
    expected=EXPECTED,
    failure_states=frozenset({"down"}),
)
