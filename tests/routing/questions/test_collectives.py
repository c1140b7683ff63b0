"""Limits of collectives, compared with every set, an edge-flow linear program, and published values."""

import itertools
import random
from collections import Counter
from fractions import Fraction
from math import ceil, floor, prod

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import trninv
from conftest import Databases, examples, seeds
from graphs import chips_in, domain, graphs, seed_clusters, torus_domain, whole
from trninv import deadline
from trninv.routing.fleet import BaseFleet
from trninv.routing.link_selection import LinkSelection
from trninv.solvers import collectives, tree_program
from trninv.solvers.collectives import all_gather_rate, max_concurrent_flow
from trninv.solvers.graph import Graph, weighted_edges
from trninv.solvers.rings import edge_disjoint_rings, max_ring_bandwidth, ring_bandwidth, torus_rings
from trninv.solvers.symmetry import symmetry_orbits
from trninv.topology.torus import torus_links

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"


def _every_set(graph: Graph, weights: dict[int, int]) -> Fraction:
    """All-gather's rate: the least over all sets of nodes with a chip in them and weight outside."""
    total, rates = sum(weights.values()), []
    for size in range(1, len(graph) + 1):
        for chosen in itertools.combinations(graph, size):
            inside = sum(weights.get(node, 0) for node in chosen)
            if inside < total and any(weights.get(node) == 1 for node in chosen):
                cut = sum(c for a, b, c in weighted_edges(graph) if (a in chosen) != (b in chosen))
                rates.append(Fraction(cut, total - inside))
    return min(rates)


def _edge_flows(graph: Graph, weights: dict[int, int]) -> float:
    """All-to-all's θ as a linear program with a flow from each endpoint over each directed edge."""
    arcs = [(a, b, c) for x, y, c in weighted_edges(graph) for a, b in ((x, y), (y, x)) for c in (c,)]
    ends, nodes = sorted(weights), sorted(graph)
    columns = 1 + len(ends) * len(arcs)
    equal, loads = [], np.zeros((len(arcs), columns))
    for i, source in enumerate(ends):
        for node in nodes:
            row = np.zeros(columns)
            for j, (a, b, _) in enumerate(arcs):
                row[1 + i * len(arcs) + j] += (b == node) - (a == node)
            if node == source:
                continue
            row[0] = -weights[source] * weights.get(node, 0)
            equal.append(row)
        loads[:, 1 + i * len(arcs) : 1 + (i + 1) * len(arcs)] = np.eye(len(arcs))
    cost = np.zeros(columns)
    cost[0] = -1
    carried = [float(c) for _, _, c in arcs]
    solved = linprog(cost, A_ub=loads, b_ub=carried, A_eq=np.array(equal), b_eq=np.zeros(len(equal)))
    assert solved.x is not None
    return float(solved.x[0])


_HEAVY = st.integers(min_value=2, max_value=9)


def _weights(graph: Graph, data: st.DataObject) -> dict[int, int]:
    weights = dict.fromkeys(chips_in(graph), 1)
    switches = [node for node in graph if node not in weights]
    if switches and data.draw(_HEAVY) % 2:
        weights[switches[0]] = data.draw(_HEAVY)  # stands for chips elsewhere
    return weights


@examples(60)
@given(graph=graphs(chips=6), data=st.data())
def test_all_gather_against_every_set(graph: Graph, data: st.DataObject) -> None:
    weights = _weights(graph, data)
    found = all_gather_rate(graph, weights)
    assert found is not None
    assert found.rate == _every_set(graph, weights)
    outside = sum(weights.values()) - sum(weights.get(node, 0) for node in found.bottleneck)
    assert (
        sum(c for a, b, c in weighted_edges(graph) if (a in found.bottleneck) != (b in found.bottleneck))
        == found.rate * outside
    )


