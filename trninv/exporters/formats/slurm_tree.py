"""Write topology.conf for Slurm's topology/tree: each scale-up domain is a leaf switch, for jobs with --switches=1."""

from collections.abc import Iterable, Iterator

from trninv.errors import NotExpressibleError
from trninv.exporters import schedulers, switch_tree
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.hostlist import expand, fold


def _write(source: ExportSource) -> Iterator[str]:
    schedulers.slurm_servers(source)
    switches = switch_tree.build_switches(source)
    schedulers.check_names(switch.name for switch in switches)
    leaves = sum(bool(switch.servers) for switch in switches)
    if leaves > schedulers.MAX_SLURM_LEAVES:
        raise NotExpressibleError(
            f"{leaves:,} leaf switches: slurmctld takes minutes to read more than "
            f"{schedulers.MAX_SLURM_LEAVES:,}; add --coarse to use network nodes as leaves, or use slurm-block"
        )
    for switch in switches:
        children = f"Switches={fold(switch.switches)}" if switch.switches else f"Nodes={fold(switch.servers)}"
        yield f"SwitchName={switch.name} {children}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    return switch_tree.read_tree(
        switch_tree.TreeSwitch(
            setting["SwitchName"], tuple(expand(setting.get("Switches", ""))), tuple(expand(setting.get("Nodes", "")))
        )
        for setting in schedulers.parse_settings(lines)
    )


FORMAT = Format(
    name="slurm-tree",
    suffix=".conf",
    description="Slurm's topology.conf for topology/tree: domains as leaf switches below the fabric's tiers",
    write=_write,
    read=_read,
    expected_records=switch_tree.tree_records,
)
