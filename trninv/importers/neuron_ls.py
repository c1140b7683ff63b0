"""``neuron-ls --json-output``: the chips of one instance; many files, or one a line.

A line may also be ``{"host": …, "neuron_ls": […], "sysfs": {…}}``, as ``trninv collect`` prints it. What it says of
neighbours is the driver's static table: a cut cable does not show. Processes are left out: command lines hold secrets.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import orjson

from trninv.catalog.instance_types import chips_at
from trninv.importers import neuron_sysfs
from trninv.importers.observed import Chip, Seen, Server
from trninv.importers.reading import Source
from trninv.importers.value import Faults, Value

MAX_CHIPS = 128
_READ = ("neuron_device", "bdf", "memory_size", "nc_count", "logical_neuroncore_config", "numa_node", "connected_to")
"""All that is read of a device as a chip."""
_MOST_BYTES = 512


def read(source: Source) -> Iterator[Seen]:
    """The servers of a file."""
    for value in source.values():
        if isinstance(value.of, dict):
            yield from _collected(value)
        elif (server := server_of(value)) is not None:
            yield server


def _collected(value: Value) -> Iterator[Seen]:
    """What ``trninv collect`` printed of a machine."""
    host = value.get("host").as_name()
    server = server_of(value.get("neuron_ls"), host)
    if server is None:
        return
    files = value.get("sysfs")
    if files.of and files.is_a(dict, "an object"):
        server = _with(server, neuron_sysfs.server_of(files, host))
    yield server


def _with(server: Server, driver: Server) -> Server:
    """A server as neuron-ls shows it, with what its driver's files add."""
    files = {chip.ordinal: chip for chip in driver.chips}
    return replace(
        server,
        ultraserver=driver.ultraserver,
        position=driver.position,
        ultraserver_mode=driver.ultraserver_mode,
        chips=tuple(
            chip._replace(serial=files[chip.ordinal].serial, ecc_uncorrected=files[chip.ordinal].ecc_uncorrected)
            if chip.ordinal in files
            else chip
            for chip in server.chips
        ),
    )


def server_of(listed: Value, host: str | None = None) -> Server | None:
    """One instance, as its list of devices shows it; None, and a fault, where it is no such list."""
    if not listed.is_a(list, "neuron-ls's list of devices"):
        return None
    devices = list(listed.objects())
    if not devices:
        listed.fault("lists no device")
        return None
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
    )


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