@examples(40)
@given(graph=graphs(chips=5), data=st.data())
def test_all_to_all_against_edge_flows(graph: Graph, data: st.DataObject) -> None:
    weights = _weights(graph, data)
    found = max_concurrent_flow(graph, weights)
    assert found.lower <= found.upper * (1 + 1e-9)
    assert found.upper == pytest.approx(_edge_flows(graph, weights), rel=1e-6, abs=1e-9)
    assert found.lower == pytest.approx(found.upper, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("system", "lost"),
    [
        *itertools.product(("trn1.32xlarge", "trn2-16.48xlarge"), ("nothing", "chip", "link")),
        ("u-trn2x64", "nothing"),
        ("trn3-gen1", "chip"),
        ("trn3-gen1", "link"),
    ],
)
def test_links_that_are_alike_are_one_row_and_allow_no_more_or_less(
    lite_fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, system: str, lost: str
) -> None:
    graph = domain(lite_fleet, system)
    chips = chips_in(graph)
    if lost == "chip":
        graph.remove_node(chips.pop(3))
    if lost == "link":
        graph.remove_edge(*min(graph.edges))
    weights = dict.fromkeys(chips, 1)
    classes = symmetry_orbits(graph, weights)
    together = max_concurrent_flow(graph, weights)
    monkeypatch.setattr(collectives, "symmetry_orbits", lambda *_: [[part] for alike in classes for part in alike])
    apart = max_concurrent_flow(graph, weights)
    assert len(classes) < len(graph) / 2 or lost != "nothing"
    assert (together.lower, together.upper) == pytest.approx((apart.lower, apart.upper), rel=1e-7)


@pytest.mark.parametrize("elsewhere", [20_000, 399_936])
def test_gathering_from_many_is_the_same_in_either_library(
    lite_fleet: BaseFleet, monkeypatch: pytest.MonkeyPatch, elsewhere: int
) -> None:
    graph = domain(lite_fleet, "trn1.32xlarge")
    chips = chips_in(graph)
    graph.add_node(0, kind="network_node")
    for chip in chips[:8]:
        graph.add_edge(chip, 0, capacity=25 * GB)
    weights = dict.fromkeys(chips, 1) | {0: elsewhere}
    fast = all_gather_rate(graph, weights)
    monkeypatch.setattr(collectives, "_INT32", 0)
    exact = all_gather_rate(graph, weights)
    assert fast is not None
    assert exact is not None
    assert fast.rate == exact.rate


@pytest.mark.parametrize(
    ("scope", "to_all", "bus", "ring"),
    [
        ("trn1.32xlarge", 90, 192, 192),
        ("trn2-16.48xlarge", 240, 512, 512),
        ("u-trn2x64", 126, 640, 384),
        ("trn3-gen1", 252, 704, None),
        ("trn3-gen2", Fraction(143 * 16, 9), 704, None),
    ],
)
def test_published_limits(fleet: BaseFleet, scope: str, to_all: float, bus: int, ring: int | None) -> None:
    """Values of an independent computation (trees and edge flows) of the same topologies."""
    found = fleet.collectives(scope)
    assert found.all_to_all.exact
    assert found.all_to_all.upper == pytest.approx(float(to_all * GB), rel=1e-8)
    assert (found.all_gather.lower, found.all_gather.upper) == (bus * GB, bus * GB)
    assert found.all_gather == found.reduce_scatter
    assert (found.all_reduce.lower, found.all_reduce.upper) == (bus * GB, bus * GB)
    assert found.all_reduce_algorithm.upper == pytest.approx(bus * GB * found.chips / (2 * (found.chips - 1)))
    assert found.ring_all_reduce is None or found.ring_all_reduce.exact
    assert (found.ring_all_reduce.lower if found.ring_all_reduce else None) == (None if ring is None else ring * GB)
    assert sum(link.bandwidth for link in found.all_gather.links) == bus * GB


def test_a_lost_link_costs_all_gather_a_fifth_and_bisection_nothing(fleet: BaseFleet) -> None:
    lost = fleet.what_if(down=[f"{U}/s0/c0--{U}/s0/c1"])
    assert lost.collectives("u-trn2x64").all_gather.upper == 512 * GB
    assert lost.bisection("u-trn2x64").upper == 2_048 * GB


