"""Damage has the same canonical form as its images, and a form is an image of its damage."""

import random
from functools import lru_cache

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import examples, is_quick
from graphs import blueprint_graph
from trninv.catalog.models import default_systems
from trninv.solvers.failure_forms import FailureForms, Part
from trninv.solvers.graph import Graph
from trninv.solvers.symmetry import automorphisms
from trninv.topology.pattern import Permutation

_SYSTEMS = {system.domain.slug: system for system in default_systems().systems}
_MODELS = ["trn1.32xlarge", "trn1n.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1", "trn3-gen2"]


@lru_cache
def _domain(model: str) -> tuple[Graph, FailureForms, list[Permutation]]:
    graph = blueprint_graph(_SYSTEMS[model].domain.blueprint)
    return graph, FailureForms(graph), automorphisms(graph)


def _draw_damage(graph: Graph, rng: random.Random, parts: int) -> dict[Part, int]:
    """Some nodes and links that are down or carry half; NICs and their uplinks, too."""
    nodes = [(node,) for node in rng.sample([node for node in graph if node < 10_000], parts)]
    links = [(min(link), max(link)) for link in rng.sample(sorted(graph.edges), rng.randint(0, parts))]
    return {part: rng.choice([0, 0, 500_000]) for part in [*nodes, *links]}


def _image(damage: dict[Part, int], permutation: Permutation) -> dict[Part, int]:
    return {tuple(sorted(permutation[node] for node in part)): carried for part, carried in damage.items()}


@examples(60)
@given(st.sampled_from(_MODELS), st.integers(0, 10_000), st.integers(1, 4))
def test_every_image_of_a_damage_has_its_form(model: str, seed: int, parts: int) -> None:
    graph, kinds, generators = _domain(model)
    rng = random.Random(seed)
    damage = _draw_damage(graph, rng, parts)
    image = damage
    for permutation in rng.choices(generators, k=12):
        image = _image(image, permutation)
    (form, node_of), (image_form, image_node_of) = kinds.canonical(damage), kinds.canonical(image)
    if kinds._symmetries is not None:  # otherwise the pattern proposes some symmetries, and a form may not be the least
        assert form == image_form
    assert _image(dict(form), node_of) == damage
    assert _image(dict(image_form), image_node_of) == image


@examples(4)
@given(st.sampled_from(["trn1.32xlarge", "trn2-16.48xlarge"]), st.integers(0, 10_000))
def test_only_isomorphic_damages_have_equal_forms(model: str, seed: int) -> None:
    graph, kinds, _ = _domain(model)
    rng = random.Random(seed)
    nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, 1_000_000), "carried")
    forms: dict[object, Graph] = {}
    for _ in range(4 if is_quick() else 8):
        damage = _draw_damage(graph, rng, 1)
        damaged = graph.copy()
        for part, carried in damage.items():
            if len(part) == 2:
                damaged.edges[part]["carried"] = carried
            else:
                damaged.nodes[part[0]]["carried"] = carried
        form, _ = kinds.canonical(damage)
        for other_form, other in forms.items():
            alike = nx.is_isomorphic(
                damaged,
                other,
                node_match=lambda a, b: (a["kind"], a.get("carried")) == (b["kind"], b.get("carried")),
                edge_match=lambda a, b: a == b,
            )
            # not the other way round: a ring of four has symmetries that a torus of rings does not have
            assert alike or form != other_form
        forms[form] = damaged


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "chips", "kinds_of_pairs"), [("u-trn2x64", 64, 17), ("trn3-gen1", 64, 5), ("trn3-gen2", 144, 5)]
)
def test_damages_of_one_and_two_chips_are_few_kinds(model: str, chips: int, kinds_of_pairs: int) -> None:
    _, kinds, _ = _domain(model)
    assert len({kinds.canonical({(chip,): 0})[0] for chip in range(chips)}) == 1
    assert len({kinds.canonical({(0,): 0, (chip,): 0})[0] for chip in range(1, chips)}) == kinds_of_pairs


def test_no_damage_is_its_own_form() -> None:
    graph, kinds, _ = _domain("u-trn2x64")
    assert kinds.canonical({}) == ((), {node: node for node in graph})
