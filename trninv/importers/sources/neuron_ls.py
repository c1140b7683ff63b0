"""Read ``neuron-ls --json-output`` or ``--output-format json``: the chips of one instance per file or line.

Since Neuron 2.34, the output is an object with the list of devices under one of its keys, and possibly the instance. A
line may also be ``{"host": …, "neuron_ls": […], "sysfs": {…}}``, as ``trninv collect`` prints it. Neighbors come from
the driver's static table, so they do not show a cut cable. Processes are skipped, since command lines may hold secrets.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import orjson

from trninv.catalog.instance_types import chips_by_address
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import ImportErrors, JsonValue, quote_value
from trninv.importers.records import ObservedChip, ObservedRecord, ObservedServer, shorten_keys
from trninv.importers.source_declaration import SourceDeclaration
from trninv.importers.sources import neuron_sysfs

MAX_CHIPS = 128
_CHIP_KEYS = (
    "neuron_device",
    "bdf",
    "memory_size",
    "nc_count",
    "logical_neuroncore_config",
    "numa_node",
    "connected_to",
)
"""The keys of a device that determine its chip."""
MACHINE_KEYS = frozenset({"instance_id", "instance_type", "logical_neuroncore_config"})
"""Keys of a device that may instead appear once, next to the list of devices."""
DEVICE_KEYS = MACHINE_KEYS | {*_CHIP_KEYS, "cpu_affinity", "neuroncore_ids"}
"""The keys of a device that are known and whose values are not secret."""
PROCESSES_KEY = "neuron_processes"
_COLLECTED_KEYS = frozenset({"host", "neuron_ls", "sysfs"})
_NEURON_LS_FIELDS = {
    "instance": "instance_id",
    "instance_type": "instance_type",
    "bdf": "bdf",
    "memory_bytes": "memory_size",
    "cores": "nc_count",
    "neighbours": "connected_to",
}
EXPECTED = neuron_sysfs.EXPECTED | _NEURON_LS_FIELDS
"""Expected fields with their names in the source; those of sysfs are expected only from ``trninv collect``."""
_MAX_CACHED_BYTES = 8_192
"""Longer lists are parsed each time, so that a file can't fill the cache; 16 devices take about 2,500 bytes."""


def read(source: InputFile) -> Iterator[ObservedRecord]:
    """Yield the servers in a file."""
    for value in source.values():
        is_collected = isinstance(value.raw, dict) and "neuron_ls" in value.raw
        server = _read_collected(value) if is_collected else server_from_listing(value)
        if server is not None:
            yield server


def _read_collected(value: JsonValue) -> ObservedServer | None:
    """Return the server in the output of ``trninv collect``."""
    host = value.get("host").as_name()
    server = server_from_listing(value.get("neuron_ls"), host)
    if server is None:
        return None
    server = replace(server, unknown_keys=shorten_keys([*server.unknown_keys, *(value.raw.keys() - _COLLECTED_KEYS)]))
    files = value.get("sysfs")
    if files.raw and files.is_a(dict, "an object"):
        return _merge_driver_files(server, neuron_sysfs.server_from_sysfs(files, host))
    return server


def _merge_driver_files(server: ObservedServer, driver: ObservedServer) -> ObservedServer:
    """Add the UltraServer, serial numbers and ECC counts in the driver's files to the server that neuron-ls lists."""
    driver_chips = {chip.ordinal: chip for chip in driver.chips}
    return replace(
        server,
        ultraserver=driver.ultraserver,
        position=driver.position,
        ultraserver_mode=driver.ultraserver_mode,
        expected=(*_NEURON_LS_FIELDS, *neuron_sysfs.expected_fields(server.instance_type)),
        chips=tuple(
            chip._replace(
                serial=driver_chips[chip.ordinal].serial, ecc_uncorrected=driver_chips[chip.ordinal].ecc_uncorrected
            )
            if chip.ordinal in driver_chips
            else chip
            for chip in server.chips
        ),
    )


def server_from_listing(output: JsonValue, host: str | None = None) -> ObservedServer | None:
    """Return the server that neuron-ls's output describes; note an error and return None if it has no valid list."""
    device_list = _find_device_list(output)
    if device_list is None or not device_list.is_a(list, "neuron-ls's list of devices"):
        return None
    devices = list(device_list.objects())
    if not devices:
        device_list.add_error("lists no devices")
        return None
    unknown = set[str]().union(*(device.raw.keys() for device in devices)) - DEVICE_KEYS - {PROCESSES_KEY}
    if device_list is not output:
        unknown |= output.raw.keys() - MACHINE_KEYS - set(device_list_keys(output.raw))
        devices = _merge_machine_keys(output, devices)
    chips = _cached_chips(devices) or [chip for device in devices if (chip := _parse_chip(device))]
    instance, instance_type = (_common_name(devices, name) for name in ("instance_id", "instance_type"))
    if len({chip.ordinal for chip in chips}) < len(chips) or len(chips) > MAX_CHIPS:
        device_list.add_error(f"lists a device twice, or more than {MAX_CHIPS}")
        return None
    host_chips = [_with_host_ordinal(chip, instance_type) for chip in chips]
    [(ordinal, count)] = Counter(chip.ordinal for chip in host_chips).most_common(1) or [(0, 0)]
    if count > 1:
        device_list.add_error(f"lists two devices that are chip {ordinal} of the host by their PCI addresses")
        return None
    return ObservedServer(
        where=device_list.where,
        instance=instance,
        host=host,
        instance_type=instance_type,
        logical_cores=devices[0].get("logical_neuroncore_config").as_integer(8),
        is_partial=host_chips != chips or _may_be_partial(chips),  # in a container, chips are numbered differently
        chips=tuple(sorted(host_chips, key=lambda chip: chip.ordinal)),
        expected=_NEURON_LS_FIELDS,
        unknown_keys=shorten_keys(unknown),
    )


