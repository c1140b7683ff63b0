"""A NIC is a port: nothing passes through it from chip to chip, on a path, in a flow or in a collective."""

from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import trninv
from conftest import BACKENDS, Databases, examples
from graphs import seed_clusters, split_ports
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.fleet import BaseFleet
from trninv.routing.path_cache import PathCache
from trninv.solvers.adjacency import directed_adjacency, node_of_port
from trninv.solvers.collectives import max_concurrent_flow
from trninv.solvers.graph import Graph
from trninv.solvers.max_flow import disjoint_paths, minimum_cut_directed
from trninv.solvers.shortest_paths import (
    PathCriterion,
    PathMetric,
    PathsToTarget,
    all_best_paths,
    best_paths,
    widest_capacities,
)

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
T1 = "c-trn1/d0/s0"
TOP = 900


@st.composite
def shared_nics(draw: st.DrawFn) -> Graph:
    """Up to six chips, NICs of up to three of them each, and one or two network nodes in a row above."""
    graph = Graph()
    chips = list(range(draw(st.integers(2, 5))))
    nics = list(range(100, 100 + draw(st.integers(1, 3))))
    above = [TOP, TOP + 1][: draw(st.integers(1, 2))]
    for kind, nodes in (("chip", chips), ("nic", nics), ("network_node", above)):
        graph.add_nodes_from(nodes, kind=kind, position=None)
    pairs = [(a, b) for a in chips for b in chips if a < b] + [(chip, nic) for chip in chips for nic in nics]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=9))
    chosen += [(nic, above[draw(st.integers(0, len(above) - 1))]) for nic in nics if draw(st.booleans())]
    for a, b in [*chosen, *pairwise(above)]:
        graph.add_edge(a, b, capacity=draw(st.integers(1, 4)), latency=draw(st.integers(1, 3)))
    return graph


def _is_host(graph: Graph, path: tuple[int, ...]) -> bool:
    """Whether a path enters a NIC from a chip and leaves it to a chip, or comes down and goes up again."""
    kind = [graph.nodes[node]["kind"] for node in path]
    return any(b == "nic" and a == c for a, b, c in zip(kind, kind[1:], kind[2:], strict=False))


def _walks(graph: Graph, source: int, target: int) -> Iterator[tuple[int, ...]]:
    """All paths through no host that pass each node once, and a NIC once up and once down."""
    waiting: list[tuple[int, ...]] = [(source,)]
    while waiting:
        walk = waiting.pop()
        if walk[-1] == target:
            yield walk
            continue
        for near in graph[walk[-1]]:
            longer = (*walk, near)
            again = walk.count(near)
            up_and_down = again == 1 and graph.nodes[near]["kind"] == "nic"
            if (not again or up_and_down) and not _is_host(graph, longer):
                waiting.append(longer)


def _rank(graph: Graph, path: tuple[int, ...], metric: PathMetric) -> tuple[float, ...]:
    narrowest = min((graph.edges[edge]["capacity"] for edge in pairwise(path)), default=0)
    if metric is PathMetric.BANDWIDTH:
        return (-narrowest, len(path))
    if metric is PathMetric.TIME:
        return (sum(graph.edges[edge]["latency"] for edge in pairwise(path)), len(path), -narrowest)
    return (len(path),)


@pytest.mark.parametrize("metric", list(PathMetric))
@examples(60)
@given(graph=shared_nics(), data=st.data())
def test_paths_are_all_those_through_no_host(graph: Graph, metric: PathMetric, data: st.DataObject) -> None:
    source = 0
    target = data.draw(st.sampled_from([1, TOP]))
    ahead, behind = directed_adjacency(graph.nodes, dict(graph.adjacency()))
    rule = PathCriterion(metric)
    found = [tuple(map(node_of_port, path)) for path in best_paths(ahead, [source], [target], rule, behind)]
    wanted = sorted((_rank(graph, path, metric), path) for path in _walks(graph, source, target))
    assert [(_rank(graph, path, metric), path) for path in found] == wanted
    ways = all_best_paths(ahead, [source], [target], rule, behind)
    assert (ways.count if ways else 0) == sum(rank == wanted[0][0] for rank, _ in wanted)


@examples(60)
@given(graph=shared_nics(), data=st.data())
def test_what_is_remembered_leads_through_no_host(graph: Graph, data: st.DataObject) -> None:
    """From the chips to the fabric above a domain and back."""
    source, target = data.draw(st.permutations([0, TOP]))
    ahead, behind = directed_adjacency(graph.nodes, dict(graph.adjacency()))
    for metric in (PathMetric.HOPS, PathMetric.BANDWIDTH):
        best = next(best_paths(ahead, [source], [target], PathCriterion(metric), behind), ())
        floor = widest_capacities(behind, [target]).get(source, 0) if metric is PathMetric.BANDWIDTH else 0
        assert PathsToTarget.from_links(ahead, target, floor, behind).path(source) == best


