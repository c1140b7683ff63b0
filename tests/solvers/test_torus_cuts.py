"""What the layers of a torus cut, against every subset of small ones and against the integer program on a large one."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from conftest import examples
from graphs import torus_domain
from trninv import solvers
from trninv.solvers import torus_cuts
from trninv.solvers.graph import Graph, weighted_edges

ABOVE = 10_000


def every_subset(graph: Graph, chips: list[int]) -> list[int]:
    """Least cut by number of chips, those of them parted from the node above as well."""
    subsets = np.arange(1 << len(chips), dtype=np.int64)
    side = {chip: subsets >> i & 1 for i, chip in enumerate(chips)}
    cut = np.zeros_like(subsets)
    for a, b, carries in weighted_edges(graph):
        cut += carries * (side.get(a, 0) ^ side.get(b, 0))
    count = np.bitwise_count(subsets)
    return [int(cut[count == size].min()) for size in range(len(chips) + 1)]


def bound(graph: Graph, chips: list[int], apart: int | None = None) -> NDArray[np.int64]:
    """Of layers that there are."""
    found = torus_cuts.layer_profile(graph, chips, apart)
    assert found is not None
    return found


def worn(graph: Graph, chance: random.Random, chips: int, links: int) -> list[int]:
    """Take some chips and links out, and let some links carry half; what is left of the chips."""
    ends = [node for node, of in graph.nodes(data=True) if of["kind"] == "chip"]
    graph.remove_edges_from(chance.sample(sorted(graph.edges), links))
    for a, b in chance.sample(sorted(graph.edges), 2):
        graph.edges[a, b]["capacity"] //= 2
    graph.remove_nodes_from(chance.sample(ends, chips))
    return [end for end in ends if end in graph]


@examples(60)
@given(st.integers(0, 10_000), st.sampled_from([(4, 4), (4, 2), (2, 4), (2, 2, 4), (4, 2, 2), (3, 4)]), st.booleans())
def test_no_subset_cuts_less(seed: int, sides: tuple[int, ...], has_exits: bool) -> None:
    chance = random.Random(seed)
    graph = torus_domain(sides, tuple(chance.choice([64, 128]) for _ in sides))
    if has_exits:
        graph.add_edges_from((chip, ABOVE, {"capacity": chance.choice([0, 25, 50])}) for chip in list(graph))
        graph.nodes[ABOVE]["kind"] = "network_node"
    chips = worn(graph, chance, chance.randint(0, 3), chance.randint(0, 4))
    assert (bound(graph, chips, ABOVE if has_exits else None) <= every_subset(graph, chips)).all()


def test_of_an_undamaged_torus_they_are_what_it_cuts() -> None:
    graph = torus_domain((4, 4), (64, 128))
    assert bound(graph, list(graph)).tolist() == every_subset(graph, list(graph))


def test_two_chips_of_one_layer_are_exact_without_a_search_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The case that the cube bounds weakly (1,920 of 2,432), and that took an integer program seconds."""
    graph = torus_domain((4, 4, 4), (64, 128, 128))
    graph.remove_nodes_from([0, 5])
    monkeypatch.setattr(solvers.integer_programs, "bisect_by_ilp", lambda *_: pytest.fail("a search tree"))
    found = solvers.bisection.bisect(graph, list(graph))
    assert found.lower == found.upper == 2_432
    assert "layer" in found.method


@pytest.mark.parametrize(
    ("sides", "spoil"),
    [
        ((6, 6, 6), lambda _: None),  # layers of 36
        ((4, 4), lambda graph: graph.add_node(99, kind="switch", position=None)),
        ((4, 4), lambda graph: graph.nodes[3].update(position=None)),
    ],
)
def test_what_has_no_small_layers_is_left_to_others(sides: tuple[int, ...], spoil: Callable[[Graph], None]) -> None:
    graph = torus_domain(sides, (64,) * len(sides))
    chips = list(graph)
    spoil(graph)
    assert torus_cuts.layer_profile(graph, chips) is None


def test_one_axis_with_small_layers_is_enough() -> None:
    """Layers of twenty chips are too large to enumerate, whichever axis has them."""
    bounds = [
        bound(torus_domain(sides, carries), list(range(40)))
        for sides, carries in [((20, 2), (3, 5)), ((2, 20), (5, 3))]
    ]
    assert bounds[0].tolist() == bounds[1].tolist()
    assert bounds[0][20] == 2 * 2 * 3


def test_links_that_leap_over_a_layer_are_no_ring() -> None:
    """Along the axis that they follow; across the other two they are as good as any."""
    graph = torus_domain((4, 4), (64, 64))
    graph.add_edge(0, 8, capacity=64)
    assert (bound(graph, list(graph)) <= every_subset(graph, list(graph))).all()
    graph.add_edge(0, 2, capacity=64)
    assert torus_cuts.layer_profile(graph, list(graph)) is None
