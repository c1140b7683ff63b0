"""Disjoint sets, moves that free a set, and their order, compared with every choice."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from conftest import examples
from trninv.solvers.integer_programs import InterchangeableJobs, max_disjoint_sets, order_moves, rearrange

_MASKS = st.integers(1, 2**8 - 1)


@given(st.lists(_MASKS, max_size=7), st.integers(0, 8))
def test_no_choice_has_more_disjoint_sets(sets: list[int], target: int) -> None:
    most = max(
        count
        for count in range(len(sets) + 1)
        for some in combinations(sets, count)
        if sum(map(int.bit_count, some)) == sum(some).bit_count() == _union(some).bit_count()
    )
    assert max_disjoint_sets(sets, target) == min(most, target)


def _union(masks: tuple[int, ...]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


@examples(60)
@given(st.lists(st.integers(0, 7), unique=True, min_size=1, max_size=6), st.data())
def test_the_fewest_jobs_move(chips: list[int], data: st.DataObject) -> None:
    """Jobs of one chip each on eight chips, any of which may go to any other chip, free one of two pairs."""
    jobs = InterchangeableJobs(tuple(1 << chip for chip in chips), tuple(1 << chip for chip in range(8)))
    targets = data.draw(st.lists(st.sampled_from([0b11, 0b1100, 0b110000]), min_size=1, max_size=2, unique=True))
    plan = rearrange(targets, [jobs], 2_000)
    in_the_way = min(len([chip for chip in chips if target >> chip & 1]) for target in targets)
    if len(chips) + 2 > 8:
        assert plan is None
    else:
        assert plan is not None
        assert sum(map(len, plan.moves)) == in_the_way


@given(st.permutations(range(5)), st.integers(2, 5))
def test_each_destination_is_free_when_its_turn_comes(places: list[int], count: int) -> None:
    """Jobs of one chip that rotate places, or move to free ones."""
    moves = [(1 << places[index], 1 << places[(index + 1) % 5]) for index in range(count)]
    order, stopped = order_moves(moves)
    assert sorted(order) == list(range(count))
    held = {index: source for index, (source, _) in enumerate(moves) if index not in stopped}
    for index in order:
        held.pop(index, None)
        assert moves[index][1] not in held.values()
        held[index] = moves[index][1]
    assert len(stopped) == (1 if count == 5 else 0)
