"""Room by moving jobs: against every arrangement of a few jobs, and each plan carried out move by move."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_events import happened
from placements import group_of_domains
from tampering import tamper

import trninv
from conftest import Ask, Databases, Run, examples
from graphs import seed_clusters
from trninv.errors import ConflictError, InvalidArgumentError, StalePlanError, UnknownJobError
from trninv.placement.allocations.allocation_masks import JobAllocation
from trninv.placement.allocations.job_allocations import Job
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.placement_model import (
    AnyServers,
    LegalSets,
    PlacementModel,
    placement_model,
    read_legal_sets,
)
from trninv.placement.moves.planner import MovePlan, MovePlanner, alternative_sets
from trninv.placement.placement_fleet import Fleet
from trninv.placement.questions.make_room import JobMove, MakeRoomAnswer
from trninv.solvers.integer_programs import order_moves
from trninv.solvers.torus_blocks import pack_masks

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"
At = tuple[int, int]


def legal(fleet: Fleet, model: PlacementModel) -> LegalSets:
    with fleet.connect() as connection:
        return read_legal_sets(connection, model)


def held_by(
    model: PlacementModel, jobs: Sequence[Sequence[At]], domains: int = 1
) -> tuple[FreeCapacity, list[JobAllocation]]:
    """Domains that only these jobs hold chips of."""
    masks = [0] * domains
    for each in jobs:
        for row, mask in each:
            assert not masks[row] & mask
            masks[row] |= mask
    inside = pack_masks([model.full] * domains, model.chips)
    stock = FreeCapacity(
        group_of_domains(model, domains),
        model,
        np.arange(domains),
        inside,
        inside,
        pack_masks(masks, model.chips),
        np.zeros_like(inside),
    )
    return stock, [
        JobAllocation(key, f"j{key}", "trninv", pinned=False, work=dict(at), spare={}) for key, at in enumerate(jobs)
    ]


def carried_out(plan: MovePlan, jobs: Sequence[Sequence[At]]) -> None:
    """Every destination is free when its turn comes, and in the end the rooms are."""
    held = {key: set(at) for key, at in enumerate(jobs)}
    for move in plan.moves:
        if move.must_stop:
            held[move.allocation.key].clear()
    for move in plan.moves:
        assert not any(row == move.target_row and mask & move.target_mask for at in held.values() for row, mask in at)
        held[move.allocation.key] = {(move.target_row, move.target_mask)}
    assert not any(row == of and mask & room for at in held.values() for row, mask in at for of, room in plan.targets)


def least(rooms: Sequence[int], now: Sequence[int], choices: Sequence[Sequence[int]]) -> tuple[int, int] | None:
    """Fewest jobs, then chips, of all arrangements."""

    def arranged(at: int, taken: int) -> Iterator[tuple[int, int]]:
        if at == len(now):
            yield 0, 0
            return
        for mask in (now[at], *choices[at]):
            if not mask & taken:
                a_move = (0, 0) if mask == now[at] else (1, mask.bit_count())
                yield from ((jobs + a_move[0], chips + a_move[1]) for jobs, chips in arranged(at + 1, taken | mask))

    return min((cost for room in rooms for cost in arranged(0, room)), default=None)


@examples(40)
@given(st.data())
def test_within_a_server_no_arrangement_moves_less(lite_fleet: Fleet, data: st.DataObject) -> None:
    model = placement_model("trn1.32xlarge")
    found = legal(lite_fleet, model)
    assert model.torus
    sets = [*model.torus.shape_by_mask, *found.sets[4] * 8, *found.sets[8] * 8]
    now = list[int]()
    for mask in data.draw(st.lists(st.sampled_from([each for each in sets if each.bit_count() <= 8]), max_size=4)):
        if not any(mask & other for other in now):
            now.append(mask)
    stock, tenants = held_by(model, [[(0, mask)] for mask in now])
    pinned = data.draw(st.sets(st.sampled_from(range(4)), max_size=1))
    wanted = data.draw(st.sampled_from([found.sets[4], found.sets[8], *map(_shaped, ((2, 2), (2, 4), (3, 3), (1, 4)))]))
    plan = MovePlanner(stock, found, tenants, pinned).plan(wanted)
    choices = [() if key in pinned else _choices(stock, found, mask) for key, mask in enumerate(now)]
    expected = least(wanted, now, choices)
    assert (plan is None) == (expected is None)
    if plan:
        assert (len(plan.moves), sum(move.mask.bit_count() for move in plan.moves)) == expected
        assert plan.exact
        carried_out(plan, [[(0, mask)] for mask in now])


def _shaped(spans: tuple[int, ...]) -> tuple[int, ...]:
    torus = placement_model("trn1.32xlarge").torus
    assert torus
    return tuple(block.mask for shape in torus.orientations(spans) for block in torus.blocks(shape))


def _choices(stock: FreeCapacity, found: LegalSets, mask: int) -> list[int]:
    wanted, limit = alternative_sets(stock, found, mask), stock.model.limits(mask).all_gather
    assert not isinstance(wanted, AnyServers)
    return [each for each in wanted if stock.model.limits(each).all_gather >= limit]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=5))
def test_moves_are_in_an_order_that_can_be_carried_out(pairs: list[At]) -> None:
    """One chip each: a graph of who waits for whom; as few stop as there are cycles."""
    sources, targets = {a for a, _ in pairs}, {b for _, b in pairs}
    moves = [(1 << a, 1 << b) for a, b in pairs if a != b]
    if len(sources) < len(pairs) or len(targets) < len(pairs):
        return
    order, stopped = order_moves(moves)
    held = [0 if at in stopped else source for at, (source, _) in enumerate(moves)]
    for at in order:
        assert not any(moves[at][1] & mask for mask in held)
        held[at] = moves[at][1]
    assert sorted(order) == list(range(len(moves)))
    least_stops = min(
        len(moves) - max((_free_moves(moves, each) for each in permutations(range(len(moves)))), default=0), len(moves)
    )
    assert len(stopped) == least_stops


def _free_moves(moves: Sequence[At], order: Sequence[int]) -> int:
    """How many of an order can go while nobody stopped, the others having stopped before."""
    stops = {
        at for place, at in enumerate(order) if any(moves[other][0] & moves[at][1] for other in order[place + 1 :])
    }
    return len(moves) - len(stops)


def test_who_changes_places_stops_first() -> None:
    assert order_moves([(0b0011, 0b1100), (0b1100, 0b0011)]) == ([1, 0], [0])
    assert order_moves([(0b0011, 0b1100), (0b1100, 0b0011)], interrupted=[1]) == ([0, 1], [1])
    assert order_moves([(0b0011, 0b0110)]) == ([0], [0])
    # the job of one chip waits for the two that change places, which need not wait for it
    assert order_moves([(0b000011, 0b001100), (0b001100, 0b010001), (0b100000, 0b000010)]) == ([1, 0, 2], [0])


def test_across_domains_jobs_go_to_what_is_free_and_bounds_are_told(lite_fleet: Fleet) -> None:
    model = placement_model("u-trn2x64")
    found = legal(lite_fleet, model)
    one, two, three, four = model.server_masks
    jobs = [[(0, one)], [(0, two)], [(0, three)], [(1, one)], [(1, two | three)], [(2, model.full)]]
    stock, tenants = held_by(model, jobs, 3)
    plan = MovePlanner(stock, found, tenants, ()).plan(found.sets[32])
    assert plan is not None
    assert [(move.allocation.key, move.target_row, move.target_mask) for move in plan.moves] == [(2, 1, four)]
    assert plan.exact
    carried_out(plan, jobs)
    assert MovePlanner(stock, found, tenants, range(6)).plan(found.sets[32]) is None
    whole = MovePlanner(stock, found, tenants, ()).plan_domains(1)
    assert whole is not None
    assert (whole.targets, whole.lower_bound) == ((), 1)
    stock, tenants = held_by(model, jobs[:3], 4)
    emptied = MovePlanner(stock, found, tenants, ()).plan_domains(3)
    assert emptied is not None
    assert (emptied.moves, emptied.exact, len(emptied.targets)) == ((), True, 3)
    emptied = MovePlanner(stock, found, tenants, ()).plan_domains(4)
    assert emptied is not None
    assert emptied.targets == ()
    assert MovePlanner(stock, found, tenants, (0,)).plan_domains(4) is None


def test_any_servers_of_a_rack(lite_fleet: Fleet) -> None:
    model = placement_model("trn3-gen2")
    found = legal(lite_fleet, model)
    three = model.server_masks[0] | model.server_masks[1] | model.server_masks[2]
    jobs = [[(0, three)], *([(0, model.server_masks[at])] for at in range(3, 17)), [(0, model.server_masks[30])]]
    stock, tenants = held_by(model, jobs)
    plan = MovePlanner(stock, found, tenants, ()).plan(AnyServers(4))
    assert plan == MovePlan(((0, sum(model.server_masks[at] for at in range(18, 22))),), (), 0)
    plan = MovePlanner(stock, found, tenants, range(1, 16)).plan(AnyServers(18))
    assert plan is None
    plan = MovePlanner(stock, found, tenants, ()).plan(AnyServers(18))
    assert plan is not None
    assert (len(plan.moves), plan.lower_bound) == (1, 1)
    carried_out(plan, jobs)


def test_room_in_a_rack_has_every_link(own: Fleet) -> None:
    rack = [f"trn3-gen2/d0/s{server}" for server in range(18)]
    own.allocate("other", [f"trn3-gen2/d0/s{server}" for server in range(18, 33)], who="me")
    own.allocate("one", rack[:1], who="me")
    own.allocate("two", rack[1:2], who="me")
    cut = own.what_if(down=[f"{rack[5]}/c0--trn3-gen2/d0/sw5", "trn3-gen2/d0/sw6"])
    assert isinstance(cut, Fleet)
    plan = cut.make_room(scope="trn3-gen2", servers=16)
    assert (len(plan.moves), plan.exact, len(plan.places)) == (2, True, 16)
    assert not {rack[5], rack[6]} & set(plan.places)
    assert cut.what_if(without=["one", "two"]).placements("trn3-gen2", servers=16).placements[0].places == plan.places


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        yield opened


def _carried_out(fleet: Fleet, plan: MakeRoomAnswer, *, who: str, dry_run: bool = False) -> list[Job]:
    return fleet.move_jobs(plan.scope, plan.moves, plan.revision, who=who, dry_run=dry_run)


def test_a_plan_is_carried_out_once_and_only_while_nothing_changed(own: Fleet) -> None:
    for server in range(4):
        own.allocate(f"a{server}", [f"{ULTRA}/s{server}/c{chip}" for chip in range(4)], who="me")
    plan = own.make_room(scope=ULTRA, servers=2)
    assert (len(plan.moves), plan.exact, plan.places) == (2, True, (f"{ULTRA}/s0", f"{ULTRA}/s1"))
    own.allocate("late", [f"{ULTRA}/s3/c15"], who="me")
    with pytest.raises(StalePlanError, match="make a new plan"):
        _carried_out(own, plan, who="me")
    with pytest.raises(StalePlanError):
        own.allocate("big", plan.places, who="me", revision=plan.revision)
    own.release("late")
    plan, jobs = own.make_room(scope=ULTRA, servers=2), own.jobs()
    assert [job.chips for job in _carried_out(own, plan, who="her", dry_run=True)] == [4, 4]
    assert own.jobs() == jobs
    moved = _carried_out(own, plan, who="her")
    assert [(job.chips, job.who) for job in moved] == [(4, "me"), (4, "me")]
    assert {(event.action, event.who) for event in happened(own)[-4:]} == {("move", "her")}
    before = [job for job in own.jobs(include_ended=True) if job.name in {job.name for job in moved} and job.ended_at]
    assert [(job.chips, job.who, job.ended_at) for job in before] == [(4, "me", job.moved_at) for job in moved]
    again = own.make_room(scope=ULTRA, servers=2)
    assert (again.moves, again.exact, again.places) == ((), True, plan.places)
    assert own.allocate("big", again.places, who="me", revision=again.revision).chips == 32


def test_a_dry_run_of_the_command_moves_nothing(own: Fleet, run: Run, seeded: str) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c0-3"], who="me")
    for server in (1, 2, 3):
        own.allocate(f"b{server}", [f"{ULTRA}/s{server}/c0-3"], who="me")
    words = ("make-room", ULTRA, "--servers", "2", "--apply", "--who", "her")
    jobs = own.jobs()
    status, out, error = run(*words, "--dry-run", database=seeded)
    assert (status, "\ndry run: moved 2 jobs\n" in out, error) == (0, True, "dry run: nothing was changed\n")
    assert own.jobs() == jobs
    assert run(*words, database=seeded)[0] == 0
    assert {event.who for event in happened(own)} == {"me", "her"}


def test_only_the_moves_need_an_author(own: Fleet, run: Run, seeded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for server in range(4):
        own.allocate(f"b{server}", [f"{ULTRA}/s{server}/c0-3"], who="me")

    def refuse() -> str:
        raise OSError

    monkeypatch.setattr("getpass.getuser", refuse)
    words = ("make-room", ULTRA, "--servers", "2")
    assert run(*words, database=seeded)[0] == 0
    assert run(*words, "--apply", database=seeded)[::2] == (
        2,
        "trninv: the current user has no name; add --who NAME\n",
    )
    assert {job.who for job in own.jobs()} == {"me"}


def test_a_job_that_moves_keeps_its_beginning(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c0-3"], who="me")
    for table in ("job", "allocation"):
        tamper(own.engine, f"UPDATE {table} SET started_at = '2026-01-01T00:00:00+00:00'", table)
    assert [(job.started_at, job.moved_at) for job in own.jobs()] == [("2026-01-01T00:00:00+00:00", None)]
    for to in (f"{ULTRA}/s1/c0-3", f"{ULTRA}/s2/c0-3"):
        plan = own.make_room(scope=ULTRA, servers=2)
        plan = replace(plan, moves=(JobMove("a", 4, (), (to,), must_stop=False),))
        (moved,) = _carried_out(own, plan, who="her")
        assert (moved.started_at, moved.first_server) == ("2026-01-01T00:00:00+00:00", to[:-5])
    assert moved.moved_at is not None
    assert moved.moved_at > "2026-01-01T01"
    with own.connect() as connection:
        rows = connection.exec_driver_sql("SELECT started_at, moved_at FROM v_job WHERE state = 'running'").all()
    assert rows == [(moved.started_at, moved.moved_at)]
    assert {job.started_at for job in own.jobs(include_ended=True)} == {moved.started_at}


def test_pinned_jobs_stay_and_no_is_no(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c{chip}" for chip in range(4)], who="me")
    own.allocate("b", [f"{ULTRA}/s2/c{chip}" for chip in range(4)], who="me", pinned=True)
    assert own.make_room(scope=ULTRA, servers=2, pinned="a").possible is False
    plan = own.make_room(scope=ULTRA, servers=2)
    assert [move.job for move in plan.moves] == ["a"]
    assert str(next(iter(plan.render()))).endswith(f"{ULTRA}/s0, {ULTRA}/s1 are free")
    assert not own.make_room("4x4x4", ULTRA).is_satisfied()
    with pytest.raises(UnknownJobError, match="no job c has chips"):
        own.make_room("4x4x2", ULTRA, pinned="c")
    with pytest.raises(InvalidArgumentError, match=r"which place\? There are \d clusters: name one of "):
        own.make_room("4x4x2")
    no = own.make_room(scope=ULTRA, domains=1)
    assert no.possible is False
    assert f": no moves within {ULTRA} can free it" in str(next(iter(no.render())))


def test_sizes_that_are_suggested_fit_in_the_scope(databases: Databases) -> None:
    url = seed_clusters(databases.migrated("sqlite"), {"u-trn2x64": 2})
    with trninv.open(url) as own:
        for scope, suggested in (("c-u-trn2x64/d0", 64), ("c-u-trn2x64", 128)):
            with pytest.raises(InvalidArgumentError, match=rf"ask for {suggested}$"):
                own.make_room(scope=scope, chips=999)


def test_moves_that_no_plan_says_are_refused(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c0-3"], who="me")
    own.allocate("pin", [f"{ULTRA}/s2/c0-3"], who="me", pinned=True)
    own.allocate("safe", [f"{ULTRA}/s3/c0-1"], spares=[f"{ULTRA}/s3/c2-3"], who="me")
    plan = own.make_room(scope=ULTRA, servers=2)
    (move,) = plan.moves

    def moved(job: str) -> list[Job]:
        elsewhere = replace(move, job=job, destination=(f"{ULTRA}/s1/c8-11",))
        return _carried_out(own, replace(plan, moves=(elsewhere,)), who="me")

    for job, why in (("pin", "is pinned and can't move"), ("safe", "has spares and can't move")):
        with pytest.raises(ConflictError, match=why):
            moved(job)
    assert [(job.name, job.chips) for job in own.jobs()] == [("a", 4), ("pin", 4), ("safe", 4)]
    assert [job.first_server for job in moved("a")] == [f"{ULTRA}/s1"]


def test_what_another_system_runs_is_moved_there(own: Fleet) -> None:
    own.allocate("a", [f"{ULTRA}/s0/c{chip}" for chip in range(4)], who="me")
    tamper(own.engine, "UPDATE job SET system = 'slurm'", "job")
    plan = own.make_room("4x4x4", "u-trn2x64/d0")
    assert plan.possible is False
    plan = own.make_room(scope=f"{ULTRA}/s0", chips=8)
    assert (plan.moves, plan.possible) == ((), True)
    plan = own.make_room("2x4x1", f"{ULTRA}/s0", pinned="slurm:a")
    assert plan.possible
    own.allocate("b", [f"{ULTRA}/s0/c{chip}" for chip in range(12, 16)], who="me")
    plan = own.make_room(scope=f"{ULTRA}/s0", chips=8, pinned="b")
    assert [move.job for move in plan.moves] == ["slurm:a"]
    with pytest.raises(ConflictError, match="run by slurm"):
        _carried_out(own, plan, who="me")


def test_the_api_plans_and_tells_what_a_drain_does(ask: Ask) -> None:
    plan = (
        '{ makeRoom(shape: "4x4x2", scope: "u-trn2x64") { possible exact lowerBoundMoves moves { job '
        "destination mustStop } } }"
    )
    assert ask(plan)["data"]["makeRoom"] == {"possible": True, "exact": True, "lowerBoundMoves": 0, "moves": []}
    drain = (
        '{ drainImpact(scope: "u-trn2x64/d0/s0") { disrupted chips jobs { job outcome } lostSizes { lost '
        "remaining } } }"
    )
    modes = [{"lost": [64], "remaining": [1, 4, 8, 16, 32]}]
    assert ask(drain)["data"]["drainImpact"] == {"disrupted": 0, "chips": 16, "jobs": [], "lostSizes": modes}
