"""Write Slurm's topology.yaml (Slurm 25.05 or newer), which describes the same servers in several topologies.

``fabric`` is a tree of switches, and ``ultraservers`` has a block for each scale-up domain (the servers that NeuronLink
connects). If the servers of a domain form a ring, ``rings`` has it as a ring and ``zrings`` as a torus with one long
axis. A partition selects a topology by its name, as in Topology=rings.
"""

from collections.abc import Iterator
from typing import Any

from trninv.errors import NotExpressibleError
from trninv.exporters import schedulers, switch_tree
from trninv.exporters.export_source import ExportedServer, ExportSource
from trninv.exporters.format import Format
from trninv.exporters.yaml_syntax import YAML
from trninv.hostlist import fold

_MAX_RING_SERVERS = 16
"""Rings with more servers are omitted."""


def _content(source: ExportSource) -> Iterator[Any]:
    blocks = schedulers.server_blocks(source)
    switches = switch_tree.build_switches(source)
    schedulers.check_names(switch.name for switch in switches)
    if sum(bool(switch.servers) for switch in switches) > schedulers.MAX_SLURM_LEAVES:
        raise NotExpressibleError(
            f"{source.place.address} has too many leaves for slurmctld; add --coarse to use network nodes as leaves"
        )
    rings = _rings(blocks)
    yield [
        {
            "topology": "fabric",
            "cluster_default": True,
            "tree": {"switches": [_switch(inner) for inner in switches]},
        },
        {
            "topology": "ultraservers",
            "cluster_default": False,
            "block": {
                "block_sizes": schedulers.block_sizes(blocks),
                "blocks": [{"block": name, "nodes": _nodes(servers)} for name, servers in blocks.items()],
            },
        },
        *_ring_or_torus("rings", "ring", [{"ring": name, "nodes": _nodes(members)} for name, members in rings.items()]),
        *_ring_or_torus("zrings", "torus3d", [_torus(name, members) for name, members in rings.items()]),
    ]


def _rings(blocks: dict[str, list[ExportedServer]]) -> dict[str, list[ExportedServer]]:
    """Return the domains whose servers form a ring, as in a torus over several servers, unless the ring is too long."""
    return {
        name: servers
        for name, servers in blocks.items()
        if servers[0].model.wiring == "torus" and 1 < len(servers) <= _MAX_RING_SERVERS
    }


def _switch(switch: switch_tree.TreeSwitch) -> dict[str, str]:
    children = {"children": fold(switch.switches)} if switch.switches else {"nodes": fold(switch.servers)}
    return {"switch": switch.name} | children


def _nodes(servers: list[ExportedServer]) -> str:
    return fold([server.name for server in servers])


def _ring_or_torus(name: str, kind: str, entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a topology that has all rings or tori, unless there are none."""
    if entries:
        key = "rings" if kind == "ring" else "toruses"
        yield {"topology": name, "cluster_default": False, kind: {key: entries}}


def _torus(name: str, servers: list[ExportedServer]) -> dict[str, Any]:
    """Return a torus of one row, with placements for jobs of 1, 2, 4, … servers, so that two servers share a rack."""
    lengths = [1 << k for k in range(len(servers).bit_length()) if len(servers) % (1 << k) == 0]
    return {
        "name": name,
        "dims": _row(len(servers)),
        "nodes": _nodes(servers),
        "placements": [{"dims": _row(length)} for length in lengths],
    }


def _row(length: int) -> dict[str, int]:
    """Return the dimensions of a torus that is a row of servers."""
    return {"x": 1, "y": 1, "z": length}


FORMAT = Format(
    name="slurm-yaml",
    suffix=".yaml",
    description="Slurm's topology.yaml (25.05 or later): tree, blocks, and rings of servers",
    syntax=YAML,
    content=_content,
)
