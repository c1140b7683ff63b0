"""What the wiring allows collectives at most: of a domain on its wiring, of a cluster island by island.

In a cluster the fabric does not block, so an island sees all the others as one network node of their weight n - s, and
the whole fleet reaches the least that any island does: for sets S that the fabric is not in, the best S lies in one
island; for sets that it is in, what matters is λ, the least exit capacity a chip (`trninv.solvers.quotient`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Annotated

from trninv import solvers
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, LinkRef, Table, Told
from trninv.routing.cluster import Alike, are_apart, islands
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.scope import Inside, Scope
from trninv.routing.via import Reason
from trninv.routing.wiring import Reader, cut_links, link_ref
from trninv.units import Bandwidth, counted

if TYPE_CHECKING:
    from trninv.solvers.collectives import Gather
    from trninv.solvers.graph import Graph
    from trninv.solvers.quotient import Island

MAX_KINDS = 12
"""Kinds of damaged islands that are solved one by one; of more, only bounds are given."""

_DEFINED = (
    "upper limits that the wiring sets to collectives of the scope's healthy chips, bytes per second of a chip in one "
    "direction; not predictions of a library"
)
_ALL_TO_ALL = "uniform concurrent flow: packed trees from below, prices of links from above"
_GATHER = "the least capacity into a set over the chips outside of it, by flows"


@dataclass(frozen=True, slots=True)
class Limit:
    """What the wiring allows a collective of each chip at most, one direction."""

    lower: Annotated[Bandwidth, "Proven: this can be reached."]
    upper: Annotated[Bandwidth, "Proven: no more."]
    method: Annotated[str, "Why they hold."]
    links: Annotated[tuple[LinkRef, ...], "Links that allow no more."]

    @property
    def exact(self) -> bool:
        """Whether they agree to nine digits."""
        return (self.upper - self.lower) * 10**9 <= self.upper

    def __str__(self) -> str:
        if self.exact:
            return f"{self.upper / 10**9:,.6g} GB/s"
        return f"{self.lower / 10**9:,.6g} to {self.upper / 10**9:,.6g} GB/s"


_APART = Limit(Bandwidth(0), Bandwidth(0), "nothing joins some of the domains to the others", ())


@dataclass(frozen=True, kw_only=True)
class CollectivesAnswer(Answer):
    """Limits that the wiring sets to collectives; not predictions of a library.

    Bus bandwidth is each chip's part of the data times the number of other chips, over the time.
    """

    of: Annotated[At, "The scope."]
    chips: Annotated[int, "Its healthy chips."]
    all_to_all: Annotated[Limit, "What each chip sends to all the others together."]
    all_gather: Annotated[Limit, "Bus bandwidth of an all-gather."]
    reduce_scatter: Annotated[Limit, "Bus bandwidth of a reduce-scatter."]
    all_reduce: Annotated[Limit, "Bus bandwidth of a reduce-scatter and an all-gather, one after the other."]
    all_reduce_algorithm: Annotated[Limit, "Size of the data over the time: bus bandwidth · n / (2(n - 1))."]
    ring_all_reduce: Annotated[
        Limit | None,
        "Bus bandwidth on disjoint rings through all chips, both directions together; null where none was found.",
    ]

    reason: Reason

    def told(self) -> Told:
        yield f"{self.of}: {counted(self.chips, 'chip')}, each at most"
        named = {
            "all-to-all, sent": self.all_to_all,
            "all-gather, bus": self.all_gather,
            "reduce-scatter, bus": self.reduce_scatter,
            "all-reduce, bus": self.all_reduce,
            "all-reduce, data / time": self.all_reduce_algorithm,
            "all-reduce on rings, bus": self.ring_all_reduce,
        }
        if self.reason:
            yield self.reason
        yield Table(
            ["collective", "limit", "why"], ([name, limit, limit.method] for name, limit in named.items() if limit)
        )

    def compared(self) -> Told:
        if before := self.baseline:
            yield f"as it is: all-to-all {before.all_to_all}, all-gather {before.all_gather}"


@question(
    price=ROUTED,
    examples=(
        "collectives u-trn2x64",
        "collectives u-trn2x64 --down u-trn2x64/d0/s0/c0--u-trn2x64/d0/s0/c1",
        "collectives u-trn2x64 --chips u-trn2x64/d0/s0 --chips u-trn2x64/d0/s1/c0",
    ),
)
def collectives(
    reader: Reader,
    of: Annotated[str, Argument("Chip, core, server, rack, domain or cluster.", metavar="SCOPE")],
    chips: Annotated[tuple[str, ...], Argument("Only these chips of the scope.", metavar="ADDRESS")] = (),
) -> CollectivesAnswer:
    """What the wiring allows all-to-all, all-gather, reduce-scatter and all-reduce of a scope's chips at most."""
    scope = Scope.of(reader, of, chips)
    if len(scope.domains) == 1:
        inside = scope.inside(reader, "this")
        graphs, count = [inside.graph], len(inside.ends)
        to_all, gathered, ring, most = _of_domain(inside)
    else:
        kinds = [kind for kind in islands(reader, scope) if kind.island.size]
        graphs, count = [kind.island.graph for kind in kinds], sum(k.island.size * len(k.domains) for k in kinds)
        domains = sum(len(kind.domains) for kind in kinds)
        if domains > 1 and are_apart(reader, scope, kinds):
            to_all, gathered, ring, most = _APART, _APART, None, Fraction(0)
        elif domains > 1:
            (to_all, gathered, most), ring = _of_cluster(kinds, count), None
        else:  # what is left lies in one domain, or nothing is
            to_all, gathered, ring, most = _of_domain(_left(kinds))
    nodes = [of for graph in graphs for of in graph.nodes.values()]
    links = (of for graph in graphs for of in graph.edges.values())
    reduced, algorithm = _all_reduce(gathered, most, count)
    return CollectivesAnswer(
        of=scope.place.address,
        chips=count,
        all_to_all=to_all,
        all_gather=gathered,
        reduce_scatter=gathered,
        all_reduce=reduced,
        all_reduce_algorithm=algorithm,
        ring_all_reduce=ring,
        reason=scope.via.unjoined("all of them") if count > 1 and not to_all.upper else None,
        definition=_DEFINED + scope.via.over,
        via=scope.via,
        facts=evidence.of_wiring(reader, nodes, links),
    )


