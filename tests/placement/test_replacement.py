"""Replacement of lost servers: the fewest new ones, as brute force has them, and carried out as planned."""

import random
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_events import done, happened, is_sound
from placements import group_of_domains

import trninv
from conftest import BACKENDS, Databases, Run, examples
from trninv.catalog.facts import default_catalog
from trninv.catalog.models import default_systems
from trninv.database.engine import temporary_engine, write_transaction
from trninv.errors import ConflictError, InvalidArgumentError, ScopeTooLargeError, StalePlanError, UnknownJobError
from trninv.inventory.seeding import cluster_seeding
from trninv.placement.allocations.allocation_masks import JobAllocation
from trninv.placement.candidates.free_capacity import FreeCapacity
from trninv.placement.candidates.placement_model import LegalSets, placement_model, read_legal_sets
from trninv.placement.moves import replacement
from trninv.placement.moves.planner import alternative_sets
from trninv.placement.moves.replacement import plan_replacement
from trninv.placement.placement_fleet import Fleet
from trninv.solvers.torus_blocks import pack_masks

pytestmark = pytest.mark.slow_on_postgresql(cases="all")

_MODEL = placement_model("u-trn2x64")


@pytest.fixture(scope="module")
def legal_sets(databases: Databases) -> LegalSets:
    with trninv.open(databases.seeded("sqlite")) as fleet, fleet.connect() as connection:
        return read_legal_sets(connection, _MODEL)


def _capacity(allocated: list[int]) -> FreeCapacity:
    every = pack_masks([_MODEL.full] * len(allocated), _MODEL.chips)
    rows = np.arange(len(allocated))
    nothing = np.zeros_like(every)
    return FreeCapacity(
        group_of_domains(_MODEL, len(allocated)),
        _MODEL,
        rows,
        every,
        every.copy(),
        pack_masks(allocated, _MODEL.chips),
        nothing,
    )


