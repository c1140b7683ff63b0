"""Collect what neuron-ls and the Neuron driver report about this machine, for ``trninv collect``.

`trninv.importers.sources.neuron_ls` reads the output, on this machine or in the service that it is posted to.
"""

import platform
import subprocess
from pathlib import Path
from typing import Any

from trninv.errors import NotFoundError
from trninv.importers.input_file import parse_json
from trninv.importers.sources.neuron_ls import DEVICE_KEYS, MACHINE_KEYS, PROCESSES_KEY, device_list_keys
from trninv.importers.sources.neuron_sysfs import CLASS_DIRECTORY, DEVICES_DIRECTORY

_COMMANDS = (("neuron-ls", "--json-output"), ("neuron-ls", "--output-format", "json"))
"""The JSON option of neuron-ls up to Neuron 2.33, and its replacement since Neuron 2.34."""
_TIMEOUT_SECONDS = 60
_MAX_VALUE = 4_096
"""The maximum number of characters read from a driver's file."""
_SERVER_FILES = (
    "ultraserver_mode",
    *(f"{name}_{size}" for size in (2, 4) for name in ("node_id", "server_id")),
    "node_id",
    "reservation_id",
)
"""The driver's files about the machine, below `CLASS_DIRECTORY`."""
_CHIP_FILES = (
    "connected_devices",
    "core_count",
    "info/serial_number",
    "info/architecture/instance_type",
    "stats/hardware/*ecc*uncorrected",
    "stats/hardware/*ecc*uncorrected/total",
)
"""Patterns of the driver's files about a chip, below the chip's directory in `DEVICES_DIRECTORY`."""


def collect(root: Path = Path("/"), host: str | None = None) -> dict[str, Any]:
    """Return what ``trninv import neuron-ls`` reads: the host, neuron-ls's devices, and the driver's files by path.

    Parameters
    ----------
    root
        The directory that contains ``sys``.
    host
        The machine's name; None: the system's.

    Raises
    ------
    NotFoundError
        neuron-ls is not installed, times out or lists no device.

    """
    return {"host": host or platform.node(), "neuron_ls": _list_devices(), "sysfs": _read_sysfs(root)}


def _list_devices() -> list[Any] | dict[str, Any]:
    """Return the output of neuron-ls, using whichever JSON option this version supports."""
    failures = {}
    for command in _COMMANDS:
        process = _run_neuron_ls(command)
        try:
            return _public_fields(parse_json(process.stdout))
        except ValueError as error:
            lines = process.stderr.decode(errors="replace").strip().splitlines()
            failures[" ".join(command)] = lines[-1] if lines else f"its output {error}"
    reasons = dict.fromkeys(failures.values())
    if len(reasons) > 1:
        reasons = dict.fromkeys(f"{command_line}: {reason}" for command_line, reason in failures.items())
    raise NotFoundError(f"neuron-ls found no devices: {'; '.join(reasons)}")


def _run_neuron_ls(command: tuple[str, ...]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 # a fixed command
            command, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
        )
    except FileNotFoundError:
        raise NotFoundError(
            "neuron-ls is not on PATH; install aws-neuronx-tools, or run this on a Trainium machine"
        ) from None
    except subprocess.TimeoutExpired:
        raise NotFoundError(
            f"neuron-ls did not finish within {_TIMEOUT_SECONDS} s; check the Neuron driver (dmesg)"
        ) from None


def _public_fields(output: Any) -> list[Any] | dict[str, Any]:
    """Return the output without processes, with null for unread values, which may be secret.

    Raises
    ------
    ValueError
        The output lists no device.

    """
    if isinstance(output, dict):
        lists = device_list_keys(output)
        machine = {name: output[name] if name in MACHINE_KEYS else None for name in output if name not in lists}
        if lists:
            return machine | {name: _public_fields(output[name]) for name in lists}
    elif isinstance(output, list) and output and all(isinstance(device, dict) for device in output):
        return [
            {name: device[name] if name in DEVICE_KEYS else None for name in device if name != PROCESSES_KEY}
            for device in output
        ]
    raise ValueError("lists no devices")


def _read_sysfs(root: Path) -> dict[str, str]:
    """Return the values in the driver's files, by their paths below ``root``."""
    paths = [root / CLASS_DIRECTORY.lstrip("/") / name for name in _SERVER_FILES]
    for chip in sorted((root / DEVICES_DIRECTORY.lstrip("/")).glob("neuron[0-9]*")):
        paths += [path for pattern in _CHIP_FILES for path in sorted(chip.glob(pattern))]
    text_by_path = {f"/{path.relative_to(root)}": text for path in paths if (text := _read_value(path))}
    return dict(sorted(text_by_path.items()))


def _read_value(path: Path) -> str | None:
    """Return the beginning of a file, or None if it can't be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_VALUE).strip()
    except OSError:  # some files exist only on some instance types, and some paths are directories
        return None
