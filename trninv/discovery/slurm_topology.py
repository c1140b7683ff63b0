"""Read which block, or switch of the lowest level, each node has in Slurm's topologies.

``scontrol show topology`` prints the default topology. ``scontrol show topoconf``, since Slurm 25.05, prints all of
them as topology.yaml has them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from trninv.discovery.provider import join_names
from trninv.errors import UsageError
from trninv.hostlist import expand
from trninv.importers.records import NO_BLOCK
from trninv.importers.yaml_parser import YamlError, parse_yaml

_LINE: Final = re.compile(r"^(?:SwitchName=(\S+) Level=(\d+)|BlockName=(\S+)) .*?\bNodes=(\S+)", re.MULTILINE)
_UNITS: Final = {
    "tree": ("switches", "switch"),
    "block": ("blocks", "block"),
    "ring": ("rings", "ring"),
    "torus3d": ("toruses", "name"),
}
"""The key of the list of units, and the key of a unit's name, by kind of topology."""


class _Unit(NamedTuple):
    """A block, a switch with nodes, a ring or a torus."""

    name: str
    nodes: str


class _Topology(NamedTuple):
    """A topology, with the block of each node."""

    name: str
    kind: str
    blocks: dict[str, str]


def read_blocks(text: bytes) -> dict[str, str]:
    """Return the block of each node, or its switch of the lowest level, as ``scontrol show topology`` prints it."""
    blocks = dict[str, tuple[int, str]]()
    for switch, level, block, nodes in _LINE.findall(text.decode(errors="replace")):
        entry = int(level or 0), switch or block
        for name in _expand(nodes):
            blocks[name] = min(blocks.get(name, entry), entry)
    return {name: block for name, (_, block) in blocks.items()}


def read_topology_yaml(content: bytes) -> dict[str, str]:
    """Return the block of each node in topology.yaml; its name has several parts if there are several topologies.

    A switch of a tree may have other servers than a block, so beside other topologies only a node that a tree omits
    has a part for the tree.

    Raises
    ------
    UsageError
        It is not YAML, or has no topology with nodes.

    """
    try:
        documents = [value for _, value in parse_yaml(content)]
    except YamlError as error:
        raise UsageError(error.message) from None
    entries = documents[0] if len(documents) == 1 and isinstance(documents[0], list) else ()
    topologies = [topology for entry in entries if isinstance(entry, dict) for topology in _read_topologies(entry)]
    if not topologies:
        raise UsageError("has no topology with nodes")
    if len(topologies) == 1:
        return topologies[0].blocks
    are_trees = all(topology.kind == "tree" for topology in topologies)
    return {
        node: join_names(
            (
                f"{topology.name}:{topology.blocks.get(node, NO_BLOCK)}"
                for topology in topologies
                if are_trees or topology.kind != "tree" or node not in topology.blocks
            ),
            ",",
        )
        for node in dict.fromkeys(node for topology in topologies for node in topology.blocks)
    }


def _read_topologies(entry: dict[str, Any]) -> Iterator[_Topology]:
    """Yield a topology if it has nodes."""
    for kind in _UNITS.keys() & entry.keys():
        blocks = {node: unit.name for unit in _read_units(entry[kind], *_UNITS[kind]) for node in _expand(unit.nodes)}
        if blocks:
            yield _Topology(str(entry.get("topology")), kind, blocks)


def _read_units(topology: Any, list_key: str, name_key: str) -> Iterator[_Unit]:
    """Yield the units of a topology that have nodes; a torus may have them in regions."""
    for unit in _objects(topology, list_key):
        for place in (unit, *_objects(unit, "regions")):
            if isinstance(unit.get(name_key), str) and isinstance(place.get("nodes"), str):
                yield _Unit(unit[name_key], place["nodes"])


def _objects(value: Any, key: str) -> Iterable[dict[str, Any]]:
    items = value.get(key) if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else ()


def _expand(nodes: str) -> list[str]:
    """Return the names of a host list; none if it is not one, as Slurm then knows no such nodes either."""
    try:
        return expand(nodes)
    except UsageError:
        return []
