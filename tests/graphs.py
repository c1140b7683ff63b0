"""Graphs for the routing tests: random ones, and seeded domains by node id."""

from collections.abc import Collection

from hypothesis import strategies as st

from trninv.catalog.facts import catalog
from trninv.catalog.models import systems
from trninv.inventory import migrate, stamp
from trninv.inventory.address import chips_of, resolve
from trninv.inventory.database import connect, reading, writing
from trninv.routing.fleet import Fleet
from trninv.routing.wiring import domains_in, domains_of, load
from trninv.solvers.graph import Graph


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


def chips_in(graph: Graph) -> list[int]:
    return [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]


def domain(fleet: Fleet, scope: str) -> Graph:
    """The wiring of a seeded scope's domain, by node ids."""
    with reading(fleet.engine) as connection:
        chips = connection.scalars(chips_of(resolve(connection, scope))).all()
        return load(connection, domains_of(connection, chips)).graph


def without(graph: Graph, nodes: Collection[int], links: Collection[int]) -> Graph:
    """A copy that lacks these nodes and these links (by id)."""
    kept = graph.copy()
    kept.remove_nodes_from(nodes)
    kept.remove_edges_from([(a, b) for a, b, edge in graph.edges(data=True) if edge["id"] in links])
    return kept


def seed_clusters(url: str, clusters: dict[str, int]) -> str:
    """Clusters of so many domains each, named c-SYSTEM, in an empty database; its URL."""
    with connect(url) as engine:
        migrate.make(engine)
        for system, domains in clusters.items():
            with writing(engine) as connection:
                stamp.seed(connection, catalog(), systems().get(system).resized(domains), f"c-{system}")
    return url


def whole(fleet: Fleet, cluster: str) -> Graph:
    with reading(fleet.engine) as connection:
        return load(connection, domains_in(connection, resolve(connection, cluster)), fabric=True).graph