def _left(kinds: Sequence[Alike]) -> Inside:
    """The only domain of which chips are up, if there is one, with what leads out of it."""
    if not kinds:
        return Inside(solvers.graph.Graph(), [], 0)
    return Inside(kinds[0].island.graph, list(kinds[0].island.chips), 0)


def _all_reduce(gathered: Limit, most: Fraction, chips: int) -> tuple[Limit, Limit]:
    """Bus bandwidth, and data over time: from below a reduce-scatter and an all-gather, from above ``most``."""
    if chips < 2:  # noqa: PLR2004 # nobody to reduce with
        return gathered, gathered
    bus = Fraction(2 * (chips - 1), chips)
    upper = max(most * bus, Fraction(gathered.lower))
    reached = "a reduce-scatter and an all-gather reach the lower bound"
    over = "every cut is crossed by the whole result both ways, and all chips send 2(n - 1) times the data at least"
    reduced = Limit(gathered.lower, Bandwidth(ceil(upper)), f"{reached}; {over}", gathered.links)
    data = Limit(
        Bandwidth(floor(gathered.lower / bus)),
        Bandwidth(ceil(upper / bus)),
        f"bus bandwidth × {chips} / (2 × {chips - 1})",
        gathered.links,
    )
    return reduced, data


def _ports(graph: "Graph", chips: Sequence[int]) -> list[int]:
    """What each chip can send."""
    return [solvers.split.capacity(graph, {chip}) for chip in chips]


def all_gather(inside: Inside) -> Limit:
    """The limit of an all-gather in a scope of one domain."""
    graph, ends = inside.graph, inside.ends
    return _gathered(solvers.collectives.gather(graph, dict.fromkeys(ends, 1)), len(ends) - 1, graph)


def _of_domain(inside: Inside) -> tuple[Limit, Limit, Limit | None, Fraction]:
    graph, ends = inside.graph, inside.ends
    weights = dict.fromkeys(ends, 1)
    theta = solvers.collectives.concurrent(graph, weights)
    others = len(ends) - 1
    tight = tuple(link_ref(graph.nodes, graph.adj, a, b) for a, b in theta.tight)
    to_all = Limit(Bandwidth(floor(theta.lower * others)), Bandwidth(ceil(theta.upper * others)), _ALL_TO_ALL, tight)
    gathered = all_gather(inside)
    most = Fraction(0)
    if others > 0:
        worst = min(solvers.flow.minimum_cut(graph, ends[:1], [end])[0] for end in ends[1:])
        most = min(Fraction(worst), Fraction(sum(_ports(graph, ends)), 2 * others))
    return to_all, gathered, _ring(graph, ends, gathered), most


def _gathered(best: "Gather | None", others: int, graph: "Graph") -> Limit:
    if best is None:
        return Limit(Bandwidth(0), Bandwidth(0), "fewer than two chips", ())
    rate = best.rate * others
    kept = sum(graph.nodes[node]["kind"] == "chip" for node in best.into)
    method = f"{_GATHER}: a set of {kept} chips takes no more"
    return Limit(Bandwidth(floor(rate)), Bandwidth(ceil(rate)), method, cut_links(graph, best.into))


