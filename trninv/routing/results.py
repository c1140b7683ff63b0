"""The answers, as frozen values; command line, GraphQL and notebooks only render them.

Every bandwidth is of one direction. ``lower`` ≤ truth ≤ ``upper``; an answer is exact where they are equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from trninv.units import Bandwidth, Capacity, Duration

__all__ = [
    "Answer",
    "Balance",
    "BandwidthAnswer",
    "BisectionAnswer",
    "Bounds",
    "CitedFact",
    "Difference",
    "LinkRef",
    "LinkShare",
    "Metric",
    "Path",
    "PathAnswer",
    "PathStep",
    "PoolAnswer",
    "PoolRing",
    "ReachedChip",
    "Shape",
]


class Metric(StrEnum):
    """What makes a path good.

    HOPS, fewest links; BANDWIDTH, the widest narrowest link, then fewest links; TIME, the least latency of its links +
    bytes of the message / narrowest link, then fewest links, then the widest.
    """

    HOPS = "HOPS"
    BANDWIDTH = "BANDWIDTH"
    TIME = "TIME"


class Shape(StrEnum):
    """Which paths: BEST, the k best; ALL, besides the graph of all best ones; or as many as share no link or node."""

    BEST = "BEST"
    ALL = "ALL"
    LINK_DISJOINT = "LINK_DISJOINT"
    NODE_DISJOINT = "NODE_DISJOINT"


class Balance(StrEnum):
    """What is halved: LIVE, the healthy chips; NOMINAL, all chips, failed ones as fillers on either side."""

    LIVE = "LIVE"
    NOMINAL = "NOMINAL"


@dataclass(frozen=True, slots=True)
class CitedFact:
    """A fact that an answer rests on: the value used, and who says so in which words.

    Attributes
    ----------
    disputed
        Another source says otherwise, or the number had to be read against its letter; ``note`` says how.
    assumed
        No document says so.

    """

    id: int
    subject: str
    attribute: str
    value: str
    written: str
    quote: str
    source: str
    grounds: str | None
    note: str | None
    disputed: bool
    assumed: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """What a scenario changes in an answer: scenario less baseline, None where it says nothing.

    Attributes
    ----------
    hops
        Of the best path.
    bytes_per_second
        Of the best path's bandwidth, the maximum flow, or the bisection's upper bound; one direction.
    chips, bytes
        Of a memory pool.

    """

    hops: int | None = None
    bytes_per_second: int | None = None
    chips: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What every answer says of itself.

    Attributes
    ----------
    definition
        The quantity in words, with its direction.
    facts
        What the documents say that the answer rests on.
    truncated
        Something was cut off at a limit.
    baseline
        The same answer on the unchanged wiring, where a scenario was asked about.

    """

    definition: str
    facts: tuple[CitedFact, ...]
    truncated: bool = False
    baseline: Self | None = None

    @property
    def difference(self) -> Difference | None:
        """What the scenario changes; None where none was asked about."""
        return None if self.baseline is None else self._less(self.baseline)

    def _less(self, other: Self) -> Difference:  # noqa: ARG002 # subclasses compare what they have
        return Difference()

    @property
    def disputed(self) -> bool:
        return any(fact.disputed for fact in self.facts)

    @property
    def assumed(self) -> bool:
        return any(fact.assumed for fact in self.facts)


@dataclass(frozen=True, slots=True)
class LinkRef:
    """A link by its row's id and its ends, with what one direction carries."""

    id: int
    a: str
    b: str
    bandwidth: Bandwidth

    @property
    def address(self) -> str:
        return f"{self.a}--{self.b}"


