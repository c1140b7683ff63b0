"""Hops between all pairs of a scope's chips: diameter, mean, distribution.

Across domains a path climbs the fabric's tree to the lowest network node above both, so the pairs of a cluster are
counted from how many chips of each domain are how far below its network node: products of such counts, tier by tier.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from trninv import deadline
from trninv.inventory.schema import CARRYING, TABLES
from trninv.routing import cluster, evidence
from trninv.routing.graph import Graph
from trninv.routing.pool import hops_from
from trninv.routing.quotient import Island, without_exits
from trninv.routing.results import CitedFact
from trninv.routing.scope import Scope
from trninv.routing.surveys import DistanceAnswer
from trninv.routing.wiring import Reader

_DISTANCE = (
    "links travelled on a shortest path between each pair of the scope's healthy chips (chip-switch-chip is two)"
)

Counts = NDArray[np.int64]
"""How many, by hops."""


def distance_answer(reader: Reader, of: str) -> DistanceAnswer:
    """The distances within a scope: of a domain or less on its wiring, of a cluster across the fabric too."""
    scope = Scope.of(reader, of, transit=True)
    if len(scope.domains) == 1:
        inside = scope.inside(reader, "this")
        return _answer(scope, len(inside.ends), _within(inside.graph, inside.ends), _DISTANCE, ())
    kinds = cluster.kinds_of(reader, scope)
    chips = sum(kind.island.size * len(kind.domains) for kind in kinds)
    within = [_within(without_exits(kind.island.graph), kind.island.chips) * len(kind.domains) for kind in kinds]
    below = {domain: counts for kind in kinds for counts in [_below(kind.island)] for domain in kind.domains}
    models = {of["domain"] for kind in kinds for of in kind.island.graph.nodes.values() if of["domain"]}
    found = _sum([*within, *_across(reader, scope, below)])
    facts = evidence.of_fabric(reader.connection, models)
    return _answer(scope, chips, found, f"{_DISTANCE}; over the EFA fabric between domains", facts)


def _answer(scope: Scope, chips: int, found: Counts, definition: str, facts: tuple[CitedFact, ...]) -> DistanceAnswer:
    pairs, reached = chips * (chips - 1) // 2, int(found.sum())
    by_hops = tuple((int(hops), int(found[hops])) for hops in np.flatnonzero(found))
    return DistanceAnswer(
        of=scope.place.address,
        chips=chips,
        pairs=pairs,
        unreachable=pairs - reached,
        diameter=by_hops[-1][0] if by_hops else None,
        mean=sum(hops * count for hops, count in by_hops) / reached if reached else None,
        by_hops=by_hops,
        definition=definition,
        facts=facts,
    )


def _sum(parts: Iterable[Counts]) -> Counts:
    listed = list(parts)
    total = np.zeros(max((len(part) for part in listed), default=0), dtype=np.int64)
    for part in listed:
        total[: len(part)] += part
    return total


def _hops(graph: Graph, end: int) -> dict[int, int]:
    deadline.check()
    return hops_from(graph, [end])


def _within(graph: Graph, chips: Sequence[int]) -> Counts:
    """Pairs of chips, by hops over a graph."""
    hops = [
        reached[other]
        for end in chips
        for reached in [_hops(graph, end)]
        for other in chips
        if other > end and other in reached
    ]
    return np.bincount(np.array(hops, dtype=np.int64))


def _below(island: Island) -> Counts:
    """An island's chips, by hops from its network node."""
    reached = hops_from(island.graph, [] if island.above is None else [island.above])
    return np.bincount(np.array([reached[end] for end in island.chips if end in reached], dtype=np.int64))


def _across(reader: Reader, scope: Scope, below: dict[int, Counts]) -> Iterator[Counts]:
    """Pairs of chips of different domains, by hops: those that meet at each network node."""
    above_domain, above_node = _tree(reader, scope)
    waiting: dict[int, list[Counts]] = {}
    for domain, counts in below.items():
        if domain in above_domain and len(counts):
            waiting.setdefault(above_domain[domain], []).append(counts)
    while waiting:
        node = min(waiting)  # ids rise with the tiers
        parts = waiting.pop(node)
        whole = _sum(parts)
        meeting = np.convolve(whole, whole)
        for part in parts:
            apart = np.convolve(part, part)
            meeting[: len(apart)] -= apart
        yield meeting // 2
        if node in above_node:
            waiting.setdefault(above_node[node], []).append(np.concatenate([[0], whole]))


def _tree(reader: Reader, scope: Scope) -> tuple[dict[int, int], dict[int, int]]:
    """The network node above each domain, and above each network node: over links and nodes that carry."""
    node, link, top = TABLES["node"], TABLES["link"], TABLES["node"].alias("top")
    down = reader.changes.down
    lost = {key for key, factor in reader.changes.links.items() if not factor}
    ours = link.c.domain_id.in_(scope.domains) if scope.members is not None else node.c.cluster_id == scope.place.id
    joined = link.join(node, node.c.id == link.c.a_id).join(top, top.c.id == link.c.b_id)
    carrying = (link.c.scope == "fabric") & link.c.state.in_(CARRYING) & top.c.state.in_(CARRYING)
    of_domains = select(link.c.domain_id, func.min(link.c.b_id)).select_from(joined).where(carrying, ours)
    found = reader.connection.execute(of_domains.where(link.c.domain_id.is_not(None)).group_by(link.c.domain_id))
    domains = {domain: above for domain, above in found if above not in down}
    uplinks = (
        select(link.c.id, link.c.a_id, link.c.b_id)
        .select_from(joined)
        .where(
            carrying,
            node.c.state.in_(CARRYING),
            link.c.domain_id.is_(None),
            node.c.cluster_id == scope.place.cluster_id,
        )
    )
    nodes = {
        row.a_id: row.b_id
        for row in reader.connection.execute(uplinks)
        if row.id not in lost and not down & {row.a_id, row.b_id}
    }
    return domains, nodes
