"""What is reserved now is free in no answer; what is reserved later is listed, and no job is sent there."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from sqlalchemy import text

import trninv
from trninv.errors import ConflictError
from trninv.inventory.state.chip_use import chip_uses
from trninv.placement.moves.drain import DrainOutcome
from trninv.placement.placement_fleet import Fleet
from trninv.units import format_timestamp

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

D = "u-trn2x64/d0"


class Move(NamedTuple):
    """A move that a caller makes up."""

    job: str
    destination: tuple[str, ...]


_NOW = datetime.now(UTC)


def at(hours: float) -> str:
    return format_timestamp(_NOW + timedelta(hours=hours))


@pytest.fixture
def opened(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as fleet:
        yield fleet


def _jobs(fleet: Fleet, scope: str = "u-trn2x64") -> dict[int, int]:
    return {each.chips: each.jobs for each in fleet.free(scope).concurrent_jobs}


@pytest.mark.parametrize("maintenance", [False, True])
def test_reserved_chips_are_not_free(opened: Fleet, maintenance: bool) -> None:
    opened.reserve("now", [f"{D}/s0"], until=at(2), who="me", maintenance=maintenance)
    opened.reserve("later", [f"{D}/s3"], from_=at(1), until=at(2), who="me", maintenance=maintenance)
    opened.set_state([f"{D}/s0/c0"], "down", why="so", who="me")  # reserved and down: unusable
    opened.allocate("a", [f"{D}/s1/c0"], who="me")
    answer = opened.free("u-trn2x64")
    assert (answer.allocated, answer.free, answer.reserved, answer.unusable) == (1, 47, 15, 1)
    assert [text_.rpartition(" from ")[0] for text_ in answer.reservations] == [
        f"16 chips in {D}/s0 for {'maintenance ' if maintenance else ''}now",
        f"16 chips in {D}/s3 for {'maintenance ' if maintenance else ''}later",
    ]
    assert (_jobs(opened)[16], answer.largest_block) == (2, 36)
    assert "reserved 15, unusable 1" in "\n".join(map(str, answer.render()))
    assert opened.free(f"{D}/s1").reservations == ()
    assert opened.free("trn3-gen1").reserved == 0


def test_the_two_rules_of_free_differ_only_by_what_is_reserved_now(opened: Fleet) -> None:
    """`Chip.use`, the views and trninv_chips leave reservations out, as their descriptions say."""
    opened.reserve("now", [f"{D}/s0"], until=at(2), who="me")
    opened.cordon([f"{D}/s1"], why="so", who="me")
    opened.set_state([f"{D}/s2/c0"], "down", why="so", who="me")
    answer = opened.free("u-trn2x64")
    with opened.connect() as connection:
        free = connection.scalar(text("SELECT free FROM v_domain_free WHERE address = 'u-trn2x64/d0'"))
        uses = chip_uses(connection)
    assert free == uses["u-trn2x64", "free"] == answer.free + answer.reserved == 47
    assert uses["u-trn2x64", "unusable"] == answer.unusable


def test_the_causes_of_stranded_chips_have_reservations(opened: Fleet) -> None:
    opened.reserve("now", [f"{D}/s{server}/c0" for server in range(4)], until=at(1), who="me")
    sizes = {each.chips: each for each in opened.fragmentation("u-trn2x64").sizes}
    assert (sizes[16].unusable, sizes[16].by_reservation, sizes[16].by_shape) == (60, 60, 0)
    assert sizes[1].unusable == 0
    opened.allocate("a", [f"{D}/s0/c1"], who="me")
    sizes = {each.chips: each for each in opened.fragmentation("u-trn2x64").sizes}
    assert (sizes[16].unusable, sizes[16].by_reservation, sizes[16].by_shape) == (59, 45, 14)


def test_a_drain_sends_no_job_to_reserved_chips(opened: Fleet) -> None:
    opened.allocate("endless", [f"{D}/s0"], who="me")
    opened.allocate("short", [f"{D}/s1"], until=at(1), who="me")
    opened.reserve("next", [f"{D}/s3"], from_=at(1), until=at(3), who="me")
    places = {job.job: job.destination for job in opened.drain_impact(f"{D}/s0").jobs}
    assert places == {"endless": (f"{D}/s2",)}
    places = {job.job: job.destination for job in opened.drain_impact(f"{D}/s1").jobs}
    assert places["short"] in {(f"{D}/s2",), (f"{D}/s3",)}
    opened.allocate("other", [f"{D}/s2"], who="me")
    answer = opened.drain_impact(f"{D}/s1")
    assert answer.jobs[0].destination == (f"{D}/s3",)  # its end == the start of the reservation
    assert answer.reservations == ()
    opened.allocate("third", [f"{D}/s3"], until=at(1), who="me")
    answer = opened.drain_impact(f"{D}/s1")
    assert (answer.jobs[0].outcome, answer.reservations) == (DrainOutcome.NOWHERE, ())  # not in the way of a short job
    opened.release("third")
    answer = opened.drain_impact(f"{D}/s0")
    assert answer.jobs[0].outcome is DrainOutcome.NOWHERE
    assert [each.split(" from ")[0] for each in answer.reservations] == [f"16 chips in {D}/s3 for next"]
    assert f"reserved: {answer.reservations[0]}" in list(answer.render())
    assert answer.largest_block == 16  # now, nothing is reserved
    assert [each.split(" from ")[0] for each in opened.drain_impact(f"{D}/s3").reservations] == [
        f"16 chips in {D}/s3 for next"
    ]


def test_a_reservation_of_chips_that_are_not_free_anyway_is_not_in_the_way(opened: Fleet) -> None:
    opened.reserve("next", [f"{D}/s0"], from_=at(1), until=at(3), who="me")
    assert len(opened.placements(f"{D}/s0", servers=1).reservations) == 1
    opened.set_state([f"{D}/s0"], "down", why="so", who="me")
    assert opened.placements(f"{D}/s0", servers=1).reservations == ()


def test_a_replacement_that_finds_nothing_names_the_reservations_in_the_way(opened: Fleet) -> None:
    opened.allocate("endless", [f"{D}/s0"], who="me")
    opened.allocate("short", [f"{D}/s1"], until=at(1), who="me")
    opened.reserve("next", [f"{D}/s2", f"{D}/s3"], from_=at(1), until=at(3), who="me")
    answer = opened.replacement("endless", f"{D}/s0")
    assert not answer.possible
    assert [each.split(" from ")[0] for each in answer.reservations] == [f"32 chips in {D} for next"]
    assert list(answer.render())[1:] == [
        f"reserved: {answer.reservations[0]}",
        f"with moves of other jobs: trninv drain-impact {D}/s0",
    ]
    answer = opened.replacement("short", f"{D}/s1")
    assert (answer.possible, answer.reservations) == (True, ())


def test_room_is_made_only_by_moves_that_reservations_allow(opened: Fleet) -> None:
    """The new job ends before the reservation begins; a job that moves for it does not."""
    for server in range(4):
        opened.allocate(f"j{server}", [f"{D}/s{server}/c0-3"], who="me", until=at(1) if server == 1 else None)
    opened.reserve("next", [f"{D}/s{server}/c4-15" for server in range(3)], from_=at(2), until=at(3), who="me")
    plan = opened.make_room("4x4x1", "u-trn2x64", until=at(1))
    assert plan.possible
    for move in plan.moves:
        assert all(place.startswith(f"{D}/s3") for place in move.destination)
    opened.move_jobs("u-trn2x64", plan.moves, plan.revision, who="me")


def test_a_job_with_an_end_moves_to_chips_that_are_reserved_from_then_on(opened: Fleet) -> None:
    opened.allocate("short", [f"{D}/s0"], until=at(1), who="me")
    opened.allocate("endless", [f"{D}/s1"], who="me")
    opened.reserve("next", [f"{D}/s2", f"{D}/s3"], from_=at(1), until=at(2), who="me")
    revision = opened.make_room("4x4x1", "u-trn2x64", until=at(1)).revision
    with pytest.raises(ConflictError, match="reserved for next"):
        opened.move_jobs("u-trn2x64", [Move("endless", (f"{D}/s2",))], revision, who="me")
    (job,) = opened.move_jobs("u-trn2x64", [Move("short", (f"{D}/s2",))], revision, who="me")
    assert job.until_at == at(1)
