"""Answer how much bandwidth two places have between them: widest path, maximum flow and minimum cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

from trninv import solvers
from trninv.errors import SamePlaceError
from trninv.inventory.address.syntax import parse
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered
from trninv.routing import evidence
from trninv.routing.answer import (
    AddressText,
    Answer,
    AnswerDifference,
    LinkRef,
    Path,
    SchemaScalar,
    WiringSource,
    render_cut,
)
from trninv.routing.endpoints import Endpoints
from trninv.routing.link_selection import VIA_DESCRIPTION, DisconnectedReason, LinkSelection
from trninv.routing.path_cache import CachedChip, PathCache
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.solvers.shortest_paths import PathCriterion, PathMetric, best_paths
from trninv.units import Bandwidth

_WIDEST = PathCriterion(PathMetric.BANDWIDTH)
_DEFINITION = (
    "maximum flow over all paths together, one direction; the links of the minimum cut sum to it, which proves both"
)
_PLACES = "Chip, core, server, rack, domain or switch."


@dataclass(frozen=True, kw_only=True)
class BandwidthAnswer(Answer):
    """The bandwidth between two places: the widest path, and all paths together."""

    source: Annotated[AddressText, "The source."]
    target: Annotated[AddressText, "The target."]
    widest: Annotated[Path | None, "The widest single path."]
    maximum_flow: Annotated[Bandwidth, "Maximum flow over all paths together, one direction."]
    reason: DisconnectedReason
    minimum_cut: Annotated[
        tuple[LinkRef, ...],
        SchemaScalar.PAGED,
        "Links whose capacities sum to the maximum flow and whose removal separates the places.",
    ]

    @property
    def both_directions(self) -> Bandwidth:
        """Twice the maximum flow."""
        return Bandwidth(2 * self.maximum_flow)

    def difference_from(self, other: Self) -> AnswerDifference:
        return AnswerDifference(bytes_per_second=self.maximum_flow - other.maximum_flow)

    def is_satisfied(self) -> bool:
        return bool(self.maximum_flow)

    def render(self) -> Rendered:
        yield f"{self.source} to {self.target}"
        yield f"widest path:  {self.widest or f'none: {self.reason}'}"
        yield f"maximum flow: {self.maximum_flow} one direction ({self.both_directions} both)"
        yield from render_cut("minimum cut", self.minimum_cut, len(self.minimum_cut))

    def value_lines(self) -> Sequence[object]:
        return [self.maximum_flow]


def _answer_from_cache(cache: PathCache, source: str, target: str, via: LinkSelection | None) -> BandwidthAnswer | None:
    """Answer for two chips of one domain that scale-up links join, from the cache; return None for all other places."""
    # @ is in the name of an instance or host, whose place only the database knows
    if "@" in source + target or via is LinkSelection.ANY:
        return None
    addresses = parse(source), parse(target)
    if addresses[0].steps[:1] != addresses[1].steps[:1] or addresses[0] == addresses[1]:
        return None
    return cache.answer_for_chips(addresses, _answer_for_chips)


def _answer_for_chips(source: CachedChip, target: CachedChip) -> BandwidthAnswer | None:
    """Answer for two chips of a cached domain; None if they are not connected."""
    if (result := source.path(target, by_bandwidth=True)) is None:
        return None
    flow, cut = source.minimum_cut(target)
    return BandwidthAnswer(
        source=source.address,
        target=target.address,
        widest=result[0],
        maximum_flow=Bandwidth(flow),
        minimum_cut=tuple(sorted((source.link(a, b) for a, b in cut), key=lambda link: link.id)),
        reason=None,
        definition=_DEFINITION + LinkSelection.SCALE_UP.definition_suffix,
        via=LinkSelection.SCALE_UP,
        facts=source.facts(source.link_models),
        wiring_source=WiringSource.from_observed(is_observed=source.domain.is_wiring_observed),
    )


@question(
    cost=ROUTED_COST,
    answer_from_cache=_answer_from_cache,
    examples=(
        "bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2",
        "bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2 --down u-trn2x64/d0/s1",
    ),
)
def bandwidth(
    snapshot: Snapshot,
    source: Annotated[str, Argument(_PLACES, name="from", metavar="A")],
    target: Annotated[str, Argument(_PLACES, name="to", metavar="B")],
    via: Annotated[LinkSelection | None, Argument(VIA_DESCRIPTION)] = None,
) -> BandwidthAnswer:
    """Find how much flows between two places: widest path, maximum flow, minimum cut."""
    endpoints = Endpoints.resolve(snapshot, [source], [target], via=via)
    if endpoints.sources & endpoints.targets:
        raise SamePlaceError(f"{source} and {target} share chips; name two separate places")
    wiring = endpoints.wiring
    successors, predecessors = wiring.adjacency
    flow, side = solvers.max_flow.minimum_cut_directed(successors, endpoints.sources, endpoints.targets)
    widest_path = next(best_paths(successors, endpoints.sources, endpoints.targets, _WIDEST, predecessors), None)
    return BandwidthAnswer(
        source=endpoints.source,
        target=endpoints.target,
        widest=endpoints.to_addresses(widest_path, _WIDEST) if widest_path else None,
        maximum_flow=Bandwidth(flow),
        minimum_cut=wiring.cut_links(side),
        reason=None if flow else endpoints.unreachable_reason(snapshot),
        definition=_DEFINITION + endpoints.via.definition_suffix,
        via=endpoints.via,
        facts=evidence.cite_wiring(snapshot, wiring.nodes.values(), (link for _, _, link in wiring.edges())),
    )
