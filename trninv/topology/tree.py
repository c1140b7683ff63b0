"""A fabric as instances report it: network nodes, each below one of the tier above it, in any number of tiers.

Instances name the nodes above them from the top layer down. A node has one node above it, so that the whole is a tree,
or several where there are several nodes on top. Local numbers run from the lowest tier to tier 1, so a link's upper end
has the higher one; within a tier they follow the names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

Slot = tuple[int, int]
"""A domain's ordinal, and a server's in it."""


class NetworkNode(NamedTuple):
    """A node of the fabric: local number, tier (1 on top), ordinal within the tier, and what its vendor calls it."""

    local: int
    tier: int
    ordinal: int
    vendor_id: str


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes in the order of their local numbers, what is above them, and the node above each server."""

    listed: tuple[NetworkNode, ...]
    above: Mapping[int, int]
    servers: Mapping[Slot, int]

    @classmethod
    def of(cls, ways: Mapping[Slot, Sequence[str]]) -> "Tree":
        """From the nodes above each server, the top one first.

        Raises
        ------
        ValueError
            A node is in two tiers, or below two nodes: `contradictions` says so in words.

        """
        if wrong := next(contradictions(ways.values()), None):
            raise ValueError(wrong)
        tiers = {name: tier for way in ways.values() for tier, name in enumerate(way, start=1)}
        listed = sorted(tiers, key=lambda name: (-tiers[name], name))
        local = {name: number for number, name in enumerate(listed)}
        first = {tier: min(local[name] for name in listed if tiers[name] == tier) for tier in set(tiers.values())}
        nodes = (NetworkNode(local[name], tiers[name], local[name] - first[tiers[name]], name) for name in listed)
        above = {local[low]: local[high] for way in ways.values() for high, low in pairwise(way)}
        return cls(tuple(nodes), above, {slot: local[way[-1]] for slot, way in ways.items()})

    def nodes(self) -> Iterator[NetworkNode]:
        """All nodes, the lowest tier first."""
        return iter(self.listed)

    def faults(self) -> Iterator[str]:
        """What no such fabric has: a node with nothing above it but on top, with nothing below it, or out of order."""
        tiers = {node.local: node.tier for node in self.listed}
        used = {*self.above.values(), *self.servers.values()}
        expected = dict.fromkeys(tiers.values(), 0)
        for node in self.listed:
            what = f"network node {node.vendor_id}"
            if self.above.keys() >= {node.local} and tiers.get(self.above[node.local]) != node.tier - 1:
                yield f"{what} of tier {node.tier} is not below one of tier {node.tier - 1}"
            elif node.tier > 1 and node.local not in self.above:
                yield f"{what} of tier {node.tier} is below no other"
            if node.local not in used:
                yield f"{what} has nothing below it"
            if node.ordinal != expected[node.tier]:
                yield f"{what} has the number {node.ordinal}, not {expected[node.tier]}"
            expected[node.tier] += 1


def contradictions(ways: Iterable[Sequence[str]]) -> Iterator[str]:
    """In words, each node that is said to be in two tiers or below two others."""
    places: dict[str, tuple[int, str | None]] = {}
    for way in dict.fromkeys(map(tuple, ways)):
        for tier, name in enumerate(way, start=1):
            place = tier, way[tier - 2] if tier > 1 else None
            known = places.setdefault(name, place)
            if known != place:
                yield f"network node {name} is {_place(*known)} and {_place(*place)}"


def _place(tier: int, above: str | None) -> str:
    return f"in tier {tier} below {above}" if above else "on top"
