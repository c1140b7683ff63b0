"""Group a cluster's domains into classes of equal wiring and equivalent failures, and bisect the cluster by class.

The questions about a whole cluster (bisection, collectives, distances, sweep, memory placement) read and solve one
domain per class instead of all domains. To a solver that domain is an island: its graph, together with the NICs and
the network node above them. A hub is a group of network nodes that never limit traffic among themselves
(`trninv.routing.hubs`). The quotient is a graph of the cluster whose vertices are its islands and hubs
(`trninv.solvers.quotient`); bounds on the bisection of the quotient hold for the cluster.

The local number of a node or link is its id minus the lowest id of its domain's nodes or links. Nodes of two domains of
a class correspond if the symmetry that makes the domains' failures equivalent maps one node to the other; for domains
with the same failures these are the nodes with equal local numbers.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.database.tables import TABLES
from trninv.errors import ScopeTooLargeError
from trninv.inventory.address.expressions import address_expression, join_containers, node_addresses
from trninv.routing.answer import LinkRef
from trninv.routing.domain_failures import (
    DomainExits,
    FailurePattern,
    add_scenario,
    failures_by_domain,
    first_ids,
    read_uplinks,
)
from trninv.routing.hubs import Hubs, find_hubs, uplinks_between
from trninv.routing.pattern_groups import LocalMap, group_patterns
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.scope import Scope
from trninv.routing.snapshot import Snapshot
from trninv.routing.wiring import MAX_DOMAINS, UpOverrides, Wiring, cut_links, link_ref

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph
    from trninv.solvers.hubs import NarrowUplink
    from trninv.solvers.islands import Island
    from trninv.solvers.quotient import ClassSelection, Quotient

MAX_CUT_LINKS = 1_000
"""Most links of a cut that an answer lists."""
_DOMAINS_PER_READ = 16
"""Number of domains whose uplinks one query reads; small, because a few domains already have MAX_CUT_LINKS uplinks."""


@dataclass(frozen=True, slots=True)
class DomainClass:
    """Domains with the same wiring and equivalent failures.

    Attributes
    ----------
    island
        The island of a sample domain: one of ``domains``, or another domain of the model with the class's failures
        applied to it.
    domains
        Ids of the domains.
    sample
        Id of the sample domain, whose node ids the island has.
    failed_count
        Number of chips in each domain that carry nothing.
    local_maps
        For a class of equivalent failures, by domain id: a map from the local number of each node of the island to that
        of the corresponding node of the domain. A domain without a map has the island's local numbers.
    is_degraded
        Whether the island is the sample of the healthy class with failures applied; then it has no model of a node or
        link that the healthy class lacks.

    """

    island: "Island"
    domains: tuple[int, ...]
    sample: int
    failed_count: int
    local_maps: Mapping[int, LocalMap] = field(default_factory=dict)
    is_degraded: bool = False

    def nodes_in(self, first_id_of: Mapping[int, int], domain: int, nodes: Collection[int]) -> dict[int, int]:
        """Map some nodes of the island to the corresponding nodes of one of the class's domains.

        ``first_id_of`` has the lowest node id of that domain and of the sample, by domain id.
        """
        first, sample_first = first_id_of[domain], first_id_of[self.sample]
        if (local_map := self.local_maps.get(domain)) is None:
            return {node: node - sample_first + first for node in nodes}
        return {node: local_map[node - sample_first] + first for node in nodes}


@dataclass(frozen=True, slots=True)
class ClusterBisection:
    """The bisection of a cluster's quotient, with the domains and links that the quotient stands for.

    ``cut`` has the first MAX_CUT_LINKS of the ``cut_size`` links of the cut.
    """

    classes: Sequence[DomainClass]
    quotient: "Quotient"
    cut: tuple[LinkRef, ...]
    cut_size: int

    @property
    def lower(self) -> int:
        """Proven lower bound in bytes per second, one direction."""
        return self.quotient.lower

    @property
    def upper(self) -> int:
        """Capacity of the cut in bytes per second, one direction."""
        return self.quotient.upper

    @property
    def side_a_chips(self) -> int:
        """Number of chips on side A."""
        return sum(len(selection.chips) * selection.island_count for selection in self.quotient.selections)

    @property
    def method(self) -> str:
        """The method that gave the bounds, and why it proves them, in words."""
        return self.quotient.method

    def sides(self, connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the addresses on side A and side B: domains with chips, and the chips of domains that are split."""
        domains_a, chips_of_split_domains = list[int](), (list[str](), list[str]())  # the chips on side A and on side B
        domains_b = {
            domain for domain_class in self.classes if domain_class.island.chip_count for domain in domain_class.domains
        }
        for domain, domain_class, selection in assign_sides(self.classes, self.quotient):
            chips_a, island = selection.chips, domain_class.island
            if not chips_a:  # only the domain's hub is on side A
                continue
            domains_b.remove(domain)
            if len(chips_a) == island.chip_count:
                domains_a.append(domain)
                continue
            first_id_of = first_ids(connection, "node", [domain, domain_class.sample])
            node_in = domain_class.nodes_in(first_id_of, domain, island.chips)
            chip_address = _node_addresses(connection, node_in.values())
            for chip in island.chips:
                chips_of_split_domains[0 if chip in chips_a else 1].append(chip_address[node_in[chip]])
        domain_address = _domain_addresses(connection, {*domains_a, *domains_b})
        a, b = ([domain_address[domain] for domain in sorted(domains)] for domains in (domains_a, domains_b))
        return (*a, *chips_of_split_domains[0]), (*b, *chips_of_split_domains[1])


