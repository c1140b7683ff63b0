"""``neuron-ls --json-output``, or ``--output-format json``: the chips of one instance; many files, or one a line.

From Neuron 2.34 on it is an object with the list of devices under one of its keys, which may name the instance. A line
may also be ``{"host": …, "neuron_ls": […], "sysfs": {…}}``, as ``trninv collect`` prints it. What it says of
neighbours is the driver's static table: a cut cable does not show. Processes are left out: command lines hold secrets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import orjson

from trninv.catalog.instance_types import chips_at
from trninv.importers import neuron_sysfs
from trninv.importers.observed import Chip, Seen, Server, unknown_keys
from trninv.importers.reading import Source
from trninv.importers.value import Faults, Value, shown

MAX_CHIPS = 128
_READ = ("neuron_device", "bdf", "memory_size", "nc_count", "logical_neuroncore_config", "numa_node", "connected_to")
"""All that is read of a device as a chip."""
OF_MACHINE = frozenset({"instance_id", "instance_type", "logical_neuroncore_config"})
"""Keys of a device that may be the machine's, beside its list of devices."""
OF_DEVICE = OF_MACHINE | {*_READ, "cpu_affinity", "neuroncore_ids"}
PROCESSES = "neuron_processes"
_OF_COLLECT = frozenset({"host", "neuron_ls", "sysfs"})
_PRINTED = {
    "instance": "instance_id",
    "instance_type": "instance_type",
    "bdf": "bdf",
    "memory_bytes": "memory_size",
    "cores": "nc_count",
    "neighbours": "connected_to",
}
EXPECTED = neuron_sysfs.EXPECTED | _PRINTED
"""Those of sysfs of what ``trninv collect`` prints alone."""
_MOST_BYTES = 512


def read(source: Source) -> Iterator[Seen]:
    """The servers of a file."""
    for value in source.values():
        is_collected = isinstance(value.of, dict) and "neuron_ls" in value.of
        server = _collected(value) if is_collected else server_of(value)
        if server is not None:
            yield server


def _collected(value: Value) -> Server | None:
    """What ``trninv collect`` printed of a machine."""
    host = value.get("host").as_name()
    server = server_of(value.get("neuron_ls"), host)
    if server is None:
        return None
    server = replace(server, unknown_keys=unknown_keys([*server.unknown_keys, *(value.of.keys() - _OF_COLLECT)]))
    files = value.get("sysfs")
    if files.of and files.is_a(dict, "an object"):
        return _with(server, neuron_sysfs.server_of(files, host))
    return server


def _with(server: Server, driver: Server) -> Server:
    """A server as neuron-ls shows it, with what its driver's files add."""
    files = {chip.ordinal: chip for chip in driver.chips}
    return replace(
        server,
        ultraserver=driver.ultraserver,
        position=driver.position,
        ultraserver_mode=driver.ultraserver_mode,
        expected=(*_PRINTED, *neuron_sysfs.expected_of(server.instance_type)),
        chips=tuple(
            chip._replace(serial=files[chip.ordinal].serial, ecc_uncorrected=files[chip.ordinal].ecc_uncorrected)
            if chip.ordinal in files
            else chip
            for chip in server.chips
        ),
    )


def server_of(printed: Value, host: str | None = None) -> Server | None:
    """One instance, as its list of devices shows it; None, and a fault, where there is no such list."""
    listed = _list_of_devices(printed)
    if listed is None or not listed.is_a(list, "neuron-ls's list of devices"):
        return None
    devices = list(listed.objects())
    if not devices:
        listed.fault("lists no device")
        return None
    unknown = set[str]().union(*(device.of.keys() for device in devices)) - OF_DEVICE - {PROCESSES}
    if listed is not printed:
        unknown |= printed.of.keys() - OF_MACHINE - set(device_lists(printed.of))
        devices = _with_machine(printed, devices)
    chips = [chip for device in devices if (chip := _known(device) or _chip(device))]
    instance, kind = (_common(devices, name) for name in ("instance_id", "instance_type"))
    if len({chip.ordinal for chip in chips}) < len(chips) or len(chips) > MAX_CHIPS:
        listed.fault(f"lists a device twice, or more than {MAX_CHIPS}")
        return None
    placed = [_on_host(chip, kind) for chip in chips]
    return Server(
        where=listed.where,
        instance=instance,
        host=host,
        instance_type=kind,
        logical_cores=devices[0].get("logical_neuroncore_config").as_integer(8),
        is_partial=placed != chips or _may_be_some(chips),
        chips=tuple(sorted(placed, key=lambda chip: chip.ordinal)),
        expected=_PRINTED,
        unknown_keys=unknown_keys(unknown),
    )


