"""Count pairs of chips by hops, within domains and across the fabric, for the question `distances`.

Pairs within a domain are counted once for all equal domains (`trninv.routing.cluster_islands`). A path between domains
climbs the fabric's tree to the lowest common network node. The number of these pairs therefore follows from the number
of chips at each depth below a domain's network node: products of these numbers are summed, tier by tier. A cluster that
was adopted from observations, not seeded from a design, may have domains below several network nodes; their pairs with
other domains are counted one pair of domains at a time.

``Counts`` is an array whose item i is the number of pairs, or of chips, that are i hops away.
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
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import MAX_DOMAINS
from trninv.solvers.adjacency import directed_adjacency

if TYPE_CHECKING:
    from trninv.solvers.distances import AttachedGroup, Counts
    from trninv.solvers.graph import Graph

_NODE, _LINK, _UPPER_NODE = TABLES["node"], TABLES["link"], TABLES["node"].alias("top")
_LINKS_WITH_ENDS: FromClause = _LINK.join(_NODE, _NODE.c.id == _LINK.c.a_id).join(
    _UPPER_NODE, _UPPER_NODE.c.id == _LINK.c.b_id
)
_HOPS_TO_CHIP: Final = 2
"""Hops from a network node to a chip: through the chip's NIC."""
_CARRYING: ColumnElement[bool] = (
    (_LINK.c.scope == "fabric") & _LINK.c.state.in_(CARRYING_STATES) & _UPPER_NODE.c.state.in_(CARRYING_STATES)
)
"""The condition that a link is in the fabric and that neither it nor its upper end is down; its lower end may be."""


@dataclass(frozen=True, slots=True)
class _FabricTree:
    """The network nodes and links of a fabric that carry traffic, by ids.

    Attributes
    ----------
    leaves
        For each domain below exactly one network node, that node.
    nics_by_parent
        For each domain below several network nodes, its NICs by the network node above them.
    parents
        The network node above each network node, if there is one.

    """

    leaves: Mapping[int, int]
    nics_by_parent: Mapping[int, Mapping[int, Sequence[int]]]
    parents: Mapping[int, int]


def count_hops(snapshot: Snapshot, scope: Scope, classes: Sequence[DomainClass], via: LinkSelection) -> "Counts":
    """Return the number of pairs of a scope's chips at each number of hops."""
    if via is LinkSelection.SCALE_UP:
        return solvers.distances.sum_counts(
            _pairs_in_domain(domain_class, solvers.islands.scale_up_graph(domain_class.island.graph))
            * len(domain_class.domains)
            for domain_class in classes
        )
    tree = _read_tree(snapshot, scope)
    groups, histograms = defaultdict[int, list["Counts"]](list), list["Counts"]()
    for domain_class in classes:
        if domains := [domain for domain in domain_class.domains if domain not in tree.nics_by_parent]:
            histograms.append(_pairs_in_domain(domain_class, domain_class.island.graph) * len(domains))
            depths = solvers.distances.leaf_depths(
                domain_class.island.graph, domain_class.island.chips, domain_class.island.network_node
            )
            # there are no depths if the fabric reaches no chip
            for leaf in (tree.leaves[domain] for domain in domains if domain in tree.leaves and len(depths)):
                groups[leaf].append(depths)
    histograms += solvers.distances.pairs_across_tree(groups, tree.parents)
    if tree.nics_by_parent:
        histograms += _pairs_below_several_nodes(snapshot, classes, tree, groups)
    return solvers.distances.sum_counts(histograms)


def _pairs_in_domain(domain_class: DomainClass, graph: "Graph") -> "Counts":
    """Count the pairs of chips in one domain of a class by hops, over the links of a graph of that domain."""
    return solvers.distances.pairs_in_graph(
        directed_adjacency(graph.nodes, dict(graph.adjacency())).successors, domain_class.island.chips
    )


def _pairs_below_several_nodes(
    snapshot: Snapshot,
    classes: Sequence[DomainClass],
    tree: _FabricTree,
    groups_by_leaf: Mapping[int, Sequence["Counts"]],
) -> Iterator["Counts"]:
    """Yield counts of the pairs with at least one chip in a domain below several network nodes.

    ``groups_by_leaf`` has, by network node, the chips of each domain below that node alone, counted by depth.
    """
    others = [
        solvers.distances.AttachedGroup.from_counts(leaf, solvers.distances.sum_counts(group))
        for leaf, group in groups_by_leaf.items()
    ]
    attached = list["AttachedGroup"]()
    for domain_class in classes:
        domains = [domain for domain in domain_class.domains if domain in tree.nics_by_parent]
        for attached_group, inner_hops in _attached_groups(snapshot, domain_class, domains, tree):
            attached.append(attached_group)
            yield solvers.distances.pairs_in_group(attached_group, inner_hops, tree.parents)
    for index, first in enumerate(attached):
        deadline.raise_if_expired()
        for second in (*attached[index + 1 :], *others):
            yield solvers.distances.pairs_between_groups(first, second, tree.parents)


