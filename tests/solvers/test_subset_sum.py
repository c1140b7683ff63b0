"""Whole parts with so many chips together: against every set of them."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trninv.solvers.subset_sum import largest_sum


@given(st.lists(st.integers(1, 9), max_size=9), st.integers(0, 40))
def test_no_set_of_parts_has_more_up_to_the_most(sizes: list[int], most: int) -> None:
    chosen = largest_sum(sizes, most)
    sums = {sum(some) for count in range(len(sizes) + 1) for some in combinations(sizes, count)}
    assert len(set(chosen)) == len(chosen)
    assert sum(sizes[at] for at in chosen) == max(total for total in sums if total <= most)


@pytest.mark.parametrize(
    ("sizes", "most", "sums"), [([4, 12], 8, 4), ([4, 12], 12, 12), ([3], 2, 0), ([], 5, 0), ([2, 2], 0, 0)]
)
def test_boundaries(sizes: list[int], most: int, sums: int) -> None:
    assert sum(sizes[at] for at in largest_sum(sizes, most)) == sums


def test_a_room_full_of_alike_parts_is_a_few_steps() -> None:
    """Rainier's chips, all in parts of 64, 63 or one."""
    sizes = [64] * 6_000 + [63] * 200 + [1] * 3_400
    half = sum(sizes) // 2
    assert sum(sizes[at] for at in largest_sum(sizes, half)) == half
