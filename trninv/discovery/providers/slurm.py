"""Pull the nodes and the topology of a Slurm cluster, from ``scontrol`` or slurmrestd."""

import os
import subprocess
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request

from trninv.discovery.provider import Provider, PulledEntry, PulledListing, PulledListings, PullProgress
from trninv.discovery.slurm_topology import read_blocks, read_topology_yaml
from trninv.discovery.target import Target
from trninv.errors import DiscoveryError, UsageError
from trninv.importers.input_file import MAX_DOCUMENT, JsonError, parse_json
from trninv.importers.observation_sender import OPENER
from trninv.importers.records import BLOCK_KEY, NO_BLOCK

_TIMEOUT_SECONDS: Final = 60
_REST_VERSIONS: Final = ("v0.0.43", "v0.0.41", "v0.0.39", "v0.0.38")
"""Versions of slurmrestd's API, of which each Slurm from 22.05 to 26.05 has one; the first one that it has is used."""
_FIELDS: Final = ("name", "state", "state_flags", "gres", "reason", "comment", "instance_id", "instance_type")
"""The fields of a node that ``trninv import slurm`` reads; others, such as the load, change all the time."""


def pull(target: Target, progress: PullProgress) -> PulledListings:
    """Read all nodes, each with the lowest switch or block that the scheduler has it in.

    Raises
    ------
    DiscoveryError
        ``scontrol`` or slurmrestd does not answer, or not with a list of nodes.

    """
    response = _read_json(target)
    nodes = response.get("nodes")
    if response.get("errors") or not isinstance(nodes, list) or not all(isinstance(node, dict) for node in nodes):
        raise DiscoveryError(f"{target}: the answer has errors, or no list of nodes; nothing was imported")
    progress("nodes", len(nodes))
    blocks = {} if _is_url(target) else _read_topology(target)
    notes = ["the topology is not read from slurmrestd; use scontrol to compare it"] if _is_url(target) else []
    entries = tuple(_entries(nodes, blocks))
    identity = f"cluster {_cluster_name(response) or target.place or 'of scontrol'}"
    return PulledListings(identity, (PulledListing("slurm", "nodes", entries, {"nodes": []}),), tuple(notes))


def _is_url(target: Target) -> bool:
    return bool(target.place) and not target.place.startswith("/")


def _read_topology(target: Target) -> Mapping[str, str]:
    """Return the block of each node: in the file that the target names, or in all topologies that slurmctld has."""
    if target.place:
        try:
            with Path(target.place).open("rb") as file:
                return read_topology_yaml(_limited(target, file.read(MAX_DOCUMENT + 1)))
        except (OSError, UsageError) as error:
            raise DiscoveryError(f"{target}: {target.place}: {error}; nothing was imported") from None
    try:
        return read_topology_yaml(_run(target, "scontrol", "show", "topoconf"))
    except (DiscoveryError, UsageError):  # before Slurm 25.05, or without topology.yaml
        return read_blocks(_run(target, "scontrol", "show", "topology"))


def _cluster_name(response: Mapping[str, Any]) -> str | None:
    """Return the name of the cluster that answered, which Slurm names since 23.11."""
    value: Any = response
    for names in (("meta",), ("slurm", "Slurm"), ("cluster",)):
        value = next((value[name] for name in names if isinstance(value, dict) and name in value), None)
    return value if isinstance(value, str) else None


def _entries(nodes: list[dict[str, Any]], blocks: Mapping[str, str]) -> Iterator[PulledEntry]:
    for node in nodes:
        kept = {name: node[name] for name in _FIELDS if node.get(name) is not None}
        name = str(node.get("name", ""))
        if blocks:
            kept[BLOCK_KEY] = blocks.get(name, NO_BLOCK)
        yield PulledEntry(name, {"nodes": [kept]})


