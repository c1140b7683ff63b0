"""The least capacity between two halves of a scope: of one domain's chips, or of a cluster on its quotient."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

from trninv import solvers
from trninv.routing import cluster, evidence
from trninv.routing.answer import (
    Answer,
    At,
    Balance,
    Bounds,
    Difference,
    Form,
    Hidden,
    LinkRef,
    Told,
    incomparable,
    told_cut,
)
from trninv.routing.hubs import hubs
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Scope
from trninv.routing.via import Reason
from trninv.routing.wiring import Reader, cut_links
from trninv.settings import Settings
from trninv.units import Bandwidth

if TYPE_CHECKING:
    from trninv.solvers.split import Split

_DEFINED = (
    "least capacity, one direction, between halves of the scope's healthy chips (balance LIVE); what collectives reach "
    "may be less (collectives); "
)
_ISOLATED = "only links among those chips and through their switches count"
_TRANSIT = "other healthy chips of their domains may forward for them, and stand on whichever side is cheaper"


@dataclass(frozen=True, kw_only=True)
class BisectionAnswer(Answer):
    """The least capacity between two halves of a scope's chips."""

    of: Annotated[At, "The scope."]
    lower: Annotated[Bandwidth, "Proven: no less, one direction."]
    upper: Annotated[Bandwidth, "Proven: no more, one direction."]
    method: Annotated[str, "How it was found, and why that is a proof."]
    balance: Annotated[Balance, "What is halved."]
    side_a: Annotated[int, "Chips on one side."]
    side_b: Annotated[int, "Chips on the other."]
    chips_a: Annotated[tuple[At, ...], Form.PAGED, "Those on one side; whole domains stand for their chips."]
    chips_b: Annotated[tuple[At, ...], Form.PAGED, "Those on the other; whole domains stand for their chips."]
    cut: Annotated[
        tuple[LinkRef, ...], Form.PAGED, "Links that are cut, in a cluster the first 1,000; all sum to upper."
    ]
    cut_size: Hidden
    reason: Reason
    nominal: Annotated[
        Bounds | None, "With failed chips as fillers, which never rises under damage; null where none has failed."
    ]

    @property
    def both_directions(self) -> Bandwidth:
        """Twice the upper bound."""
        return Bandwidth(2 * self.upper)

    @property
    def exact(self) -> bool:
        """Whether lower and upper are equal."""
        return self.lower == self.upper

    def less(self, other: Self) -> Difference:
        chips, before = (answer.side_a + answer.side_b for answer in (self, other))
        return Difference(bytes_per_second=self.upper - other.upper, incomparable=incomparable(before, chips))

    def told(self) -> Told:
        bounds = f"{self.upper}" if self.exact else f"between {self.lower} and {self.upper}"
        yield f"{self.of}: {bounds} one direction ({'exact' if self.exact else 'proven bounds'})"
        yield f"halves: {self.side_a:,} and {self.side_b:,} chips, balance {self.balance}"
        if self.reason:
            yield self.reason
        yield f"method: {self.method}"
        if self.nominal:
            yield f"with failed chips as fillers (NOMINAL): {self.nominal}"
        yield from told_cut("cut", self.cut, self.cut_size)


@question(
    price=ROUTED,
    examples=(
        "bisection u-trn2x64",
        "bisection u-trn2x64 --down u-trn2x64/d0/s0/c0",
        "bisection trn3-gen2/d0 --chips trn3-gen2/d0/s0 --chips trn3-gen2/d0/s18",
    ),
)
def bisection(
    reader: Reader,
    of: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    chips: Annotated[tuple[str, ...], Argument("Only these chips of the scope.", metavar="ADDRESS")] = (),
    transit: Annotated[bool, Argument("Other healthy chips of their domains may forward.")] = False,
) -> BisectionAnswer:
    """The least capacity between two halves of a scope, or of the chips named within it."""
    scope = Scope.of(reader, of, chips, transit=transit)
    return _of_cluster(reader, scope) if len(scope.domains) > 1 else _of_domain(reader, scope)


def _of_domain(reader: Reader, scope: Scope) -> BisectionAnswer:
    """The chips of one domain, halved."""
    inside = scope.inside(reader, "this bisection")
    graph, ends, lost = inside.graph, inside.ends, inside.lost
    nodes = Settings.load().bisection_nodes
    split = solvers.bisection.bisect(graph, ends, nodes=nodes)
    nominal = solvers.bisection.bisect(graph, ends, fillers=lost, nodes=nodes) if lost else None
    chips_a = tuple(graph.nodes[end]["address"] for end in ends if end in split.side)
    chips_b = tuple(graph.nodes[end]["address"] for end in ends if end not in split.side)
    cut = cut_links(graph, split.side)
    return BisectionAnswer(
        of=scope.place.address,
        lower=Bandwidth(split.lower),
        upper=Bandwidth(split.upper),
        method=split.method,
        balance=Balance.LIVE,
        side_a=len(chips_a),
        side_b=len(chips_b),
        chips_a=chips_a,
        chips_b=chips_b,
        cut=cut,
        cut_size=len(cut),
        nominal=_bounds(nominal, split) if nominal else None,
        reason=_reason(scope, len(ends), split.upper),
        definition=_DEFINED + (_TRANSIT if scope.transit else _ISOLATED) + scope.via.over,
        via=scope.via,
        facts=evidence.of_wiring(reader, graph.nodes.values(), graph.edges.values()),
    )


def _of_cluster(reader: Reader, scope: Scope) -> BisectionAnswer:
    """The chips of several domains of a cluster, halved."""
    kinds = cluster.islands(reader, scope)
    chips = sum(kind.island.size * len(kind.domains) for kind in kinds)
    lost = sum(kind.failed * len(kind.domains) for kind in kinds)
    split = cluster.split(reader, scope, kinds, chips // 2, chips - chips // 2)
    nominal = None
    if lost:
        half, above = (chips + lost) // 2, hubs(reader, scope.place.cluster_id)
        fillers = cluster.bisect_kinds(kinds, max(half - lost, 0), min(chips + lost - half, chips), above.narrow)
        nominal = Bounds(Bandwidth(fillers.lower), Bandwidth(min(fillers.upper, split.upper)))
    inside, outside = split.sides(reader.connection)
    graphs = cluster.unworn(kinds)
    models = {edge["model"] for graph in graphs for _, _, edge in graph.edges(data=True)}
    nodes = (of for graph in graphs for of in graph.nodes.values())
    return BisectionAnswer(
        of=scope.place.address,
        lower=Bandwidth(split.lower),
        upper=Bandwidth(split.upper),
        method=split.method,
        balance=Balance.LIVE,
        side_a=split.size,
        side_b=chips - split.size,
        chips_a=inside,
        chips_b=outside,
        cut=split.cut,
        cut_size=split.cut_size,
        nominal=nominal,
        reason=_reason(scope, chips, split.upper),
        definition=_DEFINED + (_TRANSIT if scope.transit else _ISOLATED) + scope.via.over,
        via=scope.via,
        facts=evidence.of_links(reader, models) + evidence.of_fabric(reader, nodes),
        truncated=split.cut_size > len(split.cut),
    )


def _reason(scope: Scope, chips: int, upper: int) -> str | None:
    return scope.via.unjoined("the halves") if chips > 1 and not upper else None


def _bounds(nominal: "Split", live: "Split") -> Bounds:
    """Fillers even out the halves of any split of the healthy chips, so that one bounds the nominal from above too."""
    return Bounds(Bandwidth(nominal.lower), Bandwidth(min(nominal.upper, live.upper)))
