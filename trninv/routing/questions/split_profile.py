"""How well a job of some of a scope's chips is connected to the rest."""

import time
from dataclasses import dataclass
from typing import Annotated

from trninv import solvers
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Table, Told, span
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Inside, Scope
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
    splits: Annotated[tuple[SplitCost, ...], "For 1, 2, … up to half of them."]

    def told(self) -> Told:
        yield f"{self.of}: {counted(self.chips, 'chip')}"
        yield Table(
            ["chips", "capacity to the others", "a chip"],
            (
                [split.chips, span([split.lower, split.upper]), Bandwidth(split.upper // split.chips)]
                for split in self.splits
            ),
        )


@question(price=ROUTED, command="profile", examples=("profile trn2-16.48xlarge",))
def split_profile(
    reader: Reader,
    of: Annotated[str, Argument("Server, rack or domain, or what else lies in one domain.", metavar="SCOPE")],
) -> ProfileAnswer:
    """For each i up to half of a scope's chips the least capacity that parts i of them from the others."""
    scope = Scope.of(reader, of)
    inside = scope.inside(reader, "a split profile")
    bounds = profile(inside, Settings.load().bisection_seconds)
    return ProfileAnswer(
        of=scope.place.address,
        chips=len(inside.ends),
        splits=tuple(
            SplitCost(chips, Bandwidth(lower), Bandwidth(upper)) for chips, (lower, upper) in enumerate(bounds, start=1)
        ),
        definition=_DEFINED,
        facts=evidence.of_wiring(reader, inside.graph.nodes.values(), inside.graph.edges.values()),
    )


def profile(inside: Inside, seconds: float) -> list[tuple[int, int]]:
    """Bounds for 1, 2, … up to half of the chips; the time is shared evenly among those that need it."""
    graph, ends = inside.graph, inside.ends
    sizes = range(1, len(ends) // 2 + 1)
    hubs = solvers.enumeration.hubs(graph, ends)
    if hubs is not None:
        least = solvers.enumeration.profile(graph, ends, hubs)
        return [(least[size], least[size]) for size in sizes]
    end, found = time.monotonic() + seconds, []
    for size in sizes:
        share = (end - time.monotonic()) / (len(sizes) - size + 1)
        split = solvers.bisection.search(graph, ends, size, size, max(share, 0.0))
        found.append((split.lower, split.upper))
    return found
