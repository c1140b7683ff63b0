"""The largest block is the best of its size, and a solver is asked only where that decides."""

from math import prod

import pytest

from trninv.catalog.models import default_systems
from trninv.placement.candidates.free_blocks import _shape_order
from trninv.placement.candidates.placement_model import PlacementModel
from trninv.solvers import torus_blocks


@pytest.mark.parametrize("system", ["trn1.32xlarge", "trn2-16.48xlarge"])
def test_shapes_are_ranked_by_size_all_gather_and_bisection(system: str) -> None:
    model = PlacementModel(default_systems().get(system).domain)
    assert model.torus
    torus_blocks._limits_of_axes.cache_clear()
    order = _shape_order(model)
    assert torus_blocks._limits_of_axes.cache_info().misses < len(order) / 2
    worth = {shape: model.limits(model.torus.blocks(shape)[0].mask) for shape in order}
    assert order == sorted(
        model.torus.shapes,
        key=lambda shape: (-prod(shape), -worth[shape].all_gather, -worth[shape].bisection, shape),
    )


def test_a_block_that_is_turned_carries_the_same() -> None:
    assert torus_blocks.block_limits((4, 4, 2), (3, 5, 7), (3, 1, 2)) == torus_blocks.block_limits(
        (2, 4, 4), (7, 3, 5), (2, 3, 1)
    )
