"""Answer what flows between two places: widest path, maximum flow and minimum cut."""

from dataclasses import dataclass
from typing import Annotated, Self

from trninv import solvers
from trninv.errors import SamePlaceError
from trninv.routing import evidence
from trninv.routing.answer import (
    AddressText,
    Answer,
    AnswerDifference,
    LinkRef,
    Path,
    Rendered,
    SchemaScalar,
    render_cut,
)
from trninv.routing.endpoints import Endpoints
from trninv.routing.link_selection import VIA_DESCRIPTION, DisconnectedReason, LinkSelection
from trninv.routing.question import ROUTED_COST, Argument, question
from trninv.routing.wiring_cache import SnapshotReader
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


@question(
    cost=ROUTED_COST,
    examples=(
        "bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2",
        "bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2 --down u-trn2x64/d0/s1",
    ),
)
def bandwidth(
    reader: SnapshotReader,
    source: Annotated[str, Argument(_PLACES, name="from", metavar="A")],
    target: Annotated[str, Argument(_PLACES, name="to", metavar="B")],
    via: Annotated[LinkSelection | None, Argument(VIA_DESCRIPTION)] = None,
) -> BandwidthAnswer:
    """Find how much flows between two places: widest path, maximum flow, minimum cut."""
    endpoints = Endpoints.resolve(reader, [source], [target], via=via)
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
        reason=None if flow else endpoints.unreachable_reason(reader),
        definition=_DEFINITION + endpoints.via.definition_suffix,
        via=endpoints.via,
        facts=evidence.cite_wiring(reader, wiring.nodes.values(), (link for _, _, link in wiring.edges())),
    )