@examples(60)
@given(graph=shared_nics(), target=st.sampled_from([1, TOP]))
def test_flows_and_disjoint_paths_pass_through_no_host(graph: Graph, target: int) -> None:
    ahead, _ = directed_adjacency(graph.nodes, dict(graph.adjacency()))
    flow, side = minimum_cut_directed(ahead, [0], [target])
    assert flow == nx.maximum_flow_value(split_ports(graph), 0, target)
    assert flow == sum(of["capacity"] for a in side for b, of in ahead[a].items() if b not in side)
    for nodes in (False, True):
        paths = [
            tuple(map(node_of_port, path)) for path in disjoint_paths(ahead, [0], [target], by_node=nodes, max_paths=99)
        ]
        assert bool(paths) == bool(flow)
        assert not any(_is_host(graph, path) for path in paths)


def _edge_flows(ways: "nx.DiGraph[object]", ends: list[int]) -> float:
    """All-to-all's θ as a linear program with a flow from each endpoint over each arc."""
    listed: list[tuple[object, object, int]] = list(ways.edges(data="capacity"))
    equal, right, loads = [], [], []
    for at, source in enumerate(ends):
        for node in ways:
            if node == source:
                continue
            row = [0.0] * (1 + len(ends) * len(listed))
            for number, (a, b, _) in enumerate(listed):
                row[1 + at * len(listed) + number] = (b == node) - (a == node)
            row[0] = -float(node in ends)
            equal.append(row)
            right.append(0.0)
    for number in range(len(listed)):
        row = [0.0] * (1 + len(ends) * len(listed))
        for at in range(len(ends)):
            row[1 + at * len(listed) + number] = 1.0
        loads.append(row)
    cost = [-1.0] + [0.0] * len(ends) * len(listed)
    carried = [float(carries) for _, _, carries in listed]
    solved = linprog(cost, A_ub=loads, b_ub=carried, A_eq=equal, b_eq=right)
    assert solved.x is not None
    return float(solved.x[0])


@examples(40)
@given(graph=shared_nics())
def test_all_to_all_passes_through_no_host(graph: Graph) -> None:
    chips = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]
    ends = [*chips, TOP]
    found = max_concurrent_flow(graph, dict.fromkeys(ends, 1))
    wanted = _edge_flows(split_ports(graph), ends) if graph.edges else 0.0
    assert found.lower == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    assert found.upper == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.fixture(scope="module", params=BACKENDS)
def two(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """Two trn1.32xlarge, whose chips share a NIC with a neighbour."""
    with trninv.open(seed_clusters(databases.migrated(request.param), {"trn1": 2})) as opened:
        yield opened


TORUS = [f"{T1}/c0--{T1}/c{near}" for near in (1, 3, 4, 12)]
UPLINK = f"{T1}/efa0--c-trn1/fabric/t3/n0"


def test_a_chip_does_not_leave_through_its_host(two: BaseFleet) -> None:
    """c0 has lost its links to other chips and its NIC's uplink: the NIC, which c1 shares, leads it nowhere."""
    ends = f"{T1}/c0", "c-trn1/d1/s0/c5"
    alone = two.what_if([*TORUS, UPLINK])
    assert not alone.path(*ends).reachable
    assert alone.bandwidth(*ends).maximum_flow == 0
    assert two.what_if([*TORUS[1:], UPLINK]).bandwidth(*ends).maximum_flow == 48 * GB
    assert alone.bandwidth(f"{T1}/c1", "c-trn1/d1/s0/c5").maximum_flow > 0
    slow = two.what_if(TORUS, {UPLINK: 0.01})
    assert slow.bandwidth(*ends).maximum_flow == 125 * 10**6
    assert [link.address for link in slow.bandwidth(*ends).minimum_cut] == [UPLINK]
    for by in ("hops", "bandwidth"):
        (path,) = slow.path(*ends, by).paths
        assert [step.address for step in path.steps][:4] == [ends[0], f"{T1}/c0--{T1}/efa0", f"{T1}/efa0", UPLINK]
    limits = slow.collectives("c-trn1")
    assert limits.all_to_all.upper <= 31 * 125 * 10**6 / 16 * (1 + 1e-8)  # c0 has 1/100 of its NIC, and nothing else


@pytest.mark.slow
@pytest.mark.parametrize("by", ["hops", "bandwidth"])
def test_what_is_remembered_knows_no_host_either(
    databases: Databases, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast way and the graph of both domains, with narrow uplinks that a NIC's other chip might lead around."""
    url = seed_clusters(databases.migrated("sqlite"), {"trn1": 2})
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, TORUS[1:], Condition("down"), why="test", who="test")
        set_state(connection, [UPLINK], Condition.from_user("degraded", 0.01), why="test", who="test")
    with trninv.open(url) as fleet:
        pairs = [(f"{T1}/c{a}", f"c-trn1/d1/s0/c{b}") for a in (0, 1, 2) for b in (0, 5)]
        pairs += [(b, a) for a, b in pairs]
        remembered = [fleet.path(a, b, by) for a, b in pairs]
        monkeypatch.setattr(PathCache, "path", lambda *_: None)
        assert remembered == [fleet.path(a, b, by) for a, b in pairs]