def assign_sides(
    classes: "Sequence[DomainClass]", quotient: "Quotient"
) -> "Iterator[tuple[int, DomainClass, ClassSelection]]":
    """Yield a domain for each island of the quotient that has chips, or its hub, on side A.

    Each item is the domain's id, its class, and the selection, whose chips are node ids of the class's island. The
    first domains of a class stand for the islands that are wholly on side A, the last ones for the others.
    """
    remaining = [list(domain_class.domains) for domain_class in classes]
    for selection in sorted(quotient.selections, key=lambda selection: -len(selection.chips)):
        domain_class = classes[selection.class_index]
        position = 0 if len(selection.chips) == domain_class.island.chip_count else -1
        for _ in range(selection.island_count):
            yield remaining[selection.class_index].pop(position), domain_class, selection


def _domain_addresses(connection: Connection, domains: Collection[int]) -> dict[int, str]:
    domain = TABLES["domain"]
    query = select(domain.c.id, address_expression("domain").label("address")).select_from(join_containers("domain"))
    if len(domains) <= MAX_DOMAINS:  # more ids would make the query too long: the rows are filtered below
        query = query.where(domain.c.id.in_(domains))
    return {row.id: row.address for row in connection.execute(query) if row.id in domains}


def _node_addresses(connection: Connection, nodes: Collection[int]) -> dict[int, str]:
    query = node_addresses().where(TABLES["node"].c.id.in_(nodes))
    return {row.id: row.address for row in connection.execute(query)}


def read_domain_classes(snapshot: Snapshot, scope: Scope) -> list[DomainClass]:
    """Return the classes of a scope's domains; each domain is in exactly one.

    Raises
    ------
    ScopeTooLargeError
        The scope has chips of more than MAX_DOMAINS domains but is not the whole cluster.

    """
    connection, domains = snapshot.connection, scope.domains
    if scope.members is not None and len(domains) > MAX_DOMAINS:
        raise ScopeTooLargeError(
            f"the chips are in {len(domains)} domains; name at most {MAX_DOMAINS} domains, or the cluster"
        )
    cluster_hubs = find_hubs(snapshot, scope.place.cluster_id)
    if scope.members is not None:  # some chips of each domain, which may differ from domain to domain
        classes = [_read_class(snapshot, [domain], scope, cluster_hubs) for domain in domains]
    else:
        failures, separate = add_scenario(
            connection, failures_by_domain(connection, scope.place.cluster_id), snapshot.changes
        )
        classes = [
            domain_class
            for model_domains in snapshot.cached(("by model", *domains), lambda: _group_by_model(connection, domains))
            for domain_class in _classes_of_model(
                snapshot, replace(scope, domains=model_domains), failures, separate, cluster_hubs
            )
        ]
    has_several_hubs = (  # then the fabric may limit traffic, which the solvers learn from ``uplink_degraded``
        len(frozenset[int]().union(*(domain_class.island.reachable_hubs for domain_class in classes))) > 1
    )
    return (
        [replace(domain_class, island=replace(domain_class.island, uplink_degraded=True)) for domain_class in classes]
        if has_several_hubs
        else classes
    )