def test_rings_pass_every_chip_and_share_no_link(lite_fleet: BaseFleet) -> None:
    graph = domain(lite_fleet, "trn2-16.48xlarge")
    chips = chips_in(graph)
    cycles = edge_disjoint_rings(graph, chips)
    used = [frozenset(edge) for cycle in cycles for edge in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
    assert len(used) == len(set(used))
    assert all(sorted(cycle) == chips and nx.is_simple_path(graph, cycle) for cycle in cycles)
    assert ring_bandwidth(graph, cycles) == 512 * GB


@pytest.mark.parametrize("sides", [(4, 4), (4, 4, 4), (3, 5), (6, 4), (3, 4, 5)])
def test_the_links_of_a_torus_are_rings(sides: tuple[int, ...]) -> None:
    """As many as it has axes, through all its nodes; together they take every link once."""
    cycles = torus_rings(sides)
    used = [frozenset(edge) for cycle in cycles for edge in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
    assert [sorted(cycle) for cycle in cycles] == [list(range(prod(sides)))] * len(sides)
    assert Counter(used) == Counter(frozenset((a, b)) for a, b, _ in torus_links(sides))


def _best_rings(graph: Graph, chips: list[int], after: tuple[int, ...] = ()) -> int:
    """The highest rate of rings that share no link, each later in the order than the one before: every set of them."""
    best = 0
    for inner in itertools.permutations(chips[1:]):
        cycle = (chips[0], *inner)
        edges = list(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        if cycle > after and inner[0] < inner[-1] and all(graph.has_edge(*edge) for edge in edges):
            rest = graph.copy()
            rest.remove_edges_from(edges)
            best = max(best, ring_bandwidth(graph, [cycle]) + _best_rings(rest, chips, cycle))
    return best


@examples(40)
@given(graph=graphs(chips=6, switches=0))
def test_no_rings_are_better_than_the_bound(graph: Graph) -> None:
    chips = chips_in(graph)
    assume(len(chips) >= 3)
    best = _best_rings(graph, chips)
    assert ring_bandwidth(graph, edge_disjoint_rings(graph, chips)) <= best <= max_ring_bandwidth(graph, chips)


@examples(20)
@given(data=st.data())
def test_rings_of_a_damaged_torus_keep_to_its_links(data: st.DataObject) -> None:
    graph = torus_domain((4, 4), (3, 2))
    edges = sorted(graph.edges)
    graph.remove_edges_from(data.draw(st.lists(st.sampled_from(edges), unique=True, max_size=3)))
    for edge in data.draw(st.lists(st.sampled_from(sorted(graph.edges)), unique=True, max_size=3)):
        graph.edges[edge]["capacity"] = 1
    cycles = edge_disjoint_rings(graph, chips_in(graph))
    assert all(nx.is_simple_path(graph, cycle) and graph.has_edge(cycle[-1], cycle[0]) for cycle in cycles)
    assert ring_bandwidth(graph, cycles) <= max_ring_bandwidth(graph, chips_in(graph))


def test_a_lost_link_costs_a_ring(lite_fleet: BaseFleet) -> None:
    found = lite_fleet.what_if(f"{U}/s0/c0--{U}/s0/c1").collectives("u-trn2x64").ring_all_reduce
    assert found
    assert (found.lower, found.upper) == (256 * GB, 256 * GB)


def test_a_chain_reduces_faster_than_it_gathers(lite_fleet: BaseFleet) -> None:
    """Three chips in a row: the ends stream into the middle, which adds and streams back, at a link's full rate."""
    server = "trn2-16.48xlarge/d0/s0"
    found = lite_fleet.what_if([f"{server}/c{chip}" for chip in range(3, 16)]).collectives("trn2-16.48xlarge")
    assert (found.all_gather.upper, found.all_gather.exact) == (128 * GB, True)
    assert (found.all_reduce_algorithm.lower, found.all_reduce_algorithm.upper) == (96 * GB, 128 * GB)


@pytest.mark.slow
def test_a_cluster_of_which_little_is_left(databases: Databases) -> None:
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn2": 3})) as cluster:
        one = cluster.what_if(["c-trn2/d1", "c-trn2/d2"]).collectives("c-trn2")
        assert (one.chips, one.all_gather.upper) == (16, (512 + 25) * GB)  # EFA counts, whatever else is up
        none = cluster.what_if([f"c-trn2/d{domain}" for domain in range(3)]).collectives("c-trn2")
        assert (none.chips, none.all_to_all.upper, none.all_reduce.upper) == (0, 0, 0)
        alone = cluster.what_if(["c-trn2/d1", "c-trn2/d2", *(f"c-trn2/d0/s0/c{chip}" for chip in range(1, 16))])
        assert (alone.collectives("c-trn2").chips, alone.collectives("c-trn2").all_gather.upper) == (1, 0)
        # its own NIC is down, so a chip's traffic goes out over its four slow links
        chip = "c-trn2/d0/s0/c0"
        slow = {f"{chip}--c-trn2/d0/s0/c{near}": 0.01 for near in (1, 3, 4, 12)}
        found = cluster.what_if(["c-trn2/d0/s0/efa0"], slow).collectives("c-trn2")
        assert found.all_to_all.lower <= found.all_to_all.upper <= 4 * 1.28 * GB * (1 + 1e-9)


def test_transit_lets_a_slice_leave_by_the_others_nics(databases: Databases) -> None:
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 2})) as cluster:
        half = cluster.bisection("c-u-trn2x64", ["c-u-trn2x64/d0/s0", "c-u-trn2x64/d1/s0"], transit=True)
        assert half.lower <= half.upper == sum(link.bandwidth for link in half.cut) == 1_600 * GB


