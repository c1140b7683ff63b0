"""Write NodeName lines for slurm.conf, with chips as generic resources; the lines for gres.conf are comments."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from trninv.exporters import schedulers
from trninv.exporters.export_source import ExportedServer, ExportSource, ServerSpec
from trninv.exporters.format import Format, Record
from trninv.hostlist import expand, fold

_MIB = 2**20
_STATES = {"down": "DOWN", "maintenance": "DRAIN"}


def _memory(model: ServerSpec) -> int:
    """Return 15/16 of the nominal memory in MiB: the kernel keeps some, and Slurm drains a node with less than this."""
    return model.memory_bytes * 15 // 16 // _MIB


def _write(source: ExportSource) -> Iterator[str]:
    groups: dict[tuple[ServerSpec, tuple[int, ...], str, str], list[str]] = defaultdict(list)
    for server in schedulers.slurm_servers(source):
        groups[server.model, server.chips, _state(server), _reason(server)].append(server.name)
    yield "# slurm.conf also needs GresTypes=neuron, and gres.conf these lines:"
    for (model, chips, *_), names in groups.items():
        if chips:
            devices = fold([f"/dev/neuron{chip}" for chip in chips])
            yield f"# NodeName={fold(names)} Name=neuron Type={model.chip} File={devices}"
    for (model, chips, state, reason), names in groups.items():
        yield " ".join([f"NodeName={fold(names)}", *_parts(model, len(chips), state, reason)])


def _state(server: ExportedServer) -> str:
    if server.takes_jobs:
        return "UNKNOWN"
    return _STATES.get(server.state, "DRAIN")


def _reason(server: ExportedServer) -> str:
    """Return why a server takes no jobs or is not usable; empty if it is usable and takes jobs."""
    reasons = [] if server.is_usable else [server.state]
    reasons += [] if server.cordon_reason is None else [f"cordoned: {schedulers.to_one_line(server.cordon_reason)}"]
    return f"trninv: {'; '.join(reasons)}" if reasons else ""


def _parts(model: ServerSpec, chips: int, state: str, reason: str) -> Iterator[str]:
    yield f"CPUs={model.vcpus} RealMemory={_memory(model)}"
    if chips:
        yield f"Gres=neuron:{model.chip}:{chips}"
    yield f"Feature={model.domain} State={state}"
    if reason:
        yield f"Reason={schedulers.quote(reason)}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    rows = []
    for line in schedulers.parse_settings(lines):
        gres = line.get("Gres", "neuron::0").split(":")
        values = line["CPUs"], line["RealMemory"], gres[-1], line["Feature"], line["State"], line.get("Reason", "")
        rows += [(name, *values) for name in expand(line["NodeName"])]
    yield from sorted(rows)


def _records(source: ExportSource) -> Iterator[Record]:
    yield from sorted((server.name, *_node_values(server)) for server in source.servers)


def _node_values(server: ExportedServer) -> tuple[str, ...]:
    sizes = server.model.vcpus, _memory(server.model), len(server.chips)
    return *map(str, sizes), server.model.domain, _state(server), _reason(server)


FORMAT = Format(
    name="slurm-nodes",
    suffix=".conf",
    description="lines of NodeName for slurm.conf, and of gres.conf as comments: chips as the resource neuron",
    write=_write,
    read=_read,
    expected_records=_records,
)
