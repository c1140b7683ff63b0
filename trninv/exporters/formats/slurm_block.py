"""topology.conf for Slurm's topology/block (Slurm 23.11 and later): each scale-up domain is a block."""

from collections.abc import Iterable, Iterator

from trninv.exporters import slurm
from trninv.exporters.format import Format, Record
from trninv.exporters.source import Source
from trninv.hostlist import expanded, folded


def _write(source: Source) -> Iterator[str]:
    found = slurm.blocks(source)
    for name, servers in found.items():
        yield f"BlockName={name} Nodes={folded([server.name for server in servers])}"
    yield f"BlockSizes={','.join(map(str, slurm.sizes(found)))}"


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for found in slurm.settings(lines):
        if "BlockSizes" in found:
            yield "sizes", *map(int, found["BlockSizes"].split(","))
        else:
            yield found["BlockName"], *expanded(found["Nodes"])


def _records(source: Source) -> Iterator[Record]:
    found = source.domains()
    for name, servers in found.items():
        yield name, *(server.name for server in servers)
    yield "sizes", *slurm.sizes(found)


FORMAT = Format(
    name="slurm-block",
    suffix=".conf",
    says="Slurm's topology.conf for topology/block, from 23.11 on: domains as blocks",
    write=_write,
    read=_read,
    records=_records,
)