def _read_json(target: Target) -> Mapping[str, Any]:
    content = _fetch(target) if _is_url(target) else _list_nodes(target)
    try:
        parsed = parse_json(content)
    except JsonError as error:
        raise DiscoveryError(f"{target}: the list of nodes {error.message}; nothing was imported") from None
    if not isinstance(parsed, dict):
        raise DiscoveryError(f"{target}: the list of nodes is not an object; nothing was imported")
    return parsed


def _list_nodes(target: Target) -> bytes:
    """Return the nodes as JSON; scontrol of Slurm 22.05 has no --json, and sinfo of later versions lists no nodes."""
    try:
        return _run(target, "scontrol", "show", "nodes", "--json")
    except DiscoveryError as error:
        if "--json" not in str(error).partition("scontrol: ")[2]:
            raise
        return _run(target, "sinfo", "--json")


def _run(target: Target, *command: str) -> bytes:
    name = " ".join(command)
    try:
        process = subprocess.run(  # noqa: S603 # fixed commands
            command, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise UsageError(f"{target}: scontrol is not on PATH; install slurm-client, or name slurmrestd's URL") from None
    except subprocess.TimeoutExpired:
        raise DiscoveryError(f"{target}: {name} did not finish within {_TIMEOUT_SECONDS} s") from None
    if process.returncode:
        message = process.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise DiscoveryError(f"{target}: {name}: {message[:300] or f'exit status {process.returncode}'}")
    return _limited(target, process.stdout)


def _fetch(target: Target) -> bytes:
    """Return slurmrestd's list of nodes; the token is in SLURM_JWT, as Slurm's own commands expect it."""
    if not target.place.startswith(("http://", "https://")):
        raise UsageError(f"{target}: write slurmrestd's URL, such as slurm:https://slurm.example:6820")
    headers = {"Accept": "application/json"}
    if token := os.environ.get("SLURM_JWT"):
        headers |= {"X-SLURM-USER-TOKEN": token}
        if user := _user_name(token):  # Slurm 22.05 does not take it from the token
            headers |= {"X-SLURM-USER-NAME": user}
    for version in _REST_VERSIONS:
        url = f"{target.place.rstrip('/')}/slurm/{version}/nodes/"
        try:
            with OPENER.open(Request(url, headers=headers), timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310 # as checked
                return _limited(target, response.read(MAX_DOCUMENT + 1))
        except HTTPError as error:
            error.close()
            if error.code != HTTPStatus.NOT_FOUND:
                raise DiscoveryError(f"{target}: {url} responded with {error.code}; check SLURM_JWT") from None
        except (OSError, HTTPException) as error:
            raise DiscoveryError(f"{target}: {url}: {getattr(error, 'reason', error)}") from None
    raise DiscoveryError(f"{target}: slurmrestd has none of the versions {', '.join(_REST_VERSIONS)}; use scontrol")


def _user_name(token: str) -> str:
    """Return the user that a token names; empty if it is not a token of ``scontrol token``."""
    try:
        payload = parse_json(urlsafe_b64decode(f"{token.split('.')[1]}=="))
        name = payload["sun"]
    except (IndexError, KeyError, TypeError, ValueError, JsonError):
        return ""
    return name if isinstance(name, str) and name.isprintable() and name.isascii() else ""


def _limited(target: Target, content: bytes) -> bytes:
    if len(content) > MAX_DOCUMENT:
        raise DiscoveryError(f"{target}: answers with more than {MAX_DOCUMENT >> 20} MiB; nothing was imported")
    return content


PROVIDER = Provider(
    name="slurm",
    title="Slurm",
    place="the URL of slurmrestd, or the path of a topology.yaml; by default scontrol is run",
    pull=pull,
    calls={
        "scontrol show nodes --json": "state, reason, chips and instance of each node (Slurm 23.02 or later)",
        "scontrol show topology": "the block, or lowest switch, of each node",
    },
    optional_calls={
        "scontrol show topoconf": "the same in each topology of topology.yaml, from Slurm 25.05",
        "sinfo --json": "the same nodes, from Slurm 22.05",
        "GET /slurm/VERSION/nodes/": "the same nodes, if the target names slurmrestd",
    },
)