@pytest.mark.parametrize("seed", seeds(3))
def test_named_chips_of_several_domains_against_the_whole_graph(databases: Databases, seed: int) -> None:
    """Islands and what is above them, and the graph of the named chips, all NICs and the fabric."""
    chance = random.Random(seed)
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn1": 3})) as cluster:
        graph = whole(cluster, "c-trn1")
        at = {of["address"]: node for node, of in graph.nodes(data=True) if of["kind"] == "chip"}
        chips = [
            f"c-trn1/d{domain}/s0/c{chip}"
            for domain, many in ((0, 5), (2, 3))
            for chip in chance.sample(range(16), many)
        ]
        weights = {at[chip]: 1 for chip in chips}
        alone = Graph(graph.subgraph(set(graph) - set(at.values()) | weights.keys()))
        found, theta, best = (
            cluster.collectives("c-trn1", chips),
            max_concurrent_flow(alone, weights),
            all_gather_rate(alone, weights),
        )
        assert best
        assert (found.chips, found.via) == (8, LinkSelection.ANY)
        assert found.all_to_all.lower <= 7 * theta.upper * (1 + 1e-8)
        assert found.all_to_all.upper >= 7 * theta.lower * (1 - 1e-8)
        assert found.all_to_all.exact
        assert (found.all_gather.lower, found.all_gather.upper) == (floor(7 * best.rate), ceil(7 * best.rate))
        one = cluster.collectives("c-trn1", [f"c-trn1/d1/s0/c{chip}" for chip in (0, 1)])
        assert (one.chips, one.via, one.all_gather.upper) == (2, LinkSelection.SCALE_UP, 48 * GB)


def test_of_one_chip_there_is_nothing_to_limit(fleet: BaseFleet) -> None:
    found = fleet.collectives("trn1.2xlarge")
    assert (found.all_to_all.upper, found.all_gather.upper, found.ring_all_reduce) == (0, 0, None)


def _worn_island() -> tuple[Graph, dict[int, int], float]:
    """A torus of 32 chips less one and a link, the weights, and what its exit allows."""
    graph = torus_domain((4, 4, 2), (128, 128, 64), exits=25)
    graph.remove_nodes_from([3, 1_003])
    graph.remove_edge(0, 1)
    chips = chips_in(graph)
    return graph, dict.fromkeys(chips, 1) | {10_000: 7 * 64}, 25 / (7 * 64)


@pytest.mark.slow
def test_a_known_bound_spares_the_proof() -> None:
    """Trees fill the exit at once; prices prove after dozens of rounds that no more goes through it."""
    graph, weights, exit_ = _worn_island()
    short = max_concurrent_flow(graph, weights, exit_)
    assert short.lower == pytest.approx(exit_, rel=1e-9)
    assert (short.upper, short.bottleneck) == (exit_, ())
    whole_way = max_concurrent_flow(graph, weights)
    assert whole_way.upper == pytest.approx(exit_, rel=1e-9)
    assert short.tree_count < whole_way.tree_count


def test_work_ends_with_bounds_that_hold() -> None:
    graph, weights, exit_ = _worn_island()
    for columns in (1, 100):
        found = max_concurrent_flow(graph, weights, max_trees=columns)
        assert 0 < found.lower <= exit_ * (1 + 1e-9)
        assert exit_ * (1 - 1e-9) <= found.upper
        assert found.tree_count < columns + 32


def test_a_linear_program_stops_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def noted(*args: object, options: dict[str, float], **named: object) -> object:
        given.append(options["time_limit"])
        return linprog(*args, options=options, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(tree_program, "linprog", noted)
    graph, weights, _ = _worn_island()
    with deadline.time_limit(500):
        max_concurrent_flow(graph, weights, max_trees=1)
    assert given
    assert max(given) <= 500


@pytest.mark.slow
def test_collectives_of_a_cluster_of_damaged_domains(databases: Databases) -> None:
    """Each island's exit allows what it can: few trees show it, and islands that allow more than another fewer."""
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 3})) as cluster:
        lost = [f"c-u-trn2x64/d{at}/s{at}/{part}" for at in range(3) for part in ("c3", "c7", "efa9", "efa12")]
        found = cluster.what_if(lost).collectives("c-u-trn2x64")
    assert found.all_to_all.exact
    assert found.all_to_all.upper == pytest.approx(185 * 60 * 25 * GB / (62 * 124), rel=1e-8)
    assert {link.bandwidth for link in found.all_to_all.links} == {25 * GB}