def _group_by_model(connection: Connection, domains: Sequence[int]) -> list[list[int]]:
    """Return the ids of domains in one list per domain model."""
    table = TABLES["domain"]
    query = select(table.c.id, table.c.domain_model_id).where(table.c.id.between(min(domains), max(domains)))
    model_of = {row.id: row.domain_model_id for row in connection.execute(query)}
    groups: dict[int, list[int]] = {}
    for domain in domains:
        groups.setdefault(model_of[domain], []).append(domain)
    return list(groups.values())


def _classes_of_model(
    snapshot: Snapshot,
    scope: Scope,
    failures: Mapping[int, FailurePattern],
    separate: Collection[int],
    cluster_hubs: Hubs,
) -> list[DomainClass]:
    """Return the classes of a scope's domains, which are all of one model.

    The healthy domains form a class, and so do those with equivalent failures. A domain is a class by itself if its
    links differ from those of most domains, if it is in ``separate`` (a scenario changes it in a way that no failure
    pattern expresses), or if it is attached to a hub other than the first.
    """
    domains = scope.domains
    irregular = snapshot.cached(("unlike", *domains), lambda: _irregular_domains(snapshot.connection, domains))
    single = irregular.union(separate, cluster_hubs.domains)
    classes = [_read_class(snapshot, [domain], scope, cluster_hubs) for domain in domains if domain in single]
    groups: dict[FailurePattern, list[int]] = {}
    for domain in domains:
        if domain not in single:
            groups.setdefault(failures.get(domain, ()), []).append(domain)
    healthy = groups.pop((), [])
    if healthy:
        classes.append(_read_class(snapshot, healthy, scope, cluster_hubs))
    elif len(groups) == 1:  # all have the same failures, so that any of them is a sample as it is
        return [*classes, _read_class(snapshot, next(iter(groups.values())), scope, cluster_hubs)]
    if not groups:
        return classes
    sample = healthy[-1] if healthy else max(chain.from_iterable(groups.values()))
    first_id_of = {table: first_ids(snapshot.connection, table, [sample])[sample] for table in ("node", "link")}
    wiring = _read_undamaged(snapshot, sample, failures.get(sample, ()), first_id_of)
    island = classes[-1].island if healthy else _build_class(wiring, [sample], scope, cluster_hubs).island
    exits = DomainExits(wiring, island)
    for group in group_patterns(groups, wiring, first_id_of):
        degraded_class = _degraded_class(
            exits, _changes_in_domain(first_id_of, group.canonical), sample, scope, cluster_hubs
        )
        local_maps = {
            domain: local_map for pattern, local_map in group.local_maps.items() for domain in groups[pattern]
        }
        classes.append(
            replace(degraded_class, domains=tuple(sorted(local_maps)), local_maps=local_maps, is_degraded=bool(healthy))
        )
    return classes


def _read_undamaged(snapshot: Snapshot, domain: int, failure: FailurePattern, first_id_of: Mapping[str, int]) -> Wiring:
    """Return a domain's wiring without its failures and those of the scenario, but with the fabric's failures."""
    if not failure:
        return snapshot.load([domain], fabric=True)
    up = {
        table: frozenset(first_id_of[table] + number for name, number, _ in failure if name == table)
        for table in first_id_of
    }
    overrides = UpOverrides(up["node"], up["link"])
    wiring = replace(snapshot.with_up_overrides(overrides), changes=ScenarioChanges()).load([domain], fabric=True)
    changes = snapshot.changes
    changes_elsewhere = ScenarioChanges(
        {node: carried_ppm for node, carried_ppm in changes.nodes.items() if node not in up["node"]},
        {link: carried_ppm for link, carried_ppm in changes.links.items() if link not in up["link"]},
    )
    return wiring.with_scenario(changes_elsewhere)


