"""Clusters of several models below network nodes in no documented shape, against the full graph and every split."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import combinations, combinations_with_replacement

import networkx as nx
import pytest
from irregular import MIXED, irregular, make, plan

import trninv
from conftest import BACKENDS, Databases, is_quick, seeds
from graphs import split_ports, whole
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.cluster_islands import read_domain_classes
from trninv.routing.fleet import BaseFleet
from trninv.routing.path_cache import PathCache
from trninv.routing.scope import Scope
from trninv.solvers import quotient
from trninv.solvers.graph import Graph

pytestmark = pytest.mark.slow_on_postgresql

SEEDS = range(2 if is_quick() else 6)
SMALL = {"trn1.2xlarge": 3, "trn1.32xlarge": 2, "trn2-16.48xlarge": 2, "u-trn2x64": 1}


@pytest.fixture(scope="module")
def opened(databases: Databases) -> Iterator[Callable[[str], BaseFleet]]:
    """A fleet with a cluster for each seed, on a backend or, as "damaged", with some of each kind out of service."""
    fleets: list[BaseFleet] = []

    @cache
    def open_(kind: str) -> BaseFleet:
        plans = {f"c{seed}": irregular(SMALL if seed % 2 else MIXED, seed) for seed in SEEDS}
        url = make(databases.migrated("sqlite" if kind == "damaged" else kind), plans)
        if kind == "damaged":
            _damage(url)
        fleets.append(trninv.open(url))
        return fleets[-1]

    yield open_
    for fleet in fleets:
        fleet.close()


def _damage(url: str) -> None:
    chance = random.Random(3)
    with temporary_engine(url) as engine:
        with trninv.open(url) as fleet:
            graphs = {seed: whole(fleet, f"c{seed}") for seed in SEEDS}
        with write_transaction(engine) as connection:
            for graph in graphs.values():
                named = [of["address"] for of in graph.nodes.values()]
                links = [f"{graph.nodes[a]['address']}--{graph.nodes[b]['address']}" for a, b in graph.edges]
                lost = chance.sample(named, len(named) // 20) + chance.sample(links, len(links) // 20)
                set_state(connection, lost, Condition("down"), why="test", who="tests")


@pytest.fixture(params=[*BACKENDS, "damaged"])
def fleet(request: pytest.FixtureRequest, opened: Callable[[str], BaseFleet]) -> BaseFleet:
    return opened(request.param)


def _chips(graph: Graph) -> dict[str, int]:
    return {of["address"]: node for node, of in graph.nodes(data=True) if of["kind"] == "chip"}


@pytest.mark.parametrize("seed", seeds(3, 1))
def test_two_chips_answer_as_the_full_graph_does(fleet: BaseFleet, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = whole(fleet, f"c{seed}")
    number, chance = _chips(graph), random.Random(seed)
    drawn = [chance.sample(sorted(number), 2) for _ in range(12)]
    pairs = [(a, b) for a, b in drawn if a.split("/")[1] != b.split("/")[1]]
    shortest = [fleet.path(a, b) for a, b in pairs]
    for (a, b), answer in zip(pairs, shortest, strict=True):
        assert answer.reachable == nx.has_path(graph, number[a], number[b])
        if answer.reachable:
            assert answer.paths[0].hops == nx.shortest_path_length(graph, number[a], number[b])
            assert ("efa-fabric", "uplink") in [(fact.subject, fact.attribute) for fact in answer.facts]
            assert "domains_per_network_node" not in [fact.attribute for fact in answer.facts]
        flow = fleet.bandwidth(a, b)
        assert flow.maximum_flow == nx.maximum_flow_value(graph, number[a], number[b])
        assert sum(link.bandwidth for link in flow.minimum_cut) == flow.maximum_flow
    widest = [fleet.path(a, b, "bandwidth") for a, b in pairs]
    monkeypatch.setattr(PathCache, "path", lambda *_: None)
    assert shortest == [fleet.path(a, b) for a, b in pairs]
    assert widest == [fleet.path(a, b, "bandwidth") for a, b in pairs]


def _least(graph: Graph, one: Collection[int], other: Collection[int]) -> int:
    """What must be cut to part two sets of chips; NICs are ports."""
    ways = split_ports(graph)
    for end, chips in (("one", one), ("other", other)):
        for chip in chips:
            for edge in ((end, chip), (chip, end)):
                ways.add_edge(*edge, capacity=10**18)
    return int(nx.maximum_flow_value(ways, "one", "other"))


def _halves(graph: Graph, chips: list[int]) -> int:
    """The least over all halves."""
    first, *rest = chips
    sizes = {len(chips) // 2, len(chips) - len(chips) // 2}
    splits = (side for size in sizes for side in combinations(rest, size - 1))
    return min(_least(graph, {first, *side}, set(chips) - {first, *side}) for side in splits)


def _only(graph: Graph, chips: Collection[int]) -> Graph:
    lost = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip" and node not in chips]
    kept = graph.copy()
    kept.remove_nodes_from(lost)
    return kept


@pytest.mark.parametrize("seed", seeds(3, 1))
@pytest.mark.parametrize("kind", ["sqlite", "damaged"])
def test_bisection_of_some_chips_is_the_least_of_all_splits(
    opened: Callable[[str], BaseFleet], kind: str, seed: int
) -> None:
    fleet = opened(kind)
    graph, chance = whole(fleet, f"c{seed}"), random.Random(seed)
    number = _chips(graph)
    for size in (2, 5, 6):
        named = sorted(chance.sample(sorted(number), size))
        if len({address.split("/")[1] for address in named}) < 2:
            continue
        answer = fleet.bisection(f"c{seed}", chips=named)
        chips = [number[address] for address in named]
        assert answer.lower <= _halves(_only(graph, chips), chips) <= answer.upper
        assert answer.exact or kind == "damaged"


@pytest.mark.parametrize("seed", seeds(3, 1))
def test_bisection_below_several_tops_is_exact(databases: Databases, seed: int) -> None:
    """Single chips, so that every split can be tried; the tops are joined by nothing, and whole parts cut nothing."""
    url = make(databases.migrated("sqlite"), {"c": irregular({"trn1.2xlarge": 7}, seed, tops=2, split=False)})
    with trninv.open(url) as fleet:
        graph, answer = whole(fleet, "c"), fleet.bisection("c")
        least = _halves(graph, sorted(_chips(graph).values()))
        assert answer.lower == least == answer.upper
        assert sum(link.bandwidth for link in answer.cut) == answer.upper


def _members(graph: Graph, places: Collection[str]) -> set[int]:
    """Chips of whole domains or of themselves."""
    return {node for address, node in _chips(graph).items() if {address, address.rsplit("/", 2)[0]} & set(places)}


@pytest.mark.parametrize("seed", seeds(3, 1))
def test_bisection_of_a_cluster_is_a_cut_that_its_graph_has(opened: Callable[[str], BaseFleet], seed: int) -> None:
    fleet = opened("damaged" if seed % 2 else "sqlite")
    graph, answer = whole(fleet, f"c{seed}"), fleet.bisection(f"c{seed}")
    one, other = (_members(graph, side) for side in (answer.chips_a, answer.chips_b))
    assert (len(one), len(other)) == (answer.side_a, answer.side_b)
    assert one | other == set(_chips(graph).values())
    assert not one & other
    assert abs(len(one) - len(other)) <= 1
    assert _least(graph, one, other) <= answer.upper == sum(link.bandwidth for link in answer.cut)
    named = {frozenset((graph.nodes[a]["address"], graph.nodes[b]["address"])) for a, b in graph.edges}
    assert {frozenset((link.a, link.b)) for link in answer.cut} <= named
    assert ("efa-fabric", "uplink", True) in [(fact.subject, fact.attribute, fact.assumed) for fact in answer.facts]


def _hops(graph: Graph) -> Counter[int]:
    """Pairs of chips by hops, through no domain but their own two; NICs are ports."""
    chips, found = sorted(_chips(graph).values()), Counter[int]()
    domains = {chip: graph.nodes[chip]["domain_id"] for chip in chips}
    ways = split_ports(graph)
    for ours in combinations_with_replacement(sorted(set(domains.values())), 2):
        kept = {node for node, of in graph.nodes(data=True) if of["domain_id"] in (None, *ours)}
        near = ways.subgraph(node for node in ways if (node[0] if isinstance(node, tuple) else node) in kept)
        for chip in (chip for chip in chips if domains[chip] == ours[0]):
            away = nx.single_source_shortest_path_length(near, chip)
            others = (end for end in chips if domains[end] == ours[1] and (ours[0] != ours[1] or end > chip))
            found.update(away[end] for end in others if end in away)
    return found


def _distances_are_those_of_the_graph(fleet: BaseFleet, slug: str) -> None:
    answer, found = fleet.distances(slug, via="any"), _hops(whole(fleet, slug))
    assert {each.hops: each.pairs for each in answer.by_hops} == found
    assert answer.unreachable == answer.pairs - found.total()


@pytest.mark.parametrize("seed", seeds(4))
def test_distances_are_those_of_the_whole_graph(databases: Databases, seed: int) -> None:
    models = {"trn1.2xlarge": 3, "trn1.32xlarge": 2}
    fleets = {"one": irregular(models, seed, split=False), "several": irregular(models, seed, tops=2, split=False)}
    url = make(databases.migrated("sqlite"), fleets)
    with trninv.open(url) as fleet:
        for slug in fleets:
            _distances_are_those_of_the_graph(fleet, slug)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [("sqlite", 1), ("damaged", 1), *(pytest.param("damaged", seed, marks=pytest.mark.slow) for seed in (0, 2, 3))],
)
def test_distances_below_several_network_nodes_are_those_of_the_whole_graph(
    opened: Callable[[str], BaseFleet], kind: str, seed: int
) -> None:
    _distances_are_those_of_the_graph(opened(kind), f"c{seed}")


@pytest.mark.slow
def test_distances_take_ways_through_either_domain(databases: Databases) -> None:
    """Of d1 only s2 and s3 stay joined: from s0 to s1 all ways lead down through them, from one top to another."""
    ways = [[["a", "b", "c"], ["a", "b", "d"]], [["a", "b", "c"], ["x", "y", "z"]], [["x", "y", "z"]]]
    url = make(databases.migrated("sqlite"), {"c": plan({"u-trn2x64": 3}, ways)})
    with trninv.open(url) as fleet:
        _distances_are_those_of_the_graph(fleet, "c")
        assert fleet.path("c/d0/s1/c0", "c/d1/s0/c0").paths[0].hops == 5
        lost = ["c/d1/s0/efa0", *_between_servers(whole(fleet, "c"), "c/d1", but={"s2", "s3"})]
        more = [*lost, "c/fabric/t3/n0", "c/fabric/t3/n2"]
        supposed = [fleet.what_if(down=down).distances("c").by_hops for down in (lost, more)]
        for down, before in zip((lost, more), supposed, strict=True):
            with temporary_engine(url) as engine, write_transaction(engine) as connection:
                set_state(connection, down, Condition("down"), why="test", who="tests")
            _distances_are_those_of_the_graph(fleet, "c")
            assert fleet.distances("c").by_hops == before


def _between_servers(graph: Graph, domain: str, but: set[str]) -> list[str]:
    """Links of a domain between chips of two servers, other than these."""
    ends = [(graph.nodes[a], graph.nodes[b]) for a, b in graph.edges]
    named = [(a["address"], b["address"]) for a, b in ends if a["kind"] == b["kind"] == "chip"]
    servers = [(a, b, {a.split("/")[2], b.split("/")[2]}) for a, b in named if a.startswith(f"{domain}/")]
    return [f"{a}--{b}" for a, b, of in servers if len(of) > 1 and of != but]


def test_what_no_fabric_joins_sends_nothing_to_each_other(databases: Databases) -> None:
    ways = [[["a", "b"]], [["c", "d"]], [["c", "e"]]]
    url = make(databases.migrated("sqlite"), {"c": plan({"trn1.32xlarge": 3}, ways)})
    with trninv.open(url) as fleet:
        apart = fleet.collectives("c")
        assert (apart.all_to_all.upper, apart.all_reduce.upper) == (0, 0)
        assert apart.reason == "no links that are up join all of them"
        assert not fleet.path("c/d0/s0/c0", "c/d1/s0/c0").reachable
        below = fleet.collectives("c", chips=["c/d1", "c/d2"])
        assert below.all_to_all.lower > 0
        assert fleet.bisection("c", chips=["c/d1", "c/d2"]).exact


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_domain_below_two_tops_joins_what_is_below_either(databases: Databases, backend: str) -> None:
    """The fabric is no tree then, so that there are only bounds, which hold of the flow in the whole graph."""
    ways = [[["a", "b"], ["c", "d"]], [["a", "b"]], [["c", "d"]]]
    url = make(databases.empty(backend), {"c": plan({"u-trn2x64": 1, "trn2-16.48xlarge": 2}, ways)})
    with trninv.open(url) as fleet:
        graph, answer = whole(fleet, "c"), fleet.collectives("c")
        assert len(list(nx.connected_components(graph))) == 1
        assert 0 == answer.all_to_all.lower < answer.all_to_all.upper
        assert 0 == answer.all_reduce.lower < answer.all_reduce.upper
        assert answer.reason is None
        halves = fleet.bisection("c")
        assert halves.lower < halves.upper


def test_collectives_of_several_models_are_held_by_one_of_them(databases: Databases) -> None:
    """As a fleet of one model is: what each chip can send to the fabric, over the other chips."""
    ways = [[["a", "b", "c"]], [["a", "d"]], [["a", "d"]]]
    url = make(databases.migrated("sqlite"), {"c": plan({"trn1.32xlarge": 1, "trn2-16.48xlarge": 2}, ways)})
    with trninv.open(url) as fleet:
        answer = fleet.collectives("c")
        exit_of_trn1 = 8 * 12_500_000_000
        assert answer.all_to_all.exact
        assert answer.all_to_all.upper == pytest.approx(exit_of_trn1 / (16 * 32) * 47, rel=1e-6)


def test_healthy_domains_of_a_model_are_read_once(opened: Callable[[str], BaseFleet]) -> None:
    with opened("sqlite").open_snapshot() as reader:
        kinds = read_domain_classes(reader, Scope.resolve(reader, "c1"))
    assert [len(kind.domains) for kind in kinds] == list(SMALL.values())
    assert not any(kind.is_degraded for kind in kinds)


def test_a_cut_names_the_network_node_that_a_server_is_below(databases: Databases) -> None:
    ways = [[["a", "b"], ["a", "c"]], [["a", "b"]]]
    url = make(databases.migrated("sqlite"), {"c": plan({"u-trn2x64": 2}, ways)})
    with trninv.open(url) as fleet:
        answer = fleet.bisection("c", chips=["c/d0/s1", "c/d1/s1"])
        graph = whole(fleet, "c")
    named = {frozenset((graph.nodes[a]["address"], graph.nodes[b]["address"])) for a, b in graph.edges}
    assert {frozenset((link.a, link.b)) for link in answer.cut} <= named
    assert answer.upper == 16 * 25 * 10**9


@pytest.mark.parametrize("seed", seeds(3, 1))
def test_the_ways_of_large_and_small_clusters_agree(
    opened: Callable[[str], BaseFleet], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = opened("sqlite")
    small = fleet.bisection(f"c{seed}")
    monkeypatch.setattr(quotient, "MAX_ISLANDS", 0)
    large = fleet.bisection(f"c{seed}")
    assert small.method != large.method
    assert max(small.lower, large.lower) <= min(small.upper, large.upper)
