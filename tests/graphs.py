"""Graphs for the routing tests: random ones, and seeded domains by node id."""

from collections.abc import Collection
from math import prod

import networkx as nx
from hypothesis import strategies as st

from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database import migration
from trninv.database.engine import read_transaction, temporary_engine, write_transaction
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.inventory.seeding import cluster_seeding
from trninv.routing.fleet import BaseFleet
from trninv.routing.wiring import domains_in_cluster, domains_of_nodes, load_wiring
from trninv.solvers.adjacency import Links
from trninv.solvers.graph import Graph
from trninv.solvers.shortest_paths import PathCriterion, all_best_paths
from trninv.topology.blueprint import Blueprint
from trninv.topology.torus import coordinates, torus_links


@st.composite
def graphs(draw: st.DrawFn, *, chips: int = 7, switches: int = 2) -> Graph:
    """Chips 0, 1, … and switches 100, 101, … with some links of some small capacities, not always connected."""
    ends = list(range(draw(st.integers(min_value=2, max_value=chips))))
    others = list(range(100, 100 + draw(st.integers(min_value=0, max_value=switches))))
    nodes = ends + others
    pairs = [(a, b) for i, a in enumerate(nodes) for b in nodes[i + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=14))
    graph = Graph()
    graph.add_nodes_from(ends, kind="chip", position=None)
    graph.add_nodes_from(others, kind="switch", position=None)
    for number, (a, b) in enumerate(chosen):
        capacity, latency = (draw(st.integers(min_value=1, max_value=4)) for _ in range(2))
        graph.add_edge(a, b, id=number, capacity=capacity, latency=latency)
    return graph


def torus_domain(
    sides: tuple[int, ...], carries: tuple[int, ...], *, exits: int = 0, chips_per_nic: int = 1, above: int = 10_000
) -> Graph:
    """A torus of chips 0, 1, …, each axis with links of one capacity, and a NIC of some chips each below ``above``."""
    graph = Graph()
    for chip in range(prod(sides)):
        graph.add_node(chip, kind="chip", position=coordinates(chip, sides), sides=sides)
    for a, b, axis in torus_links(sides):
        graph.add_edge(a, b, capacity=carries[axis])
    for chip in range(prod(sides) if exits else 0):
        nic = 1_000 + chip // chips_per_nic
        graph.add_node(nic, kind="nic", position=None)
        graph.add_edge(chip, nic, capacity=exits)
        graph.add_edge(nic, above, capacity=exits)
    graph.add_nodes_from([above] * bool(exits), kind="network_node", position=None)
    return graph


def small_torus(changes: dict[int, int]) -> Graph:
    """A 2×4 torus with its pattern, some of whose links, by number, have another capacity."""
    chip = {"kind": "chip", "server": 0, "rack": 0, "wiring": "torus", "sides": (2, 4)}
    graph = Graph()
    graph.add_nodes_from((node, {**chip, "ordinal": node}) for node in range(8))
    links = [(link.a, link.b, changes.get(number, 10)) for number, link in enumerate(torus_links((2, 4)))]
    graph.add_weighted_edges_from(links, weight="capacity")
    return graph


def blueprint_graph(blueprint: Blueprint) -> Graph:
    """A domain of a model, with links of a capacity for each role; its NICs, if any, are below network node 10,000."""
    graph = Graph()
    for number, node in enumerate(blueprint.nodes):
        place = {"kind": node.kind, "server": node.server, "rack": node.rack, "ordinal": node.ordinal}
        graph.add_node(number, **place, wiring=blueprint.pattern, sides=blueprint.sides)
    capacity = {role: 64 * (number + 1) for number, role in enumerate(sorted({link.role for link in blueprint.links}))}
    graph.add_edges_from((link.a, link.b, {"capacity": capacity[link.role]}) for link in blueprint.links)
    nics = [number for number, node in enumerate(blueprint.nodes) if node.kind == "nic"]
    graph.add_nodes_from([10_000] * bool(nics), kind="network_node")
    graph.add_edges_from((nic, 10_000, {"capacity": 25}) for nic in nics)
    return graph


def chips_in(graph: Graph) -> list[int]:
    return [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]


def domain(fleet: BaseFleet, scope: str) -> Graph:
    """The wiring of a seeded scope's domain, by node ids."""
    with read_transaction(fleet.engine) as connection:
        chips = connection.scalars(row_ids_in(resolve_place(connection, scope), "chip")).all()
        return load_wiring(connection, domains_of_nodes(connection, chips)).graph


def without(graph: Graph, nodes: Collection[int], links: Collection[int]) -> Graph:
    """A copy that lacks these nodes and these links (by id)."""
    kept = graph.copy()
    kept.remove_nodes_from(nodes)
    kept.remove_edges_from([(a, b) for a, b, edge in graph.edges(data=True) if edge["id"] in links])
    return kept


def seed_clusters(url: str, clusters: dict[str, int]) -> str:
    """Clusters of so many domains each, named c-SYSTEM, in an empty database; its URL."""
    with temporary_engine(url) as engine:
        migration.create_tables_if_missing(engine)
        for system, domains in clusters.items():
            with write_transaction(engine) as connection:
                cluster_seeding.seed(
                    connection, default_catalog(), default_systems().get(system).resized(domains), f"c-{system}"
                )
    return url


def whole(fleet: BaseFleet, cluster: str) -> Graph:
    with read_transaction(fleet.engine) as connection:
        return load_wiring(
            connection, domains_in_cluster(connection, resolve_place(connection, cluster)), fabric=True
        ).graph


def count_best(links: Links, sources: Collection[int], targets: Collection[int], rule: PathCriterion) -> int:
    """How many paths are as good as the best one, without listing them."""
    found = all_best_paths(links, sources, targets, rule)
    return found.count if found else 0


def split_ports(graph: Graph) -> "nx.DiGraph[object]":
    """Each NIC as a node for what goes up, (NIC, True), and one for what comes down."""
    ways: nx.DiGraph[object] = nx.DiGraph()
    ways.add_nodes_from(node for node, of in graph.nodes(data=True) if of["kind"] != "nic")
    for a, b, of in graph.edges(data=True):
        for one, other in ((a, b), (b, a)):
            up = graph.nodes[one]["kind"] == "chip" or graph.nodes[other]["kind"] == "network_node"
            ends = [(end, up) if graph.nodes[end]["kind"] == "nic" else end for end in (one, other)]
            ways.add_edge(*ends, **of)
    return ways