def healthy_graphs(classes: Sequence[DomainClass]) -> list["Graph"]:
    """Return the graphs of the classes that are not degraded copies of the healthy class.

    Together they contain every model of a node or link in the cluster.
    """
    return [domain_class.island.graph for domain_class in classes if not domain_class.is_degraded]


def read_island(snapshot: Snapshot, scope: Scope, domain: int) -> "Island":
    """Return a domain of a scope as an island that has the domain's own node ids."""
    return _read_class(snapshot, [domain], scope, find_hubs(snapshot, scope.place.cluster_id)).island


def name_links(
    snapshot: Snapshot, scope: Scope, domain_class: DomainClass, ends: Collection[tuple[int, int]]
) -> tuple[LinkRef, ...]:
    """Return the links of a class's first domain that correspond to some links of its island, in the order of ids.

    They are read from the first domain itself, because the island may have the ids of another domain.
    """
    domain, island = domain_class.domains[0], domain_class.island
    own_island = read_island(snapshot, scope, domain)
    first_id_of = first_ids(snapshot.connection, "node", [domain, domain_class.sample])
    node_in = domain_class.nodes_in(first_id_of, domain, set(chain.from_iterable(ends)) - {island.network_node})
    if island.network_node is not None and own_island.network_node is not None:
        node_in[island.network_node] = own_island.network_node
    graph = own_island.graph
    links = (link_ref(graph.nodes, graph.adj, node_in[a], node_in[b]) for a, b in ends)
    return tuple(sorted(links, key=lambda link: link.id))


def bisect_classes(
    classes: Sequence[DomainClass], min_side: int, max_side: int, narrow_links: "Sequence[NarrowUplink]" = ()
) -> "Quotient":
    """Bound the least cut of a cluster with ``min_side`` to ``max_side`` chips on one side.

    ``narrow_links`` are the links between its hubs.
    """
    return solvers.quotient.bisect_quotient(
        [(domain_class.island, len(domain_class.domains)) for domain_class in classes], min_side, max_side, narrow_links
    )


def bisect_cluster(
    snapshot: Snapshot, scope: Scope, classes: Sequence[DomainClass], min_side: int, max_side: int
) -> ClusterBisection:
    """Bisect a cluster with ``min_side`` to ``max_side`` chips on one side, and find the links of the cut."""
    cluster_hubs = find_hubs(snapshot, scope.place.cluster_id)
    quotient = bisect_classes(classes, min_side, max_side, cluster_hubs.narrow_links)
    hub_links = uplinks_between(snapshot, cluster_hubs, quotient.links)
    cut_size = len(hub_links)
    for selection in quotient.selections:
        island = classes[selection.class_index].island
        cut_size += selection.island_count * len(_island_cut(island, _chips_across_from_hub(island, selection)))
    domain_links = _domain_cut_links(snapshot, scope, classes, quotient, cluster_hubs)
    cut = islice(chain(hub_links, domain_links), MAX_CUT_LINKS)
    return ClusterBisection(classes, quotient, tuple(sorted(cut, key=lambda link: link.id)), cut_size)


def _chips_across_from_hub(island: "Island", selection: "ClassSelection") -> tuple[int, ...]:
    """Return the chips of an island that are not on the side of its hub."""
    return island.others(selection.chips) if selection.is_hub_taken else selection.chips


def has_disconnected_domains(snapshot: Snapshot, scope: Scope, classes: Sequence[DomainClass]) -> bool:
    """Return whether some domains are not connected to the others; a domain below several hubs connects the hubs."""
    islands = [(domain_class.island, len(domain_class.domains)) for domain_class in classes]
    return len(solvers.quotient.connected_pieces(islands, find_hubs(snapshot, scope.place.cluster_id).narrow_links)) > 1


