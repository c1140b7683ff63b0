"""topology.conf for Slurm's topology/tree: each scale-up domain is a leaf switch, which --switches=1 asks for."""

from collections.abc import Iterable, Iterator

from trninv.errors import NotExpressibleError
from trninv.exporters import slurm, tree
from trninv.exporters.format import Format, Record
from trninv.exporters.source import Source
from trninv.hostlist import expanded, folded


def _write(source: Source) -> Iterator[str]:
    slurm.servers(source)
    found = tree.switches(source)
    slurm.named(switch.name for switch in found)
    leaves = sum(bool(switch.servers) for switch in found)
    if leaves > slurm.MOST_LEAVES:
        raise NotExpressibleError(
            f"{leaves:,} leaf switches: slurmctld takes minutes to read more than {slurm.MOST_LEAVES:,}; --coarse "
            "makes network nodes the leaves, or use slurm-block"
        )
    for switch in found:
        below = f"Switches={folded(switch.switches)}" if switch.switches else f"Nodes={folded(switch.servers)}"
        yield f"SwitchName={switch.name} {below}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    return tree.read(
        tree.Switch(
            found["SwitchName"], tuple(expanded(found.get("Switches", ""))), tuple(expanded(found.get("Nodes", "")))
        )
        for found in slurm.settings(lines)
    )


FORMAT = Format(
    name="slurm-tree",
    suffix=".conf",
    says="Slurm's topology.conf for topology/tree: domains as leaf switches below the fabric's tiers",
    write=_write,
    read=_read,
    records=tree.records,
)
