"""Answer what the least capacity between two halves of a scope's chips is.

Within a domain the solver works on the graph of its chips, switches and links. For several domains it works on the
cluster's quotient, a graph whose vertices stand for domains and groups of the fabric's network nodes
(`trninv.routing.cluster_islands`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from trninv import solvers
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Detail, Rendered
from trninv.routing import cluster_islands, evidence
from trninv.routing.answer import (
    AddressText,
    Answer,
    AnswerDifference,
    Balance,
    Bounds,
    HiddenInt,
    LinkRef,
    SchemaScalar,
    incomparability_reason,
    render_cut,
)
from trninv.routing.hubs import find_hubs
from trninv.routing.link_selection import DisconnectedReason
from trninv.routing.picture import Highlight
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.scope import Scope
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import cut_links
from trninv.settings import Settings
from trninv.units import Bandwidth, pluralize

if TYPE_CHECKING:
    from trninv.solvers.graph import Cut

_DEFINITION = (
    "least capacity, one direction, between halves of the scope's healthy chips (balance LIVE); collectives may "
    "reach less (see collectives); "
)
_ISOLATED = "only links among those chips and through their switches count"
_TRANSIT = "other healthy chips of their domains may forward traffic for them, and are on whichever side is cheaper"


@dataclass(frozen=True, kw_only=True)
class BisectionAnswer(Answer):
    """The least capacity between two halves of a scope's chips."""

    scope: Annotated[AddressText, "The scope."]
    lower: Annotated[Bandwidth, "Proven lower bound, one direction."]
    upper: Annotated[Bandwidth, "Proven upper bound, one direction."]
    method: Annotated[str, "Method, and why it proves the bounds."]
    balance: Annotated[Balance, "Which chips are halved."]
    side_a: Annotated[int, "Number of chips on one side."]
    side_b: Annotated[int, "Number of chips on the other side."]
    chips_a: Annotated[
        tuple[AddressText, ...], SchemaScalar.PAGED, "Chips on one side; whole domains stand for their chips."
    ]
    chips_b: Annotated[
        tuple[AddressText, ...], SchemaScalar.PAGED, "Chips on the other side; whole domains stand for their chips."
    ]
    cut: Annotated[
        tuple[LinkRef, ...], SchemaScalar.PAGED, "Cut links, in a cluster the first 1,000; all of them sum to upper."
    ]
    cut_size: HiddenInt
    reason: DisconnectedReason
    nominal: Annotated[
        Bounds | None, "Bounds with failed chips as fillers, which failures never raise; null if none has failed."
    ]

    @property
    def both_directions(self) -> Bandwidth:
        """Twice the upper bound."""
        return Bandwidth(2 * self.upper)

    @property
    def exact(self) -> bool:
        """Whether lower and upper are equal."""
        return self.lower == self.upper

    def difference_from(self, other: Self) -> AnswerDifference:
        chips, chips_before = (answer.side_a + answer.side_b for answer in (self, other))
        return AnswerDifference(
            bytes_per_second=self.upper - other.upper, incomparable=incomparability_reason(chips_before, chips)
        )

    def picture_arguments(self) -> dict[str, Any]:
        return {"scope": self.scope, "highlight": self.highlight()}

    def highlight(self) -> Highlight:
        """Return what a drawing marks: the cut, and one of the halves."""
        bounds = self.upper if self.exact else f"{self.lower} to {self.upper}"
        return Highlight(
            links=[frozenset((link.a, link.b)) for link in self.cut],
            cut_side=self.chips_a,
            is_cut=True,
            caption=f"bisection {bounds} one direction: {pluralize(self.cut_size, 'link')} cut",
        )

    def render(self) -> Rendered:
        bounds = f"{self.upper}" if self.exact else f"between {self.lower} and {self.upper}"
        yield f"{self.scope}: {bounds} one direction ({'exact' if self.exact else 'proven bounds'})"
        without_failed = f", without failed ones (balance {self.balance})" if self.nominal else ""
        yield f"halves: {self.side_a:,} and {self.side_b:,} chips{without_failed}"
        if self.reason:
            yield self.reason
        yield Detail(f"method: {self.method}")
        if self.nominal:
            yield f"with failed chips as fillers (NOMINAL): {self.nominal}"
        yield from render_cut("cut", self.cut, self.cut_size)

    def value_lines(self) -> Sequence[object]:
        return [self.upper] if self.exact else [self.lower, self.upper]


@question(
    cost=ROUTED_COST,
    examples=(
        "bisection u-trn2x64",
        "bisection u-trn2x64 --down u-trn2x64/d0/s0/c0",
        "bisection trn3-gen2/d0 --chips trn3-gen2/d0/s0 --chips trn3-gen2/d0/s18",
    ),
)
def bisection(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    chips: Annotated[tuple[str, ...], Argument("Only these chips of the scope.", metavar="ADDRESS")] = (),
    transit: Annotated[bool, Argument("Let other healthy chips of their domains forward traffic.")] = False,
) -> BisectionAnswer:
    """Find the bisection bandwidth of a scope, or of some of its chips."""
    resolved_scope = Scope.resolve(snapshot, scope, chips, forwarding=transit)
    return (
        _bisect_cluster_scope(snapshot, resolved_scope)
        if len(resolved_scope.domains) > 1
        else _bisect_domain(snapshot, resolved_scope)
    )


