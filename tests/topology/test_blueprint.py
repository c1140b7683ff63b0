"""Blueprints: chips first, then switches, then NICs, in local numbers."""

from collections import Counter

import networkx as nx

from trninv.solvers.graph import Graph
from trninv.topology.blueprint import Blueprint, switched_domain, torus_domain
from trninv.topology.switched import Switched


def _scale_up(blueprint: Blueprint) -> Graph:
    return Graph([(link.a, link.b) for link in blueprint.links if link.role != "nic"])


def test_a_single_chip_has_one_nic_and_nothing_else() -> None:
    blueprint = torus_domain((1,), (), chips_per_nic=1)
    assert [node.kind for node in blueprint.nodes] == ["chip", "nic"]
    assert [(link.a, link.b, link.role) for link in blueprint.links] == [(0, 1, "nic")]
    assert (blueprint.wiring, blueprint.sides, blueprint.chips, blueprint.servers) == ("single", (), 1, 1)


def test_two_chips_share_a_nic() -> None:
    blueprint = torus_domain((4, 4), ("plane", "plane"), chips_per_nic=2)
    nics = [local for local, node in enumerate(blueprint.nodes) if node.kind == "nic"]
    attached = {nic: [link.a for link in blueprint.links if link.b == nic] for nic in nics}
    assert list(attached.values()) == [[2 * k, 2 * k + 1] for k in range(8)]


def test_the_leading_axis_runs_over_the_servers() -> None:
    blueprint = torus_domain((4, 4, 4), ("ring", "plane", "plane"), chips_per_nic=1, servers_by_rack=(2, 2))
    for link in blueprint.links:
        a, b = blueprint.nodes[link.a], blueprint.nodes[link.b]
        if link.role == "ring":
            assert a.ordinal == b.ordinal
            assert (a.server, b.server) in {(0, 1), (1, 2), (2, 3), (0, 3)}
        else:
            assert a.server == b.server
    assert Counter(link.role for link in blueprint.links) == {"plane": 128, "ring": 64, "nic": 64}
    assert [blueprint.rack_of(server) for server in range(4)] == [0, 0, 1, 1]


def test_gen2_has_a_switch_a_server_a_switch_a_rack_and_twins() -> None:
    blueprint = switched_domain(Switched(racks=2, servers_per_rack=18, chips_per_server=4), chips_per_nic=1)
    kinds = Counter(node.kind for node in blueprint.nodes)
    assert kinds == {"chip": 144, "switch": 38, "nic": 144}
    assert Counter(link.role for link in blueprint.links) == {"server": 144, "rack": 144, "twin": 72, "nic": 144}
    for link in blueprint.links:
        a, b = blueprint.nodes[link.a], blueprint.nodes[link.b]
        if link.role == "twin":
            assert a.server is not None
            assert (b.server, b.ordinal, a.rack, b.rack) == (a.server + 18, a.ordinal, 0, 1)
        elif link.role == "rack":
            assert (b.kind, b.server, b.rack, b.ordinal) == ("switch", None, a.rack, 36 + a.rack)
        else:
            assert (b.server, b.rack) == (a.server, a.rack)


def test_gen1_has_the_same_levels_over_two_servers_a_rack() -> None:
    blueprint = switched_domain(Switched(racks=2, servers_per_rack=2, chips_per_server=16), chips_per_nic=1)
    assert Counter(link.role for link in blueprint.links) == {"server": 64, "rack": 64, "twin": 32, "nic": 64}
    graph = _scale_up(blueprint)
    assert {graph.degree(chip) for chip in range(64)} == {3}
    assert nx.is_connected(graph)
