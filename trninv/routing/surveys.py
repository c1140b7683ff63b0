"""The answers about a whole scope: profiles, distances, collectives, placement, sweeps."""

from dataclasses import dataclass

from trninv.routing.results import Answer, LinkRef
from trninv.units import Bandwidth, Capacity

__all__ = [
    "CollectivesAnswer",
    "CutTreeAnswer",
    "DistanceAnswer",
    "Limit",
    "PlacementAnswer",
    "ProfileAnswer",
    "SplitCost",
    "SweepAnswer",
    "SweepClass",
    "TreeEdge",
]


@dataclass(frozen=True, slots=True)
class SplitCost:
    """Bounds on the least capacity that parts so many chips from the others."""

    chips: int
    lower: Bandwidth
    upper: Bandwidth

    @property
    def exact(self) -> bool:
        return self.lower == self.upper


@dataclass(frozen=True, kw_only=True)
class ProfileAnswer(Answer):
    """How well a job of i of a scope's chips is connected to the rest at best, for every i up to half of them."""

    of: str
    chips: int
    splits: tuple[SplitCost, ...]


@dataclass(frozen=True, kw_only=True)
class DistanceAnswer(Answer):
    """Hops between the pairs of a scope's healthy chips.

    Attributes
    ----------
    diameter, mean
        Of the pairs that reach each other; None if there is no such pair.
    unreachable
        Pairs that do not.
    by_hops
        Hops and how many pairs are so far apart.

    """

    of: str
    chips: int
    pairs: int
    unreachable: int
    diameter: int | None
    mean: float | None
    by_hops: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class TreeEdge:
    """An edge of a Gomory-Hu tree."""

    a: str
    b: str
    flow: Bandwidth


@dataclass(frozen=True, kw_only=True)
class CutTreeAnswer(Answer):
    """The Gomory-Hu tree: the maximum flow of two nodes is the least edge on the tree's way between them.

    Attributes
    ----------
    a, b
        The worst connected pair of chips, the first by address.
    worst
        Their maximum flow; the links of ``cut`` sum to it.
    cut_off
        Chips on the smaller side of that cut.

    """

    of: str
    a: str | None
    b: str | None
    worst: Bandwidth
    cut_off: tuple[str, ...]
    cut: tuple[LinkRef, ...]
    tree: tuple[TreeEdge, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """What the wiring allows a collective at most.

    Attributes
    ----------
    lower, upper
        Proven bounds in bytes per second of a chip, one direction; exact if they agree to nine digits.
    method
        Why they hold.
    links
        The links that allow no more.

    """

    lower: Bandwidth
    upper: Bandwidth
    method: str
    links: tuple[LinkRef, ...]

    @property
    def exact(self) -> bool:
        return (self.upper - self.lower) * 10**9 <= self.upper


@dataclass(frozen=True, kw_only=True)
class CollectivesAnswer(Answer):
    """Upper limits that the wiring sets to collectives of a scope's healthy chips; not predictions of a library.

    Attributes
    ----------
    all_to_all
        What each chip sends to all the others together.
    all_gather, reduce_scatter
        Bus bandwidth: each chip's part of the data times the number of other chips, over the time.
    all_reduce
        Bus bandwidth of a reduce-scatter and an all-gather, one after the other.
    all_reduce_algorithm
        Size of the data over the time: bus bandwidth · n / (2(n - 1)).
    ring_all_reduce
        Bus bandwidth on rings through all chips, both directions of each together: ``lower`` is what the rings that
        were found reach; None where chips are not directly linked, or no ring was found.

    """

    of: str
    chips: int
    all_to_all: Limit
    all_gather: Limit
    reduce_scatter: Limit
    all_reduce: Limit
    all_reduce_algorithm: Limit
    ring_all_reduce: Limit | None


@dataclass(frozen=True, kw_only=True)
class PlacementAnswer(Answer):
    """The fewest chips around a place that hold so much memory: its own, then the nearest, the widest paths first.

    Attributes
    ----------
    chips
        Their addresses, nearest first.
    radius
        Hops to the farthest of them.
    narrowest
        Least of the widest paths to them; None where the place's own chips suffice.
    delivery
        What the others deliver at once into the place.
    enough
        Whether all that is within reach holds as much.
    tried
        Places that were compared.

    """

    place: str
    wanted: Capacity
    memory: Capacity
    chips: tuple[str, ...]
    radius: int
    narrowest: Bandwidth | None
    delivery: Bandwidth
    enough: bool
    tried: int


@dataclass(frozen=True, slots=True)
class SweepClass:
    """Failures that a symmetry of the wiring maps onto each other.

    Attributes
    ----------
    failed
        What fails in one of them.
    count
        How many there are.
    lower, upper
        Proven bounds of the measure; None for the diameter of chips that are not all joined.
    change
        Upper bound less that of the wiring as it is, where both are numbers.

    """

    failed: tuple[str, ...]
    count: int
    lower: int | None
    upper: int | None
    change: int | None

    @property
    def exact(self) -> bool:
        return self.lower == self.upper


@dataclass(frozen=True, kw_only=True)
class SweepAnswer(Answer):
    """Failures by damage, the worst first; ``lower`` and ``upper`` are the measure of the wiring as it is."""

    of: str
    measure: str
    lower: int | None
    upper: int | None
    failures: int
    classes: tuple[SweepClass, ...]
