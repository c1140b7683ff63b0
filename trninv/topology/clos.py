"""Model the documented EFA fabric: three tiers of network nodes, tier 1 on top, as EC2's instance topology shows it.

Each scale-up domain is attached to one node of tier 3, and each node to one of the tier above, so that a place has one
network node in each tier (DescribeInstanceTopology). A node stands for a group of non-blocking switches: its uplink
carries the sum of its downlinks. Local numbers run from tier 3 to tier 1, so the upper end of a link has the higher
one.
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
    """A link from a node to its parent, with the number of domains below it."""

    a: int
    b: int
    domains: int


@dataclass(frozen=True, slots=True)
class ClosFabric:
    """The sizes of a fabric: all domains, domains per node of tier 3, nodes of tier 3 per node of tier 2."""

    domains: int
    domains_per_node: int
    nodes_per_node: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes in tier 1, 2 and 3."""
        lowest = -(-self.domains // self.domains_per_node)
        return 1, -(-lowest // self.nodes_per_node), lowest

    def nodes(self) -> Iterator[ClosNode]:
        """Yield all nodes, tier 3 first."""
        local = 0
        for tier in range(TIERS, 0, -1):
            for ordinal in range(self.sizes[tier - 1]):
                yield ClosNode(local, tier, ordinal)
                local += 1

    def uplinks(self) -> Iterator[ClosUplink]:
        """Yield the link from each node to its parent."""
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
