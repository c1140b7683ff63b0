"""What this machine says of itself: its chips as neuron-ls lists them, and the files of its Neuron driver."""

import json
import platform
import subprocess
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from trninv.errors import NotFoundError, NotReachableError, UsageError
from trninv.importers.neuron_ls import OF_DEVICE, OF_MACHINE, PROCESSES, device_lists
from trninv.importers.neuron_sysfs import CLASS, DEVICES
from trninv.importers.reading import parsed

_COMMANDS = (("neuron-ls", "--json-output"), ("neuron-ls", "--output-format", "json"))
"""Up to Neuron 2.33, and from 2.34 on."""
_SECONDS = 60
_MAX_ANSWER = 1 << 16
_MAX_VALUE = 4_096
_FILES = (
    "ultraserver_mode",
    *(f"{name}_{size}" for size in (2, 4) for name in ("node_id", "server_id")),
    "node_id",
    "reservation_id",
)
_OF_A_CHIP = (
    "connected_devices",
    "core_count",
    "info/serial_number",
    "info/architecture/instance_type",
    "stats/hardware/*ecc*uncorrected",
    "stats/hardware/*ecc*uncorrected/total",
)


def collect(root: Path = Path("/")) -> dict[str, Any]:
    """What ``trninv import neuron-ls`` reads: host, neuron_ls without processes, and sysfs by path.

    Parameters
    ----------
    root
        Where /sys is.

    Raises
    ------
    NotFoundError
        neuron-ls is not there, or finds no device.

    """
    return {"host": platform.node(), "neuron_ls": _devices(), "sysfs": _sysfs(root)}


def sent(service: str, observation: str, token: str | None) -> str:
    """What a service answers to an observation, posted to its /observations.

    Raises
    ------
    UsageError
        The URL is none of a service, or the service refuses; the message is its own.
    NotReachableError
        Nothing answers there.

    """
    if not service.startswith(("https://", "http://")):
        raise UsageError(f"--to {service[:80]}: write the service's URL, such as https://trninv.example")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = Request(f"{service.rstrip('/')}/observations", observation.encode(), headers)  # noqa: S310 # as above
    try:
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            return str(answer.read(_MAX_ANSWER).decode(errors="replace"))
    except HTTPError as error:
        raise UsageError(f"{service} answers {error.code}: {_said(error.read(_MAX_ANSWER))}") from None
    except (URLError, TimeoutError, HTTPException, ValueError) as error:
        raise NotReachableError(f"{service} does not answer: {getattr(error, 'reason', error)}") from None


def _said(body: bytes) -> str:
    """The message in a refusal, of whatever service it is."""
    try:
        return str(json.loads(body)["errors"][0]["message"])
    except (ValueError, TypeError, LookupError):
        return "it is no trninv service"


class _Straight(HTTPRedirectHandler):
    """Follows no redirection: the token is for one service."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = build_opener(_Straight)


def _devices() -> list[Any] | dict[str, Any]:
    """What neuron-ls prints, by whichever option it knows for JSON."""
    failures = {}
    for command in _COMMANDS:
        ran = _neuron_ls(command)
        try:
            return _public(parsed(ran.stdout))
        except ValueError as error:
            lines = ran.stderr.decode(errors="replace").strip().splitlines()
            failures[" ".join(command)] = lines[-1] if lines else f"its output {error}"
    reasons = set(failures.values())
    why = reasons.pop() if len(reasons) == 1 else "; ".join(f"{words}: {why}" for words, why in failures.items())
    raise NotFoundError(f"neuron-ls found no device: {why}")


def _neuron_ls(command: tuple[str, ...]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 # words of our own
            command, capture_output=True, timeout=_SECONDS, check=False
        )
    except FileNotFoundError:
        raise NotFoundError(
            "neuron-ls is not on PATH: install aws-neuronx-tools, or run this on a Trainium machine"
        ) from None
    except subprocess.TimeoutExpired:
        raise NotFoundError(f"neuron-ls did not end within {_SECONDS} s: look at the Neuron driver (dmesg)") from None


def _public(printed: Any) -> list[Any] | dict[str, Any]:
    """What is read of it here; of other keys only the names, since their values may be secrets.

    Raises
    ------
    ValueError
        It lists no device.

    """
    if isinstance(printed, dict):
        lists = device_lists(printed)
        machine = {name: printed[name] if name in OF_MACHINE else None for name in printed if name not in lists}
        if lists:
            return machine | {name: _public(printed[name]) for name in lists}
    elif isinstance(printed, list) and printed and all(isinstance(device, dict) for device in printed):
        return [
            {name: device[name] if name in OF_DEVICE else None for name in device if name != PROCESSES}
            for device in printed
        ]
    raise ValueError("lists no device")


def _sysfs(root: Path) -> dict[str, str]:
    paths = [root / CLASS.lstrip("/") / name for name in _FILES]
    for chip in sorted((root / DEVICES.lstrip("/")).glob("neuron[0-9]*")):
        paths += [path for pattern in _OF_A_CHIP for path in sorted(chip.glob(pattern))]
    found = {f"/{path.relative_to(root)}": text for path in paths if (text := _text(path))}
    return dict(sorted(found.items()))


def _text(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_VALUE).strip()
    except OSError:  # some are there on some types alone, or are folders
        return None