def _attached_groups(
    snapshot: Snapshot, domain_class: DomainClass, domains: Sequence[int], tree: _FabricTree
) -> Iterator[tuple["AttachedGroup", "Counts"]]:
    """Yield the chips of each domain as a group attached to several network nodes, with the hops between its chips.

    The ``domains`` are of the class and below several network nodes; the hops are over scale-up links.
    """
    if not domains:
        return
    graph, members = domain_class.island.graph, domain_class.island.chips
    chips = sorted(node for node, attributes in graph.nodes(data=True) if attributes["kind"] == "chip")
    index_of = {chip: index for index, chip in enumerate(chips)}
    inner_hops = solvers.distances.hop_matrix(dict(solvers.islands.scale_up_graph(graph).adjacency()), chips)
    member_indices = [index_of[chip] for chip in members]
    first_id_of = first_ids(snapshot.connection, "node", [*domains, domain_class.sample])
    for domain in domains:
        node_in = domain_class.nodes_in(first_id_of, domain, solvers.graph.nics_in(graph))
        island_nic = {nic: island_nic for island_nic, nic in node_in.items()}
        exits = {
            node: chip_indices
            for node, nics in tree.nics_by_parent[domain].items()
            if (chip_indices := _nic_chips(graph, [island_nic[nic] for nic in nics if nic in island_nic], index_of))
        }
        yield (
            solvers.distances.AttachedGroup.from_hops(inner_hops, member_indices, exits, _HOPS_TO_CHIP),
            inner_hops[np.ix_(member_indices, member_indices)],
        )


def _nic_chips(graph: "Graph", nics: Collection[int], index_of: Mapping[int, int]) -> list[int]:
    """Return the indices of the chips that are linked to some NICs."""
    return sorted({index_of[neighbor] for nic in nics for neighbor in graph[nic] if neighbor in index_of})


def _read_tree(snapshot: Snapshot, scope: Scope) -> _FabricTree:
    """Read the fabric above a scope's domains, with the snapshot's scenario applied."""
    down = snapshot.changes.down
    failed_links = {key for key, factor in snapshot.changes.links.items() if not factor}
    in_scope = (
        _LINK.c.domain_id.in_(scope.domains) if scope.members is not None else _NODE.c.cluster_id == scope.place.id
    )
    lowest_id, highest_id = func.min(_LINK.c.b_id), func.max(_LINK.c.b_id)
    query = select(_LINK.c.domain_id, lowest_id, highest_id).select_from(_LINKS_WITH_ENDS).where(_CARRYING, in_scope)
    rows = snapshot.connection.execute(query.where(_LINK.c.domain_id.is_not(None)).group_by(_LINK.c.domain_id)).all()
    # different lowest and highest ids mean several network nodes
    below_several_nodes = [domain for domain, low, high in rows if low != high]
    uplinks = (
        select(_LINK.c.id, _LINK.c.a_id, _LINK.c.b_id)
        .select_from(_LINKS_WITH_ENDS)
        .where(
            _CARRYING,
            _NODE.c.state.in_(CARRYING_STATES),
            _LINK.c.domain_id.is_(None),
            _NODE.c.cluster_id == scope.place.cluster_id,
        )
    )
    return _FabricTree(
        {domain: low for domain, low, high in rows if low == high and low not in down},
        _read_nics(snapshot, below_several_nodes, failed_links),
        {
            row.a_id: row.b_id
            for row in snapshot.connection.execute(uplinks)
            if row.id not in failed_links and not down & {row.a_id, row.b_id}
        },
    )


def _read_nics(
    snapshot: Snapshot, domains: Sequence[int], failed_links: Collection[int]
) -> dict[int, dict[int, list[int]]]:
    """Return the NICs whose uplink carries traffic, by domain and by the network node above them."""
    query = (
        select(_LINK.c.id, _LINK.c.domain_id, _LINK.c.a_id, _LINK.c.b_id).select_from(_LINKS_WITH_ENDS).where(_CARRYING)
    )
    nics: dict[int, dict[int, list[int]]] = {domain: {} for domain in domains}
    for offset in range(0, len(domains), MAX_DOMAINS):
        in_chunk = _LINK.c.domain_id.in_(domains[offset : offset + MAX_DOMAINS])
        for row in snapshot.connection.execute(query.where(in_chunk)):
            if row.id not in failed_links and row.b_id not in snapshot.changes.down:
                nics[row.domain_id].setdefault(row.b_id, []).append(row.a_id)
    return nics
