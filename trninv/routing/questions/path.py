"""How to get from one place to another."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, product
from typing import Annotated, Self

from trninv import solvers
from trninv.errors import LimitError, SamePlaceError, UnknownFactError
from trninv.inventory.address import parse
from trninv.routing import evidence
from trninv.routing.answer import Answer, At, Difference, LinkRef, Path, PathShape, Table, Told
from trninv.routing.ends import Ends
from trninv.routing.fabric_cache import Chip, FabricCache
from trninv.routing.question import ROUTED, Argument, question
from trninv.routing.via import ASKED, Reason, Via
from trninv.routing.wiring import Reader, Wiring, link_ref
from trninv.solvers.arcs import place
from trninv.solvers.paths import PathMetric, Rule, Ways, best_paths, equally_good, rank
from trninv.units import Capacity

MAX_PATHS = 100
MAX_MESSAGE = 2**50
MAX_PAIRS = 256
"""Pairs of places that are compared."""

_SHOWN = 8
_ALONE = "one message alone on the wiring; "
_DISJOINT = (PathShape.LINK_DISJOINT, PathShape.NODE_DISJOINT)
_SHAPED = {
    PathShape.BEST: "",
    PathShape.ALL: "; a link's share is what equal-cost multipath sends over it, each node splitting evenly",
    PathShape.LINK_DISJOINT: "; no two paths share a link, and together they are as short as can be",
    PathShape.NODE_DISJOINT: "; no two paths share a node but their ends, and together they are as short as can be",
}
_DEFINED = {
    PathMetric.HOPS: "fewest links travelled (chip-switch-chip is two), ties by address; bandwidth of one direction",
    PathMetric.BANDWIDTH: "widest narrowest link, then fewest links, ties by address; bandwidth of one direction",
    PathMetric.TIME: "least latency of its links + bytes / narrowest link, then fewest links, ties by address; "
    f"{_ALONE}bandwidth of one direction",
}


@dataclass(frozen=True, slots=True)
class LinkShare:
    """A link of the best paths, in the direction travelled."""

    link: Annotated[LinkRef, "The link."]
    source: Annotated[At, "The end it leaves."]
    target: Annotated[At, "The end it reaches."]
    paths: Annotated[int, "How many of the best paths take it."]
    share: Annotated[float, "Its part of the traffic under equal-cost multipath."]


@dataclass(frozen=True, slots=True)
class Pair:
    """A place that paths begin at, and one that they end at."""

    source: Annotated[At, "Where they begin."]
    target: Annotated[At, "Where they end."]


@dataclass(frozen=True, kw_only=True)
class PathAnswer(Answer):
    """The best paths between two places, or between any of some places and any of some others."""

    metric: Annotated[PathMetric, "What they are ordered by."]
    source: Annotated[At, "Where they begin: of several places the first."]
    target: Annotated[At, "Where they end: of several places the first."]
    reachable: Annotated[bool, "Whether there is any."]
    equally_good: Annotated[int, "How many paths are as good as the first."]
    reason: Reason
    paths: Annotated[tuple[Path, ...], "The best first; equally good ones by address."]
    links: Annotated[tuple[LinkShare, ...], "Of shape ALL, the graph of all best paths."] = ()
    best_pairs: Annotated[tuple[Pair, ...], "Of several places, the pairs that a best path joins."] = ()

    def less(self, other: Self) -> Difference:
        now, before = ((answer.paths[0] if answer.paths else None) for answer in (self, other))
        hops = now.hops - before.hops if now and before else None
        return Difference(hops, ((now and now.bandwidth) or 0) - ((before and before.bandwidth) or 0))

    def succeeded(self) -> bool:
        return self.reachable

    def told(self) -> Told:
        if not self.reachable:
            yield f"no path from {self.source} to {self.target}: {self.reason}"
        if self.best_pairs:
            yield f"best from {' and '.join(f'{pair.source} to {pair.target}' for pair in self.best_pairs[:_SHOWN])}"
            if len(self.best_pairs) > _SHOWN:
                yield f"and of {len(self.best_pairs) - _SHOWN:,} more pairs (--format json)"
        for number, found in enumerate(self.paths, start=1):
            yield f"path {number}: {found}"
            steps = ([step.kind, step.address, step.bandwidth] for step in found.steps)
            yield Table(["", "address", "one direction"], steps)
        if self.truncated:
            yield f"{self.equally_good:,} paths in all are as good as the first (-k lists more)"
        if self.links:
            yield "all of the best together, link by link:"
            shares = (
                [of.source, of.target, f"{of.paths:,}", f"{of.share:.3f}", of.link.bandwidth] for of in self.links
            )
            yield Table(["from", "to", "paths over it", "share", "one direction"], shares)


def _remembered(
    cache: FabricCache,
    source: str,
    target: str,
    by: PathMetric,
    k: int,
    via: Via | None,
    shape: PathShape,
    **others: object,
) -> Answer | None:
    """One path between two chips of a cluster, or all in one domain, from what is known of their domains."""
    if k != 1 or any(others[name] for name in ("avoid", "message", "or_from", "or_to")) or shape in _DISJOINT:
        return None
    if "@" in source + target:  # who that is, the database tells
        return None
    one, other = parse(source), parse(target)
    inside = one.steps[:1] == other.steps[:1]
    over = Via.SCALE_UP if inside else Via.ANY
    if via not in (None, over) or not (inside or shape is PathShape.BEST):
        return None
    if (found := cache.path(one, other, by)) is None:
        return None
    links: tuple[LinkShare, ...] | None = ()
    basis = cache.basis(one, other)
    if shape is PathShape.ALL:
        links = cache.ask((one, other), partial(_all_shares, wide=by is PathMetric.BANDWIDTH))
    if links is None or basis is None:
        return None
    path, equally, facts = found
    return PathAnswer(
        metric=by,
        source=str(one),
        target=str(other),
        reachable=True,
        equally_good=equally,
        reason=None,
        paths=(path,),
        links=links,
        definition=_DEFINED[by] + _SHAPED[shape] + over.over,
        via=over,
        facts=facts,
        basis=basis,
        truncated=equally > 1,
    )


def _all_shares(source: Chip, target: Chip, *, wide: bool) -> tuple[LinkShare, ...]:
    """Links of the best paths between two chips of a domain."""
    ways = source.toward(target, wide=wide).all_paths(source.number)
    return tuple(
        LinkShare(source.link(a, b), source.name(a), source.name(b), count, float(ways.share[a, b]))
        for (a, b), count in sorted(ways.through.items())
    )


_PLACES = "Chip, core, server, rack, domain or switch."
_BETWEEN = "; between any of the first places and any of the others, through the domains of all of them"


@question(
    price=ROUTED,
    remembered=_remembered,
    examples=(
        "path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10",
        "path trn3-gen2/d0/s0/c0 trn3-gen2/d0/s35/c3 --by bandwidth -k 3",
        'path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s0/c5 --by time --bytes "1 MiB" --down u-trn2x64/d0/s0/c1',
        "path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10 --or-from u-trn2x64/d0/s1/c2 --or-to u-trn2x64/d0/s3/c7",
    ),
)
def path(
    reader: Reader,
    source: Annotated[str, Argument(_PLACES, name="from", metavar="A")],
    target: Annotated[str, Argument(_PLACES, name="to", metavar="B")],
    by: Annotated[PathMetric, Argument("What is best.")] = PathMetric.HOPS,
    k: Annotated[int, Argument("How many paths.", least=1, most=MAX_PATHS, option="-k")] = 1,
    avoid: Annotated[tuple[str, ...], Argument("Places and links (A--B) to stay clear of.", metavar="ADDRESS")] = (),
    message: Annotated[
        Capacity, Argument("Bytes to be sent, by TIME.", most=MAX_MESSAGE, option="--bytes", metavar="SIZE")
    ] = Capacity(0),
    shape: Annotated[PathShape, Argument("Which paths.", option="")] = PathShape.BEST,
    via: Annotated[Via | None, Argument(ASKED)] = None,
    or_from: Annotated[tuple[str, ...], Argument("Other places to begin at, if better.", metavar="ADDRESS")] = (),
    or_to: Annotated[tuple[str, ...], Argument("Other places to end at, if better.", metavar="ADDRESS")] = (),
) -> PathAnswer:
    """How to get from one place, or any of some, to another; servers, racks and domains stand for all their chips."""
    if message and by is not PathMetric.TIME:
        raise LimitError("the size of a message counts for paths by time")
    if shape in _DISJOINT and by is not PathMetric.HOPS:
        raise LimitError("disjoint paths are by hops")
    sources, targets = dict.fromkeys([source, *or_from]), dict.fromkeys([target, *or_to])
    if len(sources) * len(targets) > MAX_PAIRS:
        raise LimitError(
            f"{len(sources) * len(targets):,} pairs of places: name at most {MAX_PAIRS}, or what holds them"
        )
    ends, rule = Ends.of(reader, list(sources), list(targets), avoid, via), Rule(by, message)
    nodes, (ahead, behind) = ends.wiring.nodes, ends.wiring.arcs
    if by is PathMetric.TIME:
        _need_latencies(ends.wiring)
    places = ahead, ends.sources, ends.targets
    if shape in _DISJOINT:
        if ends.sources & ends.targets:
            shared = f"{ends.source} and {ends.target} share chips"
            raise SamePlaceError(f"{shared}: disjoint paths are between two separate places")
        apart, most = shape is PathShape.NODE_DISJOINT, k if k > 1 else len(nodes)
        found = solvers.disjoint.disjoint(*places, nodes=apart, most=most)
    else:
        found = list(islice(best_paths(*places, rule, behind), k))
    ways = equally_good(*places, rule, behind)
    count = ways.count if ways else 0
    travelled = (ahead[a][b] for each in found for a, b in pairwise(each))
    visited = [nodes[place(node)] for each in found for node in each]
    return PathAnswer(
        metric=by,
        source=next(iter(ends.starts)),
        target=next(iter(ends.stops)),
        reachable=bool(found),
        equally_good=count,
        reason=None if found else ends.unreachable(reader),
        paths=tuple(ends.named(each, rule) for each in found),
        links=tuple(_shares(ends.wiring, ways)) if ways and shape is PathShape.ALL else (),
        best_pairs=tuple(_best_pairs(ends, rule)) if or_from or or_to else (),
        definition=_DEFINED[by] + _SHAPED[shape] + (_BETWEEN if or_from or or_to else "") + ends.via.over,
        via=ends.via,
        facts=evidence.of_wiring(reader, visited, travelled)
        + (evidence.of_latency(reader) if by is PathMetric.TIME else ()),
        truncated=shape not in _DISJOINT and count > len(found),
    )


def _best_pairs(ends: Ends, rule: Rule) -> Iterator[Pair]:
    """The pairs of places whose best path is as good as any."""
    ahead, behind = ends.wiring.arcs
    worth = {}
    for (source, starts), (target, stops) in product(ends.starts.items(), ends.stops.items()):
        for best in islice(best_paths(ahead, starts, stops, rule, behind), 1):
            worth[Pair(source, target)] = rank(ahead, best, rule)
    least = min(worth.values(), default=())
    return (pair for pair in worth if worth[pair] == least)


def _shares(wiring: Wiring, ways: Ways) -> Iterator[LinkShare]:
    for (a, b), count in sorted(ways.through.items()):
        link = link_ref(wiring.nodes, wiring.links, place(a), place(b))
        source, target = (str(wiring.nodes[place(end)]["address"]) for end in (a, b))
        yield LinkShare(link, source, target, count, float(ways.share[a, b]))


def _need_latencies(wiring: Wiring) -> None:
    for _, _, of in wiring.edges():
        if of["latency"] is None:
            raise UnknownFactError(f"no fact in the database gives the latency of {of['technology']}: run trninv seed")
