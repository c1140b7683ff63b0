"""Write topology.conf for Slurm's topology/block (from 23.11): each scale-up domain is a block."""

from collections.abc import Iterable, Iterator

from trninv.exporters import schedulers
from trninv.exporters.export_source import ExportSource
from trninv.exporters.format import Format, Record
from trninv.hostlist import expand, fold


def _write(source: ExportSource) -> Iterator[str]:
    blocks = schedulers.server_blocks(source)
    for name, servers in blocks.items():
        yield f"BlockName={name} Nodes={fold([server.name for server in servers])}"
    yield f"BlockSizes={','.join(map(str, schedulers.block_sizes(blocks)))}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for setting in schedulers.parse_settings(lines):
        if "BlockSizes" in setting:
            yield "sizes", *map(int, setting["BlockSizes"].split(","))
        else:
            yield setting["BlockName"], *expand(setting["Nodes"])


def _records(source: ExportSource) -> Iterator[Record]:
    blocks = source.servers_by_domain()
    for name, servers in blocks.items():
        yield name, *(server.name for server in servers)
    yield "sizes", *schedulers.block_sizes(blocks)


FORMAT = Format(
    name="slurm-block",
    suffix=".conf",
    description="Slurm's topology.conf for topology/block, from 23.11 on: domains as blocks",
    write=_write,
    read=_read,
    expected_records=_records,
)
