"""Write Slurm's topology.yaml (from 25.05): tree, blocks, and rings and tori if UltraServers are rings of servers.

A partition selects a topology by its name, as in Topology=rings.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from trninv.errors import NotExpressibleError
from trninv.exporters import schedulers, serialization, switch_tree
from trninv.exporters.export_source import ExportedServer, ExportSource
from trninv.exporters.format import Format, Record
from trninv.hostlist import expand, fold

_MAX_RING_SERVERS = 16


def _write(source: ExportSource) -> Iterator[str]:
    blocks = schedulers.server_blocks(source)
    switches = switch_tree.build_switches(source)
    schedulers.check_names(switch.name for switch in switches)
    if sum(bool(switch.servers) for switch in switches) > schedulers.MAX_SLURM_LEAVES:
        raise NotExpressibleError(
            f"{source.place.address} has too many leaves for slurmctld; add --coarse to use network nodes as leaves"
        )
    rings = _rings(blocks)
    yield from serialization.yaml_document(
        [
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
            *_ring_or_torus(
                "rings", "ring", [{"ring": name, "nodes": _nodes(members)} for name, members in rings.items()]
            ),
            *_ring_or_torus("zrings", "torus3d", [_torus(name, members) for name, members in rings.items()]),
        ]
    )


def _rings(blocks: dict[str, list[ExportedServer]]) -> dict[str, list[ExportedServer]]:
    """Return the domains that are rings of servers: in a torus of several servers, the first axis goes along them."""
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
    if entries:
        key = "rings" if kind == "ring" else "toruses"
        yield {"topology": name, "cluster_default": False, kind: {key: entries}}


def _torus(name: str, servers: list[ExportedServer]) -> dict[str, Any]:
    """Return a torus of one row, with placements for jobs of 1, 2, 4, … servers, so that two share a rack."""
    lengths = [1 << k for k in range(len(servers).bit_length()) if len(servers) % (1 << k) == 0]
    return {
        "name": name,
        "dims": _row(len(servers)),
        "nodes": _nodes(servers),
        "placements": [{"dims": _row(length)} for length in lengths],
    }


def _row(length: int) -> dict[str, int]:
    return {"x": 1, "y": 1, "z": length}


def _read(lines: Iterable[str]) -> Iterator[Record]:
    for document in next(iter(serialization.read_yaml_documents(lines))):
        name = document["topology"]
        match document:
            case {"tree": {"switches": switches}}:
                pairs = switch_tree.read_tree(
                    switch_tree.TreeSwitch(
                        entry["switch"],
                        tuple(expand(entry.get("children", ""))),
                        tuple(expand(entry.get("nodes", ""))),
                    )
                    for entry in switches
                )
                yield from ((name, *pair) for pair in pairs)
            case {"block": {"block_sizes": sizes, "blocks": blocks}}:
                yield name, *sizes
                yield from ((name, entry["block"], *expand(entry["nodes"])) for entry in blocks)
            case {"ring": {"rings": rings}}:
                yield from ((name, entry["ring"], *expand(entry["nodes"])) for entry in rings)
            case {"torus3d": {"toruses": tori}}:
                yield from ((name, entry["name"], entry["dims"]["z"], *expand(entry["nodes"])) for entry in tori)


def _records(source: ExportSource) -> Iterator[Record]:
    blocks = schedulers.server_blocks(source)
    yield from (("fabric", *pair) for pair in switch_tree.tree_records(source))
    yield "ultraservers", *schedulers.block_sizes(blocks)
    yield from (("ultraservers", name, *(server.name for server in members)) for name, members in blocks.items())
    rings = _rings(blocks)
    yield from (("rings", name, *(server.name for server in members)) for name, members in rings.items())
    yield from (("zrings", name, len(members), *(server.name for server in members)) for name, members in rings.items())


FORMAT = Format(
    name="slurm-yaml",
    suffix=".yaml",
    description="Slurm's topology.yaml, from 25.05 on: tree, blocks, and rings of servers",
    write=_write,
    read=_read,
    expected_records=_records,
)
