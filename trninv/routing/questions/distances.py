"""How many hops apart the chips of a scope are."""

from dataclasses import dataclass
from typing import Annotated

from trninv import solvers
from trninv.routing import cluster, evidence
from trninv.routing.answer import Answer, At, CitedFact, Exact, Table, Told
from trninv.routing.hops import counted as pairs_by_hops
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Scope
from trninv.routing.via import ASKED, Reason, Via
from trninv.routing.wiring import Reader
from trninv.units import counted

_DEFINED = "links travelled on a shortest path between each pair of the scope's healthy chips (chip-switch-chip is two)"


@dataclass(frozen=True, slots=True)
class HopCount:
    """Pairs of chips that are this many hops apart."""

    hops: Annotated[int, "Links of a shortest path."]
    pairs: Annotated[Exact, "How many pairs."]


@dataclass(frozen=True, kw_only=True)
class DistanceAnswer(Answer):
    """Hops between the pairs of a scope's healthy chips."""

    of: Annotated[At, "The scope."]
    chips: Annotated[int, "Its healthy chips."]
    pairs: Annotated[Exact, "All pairs."]
    unreachable: Annotated[Exact, "Pairs that nothing joins."]
    reason: Reason
    diameter: Annotated[int | None, "Most hops of a pair that is joined."]
    mean: Annotated[float | None, "Mean hops of the pairs that are joined."]
    by_hops: Annotated[tuple[HopCount, ...], "The distribution."]

    def told(self) -> Told:
        yield f"{self.of}: {counted(self.chips, 'chip')}, {counted(self.pairs, 'pair')}"
        if self.mean is not None:
            yield f"diameter {counted(self.diameter or 0, 'hop')}, mean {self.mean:.3f}"
            yield Table(["hops", "pairs"], ([each.hops, f"{each.pairs:,}"] for each in self.by_hops))
        if self.unreachable:
            yield f"{counted(self.unreachable, 'pair')} not joined: {self.reason}"

    def compared(self) -> Told:
        if self.baseline and self.baseline.mean is not None:
            yield f"as it is: diameter {self.baseline.diameter}, mean {self.baseline.mean:.3f}"


@question(price=ROUTED, examples=("distances u-trn2x64", "distances u-trn2x64 --via any"))
def distances(
    reader: Reader,
    of: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    via: Annotated[Via | None, Argument(ASKED)] = None,
) -> DistanceAnswer:
    """How many hops apart a scope's chips are: diameter, mean, distribution."""
    scope = Scope.of(reader, of, transit=True)
    over = Via.of(scope.domains, via)
    if over is Via.SCALE_UP and len(scope.domains) == 1:
        inside = scope.inside(reader, "this")
        chips, found = len(inside.ends), solvers.distances.within(dict(inside.graph.adjacency()), inside.ends)
        facts: tuple[CitedFact, ...] = ()
    else:
        kinds = cluster.islands(reader, scope)
        chips, found = (
            sum(kind.island.size * len(kind.domains) for kind in kinds),
            pairs_by_hops(reader, scope, kinds, over),
        )
        nodes = (of for kind in kinds for of in kind.island.graph.nodes.values())
        facts = evidence.of_fabric(reader, nodes) if over is Via.ANY else ()
    pairs, reached = chips * (chips - 1) // 2, int(found.sum())
    by_hops = tuple(HopCount(hops, count) for hops, count in enumerate(found.tolist()) if count)
    return DistanceAnswer(
        of=scope.place.address,
        chips=chips,
        pairs=pairs,
        unreachable=pairs - reached,
        reason=_reason(reader, scope, over, pairs, reached),
        diameter=by_hops[-1].hops if by_hops else None,
        mean=sum(each.hops * each.pairs for each in by_hops) / reached if reached else None,
        by_hops=by_hops,
        definition=_DEFINED + over.over,
        via=over,
        facts=facts,
    )


def _reason(reader: Reader, scope: Scope, over: Via, pairs: int, reached: int) -> str | None:
    if pairs == reached:
        return None
    what = counted(pairs - reached, "pair")
    if over is Via.ANY:
        return over.unjoined(what)
    otherwise = int(pairs_by_hops(reader, scope, cluster.islands(reader, scope), Via.ANY).sum()) - reached
    return over.unjoined(what, f"{otherwise:,} of them are joined" if otherwise else "none of them is joined")
