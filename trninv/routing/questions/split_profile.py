"""Answer what the least capacity between k of a scope's chips and the others is, for each k."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from trninv import solvers
from trninv.errors import InvalidArgumentError
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Detail, Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, bandwidth_range
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.scope import Scope
from trninv.routing.snapshot import Snapshot
from trninv.settings import Settings
from trninv.units import Bandwidth, pluralize

_DEFINITION = "least capacity, one direction, between each number of the scope's healthy chips and the others"


@dataclass(frozen=True, slots=True)
class SplitCost:
    """The least capacity between this many chips and the rest, one direction."""

    chips: Annotated[int, "Number of chips."]
    lower: Annotated[Bandwidth, "Proven lower bound."]
    upper: Annotated[Bandwidth, "Proven upper bound."]

    @property
    def exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.lower == self.upper


@dataclass(frozen=True, kw_only=True)
class SplitProfileAnswer(Answer):
    """Connection of some of a scope's chips to the rest."""

    scope: Annotated[AddressText, "The scope."]
    chips: Annotated[int, "Number of healthy chips."]
    splits: Annotated[tuple[SplitCost, ...], "For 1, 2, … up to half of the chips, or for the requested number."]
    method: Annotated[str, "Method, and why it proves the lower bounds."]

    def render(self) -> Rendered:
        yield f"{self.scope}: {pluralize(self.chips, 'chip')}"
        yield RenderedTable(
            ["chips", "capacity to the others", "a chip"],
            (
                [split.chips, bandwidth_range([split.lower, split.upper]), Bandwidth(split.upper // split.chips)]
                for split in self.splits
            ),
        )
        yield Detail(f"method: {self.method}")

    def value_lines(self) -> Sequence[object]:
        if len(self.splits) != 1:
            return ()
        split = self.splits[0]
        return [split.upper] if split.exact else [split.lower, split.upper]


@question(cost=ROUTED_COST, command="profile", examples=("profile u-trn2x64", "profile u-trn2x64 --chips 16"))
def split_profile(
    snapshot: Snapshot,
    scope: Annotated[str, Argument("Server, rack, domain, or another place in one domain.", metavar="SCOPE")],
    chips: Annotated[
        int | None, Argument("Only this number of chips, solved exactly if possible.", minimum=1, metavar="N")
    ] = None,
) -> SplitProfileAnswer:
    """Find the least capacity between i chips and the rest, for each i.

    i goes up to half of the scope's chips.
    """
    resolved_scope = Scope.resolve(snapshot, scope)
    scope_graph = resolved_scope.graph(snapshot, "a split profile")
    count = len(scope_graph.endpoints)
    if chips is not None and chips >= count:
        raise InvalidArgumentError(
            f"{resolved_scope.place.address} has {pluralize(count, 'healthy chip')}; set chips to a smaller number"
        )
    profile = solvers.islands.CutProfile(scope_graph.graph, scope_graph.endpoints)
    if chips is not None and profile.gap(chips):
        profile.refine(chips, Settings.load().bisection_nodes)
    sizes = range(1, count // 2 + 1) if chips is None else [chips]
    return SplitProfileAnswer(
        scope=resolved_scope.place.address,
        chips=count,
        splits=tuple(
            SplitCost(size, Bandwidth(int(profile.lower[size])), Bandwidth(int(profile.upper[size]))) for size in sizes
        ),
        method=profile.method,
        definition=_DEFINITION,
        facts=evidence.cite_wiring(snapshot, scope_graph.graph.nodes.values(), scope_graph.graph.edges.values()),
    )
