"""The EFA fabric as EC2's instance topology shows it: three tiers of network nodes, tier 1 on top.

Each scale-up domain hangs on one node of tier 3 and each node on one of the tier above, so a place has one network
node in each tier (DescribeInstanceTopology). A node stands for switches that do not block each other: its uplink
carries the sum of its downlinks. Local numbers run from tier 3 to tier 1, so a link's upper end has the higher one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

TIERS = 3


class ClosNode(NamedTuple):
    """A node of the fabric: local number, tier, and ordinal within the tier."""

    local: int
    tier: int
    ordinal: int


class ClosUplink(NamedTuple):
    """From a node to the one above; ``domains`` hang below it."""

    a: int
    b: int
    domains: int


@dataclass(frozen=True, slots=True)
class ClosFabric:
    """Sizes: equal domains in all, domains on a node of tier 3, nodes on a node of tier 2."""

    domains: int
    domains_per_node: int
    nodes_per_node: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of nodes of tier 1, 2 and 3."""
        lowest = -(-self.domains // self.domains_per_node)
        return 1, -(-lowest // self.nodes_per_node), lowest

    def nodes(self) -> Iterator[ClosNode]:
        """All nodes, tier 3 first."""
        local = 0
        for tier in range(TIERS, 0, -1):
            for ordinal in range(self.sizes[tier - 1]):
                yield ClosNode(local, tier, ordinal)
                local += 1

    def uplinks(self) -> Iterator[ClosUplink]:
        """The link from each node to the one above it."""
        _, middle, lowest = self.sizes
        per_middle = self.domains_per_node * self.nodes_per_node
        for node in range(lowest):
            yield ClosUplink(
                node, lowest + node // self.nodes_per_node, self._domains_below(node, self.domains_per_node)
            )
        for node in range(middle):
            yield ClosUplink(lowest + node, lowest + middle, self._domains_below(node, per_middle))

    def _domains_below(self, node: int, domains_per_node: int) -> int:
        return min(domains_per_node, self.domains - node * domains_per_node)