def _read_class(snapshot: Snapshot, domains: Sequence[int], scope: Scope, cluster_hubs: Hubs) -> DomainClass:
    """Read the class of some equal domains; the last one is the sample."""
    return _build_class(snapshot.load([domains[-1]], fabric=True), domains, scope, cluster_hubs)


def _changes_in_domain(first_id_of: Mapping[str, int], failure: FailurePattern) -> ScenarioChanges:
    """Convert a failure pattern into changes of a domain; ``first_id_of`` has its lowest node and link id."""
    failures = ScenarioChanges()
    for table, local_number, carried_ppm in failure:
        (failures.nodes if table == "node" else failures.links)[first_id_of[table] + local_number] = carried_ppm
    return failures


def _degraded_class(
    domain_exits: DomainExits, failures: ScenarioChanges, sample: int, scope: Scope, cluster_hubs: Hubs
) -> DomainClass:
    """Return the class of a healthy domain with some failures applied.

    If the exit capacities of the chips that remain can be computed without the graph, the graph is built only when a
    solver needs it.
    """

    def class_from_graph() -> DomainClass:
        return _build_class(domain_exits.wiring.with_scenario(failures), [sample], scope, cluster_hubs)

    exit_capacities = domain_exits.exit_capacities(failures)
    if exit_capacities is None:
        return class_from_graph()
    island = solvers.islands.Island(
        lambda: class_from_graph().island.graph,
        tuple(exit_capacities),
        domain_exits.island.network_node,
        tuple(exit_capacities.values()),
        sum(exit_capacities.values()),
        hubs=domain_exits.island.hubs,
    )
    return DomainClass(island, (sample,), sample, domain_exits.island.chip_count - len(exit_capacities))


def _build_class(wiring: Wiring, domains: Sequence[int], scope: Scope, cluster_hubs: Hubs) -> DomainClass:
    """Build the class of some equal domains from the wiring of their sample, limited to the scope's chips.

    With forwarding, the other chips stay in the graph.
    """
    graph = wiring.graph
    chips = {node for node, attributes in graph.nodes(data=True) if attributes["kind"] == "chip"}
    # without the network nodes, which are in no domain
    kept_nodes = {node for node, attributes in graph.nodes(data=True) if attributes["domain"] is not None}
    failed = wiring.failed
    if scope.members is not None:
        kept_nodes -= set() if scope.forwarding else chips - scope.members
        chips &= scope.members
        failed &= scope.members
    network_nodes = _network_nodes_above(graph, kept_nodes)
    nodes_by_hub: dict[int, set[int]] = {}
    for node in network_nodes:
        nodes_by_hub.setdefault(cluster_hubs.hub_by_node.get(node, node), set()).add(node)

    def island_below(network_nodes: Collection[int], hubs: Collection[int]) -> "Island":
        subgraph = solvers.graph.Graph(graph.subgraph({*kept_nodes, *network_nodes}))
        island_graph = _merge_network_nodes(subgraph, network_nodes)
        return solvers.islands.Island.from_graph(island_graph, chips, min(network_nodes, default=None), frozenset(hubs))

    island = island_below(network_nodes, nodes_by_hub)
    if len(nodes_by_hub) > 1:  # lower bounds count such an island as if it were below its first hub only
        first_hub = min(nodes_by_hub)
        island = replace(island, one_hub_variant=island_below(nodes_by_hub[first_hub], [first_hub]))
    return DomainClass(island, tuple(domains), domains[-1], len(failed))


def _network_nodes_above(graph: "Graph", kept_nodes: Collection[int]) -> set[int]:
    """Return the network nodes above the NICs of the kept chips, or above all NICs if no kept chip has one."""
    kept_chips = {node for node in kept_nodes if graph.nodes[node]["kind"] == "chip"}
    nics = set(solvers.graph.nics_in(graph))
    used_nics = {nic for nic in nics if not kept_chips.isdisjoint(graph[nic])}
    neighbors = {neighbor for nic in used_nics or nics for neighbor in graph[nic]}
    return {neighbor for neighbor in neighbors if graph.nodes[neighbor]["kind"] == "network_node"}


