"""Write NodeName lines for slurm.conf, with chips as generic resources; the lines for gres.conf are comments."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from trninv.exporters import schedulers
from trninv.exporters.export_source import ExportedServer, ExportSource, ServerSpec
from trninv.exporters.format import Comment, Format
from trninv.exporters.slurm_settings import SETTINGS
from trninv.hostlist import fold

_MIB = 2**20
_STATES = {"down": "DOWN", "maintenance": "DRAIN"}
"""Slurm's state for a server that jobs may not run on."""


def _memory(model: ServerSpec) -> int:
    """Return 15/16 of the nominal memory in MiB, since the kernel keeps some and Slurm drains nodes that have less."""
    return model.memory_bytes * 15 // 16 // _MIB


def _content(source: ExportSource) -> Iterator[Any]:
    groups: dict[tuple[ServerSpec, tuple[int, ...], str, str], list[str]] = defaultdict(list)
    for server in schedulers.slurm_servers(source):
        groups[server.model, server.chips, _state(server), _reason(server)].append(server.name)
    yield Comment("slurm.conf also needs GresTypes=neuron, and gres.conf these lines:")
    for (model, chips, *_), names in groups.items():
        if chips:
            devices = fold([f"/dev/neuron{chip}" for chip in chips])
            yield Comment(f"NodeName={fold(names)} Name=neuron Type={model.chip} File={devices}")
    for (model, chips, state, reason), names in groups.items():
        yield {"NodeName": names} | _settings(model, len(chips), state, reason)


def _state(server: ExportedServer) -> str:
    """Return the state to write; UNKNOWN leaves it to Slurm."""
    if server.takes_jobs:
        return "UNKNOWN"
    return _STATES.get(server.state, "DRAIN")


def _reason(server: ExportedServer) -> str:
    """Return why a server takes no jobs or is not usable; empty if it is usable and takes jobs."""
    reasons = [] if server.is_usable else [server.state]
    reasons += [] if server.cordon_reason is None else [f"cordoned: {schedulers.to_one_line(server.cordon_reason)}"]
    return f"trninv: {'; '.join(reasons)}" if reasons else ""


def _settings(model: ServerSpec, chips: int, state: str, reason: str) -> dict[str, Any]:
    """Return the settings after NodeName."""
    return (
        {"CPUs": model.vcpus, "RealMemory": _memory(model)}
        | ({"Gres": f"neuron:{model.chip}:{chips}"} if chips else {})
        | {"Feature": model.domain, "State": state}
        | ({"Reason": reason} if reason else {})
    )


FORMAT = Format(
    name="slurm-nodes",
    suffix=".conf",
    description="NodeName lines for slurm.conf, with gres.conf in comments: chips as the GRES neuron",
    syntax=SETTINGS,
    content=_content,
)