def device_lists(printed: Mapping[str, Any]) -> list[str]:
    """Return the keys of an object that have a list of objects: of those with device numbers, if any has."""
    lists = {
        name: value
        for name, value in printed.items()
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
    }
    numbered = [name for name, value in lists.items() if any("neuron_device" in item for item in value)]
    return numbered or list(lists)


def _list_of_devices(printed: Value) -> Value | None:
    """What has the devices: the value itself or, of an object, one of its keys, whatever that is called."""
    if not isinstance(printed.of, dict):
        return printed
    names = device_lists(printed.of)
    if len(names) == 1:
        return printed.get(names[0])
    two = " and ".join(map(shown, names[:2]))
    printed.fault(f"lists devices under {two}: one list can be read" if names else "has no list of devices")
    return None


def _with_machine(printed: Value, devices: list[Value]) -> list[Value]:
    """Devices with what stands beside their list; a fault where a device says otherwise."""
    common = {name: value for name, value in printed.of.items() if name in OF_MACHINE and value is not None}
    for device in devices:
        for name, value in common.items():
            if device.of.get(name) not in (None, value):
                device.get(name).fault(f"is {shown(device.of[name])}, but {shown(value)} beside the list of devices")
    return [device.with_(device.of | common) for device in devices]


def _known(device: Value) -> Chip | None:
    """The chip of a device that says the same as one before, as those of most servers do."""
    try:
        says = orjson.dumps([device.of.get(name) for name in _READ])
    except orjson.JSONEncodeError:
        return None
    return _alike(says) if len(says) <= _MOST_BYTES else None


@lru_cache(maxsize=4_096)
def _alike(says: bytes) -> Chip | None:
    faults = Faults()
    chip = _chip(Value(dict(zip(_READ, orjson.loads(says), strict=True)), faults, ""))
    return None if faults.count else chip


def _chip(device: Value) -> Chip | None:
    ordinal = device.get("neuron_device").as_integer(MAX_CHIPS - 1)
    if ordinal is None:
        device.fault("has no neuron_device")
        return None
    cores = device.get("nc_count").as_integer(1_024)
    neighbours = device.get("connected_to").integers(MAX_CHIPS - 1)
    return Chip(
        ordinal,
        bdf=device.get("bdf").as_bdf(),
        memory_bytes=device.get("memory_size").as_integer(),
        cores=None if cores is None else cores * (device.get("logical_neuroncore_config").as_integer(8) or 1),
        numa_node=device.get("numa_node").as_digits(MAX_CHIPS),
        neighbours=None if neighbours is None else tuple(sorted(set(neighbours))),
    )


def _common(devices: list[Value], name: str) -> str | None:
    first = devices[0].get(name)
    if all(device.of.get(name) == first.of for device in devices):
        return first.as_name()
    found = {value for device in devices if (value := device.get(name).as_name())}
    if len(found) > 1:
        first.fault(f"is not that of the other devices: {' and '.join(sorted(found)[:2])}")
    return min(found, default=None)


def _may_be_some(chips: list[Chip]) -> bool:
    """Whether these may be the first chips of more: the driver's table names others, and none between is missing."""
    seen = {chip.ordinal for chip in chips}
    named = {other for chip in chips for other in chip.neighbours or ()}
    return bool(named - seen) and seen == set(range(len(seen)))


def _on_host(chip: Chip, kind: str | None) -> Chip:
    """The chip with the number that it has on the machine; a container counts its own from 0."""
    ordinal = chips_at(kind or "").get(chip.bdf or "")
    return chip if ordinal in (None, chip.ordinal) else chip._replace(ordinal=ordinal)
