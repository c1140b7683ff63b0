"""Write topology.conf for Slurm's topology/tree.

Each scale-up domain (the servers that NeuronLink connects) is a leaf switch, so ``--switches=1`` keeps a job within it.
"""

from collections.abc import Iterator
from typing import Any

from trninv.errors import NotExpressibleError
from trninv.exporters import schedulers, switch_tree
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.slurm_settings import SETTINGS


def _content(source: ExportSource) -> Iterator[Any]:
    schedulers.slurm_servers(source)  # refuses too many
    switches = switch_tree.build_switches(source)
    schedulers.check_names(switch.name for switch in switches)
    leaves = sum(bool(switch.servers) for switch in switches)
    if leaves > schedulers.MAX_SLURM_LEAVES:
        raise NotExpressibleError(
            f"{leaves:,} leaf switches: slurmctld takes minutes to read more than "
            f"{schedulers.MAX_SLURM_LEAVES:,}; add --coarse to use network nodes as leaves, or use slurm-block"
        )
    for switch in switches:
        children = {"Switches": list(switch.switches)} if switch.switches else {"Nodes": list(switch.servers)}
        yield {"SwitchName": switch.name} | children


FORMAT = Format(
    name="slurm-tree",
    suffix=".conf",
    description="topology.conf for Slurm's topology/tree: domains as leaf switches below the fabric's tiers",
    syntax=SETTINGS,
    content=_content,
)
