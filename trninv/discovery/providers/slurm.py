"""Pull the nodes and the topology of a Slurm cluster, from ``scontrol`` or slurmrestd."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request

from trninv.discovery.provider import Provider, PulledEntry, PulledListing, PulledListings, PullProgress
from trninv.discovery.target import Target
from trninv.errors import DiscoveryError, UsageError
from trninv.hostlist import expand
from trninv.importers.input_file import MAX_DOCUMENT, JsonError, parse_json
from trninv.importers.observation_sender import OPENER
from trninv.importers.records import BLOCK_KEY, NO_BLOCK

_TIMEOUT_SECONDS: Final = 60
_REST_VERSION: Final = "v0.0.41"
_LINE: Final = re.compile(r"^(?:SwitchName=(\S+) Level=(\d+)|BlockName=(\S+)) .*?\bNodes=(\S+)", re.MULTILINE)
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
    notes, blocks = list[str](), dict[str, str]()
    if target.place:
        notes.append("the topology is not read from slurmrestd; use scontrol to compare it")
    else:
        blocks = read_blocks(_run(target, "scontrol", "show", "topology"))
    entries = tuple(_entries(nodes, blocks))
    identity = f"cluster {_cluster_name(response) or target.place or 'of scontrol'}"
    return PulledListings(identity, (PulledListing("slurm", "nodes", entries, {"nodes": []}),), tuple(notes))


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
    content = _fetch(target) if target.place else _list_nodes(target)
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
    url = f"{target.place.rstrip('/')}/slurm/{_REST_VERSION}/nodes/"
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{target}: write slurmrestd's URL, such as slurm:https://slurm.example:6820")
    headers = {"Accept": "application/json"}
    if token := os.environ.get("SLURM_JWT"):
        headers |= {"X-SLURM-USER-TOKEN": token}
    try:
        with OPENER.open(Request(url, headers=headers), timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310 # as checked
            return _limited(target, response.read(MAX_DOCUMENT + 1))
    except HTTPError as error:
        raise DiscoveryError(f"{target}: {url} responded with {error.code}; check SLURM_JWT") from None
    except (OSError, HTTPException) as error:
        raise DiscoveryError(f"{target}: {url}: {getattr(error, 'reason', error)}") from None


def _limited(target: Target, content: bytes) -> bytes:
    if len(content) > MAX_DOCUMENT:
        raise DiscoveryError(f"{target}: answers with more than {MAX_DOCUMENT >> 20} MiB; nothing was imported")
    return content


def read_blocks(text: bytes) -> dict[str, str]:
    """Return the block of each node, or its switch of the lowest level; empty if there is no topology."""
    blocks = dict[str, tuple[int, str]]()
    for switch, level, block, nodes in _LINE.findall(text.decode(errors="replace")):
        entry = int(level or 0), switch or block
        try:
            names = expand(nodes)
        except UsageError:
            continue
        for name in names:
            blocks[name] = min(blocks.get(name, entry), entry)
    return {name: block for name, (_, block) in blocks.items()}


PROVIDER = Provider(
    name="slurm",
    title="Slurm",
    place="the URL of slurmrestd; by default scontrol is run",
    pull=pull,
    calls={
        "scontrol show nodes --json": "state, reason, chips and instance of each node (Slurm 23.02 or later)",
        "scontrol show topology": "the block, or lowest switch, of each node",
    },
    optional_calls={
        "sinfo --json": "the same nodes, from Slurm 22.05",
        f"GET /slurm/{_REST_VERSION}/nodes/": "the same nodes, if the target names slurmrestd",
    },
)
