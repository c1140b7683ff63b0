"""The bisection of a small cluster from its islands, compared with the cluster as one graph."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from graphs import chips_in, graphs
from oracles import brute_force
from trninv.solvers.graph import Graph, nics_in
from trninv.solvers.islands import CutProfile, Island
from trninv.solvers.quotient import bisect_quotient, connected_pieces
from trninv.solvers.share_selection import Islands, min_sum_shares

_TOP = 10_000


def _with_exits(graph: Graph, exits: list[int]) -> Graph:
    """Link each chip, through a NIC of its own, to the network node."""
    wired = graph.copy()
    wired.add_node(_TOP, kind="network_node", position=None)
    for chip, capacity in zip(chips_in(graph), exits, strict=False):
        wired.add_node(1_000 + chip, kind="nic", position=None)
        wired.add_edge(chip, 1_000 + chip, capacity=capacity)
        wired.add_edge(1_000 + chip, _TOP, capacity=capacity)
    return wired


@examples(40)
@given(graphs(chips=4, switches=1), st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_two_equal_islands_are_the_bisection_of_their_cluster(graph: Graph, exits: list[int]) -> None:
    chips, wired = chips_in(graph), _with_exits(graph, exits)
    cluster = Graph()
    for number in range(2):
        name = {node: node if node == _TOP else node + 100_000 * number for node in wired}
        cluster.add_nodes_from((name[node], attributes) for node, attributes in wired.nodes(data=True))
        cluster.add_edges_from((name[a], name[b], link) for a, b, link in wired.edges(data=True))
    every = [chip + 100_000 * number for number in range(2) for chip in chips]
    plain = Graph(cluster)
    for nic in nics_in(cluster):
        a, b = plain[nic]
        plain.add_edge(a, b, capacity=plain.edges[a, nic]["capacity"])
        plain.remove_node(nic)
    island = Island.from_graph(wired, chips, _TOP)
    bounds = bisect_quotient([(island, 2)], len(chips), len(chips))
    assert bounds.lower <= brute_force.bisection(plain, every) <= bounds.upper


@examples(40)
@given(graphs(chips=5, switches=1))
def test_a_cut_profile_and_its_witnesses_are_the_least_cuts(graph: Graph) -> None:
    chips = chips_in(graph)
    others = sorted(set(graph) - set(chips))
    profile = CutProfile(graph, chips)
    for size in range(len(chips) + 1):
        least = min(
            brute_force.cut(graph, {*some, *side})
            for some in combinations(chips, size)
            for count in range(len(others) + 1)
            for side in combinations(others, count)
        )
        assert profile.lower[size] == profile.upper[size] == least
        assert len(profile.witness(size).intersection(chips)) == size


@examples(40)
@given(graphs(chips=4, switches=0), graphs(chips=4, switches=0), st.data())
def test_shares_are_the_cheapest_sum_of_two_profiles(first: Graph, second: Graph, data: st.DataObject) -> None:
    profiles = [CutProfile(graph, chips_in(graph)) for graph in (first, second)]
    sizes = [profile.size for profile in profiles]
    count = data.draw(st.integers(0, sum(sizes)))
    islands = Islands.below_hub(profiles)
    shares = min_sum_shares(islands, islands, count, count)
    wanted = min(
        int(profiles[0].upper[taken] + profiles[1].upper[count - taken])
        for taken in range(sizes[0] + 1)
        if 0 <= count - taken <= sizes[1]
    )
    assert shares.lower == shares.upper == wanted


def test_islands_of_different_hubs_are_pieces() -> None:
    graph = Graph()
    graph.add_node(1, kind="chip", position=None)
    islands = [Island.from_graph(graph, [1], None, frozenset({hub})) for hub in (7, 8)]
    assert sorted(connected_pieces([(island, 1) for island in islands], []), key=str) == [{0: 1}, {1: 1}]
