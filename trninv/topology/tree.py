"""A fabric as instances report it: network nodes, each below one of the tier above it, in any number of tiers.

Instances name the nodes above them from the top layer down. A node has one node above it, so that the whole is a tree,
or several where there are several nodes on top. Local numbers run from the lowest tier to tier 1, so a link's upper end
has the higher one; within a tier they follow the names, and those of nodes that come later follow them. Each tier has
room for `PER_TIER` of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

Ordinals = tuple[int, int]
"""A domain's ordinal, and a server's in it."""
TIERS: Final = 16
"""The most tiers of a fabric."""
PER_TIER: Final = 100_000
"""The most nodes of a tier."""


class NetworkNode(NamedTuple):
    """A node of the fabric: local number, tier (1 on top), ordinal within the tier, and what its vendor calls it."""

    local: int
    tier: int
    ordinal: int
    vendor_id: str


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes in the order of their local numbers, what is above them, and the node above each server.

    Attributes
    ----------
    is_dense
        Whether local numbers leave no room for more nodes, as those of clusters that older versions adopted.

    """

    listed: tuple[NetworkNode, ...]
    above: Mapping[int, int]
    servers: Mapping[Ordinals, int]
    is_dense: bool = False

    @classmethod
    def of(cls, ways: Mapping[Ordinals, Sequence[str]]) -> "Tree":
        """From the nodes above each server, the top one first.

        Raises
        ------
        ValueError
            A node is in two tiers, or below two nodes, or there are too many: `contradictions` says so in words.

        """
        return cls((), {}, {}).grown(ways)

    def grown(self, ways: Mapping[Ordinals, Sequence[str]]) -> "Tree":
        """With the nodes above other servers, or above some of these instead; nodes that are there keep their numbers.

        Raises
        ------
        ValueError
            As of `of`.

        """
        if wrong := next(contradictions([*self.ways().values(), *ways.values()]), None):
            raise ValueError(wrong)
        places = {node.vendor_id: node for node in self.listed}
        last = Counter(node.tier for node in self.listed)
        for tier, name in sorted({place for way in ways.values() for place in enumerate(way, start=1)}):
            if name not in places:
                places[name] = NetworkNode((TIERS - tier) * PER_TIER + last[tier], tier, last[tier], name)
                last[tier] += 1
        above = {places[low].local: places[high].local for way in ways.values() for high, low in pairwise(way)}
        servers = {slot: places[way[-1]].local for slot, way in ways.items()}
        return Tree(tuple(sorted(places.values())), {**self.above, **above}, {**self.servers, **servers}, self.is_dense)

    def ways(self) -> Mapping[Ordinals, tuple[str, ...]]:
        """The names of the nodes above each server, the top one first."""
        names = {node.local: node.vendor_id for node in self.listed}
        found = dict[int, tuple[str, ...]]()
        for local in sorted(names, reverse=True):
            found[local] = (*(found.get(self.above[local], ()) if local in self.above else ()), names[local])
        return {slot: found[local] for slot, local in self.servers.items()}

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
    """In words, each node that is said to be in two tiers or below two others, and more nodes than there can be."""
    places: dict[str, tuple[int, str | None]] = {}
    for way in dict.fromkeys(map(tuple, ways)):
        for tier, name in enumerate(way, start=1):
            place = tier, way[tier - 2] if tier > 1 else None
            known = places.setdefault(name, place)
            if known != place:
                yield f"network node {name} is {_place(*known)} and {_place(*place)}"
    for tier, count in Counter(tier for tier, _ in places.values()).items():
        if count > PER_TIER or tier > TIERS:
            yield f"there are {count:,} network nodes in tier {tier}: at most {PER_TIER:,} in each of {TIERS} tiers"


def _place(tier: int, above: str | None) -> str:
    return f"in tier {tier} below {above}" if above else "on top"
