"""Answer which two chips of a scope have the least maximum flow, and list the scope's Gomory-Hu tree.

The maximum flow between any two chips is the least edge on the tree's path between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from trninv import solvers
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, LinkRef, SchemaScalar, render_cut
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.scope import Scope
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import cut_links
from trninv.units import Bandwidth

_DEFINITION = (
    "maximum flow, one direction, between every two chips and switches of the domain: the least edge on the "
    "tree's path between them; for the scope's healthy chips, the pair with the least maximum flow and its minimum cut"
)
_MAX_LISTED_CHIPS = 8
"""Most disconnected chips that the text output lists."""


@dataclass(frozen=True, slots=True)
class TreeEdge:
    """An edge of a Gomory-Hu tree."""

    a: Annotated[AddressText, "One end."]
    b: Annotated[AddressText, "The other."]
    flow: Annotated[Bandwidth, "Maximum flow between the two."]


@dataclass(frozen=True, kw_only=True)
class CutTreeAnswer(Answer):
    """Maximum flows of all pairs: each is the least edge on the tree's path between the two."""

    scope: Annotated[AddressText, "The scope."]
    a: Annotated[AddressText | None, "One chip of the pair with the least flow; null with fewer than two chips."]
    b: Annotated[AddressText | None, "The other chip."]
    min_flow: Annotated[Bandwidth, "The maximum flow between them."]
    disconnected_chips: Annotated[tuple[AddressText, ...], "Chips on the smaller side of their minimum cut."]
    cut: Annotated[tuple[LinkRef, ...], SchemaScalar.PAGED, "Their minimum cut."]
    tree: Annotated[tuple[TreeEdge, ...], "The tree, switches included."]

    def render(self) -> Rendered:
        if self.a is None:
            yield f"{self.scope}: fewer than two chips are up"
            return
        yield f"least maximum flow: {self.a} to {self.b}, {self.min_flow} one direction"
        more = " …" * (len(self.disconnected_chips) > _MAX_LISTED_CHIPS)
        yield f"disconnected chips: {', '.join(self.disconnected_chips[:_MAX_LISTED_CHIPS])}{more}"
        yield from render_cut("minimum cut", self.cut, len(self.cut))

    def value_lines(self) -> Sequence[object]:
        return () if self.a is None else [self.min_flow]

    def render_comparison(self) -> Rendered:
        if self.baseline:
            yield f"baseline: {self.baseline.min_flow}"


@question(
    cost=ROUTED_COST,
    examples=("cut-tree u-trn2x64 --down u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c1",),
)
def cut_tree(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Server, rack, domain, or another place in one domain.", metavar="SCOPE")],
) -> CutTreeAnswer:
    """Find the pair of chips with the least maximum flow, from the Gomory-Hu tree.

    Other chips may forward traffic.
    """
    resolved_scope = Scope.resolve(snapshot, scope, forwarding=True)
    scope_graph = resolved_scope.graph(snapshot, "a Gomory-Hu tree")
    graph, endpoints = scope_graph.graph, scope_graph.endpoints
    tree = solvers.max_flow.gomory_hu_tree(graph)
    min_flow, side = solvers.max_flow.minimum_edge(tree, set(endpoints))
    side_chips = [end for end in endpoints if end in side]
    other_chips = [end for end in endpoints if end not in side]
    address_of = {node: graph.nodes[node]["address"] for node in graph}
    smaller_side = min(side_chips, other_chips, key=lambda chips: (len(chips), chips))
    return CutTreeAnswer(
        scope=resolved_scope.place.address,
        a=address_of[side_chips[0]] if other_chips else None,
        b=address_of[other_chips[0]] if other_chips else None,
        min_flow=Bandwidth(min_flow),
        disconnected_chips=tuple(address_of[chip] for chip in smaller_side),
        cut=cut_links(graph, side) if other_chips else (),
        tree=tuple(
            TreeEdge(address_of[a], address_of[b], Bandwidth(edge["weight"])) for a, b, edge in tree.edges(data=True)
        ),
        definition=_DEFINITION,
        facts=evidence.cite_wiring(snapshot, graph.nodes.values(), graph.edges.values()),
    )