def _bisect_domain(snapshot: Snapshot, scope: Scope) -> BisectionAnswer:
    """Bisect the chips of a scope within one domain."""
    scope_graph = scope.graph(snapshot, "this bisection")
    graph, endpoints, failed_count = scope_graph.graph, scope_graph.endpoints, scope_graph.failed_count
    max_nodes = Settings.load().bisection_nodes  # nodes of the solver's search tree
    live_cut = solvers.bisection.bisect(graph, endpoints, max_nodes=max_nodes)
    nominal_cut = (
        solvers.bisection.bisect(graph, endpoints, fillers=failed_count, max_nodes=max_nodes) if failed_count else None
    )
    chips_a = tuple(graph.nodes[end]["address"] for end in endpoints if end in live_cut.side)
    chips_b = tuple(graph.nodes[end]["address"] for end in endpoints if end not in live_cut.side)
    cut = cut_links(graph, live_cut.side)
    return BisectionAnswer(
        scope=scope.place.address,
        lower=Bandwidth(live_cut.lower),
        upper=Bandwidth(live_cut.upper),
        method=live_cut.method,
        balance=Balance.LIVE,
        side_a=len(chips_a),
        side_b=len(chips_b),
        chips_a=chips_a,
        chips_b=chips_b,
        cut=cut,
        cut_size=len(cut),
        nominal=_nominal_bounds(nominal_cut, live_cut) if nominal_cut else None,
        reason=_disconnected_reason(scope, len(endpoints), live_cut.upper),
        definition=_DEFINITION + (_TRANSIT if scope.forwarding else _ISOLATED) + scope.via.definition_suffix,
        via=scope.via,
        facts=evidence.cite_wiring(snapshot, graph.nodes.values(), graph.edges.values()),
    )


def _bisect_cluster_scope(snapshot: Snapshot, scope: Scope) -> BisectionAnswer:
    """Bisect the chips of a scope with several domains on the cluster's quotient."""
    classes = cluster_islands.read_domain_classes(snapshot, scope)
    chips = sum(domain_class.island.chip_count * len(domain_class.domains) for domain_class in classes)
    failed_count = sum(domain_class.failed_count * len(domain_class.domains) for domain_class in classes)
    result = cluster_islands.bisect_cluster(snapshot, scope, classes, chips // 2, chips - chips // 2)
    nominal = None
    if failed_count:
        # failed chips may be on either side, so a half of all chips may have fewer healthy ones
        half = (chips + failed_count) // 2
        min_side, max_side = max(half - failed_count, 0), min(chips + failed_count - half, chips)
        narrow_links = find_hubs(snapshot, scope.place.cluster_id).narrow_links
        with_fillers = cluster_islands.bisect_classes(classes, min_side, max_side, narrow_links)
        nominal = Bounds(Bandwidth(with_fillers.lower), Bandwidth(min(with_fillers.upper, result.upper)))
    places_a, places_b = result.sides(snapshot.connection)
    graphs = cluster_islands.healthy_graphs(classes)
    models = {edge["model"] for graph in graphs for _, _, edge in graph.edges(data=True)}
    nodes = (attributes for graph in graphs for attributes in graph.nodes.values())
    return BisectionAnswer(
        scope=scope.place.address,
        lower=Bandwidth(result.lower),
        upper=Bandwidth(result.upper),
        method=result.method,
        balance=Balance.LIVE,
        side_a=result.side_a_chips,
        side_b=chips - result.side_a_chips,
        chips_a=places_a,
        chips_b=places_b,
        cut=result.cut,
        cut_size=result.cut_size,
        nominal=nominal,
        reason=_disconnected_reason(scope, chips, result.upper),
        definition=_DEFINITION + (_TRANSIT if scope.forwarding else _ISOLATED) + scope.via.definition_suffix,
        via=scope.via,
        facts=evidence.cite_links(snapshot, models) + evidence.cite_fabric(snapshot, nodes),
        truncated=result.cut_size > len(result.cut),
    )


def _disconnected_reason(scope: Scope, chips: int, upper: int) -> str | None:
    """Return why the bisection is 0, in words, or None if it is not."""
    return scope.via.disconnected_reason("the halves") if chips > 1 and not upper else None


def _nominal_bounds(nominal: "Cut", live: "Cut") -> Bounds:
    """Return the bounds on the NOMINAL bisection, in which failed chips fill up either side to half of all chips.

    They can fill up any split of the healthy chips into halves, so the upper bound of the LIVE bisection holds too.
    """
    return Bounds(Bandwidth(nominal.lower), Bandwidth(min(nominal.upper, live.upper)))
