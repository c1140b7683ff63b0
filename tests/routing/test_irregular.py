"""Clusters of several models below network nodes in no documented shape, against the full graph and every split."""

import random
from collections.abc import Callable, Iterator
from functools import cache

import networkx as nx
import pytest

import trninv
from conftest import BACKENDS, Databases
from graphs import whole
from irregular import MIXED, irregular, make, plan
from trninv.inventory.database import connect, writing
from trninv.inventory.state import Condition, set_state
from trninv.routing.fabric_cache import FabricCache
from trninv.routing.fleet import Fleet
from trninv.solvers.graph import Graph

SEEDS = range(6)
SMALL = {"trn1.2xlarge": 3, "trn1.32xlarge": 2, "trn2-16.48xlarge": 2, "u-trn2x64": 1}


@pytest.fixture(scope="module")
def opened(databases: Databases) -> Iterator[Callable[[str], Fleet]]:
    """A fleet with a cluster for each seed, on a backend or, as "damaged", with some of each kind out of service."""
    fleets: list[Fleet] = []

    @cache
    def open_(kind: str) -> Fleet:
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
    with connect(url) as engine:
        with trninv.open(url) as fleet:
            graphs = {seed: whole(fleet, f"c{seed}") for seed in SEEDS}
        with writing(engine) as connection:
            for graph in graphs.values():
                named = [of["address"] for of in graph.nodes.values()]
                links = [f"{graph.nodes[a]['address']}--{graph.nodes[b]['address']}" for a, b in graph.edges]
                lost = chance.sample(named, len(named) // 20) + chance.sample(links, len(links) // 20)
                set_state(connection, lost, Condition("down"), why="test", who="tests")


@pytest.fixture(params=[*BACKENDS, "damaged"])
def fleet(request: pytest.FixtureRequest, opened: Callable[[str], Fleet]) -> Fleet:
    return opened(request.param)


def _chips(graph: Graph) -> dict[str, int]:
    return {of["address"]: node for node, of in graph.nodes(data=True) if of["kind"] == "chip"}


@pytest.mark.parametrize("seed", SEEDS)
def test_two_chips_answer_as_the_full_graph_does(fleet: Fleet, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = whole(fleet, f"c{seed}")
    number, chance = _chips(graph), random.Random(seed)
    pairs = [chance.sample(sorted(number), 2) for _ in range(12)]
    pairs = [(a, b) for a, b in pairs if a.split("/")[1] != b.split("/")[1]]
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
    monkeypatch.setattr(FabricCache, "path", lambda *_: None)
    assert shortest == [fleet.path(a, b) for a, b in pairs]
    assert widest == [fleet.path(a, b, "bandwidth") for a, b in pairs]
