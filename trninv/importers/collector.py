"""Collect this machine's chips and driver files."""

import json
import platform
import subprocess
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from trninv.errors import NotFoundError, UnreachableError, UsageError
from trninv.importers.input_file import parse_json
from trninv.importers.neuron_ls import DEVICE_KEYS, MACHINE_KEYS, PROCESSES_KEY, device_list_keys
from trninv.importers.neuron_sysfs import CLASS_DIRECTORY, DEVICES_DIRECTORY

_COMMANDS = (("neuron-ls", "--json-output"), ("neuron-ls", "--output-format", "json"))
"""The option for JSON up to Neuron 2.33, and the one from 2.34 on."""
_TIMEOUT_SECONDS = 60
_MAX_RESPONSE = 1 << 16
_MAX_VALUE = 4_096
_SERVER_FILES = (
    "ultraserver_mode",
    *(f"{name}_{size}" for size in (2, 4) for name in ("node_id", "server_id")),
    "node_id",
    "reservation_id",
)
_CHIP_FILES = (
    "connected_devices",
    "core_count",
    "info/serial_number",
    "info/architecture/instance_type",
    "stats/hardware/*ecc*uncorrected",
    "stats/hardware/*ecc*uncorrected/total",
)


def collect(root: Path = Path("/")) -> dict[str, Any]:
    """Return what ``trninv import neuron-ls`` reads: host, neuron_ls without processes, and sysfs by path.

    Parameters
    ----------
    root
        The directory that contains ``sys``.

    Raises
    ------
    NotFoundError
        neuron-ls is not installed, times out or lists no device.

    """
    return {"host": platform.node(), "neuron_ls": _list_devices(), "sysfs": _read_sysfs(root)}


def post_observation(service: str, observation: str, token: str | None) -> str:
    """Post an observation to a service's /observations and return the response's text.

    Raises
    ------
    UsageError
        The URL is not http or https, or the service refuses; the message includes the service's own.
    UnreachableError
        The service does not answer.

    """
    if not service.startswith(("https://", "http://")):
        raise UsageError(f"--to {service[:80]}: write the service's URL, such as https://trninv.example")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = Request(f"{service.rstrip('/')}/observations", observation.encode(), headers)  # noqa: S310 # as above
    try:
        with _OPENER.open(request, timeout=_TIMEOUT_SECONDS) as response:
            return str(response.read(_MAX_RESPONSE).decode(errors="replace"))
    except HTTPError as error:
        raise UsageError(
            f"{service} responded with {error.code}: {_error_message(error.read(_MAX_RESPONSE))}"
        ) from None
    except (URLError, TimeoutError, HTTPException, ValueError) as error:
        raise UnreachableError(f"{service} does not answer: {getattr(error, 'reason', error)}") from None


def _error_message(body: bytes) -> str:
    """Return the message in an error response; the server may be any HTTP server."""
    try:
        return str(json.loads(body)["errors"][0]["message"])
    except (ValueError, TypeError, LookupError):
        return "it is not a trninv service"


class _NoRedirect(HTTPRedirectHandler):
    """A handler that refuses redirects: the token must not reach another server."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = build_opener(_NoRedirect)


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
    reasons = set(failures.values())
    reason = (
        reasons.pop()
        if len(reasons) == 1
        else "; ".join(f"{command_line}: {reason}" for command_line, reason in failures.items())
    )
    raise NotFoundError(f"neuron-ls found no devices: {reason}")


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
    """Return the output with null for the values of keys that importing does not read: they may be secrets.

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
    paths = [root / CLASS_DIRECTORY.lstrip("/") / name for name in _SERVER_FILES]
    for chip in sorted((root / DEVICES_DIRECTORY.lstrip("/")).glob("neuron[0-9]*")):
        paths += [path for pattern in _CHIP_FILES for path in sorted(chip.glob(pattern))]
    text_by_path = {f"/{path.relative_to(root)}": text for path in paths if (text := _read_value(path))}
    return dict(sorted(text_by_path.items()))


def _read_value(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_VALUE).strip()
    except OSError:  # some exist only on some instance types, or are directories
        return None