def device_list_keys(output: Mapping[str, Any]) -> list[str]:
    """Return the keys whose value is a list of objects; if any lists have device numbers, only those."""
    lists = {
        name: value
        for name, value in output.items()
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
    }
    numbered = [name for name, value in lists.items() if any("neuron_device" in item for item in value)]
    return numbered or list(lists)


def _find_device_list(output: JsonValue) -> JsonValue | None:
    """Return the list of devices: the value itself or, in an object, the only list under any key."""
    if not isinstance(output.raw, dict):
        return output
    names = device_list_keys(output.raw)
    if len(names) == 1:
        return output.get(names[0])
    key_names = " and ".join(map(quote_value, names[:2]))
    output.add_error(
        f"lists devices under {key_names}; only one list is supported" if names else "has no list of devices"
    )
    return None


def _merge_machine_keys(output: JsonValue, devices: list[JsonValue]) -> list[JsonValue]:
    """Add the machine's keys, which stand next to the list of devices, to each device; note an error if they differ."""
    common = {name: value for name, value in output.raw.items() if name in MACHINE_KEYS and value is not None}
    for device in devices:
        for name, value in common.items():
            if device.raw.get(name) not in (None, value):
                device.get(name).add_error(
                    f"is {quote_value(device.raw[name])}, but {quote_value(value)} outside the list of devices"
                )
    return [device.with_raw(device.raw | common) for device in devices]


def _cached_chips(devices: list[JsonValue]) -> list[ObservedChip] | None:
    """Return the chips of a list of devices, cached by its content, because most servers list the same devices.

    Return None if a device is invalid or the list is too long for the cache; the caller then parses it again, so that
    errors have their positions.
    """
    try:
        encoded = orjson.dumps([[device.raw.get(name) for name in _CHIP_KEYS] for device in devices])
    except orjson.JSONEncodeError:
        return None
    chips = _parse_encoded_chips(encoded) if len(encoded) <= _MAX_CACHED_BYTES else None
    return None if chips is None else list(chips)


@lru_cache(maxsize=128)
def _parse_encoded_chips(encoded: bytes) -> tuple[ObservedChip, ...] | None:
    errors = ImportErrors()
    devices = (JsonValue(dict(zip(_CHIP_KEYS, values, strict=True)), errors, "") for values in orjson.loads(encoded))
    chips = tuple(chip for device in devices if (chip := _parse_chip(device)))
    return None if errors.count else chips


def _parse_chip(device: JsonValue) -> ObservedChip | None:
    ordinal = device.get("neuron_device").as_integer(MAX_CHIPS - 1)
    if ordinal is None:
        device.add_error("has no neuron_device")
        return None
    cores = device.get("nc_count").as_integer(1_024)
    neighbours = device.get("connected_to").integers(MAX_CHIPS - 1)
    return ObservedChip(
        ordinal,
        bdf=device.get("bdf").as_bdf(),
        memory_bytes=device.get("memory_size").as_integer(),
        cores=None if cores is None else cores * (device.get("logical_neuroncore_config").as_integer(8) or 1),
        numa_node=device.get("numa_node").as_digits(MAX_CHIPS),
        neighbours=None if neighbours is None else tuple(sorted(set(neighbours))),
    )


def _common_name(devices: list[JsonValue], name: str) -> str | None:
    """Return the name that all devices have under a key; note an error if they differ."""
    first = devices[0].get(name)
    if all(device.raw.get(name) == first.raw for device in devices):
        return first.as_name()
    values = {value for device in devices if (value := device.get(name).as_name())}
    if len(values) > 1:
        first.add_error(f"differs between devices: {' and '.join(sorted(values)[:2])}")
    return min(values, default=None)


def _may_be_partial(chips: list[ObservedChip]) -> bool:
    """Return whether the machine may have more chips: those listed are numbered from 0, but are linked to others."""
    ordinals = {chip.ordinal for chip in chips}
    neighbours = {other for chip in chips for other in chip.neighbours or ()}
    return bool(neighbours - ordinals) and ordinals == set(range(len(ordinals)))


def _with_host_ordinal(chip: ObservedChip, instance_type: str | None) -> ObservedChip:
    """Return the chip with the number that its PCI address has on the host; a container numbers its chips from 0."""
    ordinal = chips_by_address(instance_type or "").get(chip.bdf or "")
    return chip if ordinal in (None, chip.ordinal) else chip._replace(ordinal=ordinal)


SOURCE = SourceDeclaration(
    name="neuron-ls",
    commands="`neuron-ls -j`, `neuron-ls --output-format json`",
    content="its chips: memory, cores, PCI address, NUMA node, neighbors in the driver's table",
    read=read,
    expected=EXPECTED,
    lists_every_chip=True,
)
