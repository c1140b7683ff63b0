"""Links by direction: NICs as two ports, and graphs joined at the nodes they share."""

from hypothesis import given
from hypothesis import strategies as st

from graphs import graphs, split_ports, torus_domain
from trninv.solvers.adjacency import directed_adjacency, join_links, node_of_port
from trninv.solvers.graph import Graph, weighted_edges


def _directed(graph: Graph) -> set[tuple[int, int, int]]:
    """Return the ends, NICs for their ports, and the capacity of every directed link."""
    adjacency = directed_adjacency(graph.nodes, dict(graph.adjacency()))
    return {
        (node_of_port(a), node_of_port(b), link["capacity"])
        for a, links in adjacency.successors.items()
        for b, link in links.items()
    }


@given(graphs())
def test_without_nics_every_link_leads_both_ways(graph: Graph) -> None:
    ends = [(u, v, capacity) for a, b, capacity in weighted_edges(graph) for u, v in ((a, b), (b, a))]
    assert _directed(graph) == set(ends)


@given(st.integers(1, 3), st.integers(1, 4))
def test_a_nic_has_the_links_of_its_two_ports(chips_per_nic: int, exits: int) -> None:
    graph = torus_domain((4,), (7,), exits=exits, chips_per_nic=chips_per_nic)
    ports = split_ports(graph)
    node = {end: end[0] if isinstance(end, tuple) else end for end in ports}
    assert _directed(graph) == {(node[a], node[b], link["capacity"]) for a, b, link in ports.edges(data=True)}


@given(graphs())
def test_predecessors_are_the_successors_reversed(graph: Graph) -> None:
    adjacency = directed_adjacency(graph.nodes, dict(graph.adjacency()))
    forward = {(a, b) for a, links in adjacency.successors.items() for b in links}
    assert forward == {(a, b) for b, links in adjacency.predecessors.items() for a in links}


@given(graphs(), st.data())
def test_joining_the_halves_of_a_graph_returns_its_links(graph: Graph, data: st.DataObject) -> None:
    first = set(data.draw(st.lists(st.sampled_from(sorted(graph.edges)), unique=True)) if graph.edges else [])
    halves = [Graph(), Graph()]
    for a, b, link in graph.edges(data=True):
        halves[(a, b) not in first].add_edge(a, b, **link)
    joined = join_links([dict(half.adjacency()) for half in halves])
    assert {(a, b) for a in joined for b in joined[a]} == {(a, b) for a in graph for b in graph[a]}
