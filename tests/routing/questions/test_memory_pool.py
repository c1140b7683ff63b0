"""Pools of an adopted cluster whose UltraServers hang below two network nodes, against `path` and networkx."""

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import networkx as nx
import pytest
from irregular import make, plan

import trninv
from conftest import BACKENDS, Databases, seeds
from graphs import split_ports
from trninv.errors import ScopeTooLargeError
from trninv.routing.fleet import BaseFleet
from trninv.routing.questions.memory_pool import PoolAnswer
from trninv.routing.wiring import MAX_DOMAINS
from trninv.units import Bandwidth

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
MODELS = {"trn1.2xlarge": 1, "trn2-16.48xlarge": 2, "u-trn2x64": 2}
CHIP, OTHER, ULTRA = "c/d1/s0/c3", "c/d2/s0/c0", "c/d3"
A, B, D = ("aa", "a1", "a11"), ("bb", "b1", "b11"), ("aa", "a2", "a21")
APART = [[A], [A], [B], [A, B], [A, B]]
JOINED = [[A], [A], [D], [A, D], [A, D]]
UPLINK = "j/fabric/t3/n1--j/fabric/t2/n1"
"""The way up from the network node above OTHER."""


@pytest.fixture(scope="module", params=BACKENDS)
def adopted(request: pytest.FixtureRequest, databases: Databases) -> Iterator[BaseFleet]:
    """Cluster c has two trees of network nodes that nothing joins but its UltraServers, j has one tree."""
    url = make(databases.migrated(request.param), {"c": plan(MODELS, APART), "j": plan(MODELS, JOINED)})
    with trninv.open(url) as opened:
        yield opened


def _in_j(address: str) -> str:
    return "j" + address[1:]


def _chips(pool: PoolAnswer) -> dict[str, tuple[int, int]]:
    """Hops and the widest path of every chip in reach."""
    return {chip.address: (ring.hops, chip.widest) for ring in pool.by_hops for chip in ring.reached}


def test_a_pool_does_not_pass_through_a_third_domain(adopted: BaseFleet) -> None:
    """From CHIP to OTHER only the UltraServers lead, which are of neither domain."""
    assert not adopted.path(CHIP, OTHER).reachable
    pool = adopted.memory_pool(CHIP, via="any")
    assert {address.split("/")[1] for address in _chips(pool)} == {"d0", "d1", "d3", "d4"}
    assert pool.chips == 1 + 16 + 64 + 64
    assert adopted.memory_pool(f"{ULTRA}/s0/c0", via="any").chips == 1 + 16 + 16 + 64 + 64


@pytest.mark.parametrize("factor", [0.001, 0.0])
def test_a_damaged_uplink_bounds_a_pool_as_it_bounds_a_path(adopted: BaseFleet, factor: float) -> None:
    """Around a derated or dead way up there is one through the UltraServers, which a path may not take."""
    damaged = adopted.what_if(derate={UPLINK: factor}) if factor else adopted.what_if(UPLINK)
    chip, other = _in_j(CHIP), _in_j(OTHER)
    reached, path = _chips(damaged.memory_pool(chip, via="any")), damaged.path(chip, other, "bandwidth")
    if factor:
        assert reached[other][1] == path.paths[0].bandwidth
        assert reached[other][1] < 25 * GB
    else:
        assert (other in reached, path.reachable) == (False, False)
    assert reached[_in_j(f"{ULTRA}/s1/c0")][1] == 25 * GB


PLACES = ("d0/s0/c0", "d1/s0/c3", "d1/s0", "d2", "d3/s0/c0", "d3/s1", "d4")


