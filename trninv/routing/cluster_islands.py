"""Group a cluster's domains into classes of equal wiring and failures, and bisect the cluster by class.

Each class is read and solved once; a solver's island is one domain of a class with the fabric above it.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.database.tables import TABLES
from trninv.errors import ScopeTooLargeError
from trninv.inventory.address.expressions import address_expression, node_addresses
from trninv.routing.answer import LinkRef
from trninv.routing.domain_failures import DomainExits, FailurePattern, failures_by_domain, first_ids, read_uplinks
from trninv.routing.hubs import Hubs, find_hubs, uplinks_between
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.scope import Scope
from trninv.routing.wiring import MAX_DOMAINS, Wiring, cut_links
from trninv.routing.wiring_cache import SnapshotReader

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph
    from trninv.solvers.hubs import NarrowUplink
    from trninv.solvers.islands import Island
    from trninv.solvers.quotient import ClassSelection, Quotient

_TABLES = TABLES
MAX_CUT_LINKS = 1_000
"""Links of a cut that an answer lists."""
_DOMAINS_PER_READ = 16
"""Domains whose uplinks are read together; a small number, because few domains fill a listed cut."""


@dataclass(frozen=True, slots=True)
class DomainClass:
    """Domains with the same wiring and the same failures.

    Attributes
    ----------
    island
        One of the domains, or another domain of the model whose node ids stand for theirs.
    domains
        Ids of the domains.
    failed_count
        Chips of each domain that carry nothing.
    is_degraded
        Whether the island is another class's domain less some failures; it has no models that the other lacks.

    """

    island: "Island"
    domains: tuple[int, ...]
    failed_count: int
    is_degraded: bool = False


@dataclass(frozen=True, slots=True)
class ClusterBisection:
    """A quotient's bisection as domains and links; ``cut`` has the first MAX_CUT_LINKS of its ``cut_size`` links."""

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
    def size(self) -> int:
        """Chips on side A."""
        return sum(len(selection.chips) * selection.island_count for selection in self.quotient.selections)

    @property
    def method(self) -> str:
        """How the bounds were found and why they are proven, in words."""
        return self.quotient.method

    def sides(self, connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the addresses on side A and side B: domains, and the chips of domains that are split."""
        domains_a, split_chips = list[int](), (list[str](), list[str]())
        domains_b = {domain for domain_class in self.classes for domain in domain_class.domains}
        for domain, island, selection in assign_sides(self.classes, self.quotient):
            chips = selection.chips
            if not chips:  # only its hub is on side A
                continue
            domains_b.remove(domain)
            if len(chips) == island.chip_count:
                domains_a.append(domain)
                continue
            sample_domain = next(
                attributes["domain_id"] for _, attributes in island.graph.nodes(data=True) if attributes["domain_id"]
            )
            first_id_of = first_ids(connection, "node", [domain, sample_domain])
            offset = first_id_of[domain] - first_id_of[sample_domain]
            chip_address = _node_addresses(connection, [chip + offset for chip in island.chips])
            for chip in island.chips:
                split_chips[chip not in chips].append(chip_address[chip + offset])
        domain_address = _domain_addresses(connection, {*domains_a, *domains_b})
        a, b = ([domain_address[domain] for domain in sorted(side)] for side in (domains_a, domains_b))
        return (*a, *split_chips[0]), (*b, *split_chips[1])


def assign_sides(
    classes: "Sequence[DomainClass]", quotient: "Quotient"
) -> "Iterator[tuple[int, Island, ClassSelection]]":
    """Assign a domain to each island that has chips, or its hub, on side A.

    Yields the domain's id, the island of its class, and the selection in that island's node ids. Whole domains get the
    first ids of a class, split ones the last.
    """
    remaining = [list(domain_class.domains) for domain_class in classes]
    for selection in sorted(quotient.selections, key=lambda selection: -len(selection.chips)):
        island = classes[selection.class_index].island
        position = 0 if len(selection.chips) == island.chip_count else -1
        for _ in range(selection.island_count):
            yield remaining[selection.class_index].pop(position), island, selection


def _domain_addresses(connection: Connection, domains: Collection[int]) -> dict[int, str]:
    domain, cluster = _TABLES["domain"], _TABLES["cluster"]
    query = select(domain.c.id, address_expression("domain").label("address"))
    query = query.join(cluster, cluster.c.id == domain.c.cluster_id)
    if len(domains) <= MAX_DOMAINS:
        query = query.where(domain.c.id.in_(domains))
    return {row.id: row.address for row in connection.execute(query) if row.id in domains}


def _node_addresses(connection: Connection, nodes: Collection[int]) -> dict[int, str]:
    query = node_addresses().where(_TABLES["node"].c.id.in_(nodes))
    return {row.id: row.address for row in connection.execute(query)}


def read_domain_classes(reader: SnapshotReader, scope: Scope) -> list[DomainClass]:
    """Return the classes of a scope's domains; each domain is in one of them.

    Raises
    ------
    ScopeTooLargeError
        The scope has chips of more than MAX_DOMAINS domains but is not the whole cluster.

    """
    connection, domains = reader.connection, scope.domains
    if scope.members is not None and len(domains) > MAX_DOMAINS:
        raise ScopeTooLargeError(
            f"the chips are in {len(domains)} domains; name at most {MAX_DOMAINS} domains, or the cluster"
        )
    cluster_hubs = find_hubs(reader, scope.place.cluster_id)
    if scope.members is not None:
        classes = [_read_class(reader, [domain], scope, cluster_hubs) for domain in domains]
    else:
        failures = failures_by_domain(connection, scope.place.cluster_id)
        classes = [
            domain_class
            for model_domains in reader.cached(("by model", *domains), lambda: _group_by_model(connection, domains))
            for domain_class in _classes_of_model(reader, replace(scope, domains=model_domains), failures, cluster_hubs)
        ]
    has_several_hubs = len(frozenset[int]().union(*(domain_class.island.joins for domain_class in classes))) > 1
    return (
        [replace(domain_class, island=replace(domain_class.island, uplink_degraded=True)) for domain_class in classes]
        if has_several_hubs
        else classes
    )


def _group_by_model(connection: Connection, domains: Sequence[int]) -> list[list[int]]:
    """Group domains by model."""
    domain = _TABLES["domain"]
    query = select(domain.c.id, domain.c.domain_model_id).where(domain.c.id.between(min(domains), max(domains)))
    models = {row.id: row.domain_model_id for row in connection.execute(query)}
    groups: dict[int, list[int]] = {}
    for key in domains:
        groups.setdefault(models[key], []).append(key)
    return list(groups.values())


def _classes_of_model(
    reader: SnapshotReader, scope: Scope, failures: Mapping[int, FailurePattern], cluster_hubs: Hubs
) -> list[DomainClass]:
    """Return the classes of domains of one model: single irregular domains, the healthy ones, and each failure pattern.

    A domain is irregular, and a class of its own, if its links differ from those of most domains, if the scenario
    changes it, or if it is attached to a hub other than the first.
    """
    domains = scope.domains
    irregular = reader.cached(("unlike", *domains), lambda: _irregular_domains(reader.connection, domains))
    separate = irregular | reader.changes.domains | set(cluster_hubs.domains)
    classes = [_read_class(reader, [domain], scope, cluster_hubs) for domain in domains if domain in separate]
    groups: dict[FailurePattern, list[int]] = {}
    for domain in domains:
        if domain not in separate:
            groups.setdefault(failures.get(domain, ()), []).append(domain)
    if () not in groups:
        return classes + [_read_class(reader, equal_domains, scope, cluster_hubs) for equal_domains in groups.values()]
    healthy = groups.pop(())
    healthy_class = _read_class(reader, healthy, scope, cluster_hubs)
    first_id_of = {table: first_ids(reader.connection, table, healthy[-1:])[healthy[-1]] for table in ("node", "link")}
    exits = DomainExits(reader.load(healthy[-1:], fabric=True), healthy_class.island)
    degraded_classes = (
        _degraded_class(exits, _local_failures(first_id_of, failure), equal_domains, scope, cluster_hubs)
        for failure, equal_domains in groups.items()
    )
    return [*classes, healthy_class, *degraded_classes]


def healthy_graphs(classes: Sequence[DomainClass]) -> list["Graph"]:
    """Return graphs of the classes that together contain every model of node and link."""
    return [domain_class.island.graph for domain_class in classes if not domain_class.is_degraded]


def bisect_classes(
    classes: Sequence[DomainClass], min_side: int, max_side: int, narrow_links: "Sequence[NarrowUplink]" = ()
) -> "Quotient":
    """Bound the least cut with ``min_side`` to ``max_side`` chips on one side; ``narrow_links`` join hubs."""
    return solvers.quotient.bisect_quotient(
        [(domain_class.island, len(domain_class.domains)) for domain_class in classes], min_side, max_side, narrow_links
    )


def bisect_cluster(
    reader: SnapshotReader, scope: Scope, classes: Sequence[DomainClass], min_side: int, max_side: int
) -> ClusterBisection:
    """Bisect a cluster's chips on its quotient, and find the domains and links that the result stands for."""
    cluster_hubs = find_hubs(reader, scope.place.cluster_id)
    quotient = bisect_classes(classes, min_side, max_side, cluster_hubs.narrow_links)
    selected = ((selection, classes[selection.class_index].island) for selection in quotient.selections)
    cut_size = sum(
        selection.island_count * len(_cut_links(island, _across(island, selection))) for selection, island in selected
    )
    between = uplinks_between(reader, cluster_hubs, quotient.links)
    cut = islice(chain(between, _cut_links_of_cluster(reader, scope, classes, quotient, cluster_hubs)), MAX_CUT_LINKS)
    return ClusterBisection(classes, quotient, tuple(sorted(cut, key=lambda link: link.id)), cut_size + len(between))


def _across(island: "Island", selection: "ClassSelection") -> tuple[int, ...]:
    """Return the chips of an island on the side that its hub is not on."""
    return island.others(selection.chips) if selection.is_hub_taken else selection.chips


def are_apart(reader: SnapshotReader, scope: Scope, classes: Sequence[DomainClass]) -> bool:
    """Return whether some domains have no connection to others: by no hubs, and by no domain below several hubs."""
    islands = [(domain_class.island, len(domain_class.domains)) for domain_class in classes]
    return len(solvers.quotient.connected_pieces(islands, find_hubs(reader, scope.place.cluster_id).narrow_links)) > 1


def _read_class(reader: SnapshotReader, domains: Sequence[int], scope: Scope, cluster_hubs: Hubs) -> DomainClass:
    """Read the class of equal domains from the tables' rows of the last one."""
    return _build_class(reader.load([domains[-1]], fabric=True), domains, scope, cluster_hubs)


def _local_failures(first_id_of: Mapping[str, int], failure: FailurePattern) -> ScenarioChanges:
    """Convert a failure pattern into changes of a domain whose nodes and links start at these ids."""
    failures = ScenarioChanges()
    for table, local, factor in failure:
        (failures.nodes if table == "node" else failures.links)[first_id_of[table] + local] = factor
    return failures


def _degraded_class(
    domain_exits: DomainExits, failures: ScenarioChanges, domains: Sequence[int], scope: Scope, cluster_hubs: Hubs
) -> DomainClass:
    """Return the class of domains that equal the healthy one less some failures.

    If each remaining chip's capacity to the fabric is known, the island's graph is built only when a solver needs it.
    """

    def remaining_class() -> DomainClass:
        return _build_class(domain_exits.wiring.with_scenario(failures), domains, scope, cluster_hubs)

    exit_capacities = domain_exits.exit_capacities(failures)
    if exit_capacities is None:
        return replace(remaining_class(), is_degraded=True)
    island = solvers.islands.Island(
        lambda: remaining_class().island.graph,
        tuple(exit_capacities),
        domain_exits.island.network_node,
        tuple(exit_capacities.values()),
        sum(exit_capacities.values()),
        hubs=domain_exits.island.hubs,
    )
    return DomainClass(island, tuple(domains), domain_exits.island.chip_count - len(exit_capacities), is_degraded=True)


def _build_class(wiring: Wiring, domains: Sequence[int], scope: Scope, cluster_hubs: Hubs) -> DomainClass:
    graph = wiring.graph
    chips = {node for node, attributes in graph.nodes(data=True) if attributes["kind"] == "chip"}
    kept_nodes = {node for node, attributes in graph.nodes(data=True) if attributes["domain"] is not None}
    failed = wiring.failed
    if scope.members is not None:
        kept_nodes -= set() if scope.forwarding else chips - scope.members
        chips &= scope.members
        failed &= scope.members
    network_nodes = _above(graph, kept_nodes)
    nodes_by_hub: dict[int, set[int]] = {}
    for node in network_nodes:
        nodes_by_hub.setdefault(cluster_hubs.hub_by_node.get(node, node), set()).add(node)

    def island_below(above: Collection[int], hubs: Collection[int]) -> "Island":
        island_graph = _merge_network_nodes(solvers.graph.Graph(graph.subgraph({*kept_nodes, *above})), above)
        return solvers.islands.Island.from_graph(island_graph, chips, min(above, default=None), frozenset(hubs))

    island = island_below(network_nodes, nodes_by_hub)
    if len(nodes_by_hub) > 1:
        first_hub = min(nodes_by_hub)
        island = replace(island, at_one=island_below(nodes_by_hub[first_hub], [first_hub]))
    return DomainClass(island, tuple(domains), len(failed))


def _above(graph: "Graph", kept_nodes: Collection[int]) -> set[int]:
    """Return the network nodes above the NICs of the kept chips, or above all NICs if no kept chip has one."""
    nics = set(solvers.graph.nics_in(graph))
    used = {
        nic for nic in nics if any(near in kept_nodes and graph.nodes[near]["kind"] == "chip" for near in graph[nic])
    }
    return {near for nic in used or nics for near in graph[nic] if graph.nodes[near]["kind"] == "network_node"}


def _merge_network_nodes(graph: "Graph", network_nodes: Collection[int]) -> "Graph":
    """Merge network nodes into the one with the lowest id, in place; valid because the fabric above does not block."""
    first = min(network_nodes, default=None)
    for other in set(network_nodes) - {first}:
        address = graph.nodes[other]["address"]
        for nic, link in list(graph.adj[other].items()):
            if graph.nodes[nic]["kind"] == "nic":
                graph.add_edge(nic, first, **link, above=address)
        graph.remove_node(other)
    return graph


def _irregular_domains(connection: Connection, domains: Sequence[int]) -> set[int]:
    """Return the domains whose number of links or total bandwidth differs from that of most."""
    link = _TABLES["link"]
    measures = func.count(), func.sum(link.c.bandwidth_bytes_per_s)
    query = select(link.c.domain_id, *measures).where(link.c.domain_id.between(min(domains), max(domains)))
    measures_by_domain = {key: tuple(values) for key, *values in connection.execute(query.group_by(link.c.domain_id))}
    usual_measures = Counter(measures_by_domain.get(domain) for domain in domains).most_common(1)[0][0]
    return {domain for domain in domains if measures_by_domain.get(domain) != usual_measures}


def _cut_links(island: "Island", chips: Collection[int]) -> tuple[LinkRef, ...]:
    """Return a minimum cut between some chips of an island, and its other chips and network node."""
    if island.network_node is not None and len(chips) == island.chip_count:
        uplinks = cut_links(island.graph, {island.network_node})
        if sum(link.bandwidth for link in uplinks) == island.exit_capacity:
            return uplinks
    other_side = [chip for chip in island.chips if chip not in set(chips)] + (
        [] if island.network_node is None else [island.network_node]
    )
    return (
        cut_links(island.graph, solvers.max_flow.minimum_cut(island.graph, chips, other_side)[1])
        if chips and other_side
        else ()
    )


def _cut_links_of_cluster(
    reader: SnapshotReader, scope: Scope, classes: Sequence[DomainClass], quotient: "Quotient", cluster_hubs: Hubs
) -> Iterator[LinkRef]:
    """Yield the cut's links within domains and above their NICs, those of split domains first."""
    listed = (
        (domain, island, _across(island, selection)) for domain, island, selection in assign_sides(classes, quotient)
    )
    shares = sorted((share for share in listed if share[2]), key=lambda share: len(share[2]) == share[1].chip_count)
    uplinks_by_domain: dict[int, list[LinkRef]] = {}
    for index, (domain, island, chips) in enumerate(shares):
        if index % _DOMAINS_PER_READ == 0 and scope.members is None:
            whole_domains = (
                other_domain
                for other_domain, other_island, other_chips in shares[index : index + _DOMAINS_PER_READ]
                if len(other_chips) == other_island.chip_count
            )
            uplinks_by_domain = read_uplinks(reader.connection, set(whole_domains) - reader.changes.domains)
        if (
            domain in uplinks_by_domain
            and sum(link.bandwidth for link in uplinks_by_domain[domain]) == island.exit_capacity
        ):
            yield from uplinks_by_domain[domain]
            continue
        own_island = _read_class(reader, [domain], scope, cluster_hubs).island
        offset = own_island.chips[0] - island.chips[0]
        yield from _cut_links(own_island, [chip + offset for chip in chips])
