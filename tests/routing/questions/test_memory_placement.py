"""The fewest chips with an amount of memory."""

import pytest

import trninv
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import write_transaction
from trninv.errors import InvalidArgumentError
from trninv.inventory.seeding import cluster_seeding
from trninv.routing.fleet import BaseFleet

pytestmark = pytest.mark.slow_on_postgresql

GB = 10**9
U = "u-trn2x64/d0"


def test_placements_hold_what_was_asked_for_with_the_fewest_chips(lite_fleet: BaseFleet) -> None:
    here = lite_fleet.memory_placement(f"{U}/s1/c5", "1,000 GiB")
    assert (len(here.chips), here.memory.gibibytes, here.radius, here.is_sufficient) == (11, 1_056, 2, True)
    assert here.chips[0] == f"{U}/s1/c5"
    damaged = lite_fleet.what_if([f"{U}/s0/c1", f"{U}/s0/c4"])
    best = damaged.memory_placement("u-trn2x64", "672 GiB", best=True)
    assert (best.radius, len(best.chips), best.candidates_tried) == (1, 7, 62)
    assert best.place not in (f"{U}/s0/c0", f"{U}/s0/c5")  # they lost neighbours
    most = lite_fleet.memory_placement("trn1.32xlarge", "1,000 GiB", best=True)
    assert (most.is_sufficient, most.memory.gibibytes) == (False, 512)
    with pytest.raises(InvalidArgumentError):
        lite_fleet.memory_placement(U, 0)


def test_degraded_chips_of_every_domain_around_a_place_are_named(seeded: str) -> None:
    with trninv.open(seeded) as fleet:
        with write_transaction(fleet.engine) as connection:
            lab = default_systems().get("trn2-16.48xlarge").resized(3)
            cluster_seeding.seed(connection, default_catalog(), lab, name="lab")
        worn = ["lab/d0/s0/c3", "lab/d1/s0/c5", "lab/d2/s0/c7"]
        fleet.set_state(worn, "degraded", factor=0.5, why="a test", who="tests")
        assert fleet.memory_placement("lab", "1 GiB", best=False).degraded == tuple(worn)