@dataclass(frozen=True, slots=True)
class PathStep:
    """A node, or the link to the next one (with its bandwidth)."""

    kind: str
    address: str
    bandwidth: Bandwidth | None = None
    link_id: int | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A way from one place to another; steps alternate node and link.

    Attributes
    ----------
    bandwidth
        Of the narrowest link; None for a path of no links.
    bottlenecks
        All links that are as narrow as that.
    time
        What the message takes, where that was asked for.

    """

    hops: int
    bandwidth: Bandwidth | None
    steps: tuple[PathStep, ...]
    bottlenecks: tuple[LinkRef, ...]
    time: Duration | None = None

    @classmethod
    def of(cls, nodes: Sequence[tuple[str, str]], links: Sequence[LinkRef], time: Duration | None = None) -> "Path":
        """The path over nodes (kind and address) and the links between them."""
        narrowest = min((link.bandwidth for link in links), default=None)
        steps = [PathStep(*nodes[0])]
        for link, node in zip(links, nodes[1:], strict=True):
            steps.append(PathStep("link", link.address, link.bandwidth, link.id))
            steps.append(PathStep(*node))
        bottlenecks = tuple(link for link in links if link.bandwidth == narrowest)
        return cls(len(links), narrowest, tuple(steps), bottlenecks, time)


@dataclass(frozen=True, slots=True)
class LinkShare:
    """A link of the best paths, in the direction travelled.

    Attributes
    ----------
    paths
        How many of the equally good paths take it.
    share
        The part of the traffic that takes it, if every node splits what it gets evenly over its ways on (equal-cost
        multipath) and the sources send evenly.

    """

    link: LinkRef
    source: str
    target: str
    paths: int
    share: float


@dataclass(frozen=True, kw_only=True)
class PathAnswer(Answer):
    """Paths in order of the metric.

    Attributes
    ----------
    equally_good
        How many paths are as good as the first; ``truncated`` says that some of them are not listed.
    reason
        Why there is none, where there is none.
    links
        The directed acyclic graph of all equally good paths.

    """

    metric: Metric
    source: str
    target: str
    reachable: bool
    equally_good: int
    reason: str | None
    paths: tuple[Path, ...]
    links: tuple[LinkShare, ...] = ()

    def _less(self, other: Self) -> Difference:
        now, before = ((answer.paths[0] if answer.paths else None) for answer in (self, other))
        hops = now.hops - before.hops if now and before else None
        return Difference(hops, ((now and now.bandwidth) or 0) - ((before and before.bandwidth) or 0))


@dataclass(frozen=True, kw_only=True)
class BandwidthAnswer(Answer):
    """Widest single path, and all paths together: maximum flow with the minimum cut that proves it."""

    source: str
    target: str
    widest: Path | None
    maximum_flow: Bandwidth
    minimum_cut: tuple[LinkRef, ...]

    def _less(self, other: Self) -> Difference:
        return Difference(bytes_per_second=self.maximum_flow - other.maximum_flow)

    @property
    def both_directions(self) -> Bandwidth:
        return Bandwidth(2 * self.maximum_flow)


@dataclass(frozen=True, slots=True)
class ReachedChip:
    address: str
    memory: Capacity
    widest: Bandwidth


@dataclass(frozen=True, slots=True)
class PoolRing:
    """The chips at one distance, and what they can deliver at once into the asking place."""

    hops: int
    reached: tuple[ReachedChip, ...]
    memory: Capacity
    delivery: Bandwidth

    @property
    def chips(self) -> int:
        return len(self.reached)


@dataclass(frozen=True, kw_only=True)
class PoolAnswer(Answer):
    """Memory that a place reaches over scale-up links: its own, and the other chips' ring by ring."""

    of: str
    chips: int
    own: Capacity
    remote: Capacity
    by_hops: tuple[PoolRing, ...]

    def _less(self, other: Self) -> Difference:
        return Difference(chips=self.chips - other.chips, bytes=self.memory - other.memory)

    @property
    def memory(self) -> Capacity:
        return Capacity(self.own + self.remote)


@dataclass(frozen=True, slots=True)
class Bounds:
    lower: Bandwidth
    upper: Bandwidth

    @property
    def exact(self) -> bool:
        return self.lower == self.upper


@dataclass(frozen=True, kw_only=True)
class BisectionAnswer(Answer):
    """Least capacity between two halves of the healthy chips.

    Attributes
    ----------
    method
        How it was found and why that is a proof.
    side_a, side_b
        Number of chips on either side.
    chips_a, chips_b
        Their addresses; of a scope of several domains those of whole domains, and of the chips of one that is split.
    cut
        Links that the upper bound's split cuts, or the first of them; the bandwidths of all sum to ``upper``.
    cut_size
        How many links that split cuts.
    nominal
        With failed chips counted as fillers (it never rises under damage); None where no chip has failed.

    """

    of: str
    lower: Bandwidth
    upper: Bandwidth
    method: str
    balance: Balance
    side_a: int
    side_b: int
    chips_a: tuple[str, ...]
    chips_b: tuple[str, ...]
    cut: tuple[LinkRef, ...]
    cut_size: int
    nominal: Bounds | None

    def _less(self, other: Self) -> Difference:
        return Difference(bytes_per_second=self.upper - other.upper)

    @property
    def exact(self) -> bool:
        return self.lower == self.upper

    @property
    def both_directions(self) -> Bandwidth:
        return Bandwidth(2 * self.upper)
