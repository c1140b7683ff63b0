"""Read the Neuron driver's sysfs: serial numbers, neighbors, ECC counters and the position in an UltraServer.

The input has lines ``PATH:VALUE``, as ``grep -r . /sys/class/neuron_device /sys/devices/virtual/neuron_device`` prints
them, or ``PATH=VALUE``. A first line ``# host: NAME`` names the host; without it, --trust-host-names is needed.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from trninv.importers.input_file import InputFile
from trninv.importers.json_value import JsonValue
from trninv.importers.records import ObservedChip, ObservedRecord, ObservedServer
from trninv.importers.source_declaration import SourceDeclaration

CLASS_DIRECTORY = "/sys/class/neuron_device/"
DEVICES_DIRECTORY = "/sys/devices/virtual/neuron_device/"
_LINE = re.compile(r"(/sys/[\w./-]+?)[:=](.*)")
_DEVICE = re.compile(DEVICES_DIRECTORY + r"neuron(\d{1,3})/")
_ECC = ("mem_ecc_uncorrected", "sram_ecc_uncorrected", "mem_ecc_repairable_uncorrected")
EXPECTED = {
    "serial": "info/serial_number",
    "cores": "core_count",
    "neighbours": "connected_devices",
    "ecc_uncorrected": "stats/hardware/*_ecc_uncorrected",
    "ultraserver": "server_id_4, server_id_2 or reservation_id",
}
"""Fields of a server and its chips that this source should report, with their names in the source."""
_ULTRASERVER_TYPE_PREFIX = "trn2u."
"""Instance types with this prefix exist only in UltraServers."""
_MAX_CHIPS, _MAX_SERVERS, _MAX_CORES, _MAX_ERRORS = 128, 64, 1_024, 10**18


def read(source: InputFile) -> Iterator[ObservedRecord]:
    """Yield the server in a file."""
    host, files = None, dict[str, str]()
    for number, line in source.text_lines():
        if number == 1 and line.startswith("# host:"):
            host = source.wrap(line.partition(":")[2].strip(), number).as_name()
        elif match := _LINE.fullmatch(line):
            files[match[1]] = match[2].strip()
        else:
            source.add_error("is not PATH:VALUE", number)
    if files:
        yield server_from_sysfs(source.wrap(files), host)
    else:
        source.add_error("has no line of the Neuron driver")


def expected_fields(instance_type: str | None) -> tuple[str, ...]:
    """Return the fields that the driver should report on an instance of this type."""
    is_in_ultraserver = (instance_type or "").startswith(_ULTRASERVER_TYPE_PREFIX)
    return tuple(name for name in EXPECTED if name != "ultraserver" or is_in_ultraserver)


def server_from_sysfs(files: JsonValue, host: str | None, instance: str | None = None) -> ObservedServer:
    """Return the server that a driver's files describe; ``files`` has their values by path."""
    numbers = sorted({int(match[1]) for path in files.raw if (match := _DEVICE.match(path))})
    chips = [_parse_chip(files, number) for number in numbers]
    type_paths = (_chip_paths(number).instance_type for number in numbers)
    names = (files.get(path).as_name() for path in type_paths if path in files.raw)
    # drivers usually name only the family, such as Trn1
    instance_type = next((name for name in names if name and "." in name), None)
    ultraserver, position = _ultraserver_position(files)
    return ObservedServer(
        where=files.where,
        instance=instance,
        host=host,
        instance_type=instance_type,
        ultraserver=ultraserver,
        position=position,
        ultraserver_mode=files.get(f"{CLASS_DIRECTORY}ultraserver_mode").as_name(),
        is_partial=True,  # there may be more devices, whose files could not be read
        chips=tuple(chips),
        expected=expected_fields(instance_type),
    )


def _ultraserver_position(files: JsonValue) -> tuple[str | None, int | None]:
    """Return the UltraServer and the position in its ring; the larger UltraServer if the driver names two sizes.

    An id of zeros means that the machine is in no UltraServer of that size.
    """
    for server, node in (("server_id_4", "node_id_4"), ("server_id_2", "node_id_2"), ("reservation_id", "node_id")):
        ultraserver = files.get(CLASS_DIRECTORY + server).as_name()
        if ultraserver and ultraserver.strip("0"):
            return ultraserver, files.get(CLASS_DIRECTORY + node).as_digits(_MAX_SERVERS)
    return None, None


class _ChipPaths(NamedTuple):
    """The paths of a chip's files."""

    serial: str
    cores: str
    connected_devices: str
    instance_type: str
    counters: tuple[str, ...]


@lru_cache(maxsize=_MAX_CHIPS)
def _chip_paths(ordinal: int) -> _ChipPaths:
    directory = f"{DEVICES_DIRECTORY}neuron{ordinal}/"
    return _ChipPaths(
        f"{directory}info/serial_number",
        f"{directory}core_count",
        f"{directory}connected_devices",
        f"{directory}info/architecture/instance_type",
        # each counter is a file, or a directory with a file named total
        tuple(f"{directory}stats/hardware/{name}{end}" for name in _ECC for end in ("", "/total")),
    )


def _parse_chip(files: JsonValue, ordinal: int) -> ObservedChip:
    paths = _chip_paths(ordinal)
    counters = (files.get(path).as_digits(_MAX_ERRORS) for path in paths.counters if path in files.raw)
    errors = [count for count in counters if count is not None]
    return ObservedChip(
        ordinal,
        serial=files.get(paths.serial).as_name(),
        cores=files.get(paths.cores).as_digits(_MAX_CORES),
        neighbours=_parse_neighbours(files.get(paths.connected_devices)),
        ecc_uncorrected=sum(errors) if errors else None,
    )


def _parse_neighbours(connected_devices: JsonValue) -> tuple[int, ...] | None:
    if connected_devices.raw is None:
        return None
    items = (connected_devices.as_text() or "").split(",")
    numbers = (connected_devices.with_raw(item.strip()).as_digits(_MAX_CHIPS - 1) for item in items)
    return tuple(sorted({number for number in numbers if number is not None}))


SOURCE = SourceDeclaration(
    name="neuron-sysfs",
    commands="`grep -r . /sys/class/neuron_device /sys/devices/virtual/neuron_device`",
    content="serial numbers, ECC errors, its position in an UltraServer",
    read=read,
    expected=EXPECTED,
)
