"""Which pair of chips of a scope is worst connected."""

from dataclasses import dataclass
from typing import Annotated

from trninv import solvers
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Form, LinkRef, Told, told_cut
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Scope
from trninv.routing.wiring import Reader, cut_links
from trninv.units import Bandwidth

_DEFINED = (
    "maximum flow, one direction, between every two chips and switches of the domain: the least edge on the tree's way "
    "between them; of the scope's healthy chips the worst connected pair, and its minimum cut"
)
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class TreeEdge:
    """An edge of a Gomory-Hu tree."""

    a: Annotated[At, "One end."]
    b: Annotated[At, "The other."]
    flow: Annotated[Bandwidth, "Maximum flow of the two."]


@dataclass(frozen=True, kw_only=True)
class CutTreeAnswer(Answer):
    """Maximum flows of all pairs: each is the least edge on the tree's way between the two."""

    of: Annotated[At, "The scope."]
    a: Annotated[At | None, "One of the worst connected pair; null of fewer than two chips."]
    b: Annotated[At | None, "The other."]
    worst: Annotated[Bandwidth, "Their maximum flow."]
    cut_off: Annotated[tuple[At, ...], "Chips on the smaller side of their minimum cut."]
    cut: Annotated[tuple[LinkRef, ...], Form.PAGED, "Their minimum cut."]
    tree: Annotated[tuple[TreeEdge, ...], "The tree, switches included."]

    def told(self) -> Told:
        if self.a is None:
            yield f"{self.of}: fewer than two chips are up"
            return
        yield f"worst connected: {self.a} and {self.b}, {self.worst} one direction"
        yield f"cut off by it: {', '.join(self.cut_off[:_SHOWN])}{' …' * (len(self.cut_off) > _SHOWN)}"
        yield from told_cut("minimum cut", self.cut, len(self.cut))

    def compared(self) -> Told:
        if self.baseline:
            yield f"as it is: {self.baseline.worst}"


@question(
    price=ROUTED,
    examples=("cut-tree u-trn2x64 --down u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c1",),
)
def cut_tree(
    reader: Reader,
    of: Annotated[str, Argument("Server, rack or domain, or what else lies in one domain.", metavar="SCOPE")],
) -> CutTreeAnswer:
    """Which pair of a scope's chips is worst connected, from the Gomory-Hu tree; other chips may forward."""
    scope = Scope.of(reader, of, transit=True)
    inside = scope.inside(reader, "a Gomory-Hu tree")
    graph, ends = inside.graph, inside.ends
    tree = solvers.cut_tree.cut_tree(graph)
    worst, side = solvers.cut_tree.worst_pair(tree, set(ends))
    near = [end for end in ends if end in side]
    far = [end for end in ends if end not in side]
    name = {node: graph.nodes[node]["address"] for node in graph}
    few = min(near, far, key=lambda chips: (len(chips), chips))
    return CutTreeAnswer(
        of=scope.place.address,
        a=name[near[0]] if far else None,
        b=name[far[0]] if far else None,
        worst=Bandwidth(worst),
        cut_off=tuple(name[chip] for chip in few),
        cut=cut_links(graph, side) if far else (),
        tree=tuple(TreeEdge(name[a], name[b], Bandwidth(of["weight"])) for a, b, of in tree.edges(data=True)),
        definition=_DEFINED,
        facts=evidence.of_wiring(reader, graph.nodes.values(), graph.edges.values()),
    )
