"""Lines of NodeName for slurm.conf, with the chips as generic resources; gres.conf's lines stand in comments."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from trninv.exporters import slurm
from trninv.exporters.format import Format, Record
from trninv.exporters.source import Model, Server, Source
from trninv.hostlist import expanded, folded

_MIB = 2**20
_STATES = {"down": "DOWN", "maintenance": "DRAIN"}


def _memory(model: Model) -> int:
    """Less than the nominal memory, of which a kernel keeps some: Slurm drains a node that has less than configured."""
    return model.memory_bytes * 15 // 16 // _MIB


def _write(source: Source) -> Iterator[str]:
    alike: dict[tuple[Model, tuple[int, ...], str, str], list[str]] = defaultdict(list)
    for server in slurm.servers(source):
        alike[server.model, server.chips, _state(server), _reason(server)].append(server.name)
    yield "# slurm.conf also needs GresTypes=neuron, and gres.conf these lines:"
    for (model, chips, *_), names in alike.items():
        if chips:
            devices = folded([f"/dev/neuron{chip}" for chip in chips])
            yield f"# NodeName={folded(names)} Name=neuron Type={model.chip} File={devices}"
    for (model, chips, state, reason), names in alike.items():
        yield " ".join([f"NodeName={folded(names)}", *_parts(model, len(chips), state, reason)])


def _state(server: Server) -> str:
    if server.takes_jobs:
        return "UNKNOWN"
    return _STATES.get(server.state, "DRAIN")


def _reason(server: Server) -> str:
    """Why it is not as Slurm finds it; empty where it is."""
    says = [] if server.usable else [server.state]
    says += [] if server.closed is None else [f"closed: {slurm.one_line(server.closed)}"]
    return f"trninv: {'; '.join(says)}" if says else ""


def _parts(model: Model, chips: int, state: str, reason: str) -> Iterator[str]:
    yield f"CPUs={model.vcpus} RealMemory={_memory(model)}"
    if chips:
        yield f"Gres=neuron:{model.chip}:{chips}"
    yield f"Feature={model.domain} State={state}"
    if reason:
        yield f"Reason={slurm.quoted(reason)}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    found = []
    for line in slurm.settings(lines):
        gres = line.get("Gres", "neuron::0").split(":")
        of = line["CPUs"], line["RealMemory"], gres[-1], line["Feature"], line["State"], line.get("Reason", "")
        found += [(name, *of) for name in expanded(line["NodeName"])]
    yield from sorted(found)


def _records(source: Source) -> Iterator[Record]:
    yield from sorted((server.name, *_said(server)) for server in source.servers)


def _said(server: Server) -> tuple[str, ...]:
    sizes = server.model.vcpus, _memory(server.model), len(server.chips)
    return *map(str, sizes), server.model.domain, _state(server), _reason(server)


FORMAT = Format(
    name="slurm-nodes",
    suffix=".conf",
    says="lines of NodeName for slurm.conf, and of gres.conf as comments: chips as the resource neuron",
    write=_write,
    read=_read,
    records=_records,
)
