"""Blueprints: chips first, then switches, then NICs, in local numbers; what breaks their rules is told."""

from collections import Counter
from dataclasses import replace

import networkx as nx
import pytest

from trninv.solvers.graph import Graph
from trninv.topology.blueprint import Blueprint, BlueprintLink, BlueprintNode, assemble, chip_nodes, violations
from trninv.topology.registry import get_pattern


def _torus(*sides: int, roles: str = "plane", racks: tuple[int, ...] = (1,), chips_per_nic: int = 1) -> Blueprint:
    axes = roles.split()
    return get_pattern("torus").blueprint(
        {
            "sides": list(sides),
            "axes": axes if len(axes) > 1 else axes * len(sides),
            "servers_by_rack": list(racks),
            "chips_per_nic": chips_per_nic,
        }
    )


def _switched(racks: int, servers: int, chips: int) -> Blueprint:
    return get_pattern("switched").blueprint(
        {"racks": racks, "servers_per_rack": servers, "chips_per_server": chips, "chips_per_nic": 1}
    )


def test_a_single_chip_has_one_nic_and_nothing_else() -> None:
    blueprint = get_pattern("single").blueprint({})
    assert [node.kind for node in blueprint.nodes] == ["chip", "nic"]
    assert [(link.a, link.b, link.role) for link in blueprint.links] == [(0, 1, "nic")]
    assert (blueprint.pattern, blueprint.sides, blueprint.chips, blueprint.servers) == ("single", (), 1, 1)


def test_two_chips_share_a_nic() -> None:
    blueprint = _torus(4, 4, chips_per_nic=2)
    nics = [local for local, node in enumerate(blueprint.nodes) if node.kind == "nic"]
    attached = {nic: [link.a for link in blueprint.links if link.b == nic] for nic in nics}
    assert list(attached.values()) == [[2 * k, 2 * k + 1] for k in range(8)]


def test_the_leading_axis_runs_over_the_servers() -> None:
    blueprint = _torus(4, 4, 4, roles="ring plane plane", racks=(2, 2))
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
    blueprint = _switched(2, 18, 4)
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
    blueprint = _switched(2, 2, 16)
    assert Counter(link.role for link in blueprint.links) == {"server": 64, "rack": 64, "twin": 32, "nic": 64}
    graph = Graph([(link.a, link.b) for link in blueprint.scale_up_links])
    assert {graph.degree(chip) for chip in range(64)} == {3}
    assert nx.is_connected(graph)


def _pair(*wires: BlueprintLink, chips: int = 2, racks: tuple[int, ...] = (1,)) -> Blueprint:
    return assemble("pair", chip_nodes(chips, racks), wires, servers_by_rack=racks, chips_per_nic=1)


WIRE = BlueprintLink(0, 1, "wire")
PAIR = _pair(WIRE)


def test_a_sound_blueprint_has_no_faults() -> None:
    assert list(violations(PAIR)) == []


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (replace(PAIR, nodes=PAIR.nodes[2:]), "has no chips"),
        (replace(PAIR, servers_by_rack=(1, 0)), "a rack has no servers"),
        (replace(PAIR, nodes=PAIR.nodes[::-1]), "not in the order of chips, switches, NICs"),
        (replace(PAIR, nodes=(PAIR.nodes[1], PAIR.nodes[0], *PAIR.nodes[2:])), "not numbered evenly"),
        (replace(PAIR, servers_by_rack=(2,)), "not numbered evenly over 2 servers"),
        (replace(PAIR, nodes=(*PAIR.nodes, PAIR.nodes[-1])), "two nodes have the same address"),
        (replace(PAIR, nodes=(*PAIR.nodes[:3], BlueprintNode("nic", 0, 1, 1))), "not in the rack of its server"),
        (replace(PAIR, links=(BlueprintLink(1, 0, "wire"), *PAIR.links[1:])), "to a node with a higher number"),
        (replace(PAIR, links=(BlueprintLink(1, 9, "wire"), *PAIR.links[1:])), "to a node with a higher number"),
        (replace(PAIR, links=(*PAIR.links, BlueprintLink(0, 1, "other"))), "nodes 0 and 1 have more than one link"),
        (replace(PAIR, links=(*PAIR.links, BlueprintLink(0, 3, "wire"))), "a wire link goes to a NIC"),
        (
            replace(PAIR, links=(*PAIR.links[:2], BlueprintLink(0, 1, "nic"))),
            "a NIC is linked to a node that is not a chip",
        ),
        (_pair(BlueprintLink(0, 1, "wire"), BlueprintLink(0, 2, "nic"), chips=1, racks=(2,)), "more than one link"),
        (replace(PAIR, links=PAIR.links[:-1]), "not every chip has exactly one NIC"),
        (_pair(), "chip 0 is not connected to 1 of the chips and switches; the first of them is node 1"),
    ],
)
def test_what_breaks_a_rule_is_told(broken: Blueprint, says: str) -> None:
    assert says in "; ".join(violations(broken))
