"""Find the group of nodes, a block, that Kubernetes' schedulers have each node in.

Kueue places jobs by the levels of its Topology, which are labels of nodes, on the nodes that a ResourceFlavor of that
Topology selects. Without Kueue, the label of a node's domain counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from trninv.discovery.kubernetes_objects import Object, member, name_of
from trninv.discovery.provider import join_names
from trninv.importers.records import NO_BLOCK
from trninv.importers.sources.kubernetes import DOMAIN_LABEL

_HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
_DOMAIN_LABELS: Final = (
    DOMAIN_LABEL,
    "accelerator.topograph.run/domain",  # topograph's, and its earlier name
    "network.topology.nvidia.com/accelerator",
    "topology.k8s.aws/ultraserver-id",
)
"""Labels that name a node's domain; the first one that any node has is used."""


class Flavor(NamedTuple):
    """The labels that select a ResourceFlavor's nodes, and the labels of the levels above a node, the top one first."""

    selector: Mapping[str, Any]
    levels: tuple[str, ...]


def read_flavors(topologies: Iterable[Object], flavors: Iterable[Object]) -> Iterator[Flavor]:
    """Yield the ResourceFlavors that have a Topology with levels above the host, by name."""
    levels_by_name = {name_of(topology): tuple(_read_levels(topology)) for topology in topologies}
    for flavor in sorted(flavors, key=name_of):
        levels = levels_by_name.get(str(member(flavor, "spec").get("topologyName")), ())
        if levels:
            yield Flavor(member(flavor, "spec", "nodeLabels"), levels)


def _read_levels(topology: Object) -> Iterator[str]:
    levels = member(topology, "spec").get("levels")
    for level in levels if isinstance(levels, list) else ():
        label = level.get("nodeLabel") if isinstance(level, dict) else None
        if isinstance(label, str) and label != _HOSTNAME_LABEL:
            yield label


def block_labels(flavors: Iterable[Flavor]) -> tuple[str, ...]:
    """Return the labels that `find_blocks` reads."""
    return (*_DOMAIN_LABELS, *(name for flavor in flavors for name in (*flavor.selector, *flavor.levels)))


def find_blocks(labels: Mapping[str, Mapping[str, Any]], flavors: Sequence[Flavor]) -> dict[str, str]:
    """Return the block of each node by its key, `NO_BLOCK` for a node in none; empty if no label names blocks.

    Parameters
    ----------
    labels
        The labels of each node by its key.

    """
    blocks = {key: _kueue_block(node, flavors) for key, node in labels.items()}
    if any(block != NO_BLOCK for block in blocks.values()):
        return blocks
    for label in _DOMAIN_LABELS:
        if any(label in node for node in labels.values()):
            return {key: node.get(label, NO_BLOCK) for key, node in labels.items()}
    return {}


def _kueue_block(labels: Mapping[str, Any], flavors: Sequence[Flavor]) -> str:
    """Return the values of all levels; `NO_BLOCK` if the node lacks one, as Kueue then ignores the node."""
    for flavor in flavors:
        values = [value for level in flavor.levels if isinstance(value := labels.get(level), str) and value]
        if flavor.selector.items() <= labels.items() and len(values) == len(flavor.levels):
            return join_names(values, "/")
    return NO_BLOCK
