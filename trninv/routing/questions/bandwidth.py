"""What flows between two places."""

from dataclasses import dataclass
from typing import Annotated, Self

from trninv import solvers
from trninv.errors import SamePlaceError
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Difference, Form, LinkRef, Path, Told, told_cut
from trninv.routing.ends import Ends
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.via import ASKED, Reason, Via
from trninv.routing.wiring import Reader
from trninv.solvers.paths import PathMetric, Rule, best_paths
from trninv.units import Bandwidth

_WIDEST = Rule(PathMetric.BANDWIDTH)
_DEFINED = "all paths together, one direction; the cut's links sum to the flow, which proves both"
_PLACES = "Chip, core, server, rack, domain or switch."


@dataclass(frozen=True, kw_only=True)
class BandwidthAnswer(Answer):
    """What flows between two places: the widest path, and all paths together."""

    source: Annotated[At, "From where."]
    target: Annotated[At, "To where."]
    widest: Annotated[Path | None, "The widest single path."]
    maximum_flow: Annotated[Bandwidth, "All paths together, one direction."]
    reason: Reason
    minimum_cut: Annotated[
        tuple[LinkRef, ...],
        Form.PAGED,
        "Links whose capacities sum to the maximum flow and whose loss parts the places.",
    ]

    @property
    def both_directions(self) -> Bandwidth:
        """Twice the maximum flow."""
        return Bandwidth(2 * self.maximum_flow)

    def less(self, other: Self) -> Difference:
        return Difference(bytes_per_second=self.maximum_flow - other.maximum_flow)

    def succeeded(self) -> bool:
        return bool(self.maximum_flow)

    def told(self) -> Told:
        yield f"{self.source} to {self.target}"
        yield f"widest path:  {self.widest or f'none: {self.reason}'}"
        yield f"maximum flow: {self.maximum_flow} one direction ({self.both_directions} both)"
        yield from told_cut("minimum cut", self.minimum_cut, len(self.minimum_cut))


@question(
    price=ROUTED,
    examples=(
        "bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2",
        "bandwidth u-trn2x64/d0/s0 u-trn2x64/d0/s2 --down u-trn2x64/d0/s1",
    ),
)
def bandwidth(
    reader: Reader,
    source: Annotated[str, Argument(_PLACES, name="from", metavar="A")],
    target: Annotated[str, Argument(_PLACES, name="to", metavar="B")],
    via: Annotated[Via | None, Argument(ASKED)] = None,
) -> BandwidthAnswer:
    """What flows between two places: widest path, maximum flow, minimum cut."""
    ends = Ends.of(reader, [source], [target], via=via)
    if ends.sources & ends.targets:
        raise SamePlaceError(f"{source} and {target} share chips: bandwidth is between two separate places")
    wiring = ends.wiring
    ahead, behind = wiring.arcs
    flow, side = solvers.flow.least_cut(ahead, ends.sources, ends.targets)
    widest = next(best_paths(ahead, ends.sources, ends.targets, _WIDEST, behind), None)
    return BandwidthAnswer(
        source=ends.source,
        target=ends.target,
        widest=ends.named(widest, _WIDEST) if widest else None,
        maximum_flow=Bandwidth(flow),
        minimum_cut=wiring.cut(side),
        reason=None if flow else ends.unreachable(reader),
        definition=_DEFINED + ends.via.over,
        via=ends.via,
        facts=evidence.of_wiring(reader, wiring.nodes.values(), (of for _, _, of in wiring.edges())),
    )
