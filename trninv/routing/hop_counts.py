"""Count pairs of chips by hops, within domains and across the fabric.

A path between domains climbs the fabric's tree to the lowest common network node. So the pairs of a cluster follow from
the number of chips at each depth below their domain's network node: products of these counts, tier by tier. Domains
below several network nodes, as an adopted cluster may have, are counted domain by domain pair.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from sqlalchemy import ColumnElement, FromClause, func, select

from trninv import deadline, solvers
from trninv.database.tables import CARRYING_STATES, TABLES
from trninv.routing.cluster_islands import DomainClass
from trninv.routing.domain_failures import first_ids
from trninv.routing.link_selection import LinkSelection
from trninv.routing.scope import Scope
from trninv.routing.wiring import MAX_DOMAINS
from trninv.routing.wiring_cache import SnapshotReader
from trninv.solvers.adjacency import directed_adjacency

if TYPE_CHECKING:
    from trninv.solvers.distances import AttachedGroup, Counts
    from trninv.solvers.graph import Graph

_NODE, _LINK, _TOP = TABLES["node"], TABLES["link"], TABLES["node"].alias("top")
_JOINED: FromClause = _LINK.join(_NODE, _NODE.c.id == _LINK.c.a_id).join(_TOP, _TOP.c.id == _LINK.c.b_id)
_HOPS_TO_CHIP: Final = 2
"""Hops from a network node to a chip: through the chip's NIC."""
_CARRYING: ColumnElement[bool] = (
    (_LINK.c.scope == "fabric") & _LINK.c.state.in_(CARRYING_STATES) & _TOP.c.state.in_(CARRYING_STATES)
)


@dataclass(frozen=True, slots=True)
class _FabricTree:
    """The part of the fabric that carries traffic, by ids.

    Attributes
    ----------
    leaves
        For each domain below one network node, that node.
    nics_by_parent
        For each domain below several network nodes, its NICs by the node above them.
    parents
        The node above each network node.

    """

    leaves: Mapping[int, int]
    nics_by_parent: Mapping[int, Mapping[int, Sequence[int]]]
    parents: Mapping[int, int]


def count_hops(reader: SnapshotReader, scope: Scope, classes: Sequence[DomainClass], via: LinkSelection) -> "Counts":
    """Return the number of pairs of a scope's chips at each number of hops."""
    if via is LinkSelection.SCALE_UP:
        return solvers.distances.sum_counts(
            _pairs_in_domain(domain_class, solvers.islands.scale_up_graph(domain_class.island.graph))
            * len(domain_class.domains)
            for domain_class in classes
        )
    tree = _read_tree(reader, scope)
    groups, histograms = defaultdict[int, list["Counts"]](list), list["Counts"]()
    for domain_class in classes:
        if domains := [domain for domain in domain_class.domains if domain not in tree.nics_by_parent]:
            histograms.append(_pairs_in_domain(domain_class, domain_class.island.graph) * len(domains))
            depths = solvers.distances.leaf_depths(
                domain_class.island.graph, domain_class.island.chips, domain_class.island.network_node
            )
            for leaf in (tree.leaves[domain] for domain in domains if domain in tree.leaves and len(depths)):
                groups[leaf].append(depths)
    histograms += solvers.distances.pairs_across_tree(groups, tree.parents)
    if tree.nics_by_parent:
        histograms += _pairs_with_several_roots(reader, classes, tree, groups)
    return solvers.distances.sum_counts(histograms)


def _pairs_in_domain(domain_class: DomainClass, graph: "Graph") -> "Counts":
    return solvers.distances.pairs_in_graph(
        directed_adjacency(graph.nodes, dict(graph.adjacency())).successors, domain_class.island.chips
    )


def _pairs_with_several_roots(
    reader: SnapshotReader,
    classes: Sequence[DomainClass],
    tree: _FabricTree,
    groups_by_leaf: Mapping[int, Sequence["Counts"]],
) -> Iterator["Counts"]:
    """Yield counts of the pairs with at least one chip in a domain below several network nodes."""
    others = [
        solvers.distances.AttachedGroup.from_counts(leaf, solvers.distances.sum_counts(group))
        for leaf, group in groups_by_leaf.items()
    ]
    attached = list["AttachedGroup"]()
    for domain_class in classes:
        domains = [domain for domain in domain_class.domains if domain in tree.nics_by_parent]
        for attached_group, inner_hops in _attached_groups(reader, domain_class, domains, tree):
            attached.append(attached_group)
            yield solvers.distances.pairs_in_group(attached_group, inner_hops, tree.parents)
    for index, first in enumerate(attached):
        deadline.raise_if_expired()
        for second in (*attached[index + 1 :], *others):
            yield solvers.distances.pairs_between_groups(first, second, tree.parents)


