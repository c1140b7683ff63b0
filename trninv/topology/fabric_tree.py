"""Model a fabric as instances report it: a tree of network nodes.

Adoption (`trninv.reconcile`) builds the tree from network paths. A network path lists the network nodes that EC2 or
SageMaker names for an instance, from tier 1 at the top down. Every node has one parent, except those of tier 1. Local
numbers rise from the lowest tier to tier 1, so the upper end of a link has the higher number. Within a tier, new nodes
are numbered after the existing ones, in the order of their names. Each tier has numbers for `MAX_NODES_PER_TIER` nodes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

ServerOrdinals = tuple[int, int]
"""The ordinal of a domain, and the ordinal of a server in this domain."""
MAX_TIERS: Final = 16
"""The maximum number of tiers."""
MAX_NODES_PER_TIER: Final = 100_000
"""The maximum number of nodes in a tier."""


class FabricNode(NamedTuple):
    """A network node: local number, tier (1 is on top), ordinal within the tier, and the id in EC2 or SageMaker."""

    local: int
    tier: int
    ordinal: int
    vendor_id: str


@dataclass(frozen=True, slots=True)
class FabricTree:
    """The network nodes of a fabric, and the servers below them.

    Attributes
    ----------
    nodes_by_number
        The nodes in the order of their local numbers.
    parents
        The local number of each node's parent, by local number.
    server_parents
        The local number of the node directly above each server.
    is_dense
        Whether local numbers are consecutive over all tiers, which leaves no numbers for further nodes, as in clusters
        that older versions adopted.
    """

    nodes_by_number: tuple[FabricNode, ...]
    parents: Mapping[int, int]
    server_parents: Mapping[ServerOrdinals, int]
    is_dense: bool = False

    @classmethod
    def from_network_paths(cls, network_paths: Mapping[ServerOrdinals, Sequence[str]]) -> "FabricTree":
        """Build a tree from the names of the nodes above each server, the top node first.

        Raises
        ------
        ValueError
            A node is in two tiers or below two nodes, or there are too many nodes or tiers; see `path_conflicts`.
        """
        return cls((), {}, {}).with_network_paths(network_paths)

    def with_network_paths(self, network_paths: Mapping[ServerOrdinals, Sequence[str]]) -> "FabricTree":
        """Return the tree with network paths added or replaced; existing nodes keep their numbers.

        Raises
        ------
        ValueError
            A node is in two tiers or below two nodes, or there are too many nodes or tiers; see `path_conflicts`.
        """
        if conflict := next(path_conflicts([*self.network_paths().values(), *network_paths.values()]), None):
            raise ValueError(conflict)
        nodes = {node.vendor_id: node for node in self.nodes_by_number}
        tier_counts = Counter(node.tier for node in self.nodes_by_number)
        for tier, name in sorted({node for path in network_paths.values() for node in enumerate(path, start=1)}):
            if name not in nodes:
                nodes[name] = FabricNode(
                    (MAX_TIERS - tier) * MAX_NODES_PER_TIER + tier_counts[tier], tier, tier_counts[tier], name
                )
                tier_counts[tier] += 1
        new_parents = {
            nodes[child].local: nodes[parent].local
            for path in network_paths.values()
            for parent, child in pairwise(path)
        }
        new_server_parents = {server: nodes[path[-1]].local for server, path in network_paths.items()}
        return FabricTree(
            tuple(sorted(nodes.values())),
            {**self.parents, **new_parents},
            {**self.server_parents, **new_server_parents},
            self.is_dense,
        )

    def network_paths(self) -> Mapping[ServerOrdinals, tuple[str, ...]]:
        """Return the names of the nodes above each server, the top node first."""
        names = {node.local: node.vendor_id for node in self.nodes_by_number}
        paths = dict[int, tuple[str, ...]]()
        for local in sorted(names, reverse=True):
            paths[local] = (*(paths.get(self.parents[local], ()) if local in self.parents else ()), names[local])
        return {server: paths[local] for server, local in self.server_parents.items()}

    def nodes(self) -> Iterator[FabricNode]:
        """Return all nodes, the lowest tier first."""
        return iter(self.nodes_by_number)

    def violations(self) -> Iterator[str]:
        """Yield a message for each node without a parent in the tier above, with nothing below, or a wrong ordinal."""
        tiers = {node.local: node.tier for node in self.nodes_by_number}
        used = {*self.parents.values(), *self.server_parents.values()}
        expected = dict.fromkeys(tiers.values(), 0)
        for node in self.nodes_by_number:
            subject = f"network node {node.vendor_id}"
            if node.local in self.parents and tiers.get(self.parents[node.local]) != node.tier - 1:
                yield f"{subject} of tier {node.tier} is not below a node of tier {node.tier - 1}"
            elif node.tier > 1 and node.local not in self.parents:
                yield f"{subject} of tier {node.tier} has no parent"
            if node.local not in used:
                yield f"{subject} has nothing below it"
            if node.ordinal != expected[node.tier]:
                yield f"{subject} has the ordinal {node.ordinal}, not {expected[node.tier]}"
            expected[node.tier] += 1


def path_conflicts(network_paths: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a message for each node in two tiers or below two nodes, and for each tier beyond the limits."""
    positions: dict[str, tuple[int, str | None]] = {}  # tier and parent's name, by node name
    for path in dict.fromkeys(map(tuple, network_paths)):
        for tier, name in enumerate(path, start=1):
            position = tier, path[tier - 2] if tier > 1 else None
            first_position = positions.setdefault(name, position)
            if first_position != position:
                descriptions = f"{_describe_position(*first_position)} and {_describe_position(*position)}"
                yield f"network node {name} is {descriptions}"
    for tier, count in Counter(tier for tier, _ in positions.values()).items():
        if count > MAX_NODES_PER_TIER or tier > MAX_TIERS:
            limits = f"the limit is {MAX_NODES_PER_TIER:,} in each of {MAX_TIERS} tiers"
            yield f"tier {tier} has {count:,} network nodes: {limits}"


def _describe_position(tier: int, parent: str | None) -> str:
    return f"in tier {tier} below {parent}" if parent else "in tier 1"
