"""Split profiles: the least capacity that cuts i chips off a domain, for every i."""

import time

from trninv.routing import enumeration, evidence
from trninv.routing.bisection import search
from trninv.routing.scope import Inside, Scope
from trninv.routing.surveys import ProfileAnswer, SplitCost
from trninv.routing.wiring import Reader
from trninv.settings import Settings
from trninv.units import Bandwidth

_PROFILE = (
    "for each number of the scope's healthy chips the least capacity, one direction, that parts so many from the others"
)


def profile_answer(reader: Reader, of: str) -> ProfileAnswer:
    """The profile of a scope within one domain."""
    scope = Scope.of(reader, of)
    inside = scope.inside(reader, "a split profile")
    return ProfileAnswer(
        of=scope.place.address,
        chips=len(inside.ends),
        splits=tuple(
            SplitCost(chips, Bandwidth(lower), Bandwidth(upper))
            for chips, (lower, upper) in enumerate(profile(inside, Settings.load().bisection_seconds), start=1)
        ),
        definition=_PROFILE,
        facts=evidence.of_wiring(reader.connection, inside.graph.nodes.values(), inside.graph.edges.values()),
    )


def profile(inside: Inside, seconds: float) -> list[tuple[int, int]]:
    """Bounds for 1, 2, … up to half of the chips; the time is shared evenly among those that need it."""
    graph, ends = inside.graph, inside.ends
    sizes = range(1, len(ends) // 2 + 1)
    hubs = enumeration.hubs(graph, ends)
    if hubs is not None:
        least = enumeration.profile(graph, ends, hubs)
        return [(least[size], least[size]) for size in sizes]
    end, found = time.monotonic() + seconds, []
    for size in sizes:
        share = (end - time.monotonic()) / (len(sizes) - size + 1)
        split = search(graph, ends, size, size, max(share, 0.0))
        found.append((split.lower, split.upper))
    return found
