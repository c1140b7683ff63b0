"""The day of jobs that policies are compared by."""

from itertools import pairwise

import numpy as np
import pytest
from placements import legal

from bench.day import Day, simulate_day
from trninv.placement.candidates.candidate_search import PlacementPolicy
from trninv.placement.candidates.free_capacity import FreeCapacity, count_chips
from trninv.placement.candidates.placement_model import placement_model
from trninv.routing.fleet import BaseFleet


@pytest.mark.slow
def test_a_day_is_the_same_each_time(lite_fleet: BaseFleet) -> None:
    found = legal(lite_fleet, placement_model("u-trn2x64"))
    first, again, other = (simulate_day(PlacementPolicy.PACK.value, found, 2, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert len(first.used) == len(other.used) == 180
    assert all(0 <= share <= 1 for share in first.used + first.stranded)


def test_jobs_get_free_chips_only_and_give_them_back(lite_fleet: BaseFleet) -> None:
    model, held = placement_model("u-trn2x64"), list[int]()

    def first_chips(there: FreeCapacity, size: int) -> tuple[int, int] | None:
        """Any chips: the day doesn't mind which."""
        free = [bit for bit in range(64) if int(there.free[0, 0]) >> bit & 1]
        held.append(64 - count_chips(there.free))
        return (0, sum(1 << bit for bit in free[:size])) if len(free) >= size else None

    Day(model, legal(lite_fleet, model), first_chips, 1, 0).run()
    assert 0 < np.mean(held) <= 64
    assert any(after < before for before, after in pairwise(held))