def _merge_network_nodes(graph: "Graph", network_nodes: Collection[int]) -> "Graph":
    """Merge network nodes into the one with the lowest id, in place, and return the graph.

    If they are of one hub, this changes no cut, because traffic within a hub is not limited. A moved link has the
    address of its real upper end as ``above``.
    """
    first = min(network_nodes, default=None)
    for other in set(network_nodes) - {first}:
        address = graph.nodes[other]["address"]
        for nic, link in list(graph.adj[other].items()):
            if graph.nodes[nic]["kind"] == "nic":
                graph.add_edge(nic, first, **link, above=address)
        graph.remove_node(other)
    return graph


def _irregular_domains(connection: Connection, domains: Sequence[int]) -> set[int]:
    """Return the domains whose number of links, or their total bandwidth, differs from that of most domains."""
    link = TABLES["link"]
    measures = func.count(), func.sum(link.c.bandwidth_bytes_per_s)
    query = select(link.c.domain_id, *measures).where(link.c.domain_id.between(min(domains), max(domains)))
    measures_by_domain = {key: tuple(values) for key, *values in connection.execute(query.group_by(link.c.domain_id))}
    usual_measures = Counter(measures_by_domain.get(domain) for domain in domains).most_common(1)[0][0]
    return {domain for domain in domains if measures_by_domain.get(domain) != usual_measures}


def _island_cut(island: "Island", chips: Collection[int]) -> tuple[LinkRef, ...]:
    """Return a minimum cut between some chips of an island and the rest: its other chips and its network node.

    The cut is empty if there are no chips or there is no rest.
    """
    if island.network_node is not None and len(chips) == island.chip_count:
        uplinks = cut_links(island.graph, {island.network_node})
        if sum(link.bandwidth for link in uplinks) == island.exit_capacity:  # the uplinks are a minimum cut
            return uplinks
    other_side = [chip for chip in island.chips if chip not in set(chips)] + (
        [] if island.network_node is None else [island.network_node]
    )
    return (
        cut_links(island.graph, solvers.max_flow.minimum_cut(island.graph, chips, other_side)[1])
        if chips and other_side
        else ()
    )


class _CutDomain(NamedTuple):
    """A domain's id, its class, and the chips of the class's island that the cut separates from their hub."""

    domain: int
    domain_class: DomainClass
    chips: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the cut separates all chips of the domain."""
        return len(self.chips) == self.domain_class.island.chip_count


def _domain_cut_links(
    snapshot: Snapshot, scope: Scope, classes: Sequence[DomainClass], quotient: "Quotient", cluster_hubs: Hubs
) -> Iterator[LinkRef]:
    """Yield the cut's links within domains and from their NICs to the fabric, those of split domains first."""
    cut_domains = [
        _CutDomain(domain, domain_class, _chips_across_from_hub(domain_class.island, selection))
        for domain, domain_class, selection in assign_sides(classes, quotient)
    ]
    cut_domains = sorted((cut for cut in cut_domains if cut.chips), key=lambda cut: cut.is_whole)
    uplinks_by_domain: dict[int, list[LinkRef]] = {}
    for index, (domain, domain_class, chips) in enumerate(cut_domains):
        # only uplinks of all chips of a domain that the scenario leaves alone can be taken from the tables
        if index % _DOMAINS_PER_READ == 0 and scope.members is None:
            next_domains = cut_domains[index : index + _DOMAINS_PER_READ]
            whole_domains = {cut.domain for cut in next_domains if cut.is_whole}
            uplinks_by_domain = read_uplinks(snapshot.connection, whole_domains - snapshot.changes.domains)
        if (  # the uplinks are a minimum cut
            domain in uplinks_by_domain
            and sum(link.bandwidth for link in uplinks_by_domain[domain]) == domain_class.island.exit_capacity
        ):
            yield from uplinks_by_domain[domain]
            continue
        own_island = _read_class(snapshot, [domain], scope, cluster_hubs).island
        first_id_of = first_ids(snapshot.connection, "node", [domain, domain_class.sample])
        yield from _island_cut(own_island, domain_class.nodes_in(first_id_of, domain, chips).values())
