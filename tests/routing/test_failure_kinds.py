"""Domains with symmetric failures are solved once, and the parts of each are named as they are."""

import random
from collections.abc import Sequence
from unittest.mock import Mock

import networkx as nx
import pytest

import trninv
from conftest import BACKENDS, Databases, seeds
from graphs import seed_clusters
from trninv import solvers
from trninv.database.engine import temporary_engine, write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.routing.cluster_islands import read_domain_classes
from trninv.routing.fleet import BaseFleet
from trninv.routing.scope import Scope

SYSTEMS = {"u-trn2x64": (4, 16), "trn3-gen1": (4, 16)}
"""Servers and chips of each server."""
pytestmark = pytest.mark.slow_on_postgresql


def _fail(url: str, places: Sequence[str], condition: Condition = Condition("down")) -> None:  # noqa: B008
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        set_state(connection, places, condition, why="test", who="test")


def _some_chips(system: str, domains: int, seed: int) -> list[str]:
    """One chip of each domain, each at another place."""
    rng, (servers, chips) = random.Random(seed), SYSTEMS[system]
    places = rng.sample([(server, chip) for server in range(servers) for chip in range(chips)], domains)
    return [f"c-{system}/d{domain}/s{server}/c{chip}" for domain, (server, chip) in enumerate(places)]


def _class_sizes(fleet: BaseFleet, system: str, down: Sequence[str] = ()) -> list[int]:
    asked = fleet.what_if(down=down) if down else fleet
    with asked.open_snapshot() as snapshot:
        classes = read_domain_classes(snapshot, Scope.resolve(snapshot, f"c-{system}"))
        assert (
            sorted(domain for kind in classes for domain in kind.domains)
            == Scope.resolve(snapshot, f"c-{system}").domains
        )
        return sorted(len(kind.domains) for kind in classes)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_symmetric_failures_are_one_class(databases: Databases, system: str, backend: str) -> None:
    url, down = seed_clusters(databases.migrated(backend), {system: 5}), _some_chips(system, 3, seed=1)
    with trninv.open(url) as fleet:
        assert _class_sizes(fleet, system, down) == [2, 3]
        assert _class_sizes(fleet, system, [*down, f"c-{system}/d3/s0/efa0"]) == [1, 1, 3]
        supposed = fleet.what_if(down=down).collectives(f"c-{system}")
        _fail(url, down)
        assert _class_sizes(fleet, system) == [2, 3]
        real = fleet.collectives(f"c-{system}")
        assert (real.all_gather.upper, real.all_to_all.upper) == (supposed.all_gather.upper, supposed.all_to_all.upper)
        _fail(url, [f"c-{system}/d3/s1/c0", f"c-{system}/d4/s2/c1"])  # no healthy domain is left
        assert _class_sizes(fleet, system) == [5]


def test_a_kind_is_solved_once(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    url = seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 4})
    solve = Mock(wraps=solvers.collectives.all_gather_rate)
    monkeypatch.setattr(solvers.collectives, "all_gather_rate", solve)
    _fail(url, _some_chips("u-trn2x64", 4, seed=2))
    with trninv.open(url) as fleet:
        fleet.collectives("c-u-trn2x64")
    assert solve.call_count == 1


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", seeds(2))
def test_answers_name_the_parts_of_the_domain_that_has_the_failure(
    databases: Databases, system: str, seed: int
) -> None:
    """An odd number of domains, so that one of them is split, each with another chip down."""
    cluster, down = f"c-{system}", _some_chips(system, 3, seed)
    url = seed_clusters(databases.migrated("sqlite"), {system: 3})
    _fail(url, down)
    with trninv.open(url) as fleet:
        cut, gather = fleet.bisection(cluster), fleet.collectives(cluster).all_gather
        graph = fleet.graph(cluster)
    chips = {node for node, data in graph.nodes(data=True) if data["kind"] == "chip"}
    side_a, side_b = (
        {chip for place in places for chip in chips if f"{chip}/".startswith(f"{place}/")}
        for places in (cut.chips_a, cut.chips_b)
    )
    assert side_a | side_b == chips
    assert (len(side_a), len(side_b)) == (cut.side_a, cut.side_b)
    assert sum(graph.edges[link.a, link.b]["bandwidth"] for link in cut.cut) == cut.upper
    graph.remove_edges_from([(link.a, link.b) for link in cut.cut])
    assert not any(nx.has_path(graph, a, b) for a in sorted(side_a)[:3] for b in sorted(side_b)[:3])
    assert all(not side_b & part or not side_a & part for part in nx.connected_components(graph))
    neighbors = {link.a for link in gather.links} | {link.b for link in gather.links}
    assert all(end.startswith(cluster) for end in neighbors)
    failed = {(place.split("/")[1]) for place in down}
    assert {end.split("/")[1] for end in neighbors if "fabric" not in end} <= failed


def test_a_scenario_that_derates_what_is_degraded_is_a_class_of_its_own(databases: Databases) -> None:
    url = seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 3})
    link = "c-u-trn2x64/d0/s0/c0--c-u-trn2x64/d0/s0/c1"
    _fail(url, [link], Condition("degraded", 500_000))
    with trninv.open(url) as fleet, fleet.what_if(derate={link: 0.5}).open_snapshot() as snapshot:
        classes = read_domain_classes(snapshot, Scope.resolve(snapshot, "c-u-trn2x64"))
        assert sorted(len(kind.domains) for kind in classes) == [1, 2]
        (alone,) = (kind for kind in classes if len(kind.domains) == 1)
        graph = alone.island.graph
        assert min(edge["capacity"] for _, _, edge in graph.edges(data=True) if edge["capacity"] > 25e9) == 32e9


def test_a_sweep_counts_every_domain(databases: Databases) -> None:
    url, down = seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 3}), _some_chips("u-trn2x64", 3, seed=4)
    with trninv.open(url) as fleet:
        answer = fleet.what_if(down=down).sweep("c-u-trn2x64", "chip", "all-gather")
    assert answer.failures == 3 * 63
    assert all(name.split("/")[1] == "d0" for row in answer.classes for name in row.failure)
