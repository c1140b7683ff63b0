"""Jobs that are supposed to hold places or to have ended: answers are as if they were held or released."""

from collections.abc import Iterator
from typing import Any

import pytest

import trninv
from conftest import Ask, Run
from trninv.errors import ConflictError, InvalidArgumentError, TrninvError, UnknownAddressError, UnknownJobError
from trninv.placement.placement_fleet import Fleet
from trninv.routing.fleet import BaseFleet as Asked

pytestmark = pytest.mark.slow_on_postgresql

ULTRA = "u-trn2x64/d0"
RATES = "[chip]\nmtbf_hours = 50000\nmttr_hours = 24\n"


@pytest.fixture
def own(seeded: str) -> Iterator[Fleet]:
    with trninv.open(seeded) as opened:
        opened.allocate("big", [f"{ULTRA}/s0", f"{ULTRA}/s1"], who="me")
        opened.allocate("small", [f"{ULTRA}/s2/c{chip}" for chip in range(4)], who="me", spares=[f"{ULTRA}/s3/c0"])
        opened.allocate("tiny", [f"{ULTRA}/s3/c5"], who="me")
        yield opened


def answers(fleet: Asked) -> list[Any]:
    """Of every question about placement; what they rest on, and the revision of a plan, are left out."""
    assert isinstance(fleet, Fleet)
    found = [
        fleet.free(ULTRA),
        fleet.fragmentation(ULTRA),
        fleet.placements(ULTRA, servers=1),
        fleet.placements(ULTRA, "2x2x2", k=20),
        fleet.drain_impact(f"{ULTRA}/s2"),
        fleet.make_room("4x4x1", ULTRA),
        fleet.capacity(ULTRA, RATES, samples=100),
    ]
    left_out = {"basis": None, "revision": "", "_origin": None}
    return [{**vars(each), **left_out} for each in found]


def test_without_jobs_is_as_if_they_were_released(own: Fleet) -> None:
    would = answers(own.what_if(without=["big", "small"]))
    assert own.free(ULTRA).allocated == 38
    for name in ("big", "small"):
        own.release(name)
    assert answers(own) == would


def test_with_a_job_is_as_if_it_was_held(own: Fleet) -> None:
    places = [f"{ULTRA}/s3/c{chip}" for chip in range(8, 12)]
    would = answers(own.what_if(with_={"new": places}))
    own.allocate("new", places, who="me")
    assert answers(own) == would


def test_a_job_moves_by_being_without_and_with(own: Fleet) -> None:
    moved = {"big": [f"{ULTRA}/s1"], "new": f"{ULTRA}/s0/c0"}
    would = answers(own.what_if(with_=moved, without="big"))
    own.release("big")
    own.allocate("big", [f"{ULTRA}/s1"], who="me")
    own.allocate("new", [f"{ULTRA}/s0/c0"], who="me")
    assert answers(own) == would


def test_what_is_down_is_supposed_beside_jobs(own: Fleet) -> None:
    there = own.what_if(without="big").what_if(down=[f"{ULTRA}/s0"], with_={"new": f"{ULTRA}/s1"})
    assert isinstance(there, Fleet)
    assert (there.free(ULTRA).usable, there.free(ULTRA).allocated) == (48, 22)
    assert [job.job for job in there.drain_impact(f"{ULTRA}/s1").jobs] == ["new"]


REFUSED: list[tuple[dict[str, Any], type[TrninvError], str]] = [
    ({"without": "smal"}, UnknownJobError, "did you mean small"),
    ({"without": "slurm:7"}, UnknownJobError, "no job slurm:7"),
    ({"with_": {"new": f"{ULTRA}/s1/c3"}}, ConflictError, f"{ULTRA}/s1/c3 is allocated to job big"),
    ({"with_": {"new": f"{ULTRA}/s9"}}, UnknownAddressError, "has s0 to s3"),
    ({"with_": {"new": "u-trn2x6"}}, UnknownAddressError, "u-trn2x64"),
    ({"with_": {"big": f"{ULTRA}/s2/c8"}}, ConflictError, "--without big"),
    (
        {"with_": {"a": f"{ULTRA}/s2/c8", "b": f"{ULTRA}/s2/c8"}},
        ConflictError,
        "is allocated to job a in this scenario",
    ),
    ({"with_": {"a:b": f"{ULTRA}/s2/c8"}}, InvalidArgumentError, "':'"),
]


def test_jobs_and_places_that_can_not_be_supposed(own: Fleet) -> None:
    for scenario, error, says in REFUSED:
        with pytest.raises(error, match=says):
            own.what_if(**scenario).free(ULTRA)


def test_graphql_supposes_jobs_too(ask: Ask) -> None:
    def held(scenario: str) -> int:
        found = ask(f'{{ whatIf({scenario}) {{ free(scope: "u-trn2x64") {{ allocated }} }} }}')
        return int(found["data"]["whatIf"]["free"]["allocated"])

    holding = f'{{job: "a", places: ["{ULTRA}/s0", "{ULTRA}/s1/c0"]}}'
    assert held(f'with: [{holding}, {{job: "a", places: ["{ULTRA}/s1/c1"]}}]') == 18
    assert held(f'with: [{holding}], down: ["{ULTRA}/s0"]') == 17
    (error,) = ask('{ whatIf(without: ["nobody"]) { free(scope: "u-trn2x64") { allocated } } }')["errors"]
    assert "no job nobody" in error["message"]


def test_options_of_every_command_about_placement(run: Run) -> None:
    for command in (
        ["free"],
        ["fragmentation"],
        ["place", "--chips", "4"],
        ["drain-impact"],
        ["make-room", "--chips", "4"],
    ):
        options = [command[0], ULTRA, *command[1:], "--with", f"a={ULTRA}/s0", "--format", "json"]
        code, _, said = run(*options, "--without", "nobody")
        assert (code, "no job nobody" in said) == (1, True), command
    assert "write JOB=PLACE" in run("free", ULTRA, "--with", "a")[2]
    assert "there is no option --with" in run("bisection", ULTRA, "--with", "a=b")[2]
    assert "--with" in run("make-room", ULTRA, "--chips", "4", "--apply", "--without", "a")[2]