def _damaged(fleet: BaseFleet, cluster: str, chance: random.Random) -> BaseFleet:
    """Some of its uplinks, NICs and links between chips down, others derated."""
    graph = fleet.graph(cluster)
    kinds = {node: of["kind"] for node, of in graph.nodes(data=True)}
    order = {"chip": 0, "switch": 1, "nic": 2, "network_node": 3}
    links = [sorted(ends, key=lambda end: (order[kinds[end]], -ends[0].count("/"))) for ends in graph.edges]
    above = [address for ends in links if kinds[ends[0]] == "network_node" for address in ["--".join(_up(ends))]]
    nics = [node for node, kind in kinds.items() if kind == "nic"]
    inner = ["--".join(sorted(ends, key=_order)) for ends in links if kinds[ends[1]] == "chip"]
    lost = chance.sample(nics, len(nics) // 3) + chance.sample(inner, len(inner) // 3) + chance.sample(above, 1)
    slow = chance.sample(nics, len(nics) // 4) + chance.sample(inner, len(inner) // 4) + chance.sample(above, 2)
    down = lost if chance.random() < 0.7 else lost[:-1]
    return fleet.what_if(down, {address: chance.choice((0.001, 0.01, 0.5)) for address in slow})


def _order(address: str) -> list[int]:
    return [int(step[1:]) for step in address.split("/")[1:]]


def _up(ends: Collection[str]) -> list[str]:
    """Of two network nodes the lower first."""
    return sorted(ends, key=lambda end: end.split("/")[2], reverse=True)


def _domain(node: Any) -> str:
    return "/".join((node[0] if isinstance(node, tuple) else node).split("/")[:2])


def _within(ways: "nx.DiGraph[Any]", domains: Collection[str], own: Collection[str]) -> "nx.DiGraph[Any]":
    """Some domains and all network nodes; all own chips lead to "place"."""
    near: nx.DiGraph[Any] = nx.DiGraph(
        ways.subgraph(node for node in ways if _domain(node) in domains or "/fabric/" in str(node))
    )
    near.add_edges_from((chip, "place") for chip in own)
    return near


def _expected(fleet: BaseFleet, place: str, cluster: str) -> tuple[dict[str, tuple[int, int]], dict[int, int]]:
    """Hops and widest path of each chip over its domain and the place's, and what each ring delivers."""
    graph = fleet.graph(cluster)
    ways = split_ports(graph)
    chips = {node for node, of in graph.nodes(data=True) if of["kind"] == "chip"}
    own = {chip for chip in chips if f"{chip}/".startswith(f"{place}/")}
    ours, found = _domain(place), dict[str, tuple[int, int]]()
    for domain in {_domain(chip) for chip in chips if own}:
        near = _within(ways, {ours, domain}, own)
        hops, widest = nx.single_target_shortest_path_length(near, "place"), _widest(near)
        found |= {
            chip: (hops[chip] - 1, widest[chip]) for chip in chips - own if _domain(chip) == domain and chip in hops
        }
    return found, {away: _delivered(ways, found, away, ours, own) for away in {away for away, _ in found.values()}}


def _widest(near: "nx.DiGraph[Any]") -> dict[str, int]:
    found: dict[str, int] = {}
    for floor in sorted({of["bandwidth"] for *_, of in near.edges(data=True) if of}, reverse=True):
        wide = ((a, b) for a, b, of in near.edges(data=True) if of.get("bandwidth", floor) >= floor)
        for node in nx.ancestors(nx.DiGraph(wide), "place"):
            found.setdefault(node, floor)
    return found


def _delivered(
    ways: "nx.DiGraph[Any]", found: Mapping[str, tuple[int, int]], hops: int, ours: str, own: Collection[str]
) -> int:
    ring = [chip for chip, (away, _) in found.items() if away == hops]
    near = _within(ways, {ours, *map(_domain, ring)}, own)
    near.add_edges_from(("ring", chip) for chip in ring)
    return int(nx.maximum_flow_value(near, "ring", "place", capacity="bandwidth"))


@pytest.mark.parametrize("seed", seeds(4))
def test_a_pool_is_that_of_the_place_and_one_other_domain(adopted: BaseFleet, seed: int) -> None:
    """Hops, widest paths and deliveries are those of networkx; some of them are also asked of `path`."""
    chance = random.Random(seed + 7)
    cluster = "jc"[seed % 2]
    damaged, of = _damaged(adopted, cluster, chance), f"{cluster}/{chance.choice(PLACES)}"
    pool = damaged.memory_pool(of, via="any")
    reached, delivered = _expected(damaged, of, cluster)
    assert _chips(pool) == reached
    assert {ring.hops: ring.delivery for ring in pool.by_hops} == delivered
    graph = damaged.graph(cluster)
    others = sorted(node for node, at in graph.nodes(data=True) if at["kind"] == "chip" and not node.startswith(of))
    for chip in chance.sample(others, 4):
        shortest, widest = (damaged.path(chip, of, by, via="any") for by in ("hops", "bandwidth"))
        if shortest.reachable:
            assert reached[chip] == (shortest.paths[0].hops, widest.paths[0].bandwidth)
        else:
            assert chip not in reached


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_pools_of_all_chips_count_the_pairs_that_distances_does(adopted: BaseFleet) -> None:
    chips = [node for node, of in adopted.graph("c").nodes(data=True) if of["kind"] == "chip"]
    pools = (adopted.memory_pool(chip, via="any") for chip in chips)
    away = Counter(hops for pool in pools for hops, _ in _chips(pool).values())
    counted = {each.hops: each.pairs for each in adopted.distances("c", "any").by_hops}
    assert {hops: chips // 2 for hops, chips in away.items()} == counted


@pytest.mark.parametrize("via", ["scale_up", "any"])
def test_a_path_of_just_the_least_bandwidth_is_wide_enough(adopted: BaseFleet, via: str) -> None:
    of = f"{ULTRA}/s0/c0"
    widths = {width for _, width in _chips(adopted.memory_pool(of, via=via)).values()}
    assert len(widths) > (via == "any")
    for width in widths:
        wide = [chip for _, chip in _chips(adopted.memory_pool(of, min_bandwidth=width, via=via)).values()]
        assert min(wide) == width
        wider = adopted.memory_pool(of, min_bandwidth=Bandwidth(width + 1), via=via)
        assert width not in [chip for _, chip in _chips(wider).values()]


@pytest.mark.parametrize("backend", BACKENDS)
def test_over_efa_a_cluster_of_more_domains_is_refused(databases: Databases, backend: str) -> None:
    sizes = {"most": MAX_DOMAINS, "more": MAX_DOMAINS + 1}
    plans = {slug: plan({"trn1.2xlarge": domains}, [[A]] * domains) for slug, domains in sizes.items()}
    with trninv.open(make(databases.migrated(backend), plans)) as fleet:
        assert fleet.memory_pool("most/d0/s0/c0", via="any").chips == MAX_DOMAINS
        with pytest.raises(ScopeTooLargeError, match="65 domains are too many for one graph; ask about at most 64"):
            fleet.memory_pool("more/d0/s0/c0", via="any")
        assert fleet.memory_pool("more/d0/s0/c0").chips == 1
