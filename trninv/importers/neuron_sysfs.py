"""sysfs of a server's Neuron driver: serial numbers, neighbours, ECC counters, and its place in an UltraServer.

Lines ``PATH:VALUE``, as ``grep -r . /sys/class/neuron_device /sys/devices/virtual/neuron_device`` prints them, or
``PATH=VALUE``; a first line ``# host: NAME`` names the host, else the file's name does.
"""

import re
from collections.abc import Iterator

from trninv.importers.observed import Chip, Seen, Server
from trninv.importers.reading import Source
from trninv.importers.value import Value

CLASS = "/sys/class/neuron_device/"
DEVICES = "/sys/devices/virtual/neuron_device/"
_LINE = re.compile(r"(/sys/[\w./-]+?)[:=](.*)")
_DEVICE = re.compile(DEVICES + r"neuron(\d{1,3})/")
_ECC = ("mem_ecc_uncorrected", "sram_ecc_uncorrected", "mem_ecc_repairable_uncorrected")
_MOST_CHIPS, _MOST_SERVERS, _MOST_CORES, _MOST_ERRORS = 128, 64, 1_024, 10**18


def read(source: Source) -> Iterator[Seen]:
    """The server of a file."""
    host, files = None, dict[str, str]()
    for number, line in source.texts():
        if number == 1 and line.startswith("# host:"):
            host = source.value(line.partition(":")[2].strip(), number).as_name()
        elif found := _LINE.fullmatch(line):
            files[found[1]] = found[2].strip()
        else:
            source.fault("is not PATH:VALUE", number)
    if files:
        yield server_of(source.value(files), host)
    else:
        source.fault("has no line of the Neuron driver")


def server_of(files: Value, host: str | None, instance: str | None = None) -> Server:
    """What a server's files, by their paths, say."""
    numbers = sorted({int(found[1]) for path in files.of if (found := _DEVICE.match(path))})
    chips = [_chip(files, number) for number in numbers]
    kinds = (files.get(f"{DEVICES}neuron{number}/info/architecture/instance_type").as_name() for number in numbers)
    ultraserver, position = _place(files)
    return Server(
        where=files.where,
        instance=instance,
        host=host,
        instance_type=next((kind for kind in kinds if kind and "." in kind), None),  # "Trn1" is a family, no type
        ultraserver=ultraserver,
        position=position,
        ultraserver_mode=files.get(f"{CLASS}ultraserver_mode").as_name(),
        is_partial=True,  # a device whose files cannot be read is not missing
        chips=tuple(chips),
    )


def _place(files: Value) -> tuple[str | None, int | None]:
    """The UltraServer, the largest that was elected, and the place in its ring."""
    for server, node in (("server_id_4", "node_id_4"), ("server_id_2", "node_id_2"), ("reservation_id", "node_id")):
        found = files.get(CLASS + server).as_name()
        if found and found.strip("0"):
            return found, files.get(CLASS + node).as_digits(_MOST_SERVERS)
    return None, None


def _chip(files: Value, ordinal: int) -> Chip:
    of = f"{DEVICES}neuron{ordinal}/"
    joined = files.get(f"{of}connected_devices")
    given = (joined.with_(each.strip()).as_digits(_MOST_CHIPS - 1) for each in (joined.as_text() or "").split(","))
    counters = (files.get(f"{of}stats/hardware/{name}{end}") for name in _ECC for end in ("", "/total"))
    errors = [count for each in counters if (count := each.as_digits(_MOST_ERRORS)) is not None]
    return Chip(
        ordinal,
        serial=files.get(f"{of}info/serial_number").as_name(),
        cores=files.get(f"{of}core_count").as_digits(_MOST_CORES),
        neighbours=None if joined.of is None else tuple(sorted({each for each in given if each is not None})),
        ecc_uncorrected=sum(errors) if errors else None,
    )
