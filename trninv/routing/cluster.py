"""The islands of a cluster. Domains that are alike are read once, and so are those with the same damage."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from trninv import solvers
from trninv.errors import ScopeTooLargeError
from trninv.inventory.address import address_expression, node_addresses
from trninv.inventory.schema import TABLES
from trninv.routing.answer import LinkRef
from trninv.routing.hubs import Hubs, hubs, uplinks_between
from trninv.routing.patterns import FailurePattern, failures_by_domain, first_ids
from trninv.routing.scenario import ScenarioChanges
from trninv.routing.scope import Scope
from trninv.routing.wear import DomainExits, read_uplinks
from trninv.routing.wiring import MAX_DOMAINS, SnapshotReader, Wiring, cut_links

if TYPE_CHECKING:
    from trninv.solvers.graph import Graph
    from trninv.solvers.hubs import Narrow
    from trninv.solvers.quotient import ClassSelection, Island, Quotient

_TABLES = TABLES
MAX_CUT_LINKS = 1_000
"""Links of a cut that an answer lists."""
_DOMAINS_PER_READ = 16
"""Domains whose uplinks are read together: few make up a cut that is listed."""


@dataclass(frozen=True, slots=True)
class DomainClass:
    """Domains that are alike.

    Attributes
    ----------
    island
        One of them, or another one's ids.
    failed
        How many of its chips are not up.
    worn
        Whether it is what is left of another kind, so that nothing in it is of a model of its own.

    """

    island: "Island"
    domains: tuple[int, ...]
    failed_count: int
    is_degraded: bool = False


@dataclass(frozen=True, slots=True)
class ClusterBisection:
    """A quotient's split in terms of domains and links; ``cut`` lists the first MAX_CUT links of ``cut_size``."""

    classes: Sequence[DomainClass]
    quotient: "Quotient"
    cut: tuple[LinkRef, ...]
    cut_size: int

    @property
    def lower(self) -> int:
        """Proven: no less, in bytes per second of one direction."""
        return self.quotient.lower

    @property
    def upper(self) -> int:
        """What the split cuts, in bytes per second of one direction."""
        return self.quotient.upper

    @property
    def size(self) -> int:
        """Chips on side A."""
        return sum(len(selection.chips) * selection.island_count for selection in self.quotient.selections)

    @property
    def method(self) -> str:
        """How it was found, and why that is a proof."""
        return self.quotient.method

    def sides(self, connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Addresses on either side: whole domains, and the chips of those that are split."""
        domains_a, split_chips = list[int](), (list[str](), list[str]())
        domains_b = {domain for domain_class in self.classes for domain in domain_class.domains}
        for domain, island, taken in assign_sides(self.classes, self.quotient):
            chips = taken.chips
            if not chips:  # its hub alone is there
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
    """Each domain that has chips on side A, or its hub, an island like it, and what is taken in that one's ids."""
    remaining = [list(class_index.domains) for class_index in classes]
    for taken in sorted(quotient.selections, key=lambda taken: -len(taken.chips)):
        island = classes[taken.class_index].island
        for _ in range(taken.island_count):
            yield remaining[taken.class_index].pop(0 if len(taken.chips) == island.chip_count else -1), island, taken


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
    """The islands of some domains of a cluster.

    Raises
    ------
    ScopeTooLargeError
        Chips of more than MAX_DOMAINS domains, but not the whole cluster.

    """
    connection, domains = reader.connection, scope.domains
    if scope.members is not None and len(domains) > MAX_DOMAINS:
        raise ScopeTooLargeError(f"chips of {len(domains)} domains: name at most {MAX_DOMAINS}, or the cluster")
    found = hubs(reader, scope.place.cluster_id)
    if scope.members is not None:
        kinds = [_read_class(reader, [domain], scope, found) for domain in domains]
    else:
        failures = failures_by_domain(connection, scope.place.cluster_id)
        kinds = [
            domain_class
            for model_domains in reader.cached(("by model", *domains), lambda: _group_by_model(connection, domains))
            for domain_class in _classes_of_model(reader, replace(scope, domains=model_domains), failures, found)
        ]
    several = len(frozenset[int]().union(*(domain_class.island.joins for domain_class in kinds))) > 1
    return (
        [replace(domain_class, island=replace(domain_class.island, uplink_degraded=True)) for domain_class in kinds]
        if several
        else kinds
    )


def _group_by_model(connection: Connection, domains: Sequence[int]) -> list[list[int]]:
    """Domains of one model each."""
    domain = _TABLES["domain"]
    query = select(domain.c.id, domain.c.domain_model_id).where(domain.c.id.between(min(domains), max(domains)))
    models = {row.id: row.domain_model_id for row in connection.execute(query)}
    groups: dict[int, list[int]] = {}
    for key in domains:
        groups.setdefault(models[key], []).append(key)
    return list(groups.values())


def _classes_of_model(
    reader: SnapshotReader, scope: Scope, failures: Mapping[int, FailurePattern], found: Hubs
) -> list[DomainClass]:
    """The islands of domains of one model: the healthy ones, and each kind of damage."""
    domains = scope.domains
    irregular = reader.cached(("unlike", *domains), lambda: _irregular_domains(reader.connection, domains))
    separate = irregular | reader.changes.domains | set(found.domains)
    classes = [_read_class(reader, [domain], scope, found) for domain in domains if domain in separate]
    groups: dict[FailurePattern, list[int]] = {}
    for domain in domains:
        if domain not in separate:
            groups.setdefault(failures.get(domain, ()), []).append(domain)
    if () not in groups:
        return classes + [_read_class(reader, equal_domains, scope, found) for equal_domains in groups.values()]
    healthy = groups.pop(())
    healthy_class = _read_class(reader, healthy, scope, found)
    first_id_of = {table: first_ids(reader.connection, table, healthy[-1:])[healthy[-1]] for table in ("node", "link")}
    exits = DomainExits(reader.load(healthy[-1:], fabric=True), healthy_class.island)
    worn = (
        _degraded_class(exits, _local_failures(first_id_of, failure), equal_domains, scope, found)
        for failure, equal_domains in groups.items()
    )
    return [*classes, healthy_class, *worn]


def healthy_graphs(classes: Sequence[DomainClass]) -> list["Graph"]:
    """Graphs in which everything is that is of a model of its own."""
    return [domain_class.island.graph for domain_class in classes if not domain_class.is_degraded]


def bisect_classes(
    classes: Sequence[DomainClass], min_side: int, max_side: int, narrow: "Sequence[Narrow]" = ()
) -> "Quotient":
    """Bounds on the least cut with ``low`` to ``high`` chips on one side; ``narrow`` links join the kinds' hubs."""
    return solvers.quotient.bisect_quotient(
        [(domain_class.island, len(domain_class.domains)) for domain_class in classes], min_side, max_side, narrow
    )


def bisect_cluster(
    reader: SnapshotReader, scope: Scope, classes: Sequence[DomainClass], min_side: int, max_side: int
) -> ClusterBisection:
    """Part the islands' chips, and say which domains and links that means."""
    above = hubs(reader, scope.place.cluster_id)
    quotient = bisect_classes(classes, min_side, max_side, above.narrow)
    selected = ((taken, classes[taken.class_index].island) for taken in quotient.selections)
    cut_size = sum(taken.island_count * len(_cut_links(island, _across(island, taken))) for taken, island in selected)
    between = uplinks_between(reader, above, quotient.links)
    cut = islice(chain(between, _cut_links_of_cluster(reader, scope, classes, quotient, above)), MAX_CUT_LINKS)
    return ClusterBisection(classes, quotient, tuple(sorted(cut, key=lambda link: link.id)), cut_size + len(between))


def _across(island: "Island", taken: "ClassSelection") -> tuple[int, ...]:
    """Chips of an island that are across from its hub."""
    return island.others(taken.chips) if taken.is_hub_taken else taken.chips


def are_apart(reader: SnapshotReader, scope: Scope, kinds: Sequence[DomainClass]) -> bool:
    """Whether some domains are joined to others by nothing: neither by hubs, nor by a domain that is below several."""
    listed = [(kind.island, len(kind.domains)) for kind in kinds]
    return len(solvers.quotient.pieces(listed, hubs(reader, scope.place.cluster_id).narrow)) > 1


def _read_class(reader: SnapshotReader, domains: Sequence[int], scope: Scope, found: Hubs) -> DomainClass:
    """The kind that some domains are of, from the tables' word on the last of them."""
    return _build_class(reader.load([domains[-1]], fabric=True), domains, scope, found)


def _local_failures(first_id_of: Mapping[str, int], failure: FailurePattern) -> ScenarioChanges:
    """Some damage as changes of a domain whose nodes and links begin at these ids."""
    failures = ScenarioChanges()
    for table, local, factor in failure:
        (failures.nodes if table == "node" else failures.links)[first_id_of[table] + local] = factor
    return failures


def _degraded_class(
    domain_exits: DomainExits, failures: ScenarioChanges, domains: Sequence[int], scope: Scope, found: Hubs
) -> DomainClass:
    """What is left of the healthy domain, as a kind."""

    def remaining_class() -> DomainClass:
        return _build_class(domain_exits.wiring.with_scenario(failures), domains, scope, found)

    exit_capacities = domain_exits.exit_capacities(failures)
    if exit_capacities is None:
        return replace(remaining_class(), is_degraded=True)
    island = solvers.quotient.Island(
        lambda: remaining_class().island.graph,
        tuple(exit_capacities),
        domain_exits.island.network_node,
        tuple(exit_capacities.values()),
        sum(exit_capacities.values()),
        hubs=domain_exits.island.hubs,
    )
    return DomainClass(island, tuple(domains), domain_exits.island.chip_count - len(exit_capacities), is_degraded=True)


def _build_class(wiring: Wiring, domains: Sequence[int], scope: Scope, found: Hubs) -> DomainClass:
    graph = wiring.graph
    chips = {node for node, attributes in graph.nodes(data=True) if attributes["kind"] == "chip"}
    kept_nodes = {node for node, attributes in graph.nodes(data=True) if attributes["domain"] is not None}
    failed = wiring.failed
    if scope.members is not None:
        kept_nodes -= set() if scope.forwarding else chips - scope.members
        chips &= scope.members
        failed &= scope.members
    network_nodes = _above(graph, kept_nodes)
    at_hub: dict[int, set[int]] = {}
    for node in network_nodes:
        at_hub.setdefault(found.of.get(node, node), set()).add(node)

    def below(above: Collection[int], hubs: Collection[int]) -> "Island":
        inside = _merge_network_nodes(solvers.graph.Graph(graph.subgraph({*kept_nodes, *above})), above)
        return solvers.quotient.Island.from_graph(inside, chips, min(above, default=None), frozenset(hubs))

    island = below(network_nodes, at_hub)
    if len(at_hub) > 1:
        first = min(at_hub)
        island = replace(island, at_one=below(at_hub[first], [first]))
    return DomainClass(island, tuple(domains), len(failed))


def _above(graph: "Graph", kept: Collection[int]) -> set[int]:
    """The network nodes that NICs of some chips lead to; those of all NICs, where none is a chip's."""
    nics = set(solvers.graph.nics_in(graph))
    used = {nic for nic in nics if any(near in kept and graph.nodes[near]["kind"] == "chip" for near in graph[nic])}
    return {near for nic in used or nics for near in graph[nic] if graph.nodes[near]["kind"] == "network_node"}


def _merge_network_nodes(graph: "Graph", network_nodes: Collection[int]) -> "Graph":
    """The same, with the network nodes that the NICs lead to as the first of them: the fabric above does not block."""
    first = min(network_nodes, default=None)
    for other in set(network_nodes) - {first}:
        address = graph.nodes[other]["address"]
        for nic, link in list(graph.adj[other].items()):
            if graph.nodes[nic]["kind"] == "nic":
                graph.add_edge(nic, first, **link, above=address)
        graph.remove_node(other)
    return graph


def _irregular_domains(connection: Connection, domains: Sequence[int]) -> set[int]:
    """Domains with other links than most have: more or fewer, or of another bandwidth in all."""
    link = _TABLES["link"]
    measures = func.count(), func.sum(link.c.bandwidth_bytes_per_s)
    query = select(link.c.domain_id, *measures).where(link.c.domain_id.between(min(domains), max(domains)))
    measures_by_domain = {key: tuple(values) for key, *values in connection.execute(query.group_by(link.c.domain_id))}
    usual_measures = Counter(measures_by_domain.get(domain) for domain in domains).most_common(1)[0][0]
    return {domain for domain in domains if measures_by_domain.get(domain) != usual_measures}


def _cut_links(island: "Island", chips: Collection[int]) -> tuple[LinkRef, ...]:
    """The links that part chips of an island from its others and from its network node."""
    if island.network_node is not None and len(chips) == island.chip_count:
        uplinks = cut_links(island.graph, {island.network_node})
        if sum(link.bandwidth for link in uplinks) == island.exit_capacity:
            return uplinks
    other_side = [chip for chip in island.chips if chip not in set(chips)] + (
        [] if island.network_node is None else [island.network_node]
    )
    return (
        cut_links(island.graph, solvers.flow.minimum_cut(island.graph, chips, other_side)[1])
        if chips and other_side
        else ()
    )


def _cut_links_of_cluster(
    reader: SnapshotReader, scope: Scope, classes: Sequence[DomainClass], quotient: "Quotient", above: Hubs
) -> Iterator[LinkRef]:
    """Links of the cut within domains and above their NICs, those of split domains first."""
    listed = (
        (domain, island, _across(island, other_chips))
        for domain, island, other_chips in assign_sides(classes, quotient)
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
        own_island = _read_class(reader, [domain], scope, above).island
        offset = own_island.chips[0] - island.chips[0]
        yield from _cut_links(own_island, [chip + offset for chip in chips])
