"""How well a job of some of a scope's chips is connected to the rest."""

from dataclasses import dataclass
from typing import Annotated

from trninv import solvers
from trninv.errors import LimitError
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Table, Told, span
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Scope
from trninv.routing.wiring import Reader
from trninv.settings import Settings
from trninv.units import Bandwidth, counted

_DEFINED = (
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
class ProfileAnswer(Answer):
    """How well a job of some of a scope's chips is connected to the rest."""

    of: Annotated[At, "The scope."]
    chips: Annotated[int, "Its healthy chips."]
    splits: Annotated[tuple[SplitCost, ...], "For 1, 2, … up to half of them, or for the number asked."]
    method: Annotated[str, "How they were found, and why the lower ones are a proof."]

    def told(self) -> Told:
        yield f"{self.of}: {counted(self.chips, 'chip')}"
        yield Table(
            ["chips", "capacity to the others", "a chip"],
            (
                [split.chips, span([split.lower, split.upper]), Bandwidth(split.upper // split.chips)]
                for split in self.splits
            ),
        )
        yield f"method: {self.method}"


@question(price=ROUTED, command="profile", examples=("profile u-trn2x64", "profile u-trn2x64 --chips 16"))
def split_profile(
    reader: Reader,
    of: Annotated[str, Argument("Server, rack or domain, or what else lies in one domain.", metavar="SCOPE")],
    chips: Annotated[
        int | None, Argument("Only this number of chips, solved where it can be.", least=1, metavar="N")
    ] = None,
) -> ProfileAnswer:
    """For each i up to half of a scope's chips the least capacity that parts i of them from the others."""
    scope = Scope.of(reader, of)
    inside = scope.inside(reader, "a split profile")
    count = len(inside.ends)
    if chips is not None and chips >= count:
        raise LimitError(f"{scope.place.address} has {counted(count, 'healthy chip')}: ask for fewer of them (chips)")
    found = solvers.boundary.Profile(inside.graph, inside.ends)
    if chips is not None and found.gap(chips):
        found.refine(chips, Settings.load().bisection_nodes)
    sizes = range(1, count // 2 + 1) if chips is None else [chips]
    return ProfileAnswer(
        of=scope.place.address,
        chips=count,
        splits=tuple(
            SplitCost(size, Bandwidth(int(found.lower[size])), Bandwidth(int(found.upper[size]))) for size in sizes
        ),
        method=found.method,
        definition=_DEFINED,
        facts=evidence.of_wiring(reader, inside.graph.nodes.values(), inside.graph.edges.values()),
    )
