"""Write topology.conf for Slurm's topology/tree: each scale-up domain is a leaf switch, for jobs with --switches=1."""

from collections.abc import Iterable, Iterator

from trninv.errors import NotExpressibleError
from trninv.exporters import slurm, tree
from trninv.exporters.format import Format, Record
from trninv.exporters.source import ExportSource
from trninv.hostlist import expand, fold


def _write(source: ExportSource) -> Iterator[str]:
    slurm.slurm_servers(source)
    switches = tree.build_switches(source)
    slurm.check_names(switch.name for switch in switches)
    leaves = sum(bool(switch.servers) for switch in switches)
    if leaves > slurm.MAX_SLURM_LEAVES:
        raise NotExpressibleError(
            f"{leaves:,} leaf switches: slurmctld takes minutes to read more than {slurm.MAX_SLURM_LEAVES:,}; --coarse "
            "makes network nodes the leaves, or use slurm-block"
        )
    for switch in switches:
        children = f"Switches={fold(switch.switches)}" if switch.switches else f"Nodes={fold(switch.servers)}"
        yield f"SwitchName={switch.name} {children}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    return tree.read_tree(
        tree.TreeSwitch(
            setting["SwitchName"], tuple(expand(setting.get("Switches", ""))), tuple(expand(setting.get("Nodes", "")))
        )
        for setting in slurm.parse_settings(lines)
    )


FORMAT = Format(
    name="slurm-tree",
    suffix=".conf",
    description="Slurm's topology.conf for topology/tree: domains as leaf switches below the fabric's tiers",
    write=_write,
    read=_read,
    expected_records=tree.tree_records,
)
