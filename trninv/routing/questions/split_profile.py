"""Answer how well i of a scope's chips are connected to the rest, for each i."""

from dataclasses import dataclass
from typing import Annotated

from trninv import solvers
from trninv.errors import InvalidArgumentError
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, Rendered, RenderedTable, bandwidth_range
from trninv.routing.question import ROUTED_COST, Argument, question
from trninv.routing.scope import Scope
from trninv.routing.wiring_cache import SnapshotReader
from trninv.settings import Settings
from trninv.units import Bandwidth, pluralize

_DEFINITION = (
    "for each number of the scope's healthy chips the least capacity, one direction, that parts so many from the others"
)


@dataclass(frozen=True, slots=True)
class SplitCost:
    """The least capacity between this many chips and the rest, one direction."""

    chips: Annotated[int, "How many."]
    lower: Annotated[Bandwidth, "Proven: no less."]
    upper: Annotated[Bandwidth, "Proven: no more."]

    @property
    def exact(self) -> bool:
        """Whether they are equal."""
        return self.lower == self.upper


@dataclass(frozen=True, kw_only=True)
class SplitProfileAnswer(Answer):
    """How well a job of some of a scope's chips is connected to the rest."""

    scope: Annotated[AddressText, "The scope."]
    chips: Annotated[int, "Its healthy chips."]
    splits: Annotated[tuple[SplitCost, ...], "For 1, 2, … up to half of them, or for the number asked."]
    method: Annotated[str, "How they were found, and why the lower ones are a proof."]

    def render(self) -> Rendered:
        yield f"{self.scope}: {pluralize(self.chips, 'chip')}"
        yield RenderedTable(
            ["chips", "capacity to the others", "a chip"],
            (
                [split.chips, bandwidth_range([split.lower, split.upper]), Bandwidth(split.upper // split.chips)]
                for split in self.splits
            ),
        )
        yield f"method: {self.method}"


@question(cost=ROUTED_COST, command="profile", examples=("profile u-trn2x64", "profile u-trn2x64 --chips 16"))
def split_profile(
    reader: SnapshotReader,
    scope: Annotated[str, Argument("Server, rack or domain, or what else lies in one domain.", metavar="SCOPE")],
    chips: Annotated[
        int | None, Argument("Only this number of chips, solved where it can be.", minimum=1, metavar="N")
    ] = None,
) -> SplitProfileAnswer:
    """For each i up to half of a scope's chips the least capacity that parts i of them from the others."""
    resolved_scope = Scope.resolve(reader, scope)
    scope_graph = resolved_scope.graph(reader, "a split profile")
    count = len(scope_graph.endpoints)
    if chips is not None and chips >= count:
        raise InvalidArgumentError(
            f"{resolved_scope.place.address} has {pluralize(count, 'healthy chip')}: ask for fewer of them (chips)"
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
        facts=evidence.cite_wiring(reader, scope_graph.graph.nodes.values(), scope_graph.graph.edges.values()),
    )
