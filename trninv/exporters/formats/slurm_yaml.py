"""topology.yaml of Slurm from 25.05 on: the tree, blocks, and rings and tori where UltraServers are rings of servers.

A partition picks one by its name: Topology=rings.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from trninv.errors import NotExpressibleError
from trninv.exporters import slurm, tree, yaml_text
from trninv.exporters.format import Format, Record
from trninv.exporters.source import Server, Source
from trninv.hostlist import expanded, folded

_LONGEST_RING = 16


def _write(source: Source) -> Iterator[str]:
    blocks = slurm.blocks(source)
    found = tree.switches(source)
    slurm.named(switch.name for switch in found)
    if sum(bool(switch.servers) for switch in found) > slurm.MOST_LEAVES:
        raise NotExpressibleError(
            f"{source.place.address} has too many leaf switches for slurmctld: --coarse makes network nodes the leaves"
        )
    rings = _rings(blocks)
    yield from yaml_text.document(
        [
            {"topology": "fabric", "cluster_default": True, "tree": {"switches": [_switch(each) for each in found]}},
            {
                "topology": "ultraservers",
                "cluster_default": False,
                "block": {
                    "block_sizes": slurm.sizes(blocks),
                    "blocks": [{"block": name, "nodes": _nodes(servers)} for name, servers in blocks.items()],
                },
            },
            *_cyclic("rings", "ring", [{"ring": name, "nodes": _nodes(of)} for name, of in rings.items()]),
            *_cyclic("zrings", "torus3d", [_torus(name, of) for name, of in rings.items()]),
        ]
    )


def _rings(blocks: dict[str, list[Server]]) -> dict[str, list[Server]]:
    """Domains that are rings of servers: tori that several servers share have one server a step of the first axis."""
    return {
        name: servers
        for name, servers in blocks.items()
        if servers[0].model.wiring == "torus" and 1 < len(servers) <= _LONGEST_RING
    }


def _switch(switch: tree.Switch) -> dict[str, str]:
    below = {"children": folded(switch.switches)} if switch.switches else {"nodes": folded(switch.servers)}
    return {"switch": switch.name} | below


def _nodes(servers: list[Server]) -> str:
    return folded([server.name for server in servers])


def _cyclic(name: str, kind: str, found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if found:
        of = "rings" if kind == "ring" else "toruses"
        yield {"topology": name, "cluster_default": False, kind: {of: found}}


def _torus(name: str, servers: list[Server]) -> dict[str, Any]:
    """Of one row; jobs of 1, 2, 4, … servers are placed so that two share a rack."""
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
    for found in next(iter(yaml_text.documents(lines))):
        name = found["topology"]
        match found:
            case {"tree": {"switches": switches}}:
                pairs = tree.read(
                    tree.Switch(
                        each["switch"],
                        tuple(expanded(each.get("children", ""))),
                        tuple(expanded(each.get("nodes", ""))),
                    )
                    for each in switches
                )
                yield from ((name, *pair) for pair in pairs)
            case {"block": {"block_sizes": sizes, "blocks": blocks}}:
                yield name, *sizes
                yield from ((name, each["block"], *expanded(each["nodes"])) for each in blocks)
            case {"ring": {"rings": rings}}:
                yield from ((name, each["ring"], *expanded(each["nodes"])) for each in rings)
            case {"torus3d": {"toruses": tori}}:
                yield from ((name, each["name"], each["dims"]["z"], *expanded(each["nodes"])) for each in tori)


def _records(source: Source) -> Iterator[Record]:
    blocks = slurm.blocks(source)
    yield from (("fabric", *pair) for pair in tree.records(source))
    yield "ultraservers", *slurm.sizes(blocks)
    yield from (("ultraservers", name, *(each.name for each in of)) for name, of in blocks.items())
    rings = _rings(blocks)
    yield from (("rings", name, *(each.name for each in of)) for name, of in rings.items())
    yield from (("zrings", name, len(of), *(each.name for each in of)) for name, of in rings.items())


FORMAT = Format(
    name="slurm-yaml",
    suffix=".yaml",
    says="Slurm's topology.yaml, from 25.05 on: tree, blocks, and rings where servers make rings",
    write=_write,
    read=_read,
    records=_records,
)
