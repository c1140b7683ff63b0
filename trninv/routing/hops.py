"""Pairs of a scope's chips by hops.

Across domains a path climbs the fabric's tree to the lowest network node above both, so the pairs of a cluster are
counted from how many chips of each domain are how far below its network node: products of such counts, tier by tier.
Domains below several network nodes each, as those of an adopted cluster may be, are counted pair by pair.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import ColumnElement, FromClause, func, select

from trninv import deadline, solvers
from trninv.inventory.schema import CARRYING, TABLES
from trninv.routing.cluster import Alike
from trninv.routing.patterns import starts
from trninv.routing.scope import Scope
from trninv.routing.via import Via
from trninv.routing.wiring import MAX_DOMAINS, Reader
from trninv.solvers.arcs import arcs

if TYPE_CHECKING:
    from trninv.solvers.distances import Counts, Touching
    from trninv.solvers.graph import Graph

_NODE, _LINK, _TOP = TABLES["node"], TABLES["link"], TABLES["node"].alias("top")
_JOINED: FromClause = _LINK.join(_NODE, _NODE.c.id == _LINK.c.a_id).join(_TOP, _TOP.c.id == _LINK.c.b_id)
_TO_CHIP: Final = 2
"""Hops from a network node to a chip whose NIC is below it."""
_CARRYING: ColumnElement[bool] = (_LINK.c.scope == "fabric") & _LINK.c.state.in_(CARRYING) & _TOP.c.state.in_(CARRYING)


@dataclass(frozen=True, slots=True)
class _Tree:
    """What carries of the fabric.

    Attributes
    ----------
    leaves
        The network node above each domain that is below one.
    several
        Of each domain that is below several, the NICs by the network nodes above them.
    above
        The node above each network node.

    """

    leaves: Mapping[int, int]
    several: Mapping[int, Mapping[int, Sequence[int]]]
    above: Mapping[int, int]


def counted(reader: Reader, scope: Scope, kinds: Sequence[Alike], over: Via) -> "Counts":
    """Pairs by hops, in a domain and across."""
    if over is Via.SCALE_UP:
        return solvers.distances.total(
            _within(kind, solvers.quotient.without_exits(kind.island.graph)) * len(kind.domains) for kind in kinds
        )
    tree = _tree(reader, scope)
    groups, found = defaultdict[int, list["Counts"]](list), list["Counts"]()
    for kind in kinds:
        if own := [domain for domain in kind.domains if domain not in tree.several]:
            found.append(_within(kind, kind.island.graph) * len(own))
            below = solvers.distances.below(kind.island.graph, kind.island.chips, kind.island.above)
            for leaf in (tree.leaves[domain] for domain in own if domain in tree.leaves and len(below)):
                groups[leaf].append(below)
    found += solvers.distances.across(groups, tree.above)
    if tree.several:
        found += _below_several(reader, kinds, tree, groups)
    return solvers.distances.total(found)


def _within(kind: Alike, graph: "Graph") -> "Counts":
    return solvers.distances.within(arcs(graph.nodes, dict(graph.adjacency())).ahead, kind.island.chips)


def _below_several(
    reader: Reader, kinds: Sequence[Alike], tree: _Tree, groups: Mapping[int, Sequence["Counts"]]
) -> Iterator["Counts"]:
    """Pairs of which at least one chip is in a domain that is below several network nodes."""
    others = [solvers.distances.Touching.at(leaf, solvers.distances.total(group)) for leaf, group in groups.items()]
    several = list["Touching"]()
    for kind in kinds:
        own = [domain for domain in kind.domains if domain in tree.several]
        for touching, inside in _touching(reader, kind, own, tree):
            several.append(touching)
            yield solvers.distances.among(touching, inside, tree.above)
    for at, one in enumerate(several):
        deadline.check()
        for other in (*several[at + 1 :], *others):
            yield solvers.distances.between(one, other, tree.above)


def _touching(
    reader: Reader, kind: Alike, domains: Sequence[int], tree: _Tree
) -> Iterator[tuple["Touching", "Counts"]]:
    """Domains of a kind below several network nodes, and the hops between their chips over scale-up links."""
    if not domains:
        return
    graph, ends = kind.island.graph, kind.island.chips
    chips = sorted(node for node, of in graph.nodes(data=True) if of["kind"] == "chip")
    number = {chip: at for at, chip in enumerate(chips)}
    inside = solvers.distances.matrix(dict(solvers.quotient.without_exits(graph).adjacency()), chips)
    listed = [number[end] for end in ends]
    like = graph.nodes[chips[0]]["domain_id"] if chips else domains[0]
    first = starts(reader.connection, "node", [*domains, like])
    for domain in domains:
        shift = first[domain] - first[like]
        named = {node: [nic - shift for nic in nics] for node, nics in tree.several[domain].items()}
        exits = {node: users for node, nics in named.items() if (users := _users(graph, nics, number))}
        yield solvers.distances.Touching.of(inside, listed, exits, _TO_CHIP), inside[np.ix_(listed, listed)]


def _users(graph: "Graph", nics: Collection[int], number: Mapping[int, int]) -> list[int]:
    """Numbers of the chips that NICs lead to, as far as they are in a graph."""
    return sorted({number[near] for nic in nics if nic in graph for near in graph[nic] if near in number})


def _tree(reader: Reader, scope: Scope) -> _Tree:
    down = reader.changes.down
    lost = {key for key, factor in reader.changes.links.items() if not factor}
    ours = _LINK.c.domain_id.in_(scope.domains) if scope.members is not None else _NODE.c.cluster_id == scope.place.id
    nearest, farthest = func.min(_LINK.c.b_id), func.max(_LINK.c.b_id)
    query = select(_LINK.c.domain_id, nearest, farthest).select_from(_JOINED).where(_CARRYING, ours)
    found = reader.connection.execute(query.where(_LINK.c.domain_id.is_not(None)).group_by(_LINK.c.domain_id)).all()
    several = [domain for domain, low, high in found if low != high]
    uplinks = (
        select(_LINK.c.id, _LINK.c.a_id, _LINK.c.b_id)
        .select_from(_JOINED)
        .where(
            _CARRYING,
            _NODE.c.state.in_(CARRYING),
            _LINK.c.domain_id.is_(None),
            _NODE.c.cluster_id == scope.place.cluster_id,
        )
    )
    return _Tree(
        {domain: low for domain, low, high in found if low == high and low not in down},
        _nics(reader, several, lost),
        {
            row.a_id: row.b_id
            for row in reader.connection.execute(uplinks)
            if row.id not in lost and not down & {row.a_id, row.b_id}
        },
    )


def _nics(reader: Reader, domains: Sequence[int], lost: Collection[int]) -> dict[int, dict[int, list[int]]]:
    """NICs of domains whose uplinks carry, by the network nodes above them."""
    query = select(_LINK.c.id, _LINK.c.domain_id, _LINK.c.a_id, _LINK.c.b_id).select_from(_JOINED).where(_CARRYING)
    found: dict[int, dict[int, list[int]]] = {domain: {} for domain in domains}
    for at in range(0, len(domains), MAX_DOMAINS):
        some = _LINK.c.domain_id.in_(domains[at : at + MAX_DOMAINS])
        for row in reader.connection.execute(query.where(some)):
            if row.id not in lost and row.b_id not in reader.changes.down:
                found[row.domain_id].setdefault(row.b_id, []).append(row.a_id)
    return found
