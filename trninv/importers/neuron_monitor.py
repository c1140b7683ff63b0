"""``neuron-monitor``: one JSON object a period; the last whole line is read, since the stream never ends."""

from collections.abc import Iterator

from trninv.importers.observed import Chip, Seen, Server
from trninv.importers.reading import Source
from trninv.importers.value import Value

EXPECTED = {
    "instance": "instance_info.instance_id",
    "instance_type": "instance_info.instance_type",
    "zone": "instance_info.instance_availability_zone_id",
    "chip_count": "neuron_hardware_info.neuron_device_count",
    "ecc_uncorrected": "system_data.neuron_hw_counters",
}
_UNCORRECTED = ("mem_ecc_uncorrected", "sram_ecc_uncorrected")


def read(source: Source) -> Iterator[Seen]:
    """The server of a file."""
    value = source.last_line()
    if value is None:
        return
    info, hardware = value.get("instance_info"), value.get("neuron_hardware_info")
    counters = value.get("system_data").get("neuron_hw_counters")
    for group in (info, hardware):
        if error := group.get("error").as_text():
            group.fault(f"says {error!r}, so it has no data")
            return
    lnc = hardware.get("logical_neuroncore_config").as_integer(8)
    cores, memory = (
        hardware.get("neuroncore_per_device_count").as_integer(1_024),
        hardware.get("neuron_device_memory_size").as_integer(),
    )
    errors = {} if counters.get("error").as_text() else dict(_errors(counters))
    count = hardware.get("neuron_device_count").as_integer(128)
    yield Server(
        where=value.where,
        instance=info.get("instance_id").as_name(),
        instance_type=info.get("instance_type").as_name(),
        zone=info.get("instance_availability_zone_id").as_name(),
        logical_cores=lnc,
        chip_count=count,
        is_partial=True,  # it counts chips, and names those alone that have counters
        chips=tuple(
            Chip(ordinal, memory_bytes=memory, cores=cores and cores * (lnc or 1), ecc_uncorrected=number)
            for ordinal, number in sorted(errors.items())
        ),
        expected=EXPECTED,
    )


def _errors(counters: Value) -> Iterator[tuple[int, int]]:
    for device in counters.get("neuron_devices").objects():
        ordinal = device.get("neuron_device_index").as_integer(127)
        found = [device.get(name).as_integer() for name in _UNCORRECTED]
        if ordinal is not None and any(each is not None for each in found):
            yield ordinal, sum(each or 0 for each in found)
