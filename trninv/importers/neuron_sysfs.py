"""sysfs of a server's Neuron driver: serial numbers, neighbours, ECC counters, and its place in an UltraServer.

Lines ``PATH:VALUE``, as ``grep -r . /sys/class/neuron_device /sys/devices/virtual/neuron_device`` prints them, or
``PATH=VALUE``; a first line ``# host: NAME`` names the host, else the file's name does.
"""

import re
from collections.abc import Iterator, Mapping

from trninv.importers.observed import Chip, Seen, Server
from trninv.importers.reading import Source

HELP = "grep -r . /sys/class/neuron_device /sys/devices/virtual/neuron_device."

_LINE = re.compile(r"(/sys/[\w./-]+?)[:=](.*)")
_DEVICE = re.compile(r"/sys/devices/virtual/neuron_device/neuron(\d{1,3})/(.+)")
_MOST_CHIPS, _MOST_SERVERS, _MOST_CORES, _MOST_ERRORS = 128, 64, 1_024, 10**18
_ECC = ("mem_ecc_uncorrected", "sram_ecc_uncorrected", "mem_ecc_repairable_uncorrected")


def read(source: Source) -> Iterator[Seen]:
    """The server of a file."""
    host, ours, devices = None, dict[str, str](), dict[int, dict[str, str]]()
    for number, line in source.texts():
        if number == 1 and line.startswith("# host:"):
            host = source.value(line.partition(":")[2].strip(), number).as_name()
        elif not (found := _LINE.fullmatch(line)):
            source.fault("is not PATH:VALUE", number)
        elif device := _DEVICE.fullmatch(found[1]):
            devices.setdefault(int(device[1]), {})[device[2]] = found[2].strip()
        else:
            ours[found[1].rpartition("/")[2]] = found[2].strip()
    if not (ours or devices):
        source.fault("has no line of the Neuron driver")
        return
    kinds = {kind for each in devices.values() if (kind := each.get("info/architecture/instance_type"))}
    ultraserver, position = _place(source, ours)
    yield Server(
        where=source.name,
        host=host,
        instance_type=source.value(min(kinds, default=None)).as_name(),
        ultraserver=ultraserver,
        position=position,
        ultraserver_mode=source.value(ours.get("ultraserver_mode")).as_name(),
        chips=tuple(_chip(source, number, files) for number, files in sorted(devices.items())),
    )


def _place(source: Source, files: Mapping[str, str]) -> tuple[str | None, int | None]:
    """The UltraServer, the largest that was elected, and the place in its ring."""
    for server, node in (("server_id_4", "node_id_4"), ("server_id_2", "node_id_2"), ("reservation_id", "node_id")):
        if files.get(server, "").strip("0"):
            return source.value(files[server]).as_name(), source.value(files.get(node)).as_digits(_MOST_SERVERS)
    return None, None


def _chip(source: Source, ordinal: int, files: Mapping[str, str]) -> Chip:
    given = [source.value(each.strip()) for each in files.get("connected_devices", "").split(",")]
    joined = {other for each in given if (other := each.as_digits(_MOST_CHIPS - 1)) is not None}
    counters = [source.value(files.get(f"stats/hardware/{name}{end}")) for name in _ECC for end in ("", "/total")]
    errors = [count for each in counters if (count := each.as_digits(_MOST_ERRORS)) is not None]
    return Chip(
        ordinal,
        serial=source.value(files.get("info/serial_number")).as_name(),
        cores=source.value(files.get("core_count")).as_digits(_MOST_CORES),
        neighbours=tuple(sorted(joined)) if "connected_devices" in files else None,
        ecc_uncorrected=sum(errors) if errors else None,
    )
