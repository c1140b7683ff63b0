"""The register; the rules, drawings and symmetries of each pattern, on sizes small enough to try everything."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from trninv.errors import CatalogError, UnknownPatternError
from trninv.topology import patterns
from trninv.topology.blueprint import Blueprint, BlueprintLink, BlueprintNode
from trninv.topology.pattern import Permutation
from trninv.topology.registry import all_patterns, get_pattern, parse_sides

TORI = st.lists(st.integers(min_value=2, max_value=5), min_size=1, max_size=4).filter(lambda of: prod(of) <= 64)
SWITCHED = st.fixed_dictionaries(
    {
        "racks": st.integers(min_value=1, max_value=3),
        "servers_per_rack": st.integers(min_value=1, max_value=3),
        "chips_per_server": st.integers(min_value=1, max_value=4),
    }
)


def torus(sizes: list[int], *, servers: bool = False) -> Blueprint:
    axes = [f"axis{i}" for i in range(len(sizes))]
    parameters: dict[str, object] = {"sides": sizes, "axes": axes}
    return get_pattern("torus").blueprint(parameters | ({"servers_by_rack": [sizes[0]]} if servers else {}))


SAMPLES = {
    "single": get_pattern("single").blueprint({}),
    "3": torus([3]),
    "2x3": torus([2, 3]),
    "4x4": torus([4, 4]),
    "2x2x2x2": torus([2, 2, 2, 2]),
    "3 servers of 2x2": torus([3, 2, 2], servers=True),
    "1x2x2": get_pattern("switched").blueprint({"racks": 1, "servers_per_rack": 2, "chips_per_server": 2}),
    "2x1x2": get_pattern("switched").blueprint({"racks": 2, "servers_per_rack": 1, "chips_per_server": 2}),
    "2x2x2": get_pattern("switched").blueprint({"racks": 2, "servers_per_rack": 2, "chips_per_server": 2}),
}
EVERY = pytest.mark.parametrize("blueprint", SAMPLES.values(), ids=list(SAMPLES))


def places(blueprint: Blueprint) -> dict[int, BlueprintNode]:
    """Under other numbers than the local ones, as on a database, and racks not counted from 0."""
    return {
        100 + 7 * local: replace(node, rack=node.rack + 5)
        for local, node in enumerate(blueprint.nodes)
        if node.kind != "nic"
    }


def wired(blueprint: Blueprint) -> "nx.Graph[int]":
    graph: nx.Graph[int] = nx.Graph()
    for key, node in places(blueprint).items():
        graph.add_node(key, kind=node.kind)
    for wire in blueprint.scale_up_links:
        graph.add_edge(100 + 7 * wire.a, 100 + 7 * wire.b, role=wire.role)
    return graph


def keeps(graph: "nx.Graph[int]", image: Permutation) -> bool:
    """By definition: a one-to-one map of the nodes that keeps kinds, and links with their roles."""
    if sorted(image) != sorted(graph) or sorted(image.values()) != sorted(graph):
        return False
    kinds = all(graph.nodes[node]["kind"] == graph.nodes[to]["kind"] for node, to in image.items())
    return kinds and all(
        graph.has_edge(image[a], image[b]) and graph.edges[image[a], image[b]]["role"] == of["role"]
        for a, b, of in graph.edges(data=True)
    )


def candidates(blueprint: Blueprint) -> Iterator[Permutation]:
    graph, of = wired(blueprint), get_pattern(blueprint.pattern)
    yield from of.symmetries(places(blueprint), blueprint.sides, lambda image: keeps(graph, image))


def orbits(images: Sequence[Permutation], sets: Sequence[frozenset[int]]) -> set[frozenset[frozenset[int]]]:
    """Classes of sets of nodes that permutations map onto each other."""
    graph: nx.Graph[frozenset[int]] = nx.Graph()
    graph.add_nodes_from(sets)
    graph.add_edges_from((nodes, frozenset(image[node] for node in nodes)) for image in images for nodes in sets)
    return {frozenset(found) for found in nx.connected_components(graph)}


def test_the_register_is_the_files_of_the_package() -> None:
    files = Path(patterns.__file__).parent.glob("[!_]*.py")
    assert list(all_patterns()) == sorted(file.stem for file in files)
    assert {"chain", "single", "switched", "torus"} <= all_patterns().keys()
    assert all(of.description for of in all_patterns().values())


@pytest.mark.parametrize("name", ["moebius", "Torus", "", "__init__"])
def test_an_unknown_wiring_is_refused_with_the_known_ones(name: str) -> None:
    known = ", ".join(all_patterns())
    with pytest.raises(UnknownPatternError, match=f"no wiring pattern '{name}'; use one of {known}"):
        get_pattern(name)


def test_sides_are_read_as_the_database_has_them() -> None:
    assert (parse_sides("4x4x4"), parse_sides("12"), parse_sides("")) == ((4, 4, 4), (12,), ())


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        (
            "torus",
            {"sides": [4, 4]},
            "'axes' is missing: the parameters are sides, axes, servers_by_rack, chips_per_nic",
        ),
        ("torus", {"sides": [4], "axes": ["x"], "side": 4}, "'side' is unknown: the parameters are sides"),
        ("torus", {"sides": 4, "axes": ["x"]}, "sides = 4 is not a list"),
        ("torus", {"sides": [4, 0], "axes": ["x", "y"]}, "sides = 0 is not a whole number of at least 1"),
        ("torus", {"sides": [4, True], "axes": ["x", "y"]}, "sides = True is not a whole number"),
        ("torus", {"sides": [4], "axes": [1]}, "axes = 1 is not text"),
        ("torus", {"sides": [4], "axes": ["x", "y"]}, "1 sides and 2 axes"),
        ("torus", {"sides": [4, 4], "axes": ["x", "y"], "servers_by_rack": [2]}, "2 servers: the first side must"),
        ("torus", {"sides": [1], "axes": ["x"]}, "sides 1 do not give 1 linked chips"),
        ("torus", {"sides": [2], "axes": ["x"], "chips_per_nic": 0}, "chips_per_nic = 0 is not"),
        ("single", {"chips": 1}, "'chips' is unknown: there are no parameters"),
        ("switched", {"racks": 2, "servers_per_rack": 2}, "'chips_per_server' is missing"),
    ],
)
def test_wrong_parameters_are_refused_by_name(name: str, parameters: dict[str, object], says: str) -> None:
    with pytest.raises(CatalogError) as refused:
        get_pattern(name).blueprint(parameters)
    assert says in str(refused.value)


@EVERY
def test_a_pattern_accepts_its_own_blueprints_only(blueprint: Blueprint) -> None:
    of = get_pattern(blueprint.pattern)
    of.check(blueprint)
    for name in all_patterns().keys() - {blueprint.pattern}:
        with pytest.raises(CatalogError, match="has the wiring"):
            get_pattern(name).check(blueprint)


@EVERY
def test_a_blueprint_without_one_of_its_wires_is_refused(blueprint: Blueprint) -> None:
    for wire in blueprint.scale_up_links:
        broken = replace(blueprint, links=tuple(link for link in blueprint.links if link != wire))
        with pytest.raises(CatalogError):
            get_pattern(blueprint.pattern).check(broken)


@EVERY
def test_a_blueprint_with_one_more_wire_is_refused(blueprint: Blueprint) -> None:
    vertices = [local for local, node in enumerate(blueprint.nodes) if node.kind != "nic"]
    joined = {(wire.a, wire.b) for wire in blueprint.scale_up_links}
    role = next((wire.role for wire in blueprint.scale_up_links), "wire")
    for a, b in ((a, b) for a in vertices for b in vertices if a < b and (a, b) not in joined):
        broken = replace(blueprint, links=tuple(sorted([*blueprint.links, BlueprintLink(a, b, role)])))
        with pytest.raises(CatalogError):
            get_pattern(blueprint.pattern).check(broken)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (replace(SAMPLES["4x4"], sides=(2, 8)), "do not connect each chip to the next along each axis"),
        (replace(SAMPLES["4x4"], sides=(4, 5)), "sides 4×5 do not give 16 linked chips"),
        (replace(SAMPLES["1x2x2"], pattern="torus"), "it has a switch"),
        (replace(SAMPLES["3"], pattern="switched", sides=()), "does not have one switch per server"),
        (replace(SAMPLES["3"], pattern="single", sides=()), "more than one chip, or a link"),
    ],
)
def test_broken_blueprints_are_told_why(broken: Blueprint, says: str) -> None:
    with pytest.raises(CatalogError, match=says):
        get_pattern(broken.pattern).check(broken)


def test_an_axis_has_one_kind_of_wire() -> None:
    blueprint = SAMPLES["4x4"]
    first = blueprint.scale_up_links[0]
    mixed = tuple(sorted(replace(link, role="odd") if link == first else link for link in blueprint.links))
    with pytest.raises(CatalogError, match="has links of several roles"):
        get_pattern("torus").check(replace(blueprint, links=mixed))


def test_racks_of_unlike_size_have_no_twins() -> None:
    whole = SAMPLES["2x2x2"]
    nodes = tuple(replace(node, rack=0 if node.server in (0, 1, 2) else 1) for node in whole.nodes)
    with pytest.raises(CatalogError):
        get_pattern("switched").check(replace(whole, servers_by_rack=(3, 1), nodes=nodes))


@EVERY
def test_symmetries_leave_no_two_alike_apart(blueprint: Blueprint) -> None:
    """Against every automorphism that there is: the same chips are alike, and the same pairs of chips."""
    graph = wired(blueprint)
    same = nx.isomorphism.GraphMatcher(
        graph, graph, lambda a, b: a["kind"] == b["kind"], lambda a, b: a["role"] == b["role"]
    )
    every = [dict(image) for image, _ in zip(same.isomorphisms_iter(), range(20_000), strict=False)]
    ours = [image for image in candidates(blueprint) if keeps(graph, image)]
    chips = [frozenset([node]) for node, of in graph.nodes(data=True) if of["kind"] == "chip"]
    for alike in (chips, [a | b for a, b in combinations(chips, 2)]):
        assert orbits(ours, alike) == orbits(every, alike)


@given(TORI)
@examples(40)
def test_every_candidate_of_a_torus_is_a_symmetry(sizes: list[int]) -> None:
    blueprint = get_pattern("torus").blueprint({"sides": sizes, "axes": ["wire"] * len(sizes)})
    graph = wired(blueprint)
    assert all(keeps(graph, image) for image in candidates(blueprint))


@given(SWITCHED)
def test_every_candidate_of_a_switched_domain_is_a_symmetry(parameters: dict[str, int]) -> None:
    blueprint = get_pattern("switched").blueprint(parameters)
    graph = wired(blueprint)
    assert all(keeps(graph, image) for image in candidates(blueprint))


def test_of_a_damaged_torus_every_combination_of_moves_is_tried() -> None:
    """Without one chip the steps by themselves hold no more, but the mirrors and turns about that chip do."""
    blueprint = get_pattern("torus").blueprint({"sides": [5, 5], "axes": ["wire", "wire"]})
    graph, gone = wired(blueprint), 100 + 7 * 12
    left = {key: node for key, node in places(blueprint).items() if key != gone}
    graph.remove_node(gone)
    found = get_pattern("torus").symmetries(left, blueprint.sides, lambda image: keeps(graph, image))
    assert sum(keeps(graph, image) for image in found) == 8  # the symmetries of a square


@EVERY
def test_every_part_has_a_place_of_its_own(blueprint: Blueprint) -> None:
    of, at = get_pattern(blueprint.pattern), places(blueprint)
    flat = of.plane_positions(at, blueprint.sides)
    assert flat.keys() == at.keys()
    assert len({(round(x, 3), round(y, 3)) for x, y in flat.values()}) == len(flat)
    if of.space_positions:
        solid = of.space_positions(at, blueprint.sides)
        assert solid.keys() == at.keys()
        assert len(set(solid.values())) == len(solid)
        assert [pytest.approx(0) for _ in range(3)] == [sum(axis) for axis in zip(*solid.values(), strict=True)]


@given(TORI)
@examples(40)
def test_a_wire_wraps_where_it_joins_the_ends_of_a_ring_of_three_or_more(sizes: list[int]) -> None:
    blueprint = get_pattern("torus").blueprint({"sides": sizes, "axes": ["wire"] * len(sizes)})
    of, nodes = get_pattern("torus"), blueprint.nodes
    wrapping = sum(of.wraps_around(nodes[wire.a], nodes[wire.b], blueprint.sides) for wire in blueprint.scale_up_links)
    assert wrapping == sum(blueprint.chips // side for side in sizes if side > 2)


def test_positions_are_server_row_and_column() -> None:
    at = get_pattern("torus").position
    assert at(BlueprintNode("chip", 2, 1, 7), (4, 4, 4)) == (2, 1, 3)
    assert at(BlueprintNode("chip", 0, 0, 7), (4, 4)) == (1, 3)
    assert at(BlueprintNode("chip", 1, 0, 2), (2, 3)) == (1, 2)
    assert get_pattern("switched").position(BlueprintNode("chip", 0, 0, 7), ()) is None


def test_a_part_of_a_domain_is_placed_as_in_the_whole() -> None:
    blueprint = torus([3, 2, 2], servers=True)
    whole = get_pattern("torus").plane_positions(places(blueprint), blueprint.sides)
    part = {key: node for key, node in places(blueprint).items() if node.server in (0, 1)}
    assert get_pattern("torus").plane_positions(part, blueprint.sides) == {key: whole[key] for key in part}


def test_a_single_server_of_an_ultraserver_is_upright() -> None:
    blueprint = torus([3, 2, 2], servers=True)
    part = {key: node for key, node in places(blueprint).items() if node.server == 1}
    points = get_pattern("torus").plane_positions(part, blueprint.sides).values()
    assert (len({point.x for point in points}), len({point.y for point in points})) == (2, 2)
