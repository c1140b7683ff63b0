"""Model the EFA fabric that EC2 documents for its instance topology: three tiers of network nodes, with tier 1 on top.

Seeded clusters have this fabric; adopted ones have the fabric that their instances report
(`trninv.topology.fabric_tree`).

Each scale-up domain is attached to one node of tier 3, and each node to one node of the tier above, so that an instance
is below one network node in each tier (as in EC2's DescribeInstanceTopology). A node represents a group of non-blocking
switches, so its uplink carries the sum of its downlinks. Local numbers start at 0 and rise from tier 3 to tier 1, so
the upper end of a link has the higher number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

TIERS = 3


class ClosNode(NamedTuple):
    """A network node: local number, tier, and ordinal within the tier."""

    local: int
    tier: int
    ordinal: int


class ClosUplink(NamedTuple):
    """A link from a node (``a``) to its parent (``b``), with the number of domains below the link."""

    a: int
    b: int
    domains: int


@dataclass(frozen=True, slots=True)
class ClosFabric:
    """A fabric, by the numbers of domains, of domains per node of tier 3, and of nodes of tier 3 per node of tier 2."""

    domains: int
    domains_per_node: int
    nodes_per_node: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of nodes in tiers 1, 2 and 3."""
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
        _, middle, lowest = self.sizes  # numbers of nodes in tiers 2 and 3
        domains_per_middle = self.domains_per_node * self.nodes_per_node
        for node in range(lowest):
            yield ClosUplink(
                node, lowest + node // self.nodes_per_node, self._domains_below(node, self.domains_per_node)
            )
        for node in range(middle):
            yield ClosUplink(lowest + node, lowest + middle, self._domains_below(node, domains_per_middle))

    def _domains_below(self, node: int, domains_per_node: int) -> int:
        return min(domains_per_node, self.domains - node * domains_per_node)