def _attached_groups(
    reader: SnapshotReader, domain_class: DomainClass, domains: Sequence[int], tree: _FabricTree
) -> Iterator[tuple["AttachedGroup", "Counts"]]:
    """Yield each of a class's domains below several network nodes, with the hops between its chips over scale-up links.

    Node ids of the class's graph are those of a sample domain; other domains have them shifted by a constant offset.
    """
    if not domains:
        return
    graph, endpoints = domain_class.island.graph, domain_class.island.chips
    chips = sorted(node for node, attributes in graph.nodes(data=True) if attributes["kind"] == "chip")
    index_of = {chip: index for index, chip in enumerate(chips)}
    inner_hops = solvers.distances.hop_matrix(dict(solvers.islands.scale_up_graph(graph).adjacency()), chips)
    endpoint_indices = [index_of[end] for end in endpoints]
    sample_domain = graph.nodes[chips[0]]["domain_id"] if chips else domains[0]
    first_id_of = first_ids(reader.connection, "node", [*domains, sample_domain])
    for domain in domains:
        offset = first_id_of[domain] - first_id_of[sample_domain]
        local_nics = {node: [nic - offset for nic in nics] for node, nics in tree.nics_by_parent[domain].items()}
        exits = {
            node: chip_indices
            for node, nics in local_nics.items()
            if (chip_indices := _nic_chips(graph, nics, index_of))
        }
        yield (
            solvers.distances.AttachedGroup.from_hops(inner_hops, endpoint_indices, exits, _HOPS_TO_CHIP),
            inner_hops[np.ix_(endpoint_indices, endpoint_indices)],
        )


def _nic_chips(graph: "Graph", nics: Collection[int], index_of: Mapping[int, int]) -> list[int]:
    """Return the indices of the chips attached to NICs, ignoring those that the graph lacks."""
    return sorted(
        {index_of[neighbor] for nic in nics if nic in graph for neighbor in graph[nic] if neighbor in index_of}
    )


def _read_tree(reader: SnapshotReader, scope: Scope) -> _FabricTree:
    down = reader.changes.down
    failed_links = {key for key, factor in reader.changes.links.items() if not factor}
    in_scope = (
        _LINK.c.domain_id.in_(scope.domains) if scope.members is not None else _NODE.c.cluster_id == scope.place.id
    )
    nearest, farthest = func.min(_LINK.c.b_id), func.max(_LINK.c.b_id)
    query = select(_LINK.c.domain_id, nearest, farthest).select_from(_JOINED).where(_CARRYING, in_scope)
    rows = reader.connection.execute(query.where(_LINK.c.domain_id.is_not(None)).group_by(_LINK.c.domain_id)).all()
    several_parents = [domain for domain, low, high in rows if low != high]
    uplinks = (
        select(_LINK.c.id, _LINK.c.a_id, _LINK.c.b_id)
        .select_from(_JOINED)
        .where(
            _CARRYING,
            _NODE.c.state.in_(CARRYING_STATES),
            _LINK.c.domain_id.is_(None),
            _NODE.c.cluster_id == scope.place.cluster_id,
        )
    )
    return _FabricTree(
        {domain: low for domain, low, high in rows if low == high and low not in down},
        _read_nics(reader, several_parents, failed_links),
        {
            row.a_id: row.b_id
            for row in reader.connection.execute(uplinks)
            if row.id not in failed_links and not down & {row.a_id, row.b_id}
        },
    )


def _read_nics(
    reader: SnapshotReader, domains: Sequence[int], failed_links: Collection[int]
) -> dict[int, dict[int, list[int]]]:
    """Return the NICs with a carrying uplink by domain and network node."""
    query = select(_LINK.c.id, _LINK.c.domain_id, _LINK.c.a_id, _LINK.c.b_id).select_from(_JOINED).where(_CARRYING)
    nics: dict[int, dict[int, list[int]]] = {domain: {} for domain in domains}
    for offset in range(0, len(domains), MAX_DOMAINS):
        in_chunk = _LINK.c.domain_id.in_(domains[offset : offset + MAX_DOMAINS])
        for row in reader.connection.execute(query.where(in_chunk)):
            if row.id not in failed_links and row.b_id not in reader.changes.down:
                nics[row.domain_id].setdefault(row.b_id, []).append(row.a_id)
    return nics
