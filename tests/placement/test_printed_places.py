"""Places that answers print are places that commands take; what they leave out or add is said."""

import shlex
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import trninv
from conftest import Run
from trninv.errors import AddressError, InvalidArgumentError
from trninv.inventory.address.syntax import MAX_ADDRESSES, expand_chip_ranges
from trninv.placement.candidates.results import group_chips
from trninv.placement.placement_fleet import Fleet

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 15)), min_size=1))
def test_what_is_folded_is_written_out_again(chips: set[tuple[int, int]]) -> None:
    places = [f"{ULTRA}/s{server}/c{chip}" for server, chip in sorted(chips)]
    assert expand_chip_ranges(group_chips(places)) == places
    assert expand_chip_ranges(", ".join(group_chips(places)).split(" ")) == places


def test_other_addresses_stay_as_they_are() -> None:
    others = [ULTRA, f"{ULTRA}/s0/c0--{ULTRA}/s0/c1", "@node-1/c3", "a-1/d0/s0/efa0", "", "x/c0-1-2", "x/c1234-1239"]
    assert expand_chip_ranges(others) == others
    assert expand_chip_ranges(["@node-1/c3-4"]) == ["@node-1/c3", "@node-1/c4"]
    with pytest.raises(AddressError, match="lower number first"):
        expand_chip_ranges([f"{ULTRA}/s0/c3-1"])


def test_no_more_than_a_list_takes_are_written_out() -> None:
    every = f"{ULTRA}/s0/c0-999"
    assert len(expand_chip_ranges([every] * (MAX_ADDRESSES // 1_000))) == MAX_ADDRESSES
    with pytest.raises(InvalidArgumentError, match="more than 100,000 addresses"):
        expand_chip_ranges([f"{every}{',0-999' * 1_000_000}"])


def test_lines_that_fits_prints_are_commands(run: Run, own: Fleet, seeded: str) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c0-7,12"], who="me")
    assert own.jobs()[0].chips == 9
    for at, options in enumerate((["--chips", "8"], ["2x2x2", "--spares", "1"], ["--chips", "4", "--copies", "2"])):
        printed = run("place", ULTRA, *options, database=seeded)[1]
        lines = [line.split(None, 1)[1] for line in printed.splitlines() if line.startswith("trninv:")]
        for which, line in enumerate(lines):
            held = run(*shlex.split(line.replace("JOB", f"job-{at}-{which}"))[1:], database=seeded)
            assert (held[0], held[2]) == (0, ""), line
    assert [job.chips for job in own.jobs()] == [9, 8, 16, 4, 4]


def test_chips_are_set_and_avoided_and_supposed_by_ranges(run: Run, own: Fleet, seeded: str) -> None:
    chips = f"{ULTRA}/s0/c8-15"
    assert own.placements(f"{ULTRA}/s0", chips=8, avoid=[f"{ULTRA}/s0/c8-9"]).positions == 1
    assert own.what_if(down=[chips], with_={"a": f"{ULTRA}/s0/c0-1"}).free(f"{ULTRA}/s0").free == 6
    assert len(run("set", chips, "down", "--why", "x", database=seeded)[1].splitlines()) == 8
    assert own.free(ULTRA).free == 56


def test_a_number_is_no_shape(own: Fleet) -> None:
    with pytest.raises(InvalidArgumentError, match="write --chips 16"):
        own.placements(ULTRA, "16")
    assert own.placements(ULTRA, "4x1").chips == 4


def test_room_in_a_closed_server_is_told(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s{server}/c0" for server in (0, 1)] + [f"{ULTRA}/s2"], who="me", pinned=True)
    assert own.make_room("4x4x1", ULTRA).cordoned_servers == ()
    own.cordon([f"{ULTRA}/s3"], who="me", why="firmware")
    answer = own.make_room("4x4x1", ULTRA)
    assert (answer.possible, answer.cordoned_servers) == (False, (f"{ULTRA}/s3",))
    assert any("u-trn2x64/d0/s3; there would be a plan without the cordon" in str(part) for part in answer.render())
    assert own.make_room("2x2x1", ULTRA).cordoned_servers == ()


def test_sizes_that_fitted_nowhere_before_are_no_news_of_a_drain(run: Run, own: Fleet, seeded: str) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c0", f"{ULTRA}/s2/c0"], who="me")
    table = (
        run("drain-impact", f"{ULTRA}/s1", database=seeded)[1].partition("jobs of    fit")[2].partition("meaning")[0]
    )
    assert [line.split()[:3] for line in table.splitlines()[2:] if line] == [
        ["1", "62", "46"],
        ["4", "14", "10"],
        ["8", "6", "4"],
        ["16", "2", "1"],
    ]
    assert [each.chips for each in own.drain_impact(f"{ULTRA}/s1").sizes] == [1, 4, 8, 16, 32, 64]
