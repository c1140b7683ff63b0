"""A drain tells what happens: the difference of two answers of free and of fits, one for each job in turn."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from job_events import happened
from sqlalchemy import text
from tampering import tamper

import trninv
from conftest import Databases, Run, seeds
from graphs import seed_clusters
from trninv.database.engine import write_transaction
from trninv.database.tables import TABLES
from trninv.errors import StalePlanError, UnknownAddressError, WrongLevelError
from trninv.inventory.address.expressions import node_addresses
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.rows_in import row_ids_in
from trninv.placement.candidates.placement_model import placement_model
from trninv.placement.changes.move_jobs import move_jobs
from trninv.placement.moves.drain import DrainOutcome
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions.drain_impact import DrainImpactAnswer

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"
PLACES = [f"{ULTRA}/s1", f"{ULTRA}/s2/c5", "u-trn2x64/r0", f"{ULTRA}/s0/c0--{ULTRA}/s0/c1", ULTRA]


@dataclass
class Move:
    """Where a job goes, as a client of the API says it."""

    job: str
    destination: Sequence[str]


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


def fill(own: Fleet, seed: int) -> None:
    """Jobs of legal sizes at some of their places."""
    draw = random.Random(seed)
    for at, size in enumerate(draw.choices([1, 4, 4, 8, 16], k=8)):
        places = own.placements(ULTRA, chips=size, k=100).placements
        if places:
            own.allocate(f"j{at}", draw.choice(places).places, who="me")


@pytest.mark.parametrize(
    ("place", "touched"),
    [(f"{ULTRA}/s3", []), (f"{ULTRA}/s0/c0--{ULTRA}/s0/c1", ["big"]), (f"{ULTRA}/s2/c1", ["worn"])],
)
def test_what_is_broken_already_is_not_lost_again(own: Fleet, place: str, touched: list[str]) -> None:
    own.allocate("big", [f"{ULTRA}/s0", f"{ULTRA}/s1"], who="me")
    own.allocate("worn", [f"{ULTRA}/s2/c0-3"], who="me")
    down = [f"{ULTRA}/s2/c2", f"{ULTRA}/s2/c0--{ULTRA}/s2/c3"]
    for state in (own.what_if(down=down[:1]), own.what_if(down=down)):
        assert isinstance(state, Fleet)
        assert [job.job for job in state.drain_impact(place).jobs] == touched


def test_the_chips_lost_are_those_of_the_place_with_failed_ones(own: Fleet) -> None:
    own.allocate("all", [f"{ULTRA}/s2"], who="me")
    own.set_state([f"{ULTRA}/s2/c2"], "down", who="me", why="x")
    answer = own.drain_impact(f"{ULTRA}/s2")
    assert (answer.chips, answer.failed_chips, answer.jobs[0].lost_chips) == (15, 1, 16)
    assert next(iter(answer.render())) == (
        f"{ULTRA}/s2: 16 chips lost (1 already out of service), 1 job disrupted, 1 of them must stop"
    )
    for place in (f"{ULTRA}/s3", f"{ULTRA}/s0/c0--{ULTRA}/s0/c1"):
        assert own.drain_impact(place).failed_chips == 0


@pytest.mark.parametrize("place", [*PLACES[:2], *(pytest.param(place, marks=pytest.mark.slow) for place in PLACES[2:])])
def test_a_drain_is_the_difference_of_free_and_fits_with_the_place_down(own: Fleet, place: str) -> None:
    fill(own, PLACES.index(place))
    without, answer = own.what_if(down=[place]), own.drain_impact(place)
    assert answer.largest_block == largest(own, 0, 0)
    assert answer.chips == gone(own, place)[0].bit_count()
    for size, now in zip(answer.sizes, own.fragmentation("u-trn2x64").sizes, strict=True):
        assert (size.jobs, size.stranded) == (now.jobs, now.stranded)
    assert answer.disrupted == len(answer.jobs)
    if "--" not in place:
        assert {job.job for job in answer.jobs} == {job.name for job in own.jobs(place)}
    for job in answer.jobs:
        follow(own, without, answer, job.job)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_left_after_a_drain_is_what_is_left_once_its_moves_are_carried_out(own: Fleet, place: str) -> None:
    fill(own, PLACES.index(place))
    answer = own.drain_impact(place)
    assert {move.job for move in answer.moves} >= {job.job for job in answer.jobs if job.destination}
    own.move_jobs("u-trn2x64", answer.moves, answer.revision, who="me")
    assert answer.largest_block_after == largest(own, *gone(own, place))
    then = own.what_if(down=[place]).fragmentation("u-trn2x64").sizes
    for size, left in zip(answer.sizes, then, strict=True):
        assert (size.jobs_after, size.stranded_after) == (left.jobs, left.stranded)
    assert [job.job for job in own.drain_impact(place).jobs] == [job.job for job in answer.jobs if not job.destination]


def gone(own: Fleet, place: str) -> tuple[int, int]:
    """Chips of a place; and of a link both ends."""
    with own.connect() as connection:
        if "--" in place:
            return 0, sum(map(bit, place.split("--")))
        chips = connection.scalars(row_ids_in(resolve_place(connection, place), "chip"))
        named = node_addresses().where(TABLES["node"].c.id.in_(chips.all()))
        return sum(bit(row.address) for row in connection.execute(named)), 0


def bit(chip: str) -> int:
    server, number = chip.removeprefix(f"{ULTRA}/s").split("/c")
    return 1 << 16 * int(server) + int(number)


def largest(own: Fleet, without: int, link: int) -> int:
    """Of all boxes one by one."""
    with own.connect() as connection:
        query = text("SELECT address FROM v_free_chip WHERE cluster = 'u-trn2x64'")
        free = sum(map(bit, connection.scalars(query))) & ~without
    torus = placement_model("u-trn2x64").torus
    assert torus
    whole = (mask for mask in torus.shape_by_mask if mask & free == mask and (not link or mask & link != link))
    return max((mask.bit_count() for mask in whole), default=0)


def follow(own: Fleet, without: Fleet, answer: DrainImpactAnswer, name: str) -> None:
    """What is told of a job is what fits finds once it is gone; it then goes there."""
    (job,) = (each for each in answer.jobs if each.job == name)
    own.release(name)
    best = without.placements(ULTRA, chips=job.chips, k=1).placements
    if job.outcome is DrainOutcome.ELSEWHERE:
        assert job.destination == best[0].places
        assert job.all_gather_after == best[0].all_gather
        own.allocate(name, job.destination, who="me")
        return
    assert not best
    for move in job.moves:
        own.release(move.job)
        own.allocate(move.job, move.destination, who="me")
    assert (job.outcome is DrainOutcome.AFTER_MOVES) == bool(job.moves)
    if job.outcome is DrainOutcome.AFTER_MOVES:
        assert without.placements(ULTRA, chips=job.chips, k=100).placements
        own.allocate(name, job.destination, who="me")


def test_after_moves_names_what_moves(own: Fleet) -> None:
    own.allocate("big", [f"{ULTRA}/s0"], who="me")
    for server in range(1, 4):
        own.allocate(f"a{server}", [f"{ULTRA}/s{server}/c{chip}" for chip in range(4)], who="me")
    (job,) = own.drain_impact(f"{ULTRA}/s0").jobs
    assert (job.outcome, job.destination, [move.job for move in job.moves]) == (
        DrainOutcome.AFTER_MOVES,
        (f"{ULTRA}/s1",),
        ["a1"],
    )
    assert own.jobs(f"{ULTRA}/s0")[0].name == "big"
    follow(own, own.what_if(down=[f"{ULTRA}/s0"]), own.drain_impact(f"{ULTRA}/s0"), "big")


@pytest.fixture
def two(tables: str) -> Iterator[Fleet]:
    """Two UltraServers, the first with one job, the second with a small one."""
    with trninv.open(seed_clusters(tables, {"u-trn2x64": 2})) as opened:
        opened.allocate("big", [f"{TWO}/d0"], who="ana")
        opened.allocate("ev", [f"{TWO}/d1/s3/c0-7"], who="ben")
        yield opened


TWO = "c-u-trn2x64"


def test_a_job_that_must_stop_frees_its_chips_before_others_move_there(two: Fleet) -> None:
    answer = two.drain_impact(f"{TWO}/d0/s0")
    assert [(move.job, move.must_stop) for move in answer.moves] == [("ev", False), ("big", True)]
    assert (answer.largest_block, answer.largest_block_after) == (48, 32)
    fit_at_once = [(size.jobs, size.jobs_after) for size in answer.sizes]
    assert fit_at_once == [(56, 40), (14, 10), (7, 5), (3, 2), (1, 1), (0, 0)]
    for move in answer.moves:
        if move.must_stop:
            two.release(move.job)
    for move in answer.moves:
        if not move.must_stop:
            two.release(move.job)
        two.allocate(move.job, move.destination, who="me")


def test_the_command_moves_the_jobs(two: Fleet, run: Run, tables: str) -> None:
    words, url = ("drain-impact", f"{TWO}/d0/s0"), tables
    plan = two.drain_impact(words[1])
    out = run(*words, database=url)[1]
    moves = out.partition("moves, in order:")[2]
    assert moves.index(f"{TWO}/d0/s1/c0-7") < moves.index(f"{TWO}/d1 ")
    assert out.endswith(f"revision {plan.revision}\nto move them: trninv drain-impact {TWO}/d0/s0 --apply\n")
    assert "--apply" not in run(*words, "--without", "ev", database=url)[1]
    assert "omit --down" in run(*words, "--apply", "--without", "ev", database=url)[2]
    assert "the plan is for revision abc" in run(*words, "--apply", "--revision", "abc", database=url)[2]
    assert run(*words, "--apply", "-q", database=url)[2] == (
        "trninv: this answer has no single value; use --format json instead of -q\n"
    )
    assert two.drain_impact(words[1]) == plan
    jobs, apply = two.jobs(), ("--apply", "--who", "chloe", "--why", "fan", "--revision", plan.revision)
    status, out, error = run(*words, *apply, "--dry-run", database=url)
    assert (status, out.endswith("\ndry run: moved 2 jobs\n"), error) == (0, True, "dry run: nothing was changed\n")
    assert two.jobs() == jobs
    assert run(*words, *apply, database=url)[::2] == (0, "")
    now = {job.name: (job.first_server, job.who) for job in two.jobs()}
    assert now == {"big": (f"{TWO}/d1/s0", "ana"), "ev": (f"{TWO}/d0/s1", "ben")}
    assert {(event.action, event.who, event.why) for event in happened(two)[-4:]} == {("move", "chloe", "fan")}
    two.cordon([f"{TWO}/d0/s0"], who="me", why="fan")
    status, out, _ = run("drain-impact", f"{TWO}/d1/s0", "--apply", database=url)
    assert (status, out.endswith("moved 0 jobs\n1 job got no new place\n")) == (1, True)


def test_jobs_beyond_the_limit_are_planned_by_the_next_run(
    own: Fleet, run: Run, seeded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, chips in (("a", "c0-3"), ("b", "c4-7"), ("c", "c8-11")):
        own.allocate(name, [f"{ULTRA}/s0/{chips}"], who="me")
    command = "drain-impact", f"{ULTRA}/s0"
    monkeypatch.setattr("trninv.placement.questions.drain_impact.MAX_JOBS", 3)
    answer = own.drain_impact(command[1])
    assert (answer.unplanned, answer.truncated) == (0, False)
    assert "not in this plan" not in run(*command, database=seeded)[1]
    monkeypatch.setattr("trninv.placement.questions.drain_impact.MAX_JOBS", 2)
    answer = own.drain_impact(command[1])
    assert (answer.unplanned, answer.truncated, len(answer.moves)) == (1, True, 2)
    assert "not in this plan: 1 more job; plan again once the others have moved\n" in run(*command, database=seeded)[1]
    status, out, _ = run(*command, "--apply", database=seeded)
    assert (status, out.endswith("\nmoved 2 jobs\n1 more job must go: run it again\n")) == (1, True)
    status, out, _ = run(*command, "--apply", database=seeded)
    assert (status, out.endswith("\nmoved 1 job\n")) == (0, True)


@pytest.mark.parametrize("kind", ["pinned", "spares", "slurm"])
def test_who_must_move_a_job_first_is_said_instead_of_a_command_that_fails(
    own: Fleet, run: Run, seeded: str, kind: str
) -> None:
    spares = [f"{ULTRA}/s1/c0-3"] if kind == "spares" else []
    own.allocate("free", [f"{ULTRA}/s0/c0-3"], who="me")
    if kind == "slurm":
        own.allocate("p", [f"{ULTRA}/s0/c4-7"], who="me")
        tamper(own.engine, "UPDATE job SET system = 'slurm' WHERE name = 'p'", "job")
    else:
        own.allocate("p", [f"{ULTRA}/s0/c4-7"], spares=spares, pinned=kind == "pinned", who="me")
    obstacle = {
        "pinned": "job p is pinned and can't move; release it, allocate its new chips and make a new plan",
        "spares": "job p has spares and can't move; release it, allocate its new chips and make a new plan",
        "slurm": "job slurm:p is run by slurm; move it there, then import its jobs again",
    }[kind]
    command = "drain-impact", f"{ULTRA}/s0"
    answer = own.drain_impact(command[1])
    assert {move.obstacle for move in answer.moves} == {None, obstacle}
    out = run(*command, database=seeded)[1]
    assert out.endswith(f"revision {answer.revision}\njobs move all or none: {obstacle}\n")
    status, _, error = run(*command, "--apply", database=seeded)
    assert (status, obstacle in error) == (1, True)
    own.release("slurm:p" if kind == "slurm" else "p")
    assert run(*command, database=seeded)[1].endswith(f"to move it: trninv {' '.join(command)} --apply\n")


@pytest.mark.parametrize("seed", seeds(20, quick=2))
def test_moves_go_in_their_order_and_leave_what_the_drain_says(tables: str, seed: int) -> None:
    """Of jobs in one or two domains, with failed and cordoned chips; some keep such chips."""
    draw = random.Random(seed)
    with trninv.open(seed_clusters(tables, {"u-trn2x64": 2})) as own:
        servers = [f"{TWO}/d{domain}/s{server}" for domain in range(2) for server in range(4)]
        chips = [f"{server}/c{chip}" for server in servers for chip in range(16)]
        for number in range(draw.choice([8, 20])):
            found = list[str]()
            for domain in draw.sample([f"{TWO}/d0", f"{TWO}/d1"], draw.choice([1, 1, 2])):
                if options := own.placements(domain, chips=draw.choice([1, 4, 8, 16, 32]), k=50).placements:
                    found += draw.choice(options).places
            if found:
                own.allocate(f"j{number}", found, who="me")
        own.set_state(draw.sample(chips, 2), "down", who="me", why="x")
        own.cordon([draw.choice(servers)], who="me", why="x")
        place = draw.choice([draw.choice(chips), draw.choice(servers), f"{TWO}/d1"])
        answer, held = own.drain_impact(place), held_chips(own)
        for move in answer.moves:
            if move.must_stop:
                held[move.job] = set()
        for move in answer.moves:
            held[move.job] = set()
            destination = {chip for chip in chips if chip.startswith(tuple(f"{part}/" for part in move.destination))}
            destination |= {*move.destination} & {*chips}
            assert not destination & set().union(*held.values())
            held[move.job] = destination
        own.move_jobs(TWO, answer.moves, answer.revision, who="me")
        assert held_chips(own) == held
        assert own.drain_impact(place).moves == ()
        after = own.what_if(down=[place])
        sizes = [(size.chips, size.jobs, size.stranded) for size in after.fragmentation(TWO).sizes]
        assert [(size.chips, size.jobs_after, size.stranded_after) for size in answer.sizes] == sizes
        assert after.free(TWO).largest_block == answer.largest_block_after


def held_chips(own: Fleet) -> dict[str, set[str]]:
    """Chips by job."""
    held: dict[str, set[str]] = {}
    with own.connect() as connection:
        for row in connection.execute(text("SELECT job, address FROM v_allocation WHERE ended_at IS NULL")):
            held.setdefault(row.job, set()).add(row.address)
    return held


def test_a_job_keeps_chips_that_no_other_job_would_get(two: Fleet) -> None:
    """Those that are reserved for later, cordoned or down."""
    for name in ("ev", "big"):
        two.release(name, who="me")
    two.allocate("both", [f"{TWO}/d0/s0", f"{TWO}/d1/s2"], who="ana", until="2h")
    two.reserve("patch", [f"{TWO}/d1/s2/c0"], from_="1h", until="4h", maintenance=True, who="me")
    two.set_state([f"{TWO}/d1/s2/c1"], "down", who="me", why="x")
    two.cordon([f"{TWO}/d1/s2"], who="me", why="x")
    plan = two.drain_impact(f"{TWO}/d0/s0")
    assert [move.destination for move in plan.moves] == [(f"{TWO}/d1/s2", f"{TWO}/d1/s3")]
    two.move_jobs(TWO, plan.moves, plan.revision, who="me")
    assert two.drain_impact(f"{TWO}/d0/s0").jobs == ()


def test_in_a_rack_a_server_is_replaced_and_a_spare_keeps_a_job_going(own: Fleet) -> None:
    rack = "trn3-gen2/d0"
    own.allocate("a", [f"{rack}/s{server}" for server in range(3)], who="me", spares=[f"{rack}/s3"])
    (job,) = own.drain_impact(f"{rack}/s1").jobs
    assert (job.outcome, job.must_stop, job.lost_chips) == (DrainOutcome.REPLACED, False, 4)
    assert job.destination == (f"{rack}/s0", f"{rack}/s2", f"{rack}/s4")
    (job,) = own.drain_impact(f"{rack}/s3").jobs
    assert (job.outcome, job.must_stop, job.lost_chips) == (DrainOutcome.STAYS, False, 0)
    (job,) = own.drain_impact(f"{rack}/sw0").jobs
    assert (job.must_stop, job.lost_chips) == (True, 0)
    own.cordon([f"{rack}/s{server}" for server in range(4, 18)], who="me", why="x")
    (job,) = own.drain_impact(f"{rack}/s1").jobs
    assert job.outcome is DrainOutcome.ELSEWHERE
    assert job.destination[0] == f"{rack}/s18"


def test_what_replaces_a_server_has_every_link(own: Fleet) -> None:
    servers = [f"trn3-gen2/d0/s{server}" for server in range(18)]
    own.allocate("gang", servers[10:14], who="me")
    cut = own.what_if(down=["trn3-gen2/d0/sw0"])
    assert isinstance(cut, Fleet)
    (job,) = cut.drain_impact(servers[11]).jobs
    assert (job.outcome, job.destination) == (DrainOutcome.REPLACED, (servers[1], servers[10], *servers[12:14]))


def test_one_chip_needs_no_link_and_two_ends_do(own: Fleet) -> None:
    link = f"{ULTRA}/s0/c0--{ULTRA}/s0/c1"
    own.allocate("one", [f"{ULTRA}/s0/c0"], who="me")
    own.allocate("four", [f"{ULTRA}/s0/c{chip}" for chip in (1, 5, 9, 13)], who="me")
    assert own.drain_impact(link).jobs == ()
    own.release("one")
    own.allocate("more", [f"{ULTRA}/s0/c{chip}" for chip in (0, 4, 8, 12)], who="me")
    assert own.drain_impact(link).jobs == ()
    for name in ("more", "four"):
        own.release(name)
    own.allocate("both", [f"{ULTRA}/s0"], who="me")
    (job,) = own.drain_impact(link).jobs
    assert (job.lost_chips, job.must_stop, job.destination) == (0, True, (f"{ULTRA}/s1",))


def test_its_moves_are_carried_out_with_its_revision_and_no_other(own: Fleet) -> None:
    own.allocate("big", [f"{ULTRA}/s0"], who="me")
    plan = own.drain_impact(f"{ULTRA}/s0")
    own.cordon([f"{ULTRA}/s0"], who="me", why="cooling")
    with write_transaction(own.engine) as connection, pytest.raises(StalePlanError):
        move_jobs(connection, ULTRA, [Move("big", plan.jobs[0].destination)], plan.revision, who="me")
    assert (own.free(ULTRA).cordoned, own.free(ULTRA).allocated_on_cordoned) == (0, 16)
    again = own.drain_impact(f"{ULTRA}/s0")
    with write_transaction(own.engine) as connection:
        (moved,) = move_jobs(connection, ULTRA, [Move("big", again.jobs[0].destination)], again.revision, who="me")
    assert moved.chips == 16
    assert own.drain_impact(f"{ULTRA}/s0").disrupted == 0


@pytest.mark.parametrize("place", ["u-trn2x64", f"{ULTRA}/s0/efa0"])
def test_what_can_not_be_drained(lite_fleet: Fleet, place: str) -> None:
    with pytest.raises(WrongLevelError):
        lite_fleet.drain_impact(place)
    with pytest.raises(UnknownAddressError):
        lite_fleet.drain_impact(f"{ULTRA}/s9")


def test_a_network_node_touches_the_jobs_that_it_joins(databases: Databases) -> None:
    """Thirty-two domains to a node of tier 3; jobs of one domain need none."""
    with trninv.open(seed_clusters(databases.migrated("sqlite"), {"trn2": 36})) as own:
        own.allocate("one", ["c-trn2/d0"], who="me")
        own.allocate("near", ["c-trn2/d1", "c-trn2/d2"], who="me")
        own.allocate("far", ["c-trn2/d31", "c-trn2/d32"], who="me")
        low, high = (own.drain_impact(f"c-trn2/fabric/{node}") for node in ("t3/n0", "t2/n0"))
        assert [(job.job, job.must_stop, job.destination) for job in low.jobs] == [
            ("near", True, ("c-trn2/d33", "c-trn2/d34")),
            ("far", True, ("c-trn2/d32", "c-trn2/d35")),
        ]
        assert [(job.job, job.outcome) for job in high.jobs] == [("far", DrainOutcome.NOWHERE)]
        assert (low.chips, low.lost_sizes, own.drain_impact("c-trn2/fabric/t3/n1").disrupted) == (0, (), 1)