def _ring(graph: "Graph", ends: Sequence[int], limit: Limit) -> Limit | None:
    if len(graph) != len(ends) or not (cycles := solvers.rings.rings(graph, ends)):
        return None
    most = min(limit.upper, Bandwidth(solvers.rings.most(graph, ends)))
    method = f"disjoint rings through all chips: {len(cycles)} found; no more than links wide enough lead through each"
    return Limit(Bandwidth(solvers.rings.ring_rate(graph, cycles)), most, method, ())


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Bounds on a rate for each pair, the links that allow no more, and how many trees that took."""

    lower: Fraction
    upper: Fraction
    links: tuple[LinkRef, ...]
    columns: int = 0


def _of_cluster(kinds: Sequence[Alike], chips: int) -> tuple[Limit, Limit, Fraction]:
    islands = sorted((kind.island for kind in kinds), key=_least_port)
    to_all = _to_alls(islands, chips)
    gathers = [_gather(island, chips, solve=at < MAX_KINDS) for at, island in enumerate(islands)]
    fabric = "; the fabric does not block, and one island decides"
    sent = sum(sum(_ports(kind.island.graph, kind.island.chips)) * len(kind.domains) for kind in kinds)
    narrowest = min(min(_least_port(island), island.exit) for island in islands)
    most = min(Fraction(narrowest), Fraction(sent, 2 * (chips - 1)))
    return _least(to_all, chips - 1, _ALL_TO_ALL + fabric), _least(gathers, chips - 1, _GATHER + fabric), most


def _least_port(island: "Island") -> int:
    return min(_ports(island.graph, island.chips))


def _least(bounds: Sequence[_Bounds], others: int, method: str) -> Limit:
    least = min(bounds, key=lambda bound: bound.upper)
    lower = min(bound.lower for bound in bounds)
    return Limit(Bandwidth(floor(lower * others)), Bandwidth(ceil(least.upper * others)), method, least.links)


def _to_alls(islands: Sequence["Island"], chips: int) -> list[_Bounds]:
    """θ as islands allow it, those with the narrowest exit first: more than any of them allows does not matter."""
    found, left = list[_Bounds](), solvers.collectives.MOST_COLUMNS
    for at, island in enumerate(sorted(islands, key=lambda island: _exit_bound(island, chips))):
        least = min((bounds.upper for bounds in found), default=_exit_bound(island, chips))
        found.append(_to_all(island, chips, least, left if at < MAX_KINDS else 0))
        left = max(left - found[-1].columns, 1)
    return found


def _exit_bound(island: "Island", chips: int) -> Fraction:
    """What its exit allows each pair of one of its chips and one elsewhere."""
    return Fraction(island.exit, island.size * (chips - island.size))


def _to_all(island: "Island", chips: int, most: Fraction, columns: int) -> _Bounds:
    """θ as an island allows it up to ``most``; where each chip has an exit of its own, of equal size, that decides.

    With no columns there are only bounds.
    """
    outside, bound = chips - island.size, _exit_bound(island, chips)
    links = () if island.above is None else cut_links(island.graph, {island.above})
    if not _through(island):
        return _Bounds(Fraction(0), bound, links)
    alone = solvers.quotient.without_exits(island.graph)
    narrowest = min((carries for _, _, carries in solvers.graph.capacities(alone)), default=0)
    inner = (
        Fraction(narrowest, island.size**2)
        if len(solvers.reach.hops_from(alone, island.chips[:1])) == len(alone)
        else Fraction(0)
    )
    own = island.own
    if own and min(own) == max(own) and (bound <= inner or island.size == 1):
        return _Bounds(bound, bound, links)  # within, the shortest paths of all pairs fill no link before
    if not columns or island.above is None:
        return _Bounds(Fraction(0), bound, links)
    weights, least = dict.fromkeys(island.chips, 1) | {island.above: outside}, min(bound, most)
    found = solvers.collectives.concurrent(island.graph, weights, float(least), columns)
    tight = tuple(link_ref(island.graph.nodes, island.graph.adj, a, b) for a, b in found.tight)
    return _Bounds(Fraction(found.lower), min(Fraction(found.upper), least), tight or links, found.columns)


def _gather(island: "Island", chips: int, *, solve: bool) -> _Bounds:
    """X as an island allows it: over sets that lie in it, and over those that the fabric is in."""
    graph, above = island.graph, island.above
    if above is None or not island.exit:
        return _Bounds(Fraction(0), Fraction(0), ())
    if solve:
        best = solvers.collectives.gather(graph, dict.fromkeys(island.chips, 1) | {above: chips - island.size})
    else:
        port = min(island.chips, key=lambda chip: solvers.split.capacity(graph, {chip}))
        best = solvers.collectives.Gather(Fraction(solvers.split.capacity(graph, {port}), chips - 1), frozenset([port]))
    if best is None:
        raise AssertionError("an island with an exit has a chip")
    ratio = _through(island)
    least = ratio / (chips - 1)  # a set of a chips lets in λ·a at least, for less than all others
    sure = min(best.rate, ratio) if solve and ratio else least
    return _Bounds(sure, min(best.rate, ratio or best.rate), cut_links(graph, best.into))


def _through(island: "Island") -> Fraction:
    """Return the least exit capacity a chip of any set of its chips; 0 where the fabric above may block."""
    return Fraction(0) if island.cut_off else island.ratio
