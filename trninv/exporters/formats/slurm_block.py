"""Write topology.conf for Slurm's topology/block (Slurm 23.11 or newer).

Each scale-up domain (the servers that NeuronLink connects) is a block. Slurm combines blocks for larger jobs.
"""

from collections.abc import Iterator
from typing import Any

from trninv.exporters import schedulers
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format
from trninv.exporters.slurm_settings import SETTINGS


def _content(source: ExportSource) -> Iterator[Any]:
    blocks = schedulers.server_blocks(source)
    for name, servers in blocks.items():
        yield {"BlockName": name, "Nodes": [server.name for server in servers]}
    yield {"BlockSizes": ",".join(map(str, schedulers.block_sizes(blocks)))}


FORMAT = Format(
    name="slurm-block",
    suffix=".conf",
    description="topology.conf for Slurm's topology/block (23.11 or later): domains as blocks",
    syntax=SETTINGS,
    content=_content,
)
