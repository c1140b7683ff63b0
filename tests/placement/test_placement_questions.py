"""fits, free and fragmentation of a database: what is down, held or closed is not free, and answers say why."""

from collections.abc import Iterator

import pytest
from queries import run_query

import trninv
from trninv.database.engine import write_transaction
from trninv.errors import IllegalSizeError, InvalidArgumentError, UnknownAddressError, WrongLevelError
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.placement_fleet import Fleet
from trninv.reports.report_library import find_report

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"
GB = 10**9


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


def test_a_job_that_holds_what_fits_leaves_the_next_one_another_place(own: Fleet) -> None:
    first = own.placements(ULTRA, chips=16).placements[0]
    assert first.places == (f"{ULTRA}/s0",)
    assert (first.shape, first.all_gather, first.whole_servers) == ("4x4x1", 512 * GB, True)
    own.allocate("a", first.places, who="me")
    second = own.placements(ULTRA, chips=16).placements[0]
    assert second.places == (f"{ULTRA}/s1",)
    own.release("a")
    assert own.placements(ULTRA, chips=16).placements[0] == first


def test_pairs_are_legal_as_documented_and_neighbours_are_not(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0", f"{ULTRA}/s3"], who="me")
    answer = own.placements(ULTRA, servers=2)
    assert not answer.placements
    assert answer.reason == "no domain has such a set of free chips"
    assert [step.domains for step in answer.filter_steps] == [1, 1, 1, 0, 0]
    block = own.placements(ULTRA, "4x4x2").placements[0]
    assert block.places == (f"{ULTRA}/s1", f"{ULTRA}/s2")


def test_the_meaning_says_the_rule_of_the_policy(own: Fleet) -> None:
    said = {policy: own.placements(ULTRA, "1x1x4", policy=policy) for policy in ("quality", "pack", "spread", "slurm")}
    worth = (
        "most all-gather bandwidth per chip, then most bisection bandwidth of the place, one direction, "
        "then least fragmentation"
    )
    met = "fewest overlapped free sets of the next larger size, then fewest free chips left"
    tie = "fewest unhealthy parts in the domain, then address; places with a degraded part come last"
    assert {
        policy: answer.definition.split("in the order of ")[1].split(" (")[0] for policy, answer in said.items()
    } == {
        "quality": worth,
        "pack": "least fragmentation",
        "spread": f"fewest chips in one rack, then {worth}",
        "slurm": f"{met}, then {tie}",
    }
    racks = own.placements(ULTRA, "4x4x2", policy="spread").placements[0].places
    assert racks == (f"{ULTRA}/s1", f"{ULTRA}/s2"), "one of each rack"


def test_why_names_the_first_thing_that_is_lacking(own: Fleet) -> None:
    with write_transaction(own.engine) as connection:
        set_state(connection, [f"{ULTRA}/s0/c0--{ULTRA}/s0/c1"], Condition("down"), why="x", who="me")
    assert own.placements(ULTRA, "4x4x4").reason == "no domain has it with every link up"
    assert own.placements(ULTRA, "4x4x4", min_all_gather="700 GB/s").reason == "no domain has it with every link up"
    assert own.placements(ULTRA, "4x4x2", min_all_gather="700 GB/s").reason == (
        "no domain has it with all-gather of 700 GB/s or more; "
        "the best place has all-gather 576 GB/s, bisection 1,024 GB/s"
    )
    own.cordon([f"{ULTRA}/s1"], who="me", why="x")
    assert own.placements(ULTRA, "4x4x4").reason == "no domain has 64 chips free"
    with write_transaction(own.engine) as connection:
        set_state(connection, [f"{ULTRA}/s0/c0"], Condition("down"), why="x", who="me")
    assert own.placements(ULTRA, "4x4x4").reason == "no domain has 64 chips usable"


def test_a_scenario_writes_nothing_and_is_not_remembered(own: Fleet) -> None:
    answer = own.what_if(down=[f"{ULTRA}/s0"]).placements(ULTRA, servers=1)
    assert answer.placements[0].places == (f"{ULTRA}/s1",)
    assert own.placements(ULTRA, servers=1).placements[0].places == (f"{ULTRA}/s0",)
    link = f"{ULTRA}/s0/c0--{ULTRA}/s0/c1"
    worn = own.what_if(derate={link: 0.5}).placements(ULTRA, servers=1, healthy=True)
    assert worn.positions == 3
    assert own.free(ULTRA).free == 64


def test_the_better_shape_of_as_many_chips_is_named(own: Fleet) -> None:
    answer = own.placements(ULTRA, "2x2x4", as_written=True)
    assert {each.shape for each in answer.placements} == {"2x2x4"}
    assert answer.positions == 16
    assert answer.suggested_shape
    assert answer.suggested_shape.startswith(
        "4x4x1: all-gather 512 GB/s, bisection 1,024 GB/s; it fits at u-trn2x64/d0/s0"
    )
    assert own.placements(ULTRA, "4x4x1").suggested_shape is None


def test_the_better_shape_is_as_good_as_its_place_and_as_choosy_as_the_job(own: Fleet) -> None:
    worn = {f"{ULTRA}/s{server}": 0.9 for server in range(4)}
    there = own.what_if(derate=worn)
    assert isinstance(there, Fleet)
    found = there.placements(ULTRA, "2x2x4", as_written=True)
    best = there.placements(ULTRA, "4x4x1").placements[0]
    assert found.suggested_shape
    assert found.suggested_shape.startswith(
        f"4x4x1: all-gather {best.all_gather}, bisection {best.bisection}; it fits at"
    )
    down = [f"{ULTRA}/s{server}/c15" for server in range(1, 4)]
    half = own.what_if(derate={f"{ULTRA}/s0": 0.1}, down=down)
    assert isinstance(half, Fleet)
    assert half.placements(ULTRA, "2x2x4", as_written=True, avoid=[f"{ULTRA}/s0/c5"], k=1).suggested_shape is not None
    few = half.placements(ULTRA, "2x4x2", k=1)
    assert (
        few.suggested_shape == "4x4x1: all-gather 512 GB/s, bisection 1,024 GB/s; it fits only with a degraded part now"
    )
    apart = own.what_if(down=[f"{ULTRA}/s0/c0", f"{ULTRA}/s3/c0"])
    assert isinstance(apart, Fleet)
    across = apart.placements(ULTRA, "2x4x4", as_written=True, k=1).suggested_shape
    assert across == f"4x4x2: all-gather 576 GB/s, bisection 1,024 GB/s; it fits at {ULTRA}/s1, {ULTRA}/s2"


def test_what_is_wrongly_asked_is_told_what_would_do(own: Fleet) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^4x4x1 is a shape; name the scope too: trninv place SCOPE 4x4x1$"):
        own.placements("4x4x1")
    for scope in ULTRA, "u-trn2x64":
        sizes = "give exactly one of SHAPE \\(such as 2x2x4\\), --chips, --servers and --domains$"
        for alone in scope, "4x4x":  # the only argument of the command without a size
            with pytest.raises(InvalidArgumentError, match=sizes):
                own.make_room(alone)
        with pytest.raises(InvalidArgumentError, match=sizes):
            own.make_room(scope=scope, chips=4, servers=1)
        with pytest.raises(InvalidArgumentError, match=r"x4\), --chips, --memory, --servers and --domains$"):
            own.placements(scope)
    with pytest.raises(
        InvalidArgumentError, match=f"4x4x1 is a shape, {ULTRA} is not; write trninv place {ULTRA} 4x4x1"
    ):
        own.placements("4x4x1", ULTRA)
    with pytest.raises(
        InvalidArgumentError, match=f"4x4x1 is a shape, {ULTRA} is not; write trninv make-room 4x4x1 {ULTRA}"
    ):
        own.make_room(ULTRA, "4x4x1")
    with pytest.raises(UnknownAddressError, match="no cluster 2x2"):
        own.placements("2x2", "4x4")
    with pytest.raises(IllegalSizeError, match=r"the nearest are 4 and 8 \(--any-block for"):
        own.placements(ULTRA, chips=6)
    with pytest.raises(IllegalSizeError, match=r"the nearest are 4 and 8 \(a shape for"):
        own.make_room(scope=ULTRA, chips=6)


def test_a_box_that_no_document_grants_is_not_legal(own: Fleet) -> None:
    server = "trn1.32xlarge/d0/s0"
    own.allocate("a", [f"{server}/c0-3", f"{server}/c12-15"], who="me")
    assert own.placements(server, chips=8).reason == "no domain has such a set of free chips"
    (place,) = own.placements(server, chips=8, any_block=True).placements
    assert place.places == tuple(f"{server}/c{chip}" for chip in range(4, 12))


@pytest.mark.slow
@pytest.mark.slow_on_postgresql(cases="all")
def test_servers_are_whole_in_any_box_too(own: Fleet) -> None:
    assert own.placements(ULTRA, servers=3, any_block=True, k=9).positions == 4
    there = own.what_if(down=[f"{ULTRA}/s1/c0", f"{ULTRA}/s3/c0"])
    assert isinstance(there, Fleet)
    assert there.placements(ULTRA, chips=32, any_block=True).positions == 4
    assert there.placements(ULTRA, servers=2, any_block=True).reason == "no domain has such a set of free chips"


def test_why_says_what_the_best_place_carries(own: Fleet) -> None:
    worn = own.what_if(derate=dict.fromkeys([f"{ULTRA}/s{server}" for server in range(4)], 0.5))
    assert isinstance(worn, Fleet)
    assert worn.placements(ULTRA, servers=1, min_bisection="1 TB/s").reason == (
        "no domain has it with bisection of 1,000 GB/s or more; "
        "the best place has all-gather 256 GB/s, bisection 512 GB/s"
    )
    steps = own.placements(ULTRA, domains=2, healthy=True, min_all_gather="1 TB/s").filter_steps
    assert [each.condition for each in steps][-2:] == ["has no degraded parts", "has all-gather of 1,000 GB/s or more"]
    assert own.placements(f"{ULTRA}/s0", chips=32).reason == "no domain has 32 chips in scope"


def test_memory_is_rounded_up_to_what_can_be_held(own: Fleet) -> None:
    assert own.placements(ULTRA, memory="100 GiB").chips == 4
    assert own.placements(ULTRA, memory="100 GiB", any_block=True).chips == 2
    assert own.placements(ULTRA, memory="6,144 GiB").chips == 64


def test_what_is_avoided_is_left_alone(own: Fleet) -> None:
    answer = own.placements(ULTRA, servers=1, avoid=[f"{ULTRA}/s0", f"{ULTRA}/s1/c3", "trn1.32xlarge/d0"])
    assert [each.places for each in answer.placements] == [(f"{ULTRA}/s2",), (f"{ULTRA}/s3",)]
    assert own.placements(f"{ULTRA}/s2", chips=4).placements[0].places[0] == f"{ULTRA}/s2/c0"
    nothing = own.placements(f"{ULTRA}/s2", chips=4, avoid=[ULTRA])
    assert (nothing.free, nothing.placements, nothing.reason) == (
        0,
        (),
        "no domain has 4 chips in scope and not avoided",
    )
    assert own.placements("u-trn2x64/r1", servers=1).placements[0].places == (f"{ULTRA}/s2",)


@pytest.mark.parametrize(
    ("of", "asked", "error", "says"),
    [
        (ULTRA, {}, InvalidArgumentError, "give exactly one of"),
        (ULTRA, {"chips": 4, "servers": 1}, InvalidArgumentError, "give exactly one of"),
        (ULTRA, {"chips": 0}, InvalidArgumentError, "use 1"),
        (ULTRA, {"chips": 7}, IllegalSizeError, "7 chips are not legal on u-trn2x64; the nearest are 4 and 8"),
        (ULTRA, {"chips": 5, "any_block": True}, InvalidArgumentError, "no box"),
        (
            ULTRA,
            {"chips": 100},
            InvalidArgumentError,
            r"100 chips are not a whole number of domains \(64 each\); ask for 64$",
        ),
        (
            "trn1.32xlarge",
            {"chips": 999},
            InvalidArgumentError,
            r"999 chips are not a whole number of domains \(16 each\); ask for 16$",
        ),
        (ULTRA, {"servers": 3}, IllegalSizeError, "3 servers are not legal on u-trn2x64; the nearest are 2 and 4 "),
        (
            ULTRA,
            {"servers": 6},
            InvalidArgumentError,
            r"6 servers are not a whole number of domains \(4 each\); ask for 4$",
        ),
        (
            "trn3-gen2",
            {"servers": 2},
            IllegalSizeError,
            "2 servers are not legal on trn3-gen2; the nearest are 1 and 3$",
        ),
        ("trn1.2xlarge", {"shape": "1x1"}, WrongLevelError, "has one chip"),
        (ULTRA, {"shape": "5x1"}, InvalidArgumentError, "the largest is 4x4x4"),
        (ULTRA, {"shape": "0x4"}, InvalidArgumentError, "write rows, columns and servers as"),
        (ULTRA, {"shape": "2x2x4; DROP"}, InvalidArgumentError, "write rows, columns and servers as"),
        (ULTRA, {"shape": "²x2"}, InvalidArgumentError, "write rows, columns and servers as"),
        ("trn3-gen2", {"shape": "2x2"}, WrongLevelError, "switched"),
        ("trn3-gen2", {"chips": 2}, IllegalSizeError, "2 chips are not legal on trn3-gen2; the nearest are 1 and 4$"),
        ("trn3-gen1", {"chips": 9}, IllegalSizeError, "9 chips are not legal on trn3-gen1; the nearest are"),
        ("trn2-16.48xlarge", {"chips": 13}, IllegalSizeError, "the nearest are 8 and 16"),
        (
            "trn1.32xlarge",
            {"chips": 7},
            IllegalSizeError,
            "7 chips are not legal on trn1.32xlarge; the nearest are 4 and 8",
        ),
        ("trn1.32xlarge", {"chips": 15}, IllegalSizeError, "the nearest are 8 and 16"),
        ("nowhere", {"chips": 1}, UnknownAddressError, "no cluster"),
        (f"{ULTRA}/s0/efa0", {"chips": 1}, WrongLevelError, "nic"),
        (ULTRA, {"chips": 4, "k": 101}, InvalidArgumentError, "1 to 100"),
        (ULTRA, {"domains": 10**7}, InvalidArgumentError, "1 to 1,000,000"),
        (ULTRA, {"memory": 2**63}, InvalidArgumentError, "bytes"),
    ],
)
def test_what_can_not_be_asked(
    lite_fleet: Fleet, of: str, asked: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        lite_fleet.placements(of, **asked)  # type: ignore[arg-type] # as wrong callers do


@pytest.mark.parametrize("asked", [{"domains": 2}, {"chips": 128}, {"servers": 8}, {"memory": "12,288 GiB"}])
def test_more_than_there_are_domains(lite_fleet: Fleet, asked: dict[str, object]) -> None:
    answer = lite_fleet.placements("u-trn2x64", **asked)  # type: ignore[arg-type]
    assert (answer.chips, answer.placements) == (128, ())
    assert answer.reason == "2 domains requested, 1 completely free"


def test_free_and_fragmentation_say_what_each_cause_costs(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c5", f"{ULTRA}/s1/c5"], who="me")
    own.cordon([f"{ULTRA}/s2"], who="me", why="x")
    with write_transaction(own.engine) as connection:
        set_state(connection, [f"{ULTRA}/s3/c0"], Condition("down"), why="x", who="me")
    free = own.free(ULTRA)
    assert (free.chips, free.usable, free.allocated, free.cordoned, free.free) == (64, 63, 2, 16, 45)
    assert (free.largest_block, free.largest_block_shape, free.largest_block_domain) == (27, "3x3x3", ULTRA)
    assert {each.chips: each.jobs for each in free.concurrent_jobs} == {1: 45, 4: 9, 8: 3, 16: 0, 32: 0, 64: 0}
    sizes = {each.chips: each for each in own.fragmentation(ULTRA).sizes}
    assert sizes[4].stranded == pytest.approx(9 / 45)
    assert (sizes[16].unusable, sizes[16].by_failure, sizes[16].by_cordon, sizes[16].by_shape) == (45, 15, 0, 30)
    assert (sizes[32].unusable, sizes[32].by_failure, sizes[32].by_cordon, sizes[32].by_shape) == (45, 0, 15, 30)


def test_the_report_counts_as_fragmentation_does(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c5"], who="me")
    own.allocate("b", ["trn3-gen2/d0/s0/c0", "trn3-gen2/d0/s20"], who="me")
    own.cordon([f"{ULTRA}/s2"], who="me", why="x")
    with write_transaction(own.engine) as connection:
        set_state(connection, [f"{ULTRA}/s3/c0"], Condition("down"), why="x", who="me")
    for of in ("u-trn2x64", "trn3-gen2"):
        sql = find_report("fragmentation").sql(own.engine.dialect.name, {"cluster": of})
        answer = own.fragmentation(of)
        expected = [(of, each.chips, each.jobs, each.unusable, answer.free) for each in answer.sizes]
        assert [tuple(row) for row in run_query(own.engine, sql, seconds=60, max_rows=100).rows] == expected


def test_switched_domains_have_free_sets_too(own: Fleet) -> None:
    own.allocate("a", ["trn3-gen2/d0/s0/c0", "trn3-gen2/d0/s20"], who="me")
    free = own.free("trn3-gen2")
    assert (free.largest_block, free.largest_block_shape) == (64, None)
    assert {each.chips: each.jobs for each in free.concurrent_jobs}[16] == 8
    assert own.placements("trn3-gen2", servers=17 + 1).reason == "no domain has such a set of free chips"


def test_nothing_free_is_said_plainly(own: Fleet) -> None:
    own.allocate("a", ["trn1.2xlarge/d0"], who="me")
    free, sizes = own.free("trn1.2xlarge"), own.fragmentation("trn1.2xlarge").sizes
    assert (free.free, free.largest_block, free.largest_block_domain, [each.jobs for each in free.concurrent_jobs]) == (
        0,
        0,
        None,
        [0],
    )
    assert [each.stranded for each in sizes] == [None]