def _tier(rows: set[int]) -> int:
    """The lowest tier that joins domains, 3 for one domain; negative, so that the lowest is the least."""
    return -next(tier for tier, size in ((3, 8), (2, 256), (1, 10**9)) if len({row // size for row in rows}) == 1)


def _best(
    legal_sets: LegalSets, allocated: list[int], job: JobAllocation, lost: dict[int, int]
) -> tuple[int, int, int] | None:
    """The fewest new servers, then the lowest tier, then the fewest new chips, by trying every set for every part."""
    held = [(job.work.get(row, 0) | job.spare.get(row, 0)) & ~lost.get(row, 0) for row in range(len(allocated))]
    parts = {row: mask for row, mask in job.work.items() if mask & lost.get(row, 0)}
    free = [_MODEL.full & ~mask for mask in allocated]
    for row in range(len(allocated)):
        free[row] |= parts.get(row, 0) | job.spare.get(row, 0)
        free[row] &= ~lost.get(row, 0)
    choices = []
    for mask in parts.values():
        wanted, sets = _MODEL.limits(mask), alternative_sets(_capacity(allocated), legal_sets, mask)
        assert isinstance(sets, tuple)
        choices.append(
            [
                (row, other)
                for row in range(len(allocated))
                for other in sets
                if not other & ~free[row]
                and _MODEL.limits(other).all_gather >= wanted.all_gather
                and _MODEL.limits(other).bisection >= wanted.bisection
            ]
        )
    staying = job.work.keys() - parts.keys()
    costs = [
        (
            sum(
                bool(mask & server) and not held[row] & server for row, mask in chosen for server in _MODEL.server_masks
            ),
            _tier({*staying, *(row for row, _ in chosen)}) if len(job.work) > 1 else 0,
            sum((mask & ~held[row]).bit_count() for row, mask in chosen),
        )
        for chosen in product(*choices)
        if all(a[0] != b[0] or not a[1] & b[1] for index, a in enumerate(chosen) for b in chosen[:index])
    ]
    return min(costs, default=None)


def _allocated(draw: random.Random) -> tuple[list[int], list[int]]:
    """The allocated chips of each domain, and the domains with room: some that are close to each other, or far."""
    allocated = [0] * draw.randint(1, 4)
    if draw.random() < 0.4:  # below three network nodes of tier 3
        allocated = [0 if row in (0, 7, 8, 300) else _MODEL.full for row in range(301)]
    rows = [row for row, mask in enumerate(allocated) if not mask]
    for row in rows:
        for server in _MODEL.server_masks:
            if draw.random() < 0.4:
                allocated[row] |= server
    return allocated, rows


@examples(150)
@given(seed=st.integers(0, 10**6))
def test_new_servers_are_as_few_as_brute_force_has_them(legal_sets: LegalSets, seed: int) -> None:
    draw = random.Random(seed)
    allocated, rows = _allocated(draw)
    sizes = draw.choice([[16], [32], [8, 16, 32], [64, 16]])
    work, spare = dict[int, int](), dict[int, int]()
    for row in draw.sample(rows, min(len(rows), draw.randint(1, 3))):
        mask = draw.choice(legal_sets.sets[draw.choice(sizes)])
        allocated[row] |= mask
        work[row] = mask
    if draw.random() < 0.3:
        row = draw.choice(rows)
        spare[row] = draw.choice(legal_sets.sets[16]) & ~allocated[row]
        allocated[row] |= spare[row]
        spare = {row: mask for row, mask in spare.items() if mask}
    lost = dict[int, int]()
    for row, mask in work.items():
        for server in _MODEL.server_masks:
            if server & mask and draw.random() < 0.6:
                lost[row] = lost.get(row, 0) | server
    if not lost:
        return
    job = JobAllocation(1, "j", "trninv", False, work, spare)
    plan = plan_replacement(_capacity(allocated), legal_sets, job, lost)
    expected = _best(legal_sets, allocated, job, lost)
    assert (plan is None) == (expected is None), seed
    if plan is None or expected is None:
        return
    parts = {part.row for part in plan.parts}
    after = {*(work.keys() - parts), *(part.target_row for part in plan.parts)}
    found = plan.new_servers, _tier(after) if len(work) > 1 else 0, sum(part.new_chips for part in plan.parts)
    assert (found, plan.lower_bound, plan.is_best) == (expected, expected[0], True), (seed, plan)


def test_a_search_that_stops_says_what_is_proven(legal_sets: LegalSets, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = _MODEL.server_masks
    job = JobAllocation(1, "j", "trninv", False, {0: servers[0], 1: servers[0]}, {})
    capacity, lost = _capacity([servers[0]] * 2), {0: servers[0], 1: servers[0]}
    plan = plan_replacement(capacity, legal_sets, job, lost)
    assert plan is not None
    assert (plan.new_servers, plan.lower_bound) == (2, 2)
    monkeypatch.setattr(replacement, "MAX_STEPS", 1)
    with pytest.raises(ScopeTooLargeError, match="no plan in the first 1 steps"):  # there may be one
        plan_replacement(capacity, legal_sets, job, lost)


def _seed_lab(url: str) -> None:
    with temporary_engine(url) as engine, write_transaction(engine) as connection:
        for system, name, domains in (("u-trn2x64", "lab", 3), ("trn2-16.48xlarge", "wide", 520)):
            cluster_seeding.seed(
                connection, default_catalog(), default_systems().by_name[system].resized(domains), name
            )


@pytest.fixture(params=BACKENDS)
def lab(request: pytest.FixtureRequest, databases: Databases) -> Iterator[Fleet]:
    with trninv.open(databases.copied(request.param, _seed_lab)) as fleet:
        yield fleet


@pytest.mark.slow
def test_of_500_servers_two_lost_ones_are_replaced_and_nothing_else_moves(lab: Fleet) -> None:
    lab.allocate("big", [f"wide/d{domain}" for domain in range(500)], who="me")
    lost = ["wide/d7/s0", "wide/d300/s0"]
    plan = lab.replacement("big", lost)
    assert (plan.new_servers, plan.lower_bound_new_servers, plan.new_chips, len(plan.parts)) == (2, 2, 32, 2)
    assert {place for part in plan.parts for place in part.destination} == {"wide/d500", "wide/d501"}
    job = lab.replace_servers("big", lost, plan.revision, who="me")
    assert (job.chips, job.servers) == (8_000, 500)
    is_sound(lab.engine)


def test_a_plan_is_carried_out_whole_or_not_at_all(lab: Fleet) -> None:
    lab.allocate("job", ["lab/d0", "lab/d1/s0", "lab/d1/s1"], spares=["lab/d2/s3"], pinned=True, who="me")
    plan = lab.replacement("job", "lab/d1/s1")
    (part,) = plan.parts
    assert (part.source, part.destination) == (("lab/d1/s0", "lab/d1/s1"), ("lab/d2/s2", "lab/d2/s3"))
    assert (part.new_servers, plan.new_servers, plan.new_chips) == (("lab/d2/s2",), 1, 16)  # the spare is no new one
    assert part.all_gather_after >= part.all_gather
    lab.cordon(["lab/d2/s0"], who="me", why="x")
    with pytest.raises(StalePlanError):
        lab.replace_servers("job", ["lab/d1/s1"], plan.revision, who="me")
    plan = lab.replacement("job", "lab/d1/s1")
    assert lab.replace_servers("job", ["lab/d1/s1"], plan.revision, dry_run=True, who="me").chips == 96
    job = lab.replace_servers("job", ["lab/d1/s1"], plan.revision, who="her", why="fan")
    assert (job.chips, job.servers, job.pinned) == (96, 6, True)  # no spare is left
    assert done(happened(lab))[-2:] == [("move", "job", "lab")] * 2
    assert (job.who, happened(lab)[-1].who) == ("me", "her")
    lab.allocate("next", ["lab/d1"], who="me")
    is_sound(lab.engine)
    assert not lab.replacement("job", "lab/d0/s1").possible
    with pytest.raises(ConflictError, match="make room"):
        lab.replace_servers("job", ["lab/d0/s1"], lab.replacement("job", "lab/d0/s1").revision, who="me")


def test_what_is_no_loss_of_the_job_is_refused(lab: Fleet) -> None:
    lab.allocate("job", ["lab/d1/s0"], who="me")
    with pytest.raises(UnknownJobError, match="did you mean job"):
        lab.replacement("jobb", "lab/d1/s0")
    for lost, message in (("lab/d1/s1", "works on no chip"), ("wide/d0/s0", "another cluster")):
        with pytest.raises(InvalidArgumentError, match=message):
            lab.replacement("job", lost)
    lab.reserve("later", ["lab"], servers=1, until="2h", who="me")  # a job without an end gets no reserved chip
    reserved = lab.replacement("job", "lab/d1/s0")
    assert reserved.possible
    with lab.connect() as connection:
        place = connection.exec_driver_sql("SELECT place FROM reservation").scalar()
    assert place not in reserved.parts[0].destination


def test_servers_with_a_failed_chip_of_the_job_are_lost_by_default(lab: Fleet) -> None:
    lab.allocate("job", ["lab/d1/s0", "lab/d1/s1"], who="me")
    lab.allocate("other", ["lab/d1/s2/c0-3"], who="me")
    lab.set_state(["lab/d1/s2/c5"], "down", who="me", why="x")
    lab.set_state(["lab/d1/s0/c1"], "degraded", factor=0.5, who="me", why="x")
    for job in ("job", "other"):  # the failed chip is on a server of "other", but not one of its chips
        with pytest.raises(InvalidArgumentError, match=r"no chip of job .* is down or in maintenance; name the lost"):
            lab.replacement(job)
    lab.set_state(["lab/d1/s1/c7"], "maintenance", who="me", why="x")
    plan = lab.replacement("job")
    assert (plan.lost, plan.lost_chips, plan.failed_chips, plan.possible) == (("lab/d1/s1",), 16, 1, True)
    assert plan == lab.replacement("job", "lab/d1/s1")


def test_the_command_plans_and_applies(run: Run, databases: Databases) -> None:
    url = databases.copied("sqlite", _seed_lab)
    run("allocate", "job", "lab/d1/s0", "lab/d1/s1", database=url)
    assert "name the lost servers (--lost)" in run("replace", "job", database=url)[2]
    run("set", "lab/d1/s1/c3", "down", "--why", "x", database=url)
    assert "job gives up lab/d1/s1 (16 chips, 1 failed): 2 new servers" in run("replace", "job", database=url)[1]
    run("set", "lab/d1/s1/c3", "up", "--why", "x", database=url)
    status, out, _ = run("replace", "job", "--lost", "lab/d1/s1", "--apply", "--dry-run", database=url)
    assert (status, "job gives up lab/d1/s1 (16 chips): 2 new servers (the fewest possible), 32 new chips" in out) == (
        0,
        True,
    )
    with trninv.open(url) as fleet:
        revision = fleet.replacement("job", "lab/d1/s1").revision
    apply = "replace", "job", "--lost", "lab/d1/s1", "--apply", "--why", "fan", "--revision"
    status, _, error = run(*apply, "abc", database=url)
    assert (status, f"the plan is for revision abc, the fleet is at {revision}; make a new plan" in error) == (1, True)
    out = run(*apply, revision, database=url)[1]
    assert "job has 32 chips in 2 servers" in out
    for name, place in (("whole", "lab/d2"), ("other", "lab/d0")):
        run("allocate", name, place, database=url)
    status, out, _ = run("replace", "whole", "--lost", "lab/d2/s1", "--apply", database=url)
    assert (status, "nothing free keeps its shape and bandwidth" in out) == (1, True)
