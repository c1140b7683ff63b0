"""The largest block is the best of its size, and a solver is asked only where that decides."""

from math import prod

import pytest

from trninv.catalog.models import systems
from trninv.jobs.model import Model
from trninv.jobs.room import _order
from trninv.solvers import slices


@pytest.mark.parametrize("system", ["trn1.32xlarge", "trn2-16.48xlarge"])
def test_shapes_are_ranked_by_size_all_gather_and_bisection(system: str) -> None:
    model = Model(systems().get(system).domain)
    assert model.torus
    slices._turned.cache_clear()
    order = _order(model)
    assert slices._turned.cache_info().misses < len(order) / 2
    worth = {shape: model.limits(model.torus.blocks(shape)[0].mask) for shape in order}
    assert order == sorted(
        model.torus.shapes,
        key=lambda shape: (-prod(shape), -worth[shape].all_gather, -worth[shape].bisection, shape),
    )


def test_a_block_that_is_turned_carries_the_same() -> None:
    assert slices.limits((4, 4, 2), (3, 5, 7), (3, 1, 2)) == slices.limits((2, 4, 4), (7, 3, 5), (2, 3, 1))
