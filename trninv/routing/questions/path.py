"""Answer which paths lead from one place to another, best first by number of hops, bandwidth or time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, product
from typing import Annotated, Self

from trninv import solvers
from trninv.errors import InvalidArgumentError, SamePlaceError, UnknownFactError
from trninv.inventory.address.syntax import parse
from trninv.inventory.parameter import Argument
from trninv.rendered_text import Rendered, RenderedTable
from trninv.routing import evidence
from trninv.routing.answer import AddressText, Answer, AnswerDifference, LinkRef, Path, PathShape
from trninv.routing.endpoints import Endpoints
from trninv.routing.link_selection import VIA_DESCRIPTION, DisconnectedReason, LinkSelection
from trninv.routing.path_cache import CachedChip, PathCache
from trninv.routing.question import ROUTED_COST, question
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import Wiring, link_ref
from trninv.solvers.adjacency import node_of_port
from trninv.solvers.shortest_paths import (
    PathCriterion,
    PathMetric,
    ShortestPathDag,
    all_best_paths,
    best_paths,
    path_cost,
)
from trninv.units import Capacity, pluralize

MAX_PATHS = 100
MAX_MESSAGE = 2**50  # bytes
MAX_PAIRS = 256
"""Most pairs of a source and a target that one question compares."""

_MAX_LISTED_PAIRS = 8
"""Most pairs of places that the text output lists."""
_DISJOINT_SHAPES = (PathShape.LINK_DISJOINT, PathShape.NODE_DISJOINT)
_SHAPE_DEFINITIONS = {
    PathShape.BEST: "",
    PathShape.ALL: "; a link's share is what equal-cost multipath sends over it, each node splitting evenly",
    PathShape.LINK_DISJOINT: "; no two paths share a link, and their total length is the least possible",
    PathShape.NODE_DISJOINT: (
        "; no two paths share a node except their ends, and their total length is the least possible"
    ),
}
_DEFINITIONS = {
    PathMetric.HOPS: "fewest links (chip-switch-chip is two), ties by address; bandwidth in one direction",
    PathMetric.BANDWIDTH: "widest narrowest link, then fewest links, ties by address; bandwidth in one direction",
    PathMetric.TIME: "least latency of its links + bytes / narrowest link, then fewest links, ties by address; "
    "one message alone on the wiring; bandwidth in one direction",
}


@dataclass(frozen=True, slots=True)
class LinkShare:
    """A link of the best paths, in the direction travelled."""

    link: Annotated[LinkRef, "The link."]
    source: Annotated[AddressText, "The end it leaves."]
    target: Annotated[AddressText, "The end it reaches."]
    paths: Annotated[int, "How many of the best paths use it."]
    share: Annotated[float, "Its share of the traffic under equal-cost multipath."]


@dataclass(frozen=True, slots=True)
class PlacePair:
    """A source and a target."""

    source: Annotated[AddressText, "The source."]
    target: Annotated[AddressText, "The target."]


@dataclass(frozen=True, kw_only=True)
class PathAnswer(Answer):
    """The best paths between two places, or between any of several."""

    metric: Annotated[PathMetric, "Metric by which they are ordered."]
    source: Annotated[AddressText, "The source; of several, the first."]
    target: Annotated[AddressText, "The target; of several, the first."]
    reachable: Annotated[bool, "Whether there is a path."]
    tied_paths: Annotated[int, "Number of paths that are as good as the first."]
    reason: DisconnectedReason
    paths: Annotated[tuple[Path, ...], "Paths, best first; equally good ones by address."]
    links: Annotated[tuple[LinkShare, ...], "For shape ALL, the graph of all best paths."] = ()
    best_pairs: Annotated[tuple[PlacePair, ...], "With several places, the pairs that a best path joins."] = ()

    def difference_from(self, other: Self) -> AnswerDifference:
        best, other_best = ((answer.paths[0] if answer.paths else None) for answer in (self, other))
        hops = best.hops - other_best.hops if best and other_best else None
        return AnswerDifference(hops, ((best and best.bandwidth) or 0) - ((other_best and other_best.bandwidth) or 0))

    def is_satisfied(self) -> bool:
        return self.reachable

    def render(self) -> Rendered:
        if not self.reachable:
            yield f"no path from {self.source} to {self.target}: {self.reason}"
        if self.best_pairs:
            listed = self.best_pairs[:_MAX_LISTED_PAIRS]
            yield f"best from {' and '.join(f'{pair.source} to {pair.target}' for pair in listed)}"
            if len(self.best_pairs) > _MAX_LISTED_PAIRS:
                yield f"and {len(self.best_pairs) - _MAX_LISTED_PAIRS:,} more pairs (--format json lists all)"
        for number, path in enumerate(self.paths, start=1):
            yield f"path {number}: {path}"
            if path.hops:
                yield f"  {path.route()}"
            steps = ([step.kind, step.address, step.bandwidth] for step in path.steps)
            yield RenderedTable(["", "address", "one direction"], steps, is_detail=True)
        if self.truncated:
            yield f"{self.tied_paths:,} paths are tied for best (-k lists more)"
        if self.links:
            yield "links of all best paths:"
            shares = (
                [
                    link_share.source,
                    link_share.target,
                    f"{link_share.paths:,}",
                    f"{link_share.share:.3f}",
                    link_share.link.bandwidth,
                ]
                for link_share in self.links
            )
            yield RenderedTable(["from", "to", "paths", "share", "one direction"], shares)

    def value_lines(self) -> Sequence[object]:
        if not self.paths:
            return ()
        best = self.paths[0]
        hops = pluralize(best.hops, "hop")
        return [{PathMetric.HOPS: hops, PathMetric.BANDWIDTH: best.bandwidth, PathMetric.TIME: best.time}[self.metric]]


def _answer_from_cache(
    cache: PathCache,
    source: str,
    target: str,
    by: PathMetric,
    k: int,
    via: LinkSelection | None,
    shape: PathShape,
    **other_values: object,
) -> Answer | None:
    """Answer from the cache; return None if the question needs more than cached domains.

    Cached domains yield the best path between two chips of a cluster and, within a domain, the links of all best paths.
    """
    if (
        k != 1
        or any(other_values[name] for name in ("avoid", "message", "or_from", "or_to"))
        or shape in _DISJOINT_SHAPES
    ):
        return None
    if "@" in source + target:  # the name of an instance or host, whose place only the database knows
        return None
    source_address, target_address = parse(source), parse(target)
    is_same_domain = source_address.steps[:1] == target_address.steps[:1]
    selection = LinkSelection.SCALE_UP if is_same_domain else LinkSelection.ANY
    if via not in (None, selection) or not (is_same_domain or shape is PathShape.BEST):
        return None
    if (result := cache.path(source_address, target_address, by)) is None:
        return None
    links: tuple[LinkShare, ...] | None = ()
    wiring_source = cache.wiring_source(source_address, target_address)
    if shape is PathShape.ALL:
        links = cache.answer_for_chips(
            (source_address, target_address), partial(_cached_link_shares, by_bandwidth=by is PathMetric.BANDWIDTH)
        )
    if links is None or wiring_source is None:
        return None
    path, tied_paths, facts = result
    return PathAnswer(
        metric=by,
        source=str(source_address),
        target=str(target_address),
        reachable=True,
        tied_paths=tied_paths,
        reason=None,
        paths=(path,),
        links=links,
        definition=_DEFINITIONS[by] + _SHAPE_DEFINITIONS[shape] + selection.definition_suffix,
        via=selection,
        facts=facts,
        wiring_source=wiring_source,
        truncated=tied_paths > 1,
    )


def _cached_link_shares(source: CachedChip, target: CachedChip, *, by_bandwidth: bool) -> tuple[LinkShare, ...]:
    """Return the links of all best paths between two chips of a domain, each with its share of the traffic."""
    paths = source.paths_to(target, by_bandwidth=by_bandwidth).all_paths(source.number)
    return tuple(
        LinkShare(source.link(a, b), source.address_of(a), source.address_of(b), count, float(paths.share[a, b]))
        for (a, b), count in sorted(paths.flow.items())
    )


_PLACES = "Chip, core, server, rack, domain or switch."
_BETWEEN_CLAUSE = "; from any source to any target, over the wiring of all their domains"


@question(
    cost=ROUTED_COST,
    answer_from_cache=_answer_from_cache,
    examples=(
        "path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10",
        "path trn3-gen2/d0/s0/c0 trn3-gen2/d0/s35/c3 --by bandwidth -k 3",
        'path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s0/c5 --by time --bytes "1 MiB" --down u-trn2x64/d0/s0/c1',
        "path u-trn2x64/d0/s0/c0 u-trn2x64/d0/s2/c10 --or-from u-trn2x64/d0/s1/c2 --or-to u-trn2x64/d0/s3/c7",
    ),
)
def path(
    snapshot: Snapshot,
    source: Annotated[str, Argument(_PLACES, name="from", metavar="A")],
    target: Annotated[str, Argument(_PLACES, name="to", metavar="B")],
    by: Annotated[PathMetric, Argument("Metric to order paths by.")] = PathMetric.HOPS,
    k: Annotated[int, Argument("Number of paths.", minimum=1, maximum=MAX_PATHS, option="-k")] = 1,
    avoid: Annotated[
        tuple[str, ...], Argument("Places and links (A--B) to avoid.", metavar="ADDRESS", is_avoided=True)
    ] = (),
    message: Annotated[
        Capacity, Argument("Message size, for paths by time.", maximum=MAX_MESSAGE, option="--bytes", metavar="SIZE")
    ] = Capacity(0),
    shape: Annotated[PathShape, Argument("Which paths to list.", option="")] = PathShape.BEST,
    via: Annotated[LinkSelection | None, Argument(VIA_DESCRIPTION)] = None,
    or_from: Annotated[tuple[str, ...], Argument("Alternative sources.", metavar="ADDRESS")] = (),
    or_to: Annotated[tuple[str, ...], Argument("Alternative targets.", metavar="ADDRESS")] = (),
) -> PathAnswer:
    """Find the shortest or widest paths between two places.

    Either end may be any of several places. Servers, racks and domains stand for all their chips.
    """
    if message and by is not PathMetric.TIME:
        raise InvalidArgumentError("a message size is for paths by time only; omit it")
    if shape in _DISJOINT_SHAPES and by is not PathMetric.HOPS:
        raise InvalidArgumentError("disjoint paths are ordered by hops; omit the metric")
    sources, targets = dict.fromkeys([source, *or_from]), dict.fromkeys([target, *or_to])
    if len(sources) * len(targets) > MAX_PAIRS:
        raise InvalidArgumentError(
            f"{len(sources) * len(targets):,} pairs of places are too many; name at most {MAX_PAIRS}, or larger places"
        )
    endpoints = Endpoints.resolve(snapshot, list(sources), list(targets), avoid, via)
    criterion = PathCriterion(by, message)
    nodes, (successors, predecessors) = endpoints.wiring.nodes, endpoints.wiring.adjacency
    if by is PathMetric.TIME:
        _require_latencies(endpoints.wiring)
    search = successors, endpoints.sources, endpoints.targets
    if shape in _DISJOINT_SHAPES:
        if endpoints.sources & endpoints.targets:
            shared = f"{endpoints.source} and {endpoints.target} share chips"
            raise SamePlaceError(f"{shared}; name two separate places")
        # for the default k = 1, as many paths as there are
        by_node, max_paths = shape is PathShape.NODE_DISJOINT, k if k > 1 else len(nodes)
        paths = solvers.max_flow.disjoint_paths(*search, by_node=by_node, max_paths=max_paths)
    else:
        paths = list(islice(best_paths(*search, criterion, predecessors), k))
    dag = all_best_paths(*search, criterion, predecessors)
    tied_paths = dag.count if dag else 0
    path_links = (successors[a][b] for path in paths for a, b in pairwise(path))
    path_nodes = [nodes[node_of_port(node)] for path in paths for node in path]
    return PathAnswer(
        metric=by,
        source=next(iter(endpoints.nodes_by_source)),
        target=next(iter(endpoints.nodes_by_target)),
        reachable=bool(paths),
        tied_paths=tied_paths,
        reason=None if paths else endpoints.unreachable_reason(snapshot),
        paths=tuple(endpoints.to_addresses(path, criterion) for path in paths),
        links=tuple(_link_shares(endpoints.wiring, dag)) if dag and shape is PathShape.ALL else (),
        best_pairs=tuple(_best_pairs(endpoints, criterion)) if or_from or or_to else (),
        definition=_DEFINITIONS[by]
        + _SHAPE_DEFINITIONS[shape]
        + (_BETWEEN_CLAUSE if or_from or or_to else "")
        + endpoints.via.definition_suffix,
        via=endpoints.via,
        facts=evidence.cite_wiring(snapshot, path_nodes, path_links)
        + (evidence.cite_latency(snapshot) if by is PathMetric.TIME else ()),
        truncated=shape not in _DISJOINT_SHAPES and tied_paths > len(paths),
    )


def _best_pairs(endpoints: Endpoints, criterion: PathCriterion) -> Iterator[PlacePair]:
    """Return the pairs of a source and a target whose best path is as good as the best of all pairs."""
    successors, predecessors = endpoints.wiring.adjacency
    costs = {}
    for (source, source_nodes), (target, target_nodes) in product(
        endpoints.nodes_by_source.items(), endpoints.nodes_by_target.items()
    ):
        for path in islice(best_paths(successors, source_nodes, target_nodes, criterion, predecessors), 1):
            costs[PlacePair(source, target)] = path_cost(successors, path, criterion)
    min_cost = min(costs.values(), default=())
    return (pair for pair in costs if costs[pair] == min_cost)


def _link_shares(wiring: Wiring, dag: ShortestPathDag) -> Iterator[LinkShare]:
    """Yield the links of the graph of all best paths, each with its share of the traffic."""
    for (a, b), count in sorted(dag.flow.items()):
        link = link_ref(wiring.nodes, wiring.links, node_of_port(a), node_of_port(b))
        source, target = (str(wiring.nodes[node_of_port(end)]["address"]) for end in (a, b))
        yield LinkShare(link, source, target, count, float(dag.share[a, b]))


def _require_latencies(wiring: Wiring) -> None:
    """Refuse a wiring with a link of unknown latency."""
    for _, _, link in wiring.edges():
        if link["latency"] is None:
            raise UnknownFactError(f"the database has no latency of {link['technology']}; run trninv seed")
