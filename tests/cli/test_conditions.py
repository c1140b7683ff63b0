"""set and events as an operator types them, and the "what if" options of the questions."""

import json

import pytest

from conftest import Databases, Run

U = "u-trn2x64/d0"


@pytest.fixture
def own(databases: Databases) -> str:
    return databases.seeded("sqlite")


def test_a_state_is_set_heeded_told_and_taken_back(run: Run, own: str) -> None:
    chip, link = f"{U}/s1/c5", f"{U}/s0/c0--{U}/s1/c0"
    assert run("set", chip, "down", "--why", "ticket 4711", "--who", "ops", database=own)[:2] == (
        0,
        f"{chip}: up → down\n",
    )
    assert run("set", chip, "down", "--why", "again", database=own)[1] == "it is already down\n"
    degraded = ["set", link, "degraded", "--factor", "0.5", "--why", "lanes", "--who", "ops", "--format", "json"]
    status, out, _ = run(*degraded, database=own)
    assert (status, json.loads(out)) == (0, [{"address": link, "before": "up", "after": "degraded to 0.5"}])
    assert "32 GB/s" in run("path", f"{U}/s0/c0", f"{U}/s1/c0", database=own)[1]
    shown = run("show", chip, database=own)[1]
    assert "state" in shown
    assert "down" in shown
    assert "by ops: ticket 4711" in shown
    assert f"{chip} (down)" in run("show", U, database=own)[1]
    found = json.loads(run("events", "--format", "json", database=own)[1])
    assert [(event["address"], event["who"], event["why"]) for event in found] == [
        (link, "ops", "lanes"),
        (chip, "ops", "ticket 4711"),
    ]
    assert run("set", chip, link, "up", "--why", "fixed", database=own)[0] == 0
    assert len(json.loads(run("events", chip, "--format", "json", database=own)[1])) == 2
    assert run("verify", database=own)[0] == 0


def test_a_part_of_a_server_that_is_down_stays_down_and_it_is_said(run: Run, own: str) -> None:
    server, chip = f"{U}/s1", f"{U}/s1/c5"
    stays = f"{chip} stays down as long as its server is down\n"
    assert run("set", server, "down", "--why", "x", database=own)[1] == f"{server}: up → down\n"
    assert run("set", chip, "up", "--why", "x", database=own)[1] == f"it is already up\n{stays}"
    assert run("set", chip, "down", "--why", "x", database=own)[1] == f"{chip}: up → down\n"
    assert run("set", chip, "up", "--why", "x", database=own)[1] == f"{chip}: down → up\n{stays}"
    assert run("set", server, chip, "up", "--why", "x", database=own)[1] == f"{server}: down → up\n"


def test_show_says_when_it_names_not_all_that_is_not_up(run: Run, own: str) -> None:
    chips = [f"{U}/s{server}/c{chip}" for server in (0, 1) for chip in range(16)]
    others = " and others: trninv report unhealthy lists all\n"
    run("set", *chips[:20], "down", "--why", "x", database=own)
    assert f"{chips[19]} (down)\n" in run("show", U, database=own)[1]
    run("set", chips[20], "down", "--why", "x", database=own)
    assert f"{chips[19]} (down){others}" in run("show", U, database=own)[1]
    found = json.loads(run("show", U, "--format", "json", database=own)[1])
    assert (len(found["unhealthy"]), found["hasMoreUnhealthy"]) == (20, True)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["set", f"{U}/s0/c0", "down"], 2, "--why"),
        (["set", f"{U}/s0/c0", "broken", "--why", "x"], 2, "broken"),
        (["set", f"{U}/s0/c0", "degraded", "--why", "x"], 2, "has no factor"),
        (["set", f"{U}/s0/c0", "up", "--factor", "0.5", "--why", "x"], 2, "has a factor"),
        (["set", U, "down", "--why", "x"], 2, "is a domain"),
        (["set", f"{U}/s0/c0", f"{U}/s0/c77", "down", "--why", "x"], 1, "c77"),
        (["set", f"{U}/s0/c0", "down", "--why", " "], 2, "why: write 1 to 1,000 characters"),
        (["events", "--last", "0"], 2, "give a number from 1 to"),
        (["events", "--last", "9" * 30], 2, "give a number from 1 to"),
        (["events", "?"], 2, "is not an address"),
        (["events", "--since", "40"], 2, "'40': write a time with its zone, such as 2026-11-22T02:00:00Z\n"),
        (["path", f"{U}/s0/c0", f"{U}/s0/c1", "--derate", f"{U}/s0/c0"], 2, "ADDRESS=FACTOR"),
        (["path", f"{U}/s0/c0", f"{U}/s0/c1", "--derate", f"{U}/s0/c0=2"], 2, "more than 0 and less than 1"),
        (["path", f"{U}/s0/c0", f"{U}/s0/c1", "--derate", f"{U}/s0/c0=nan"], 2, "more than 0 and less than 1"),
        (["path", f"{U}/s0/c0", f"{U}/s0/c1", "--link-disjoint", "--by", "time"], 2, "by hops"),
        (["path", f"{U}/s0/c0", f"{U}/s0/c0", "--node-disjoint"], 2, "separate places"),
        (["path", f"{U}/s0/c0", f"{U}/s0/c1", "--bytes", "5"], 2, "by time"),
        (["place", U, "--memory", "0 B"], 2, "use 1 to"),
        (["draw", U, "-o", "-", "--bisection", "--path", f"{U}/s0/c0", f"{U}/s0/c1"], 2, "choose one"),
        (["sweep", "trn1.32xlarge", "--pairs", "--limit", "3"], 2, "496 failures in 11 classes"),
    ],
)
def test_what_is_wrong_is_one_line(run: Run, own: str, arguments: list[str], status: int, says: str) -> None:
    ended, _, error = run(*arguments, database=own)
    assert ended == status
    assert says in error


def test_of_two_factors_the_lesser_holds_in_any_order(run: Run) -> None:
    a, b = f"{U}/s0/c0", f"{U}/s0/c1"
    for one, other in (("0.5", "0.75"), ("0.75", "0.5")):
        out = run("path", a, b, "--derate", f"{a}={one}", "--derate", f"{a}={other}")[1]
        assert "64 GB/s" in out
        assert "compared with the baseline: +0 hops, -64 GB/s" in out


def test_every_way_of_asking_prints_something(run: Run) -> None:
    lost = ["--down", f"{U}/s0/c1"]
    for arguments, says in (
        (["path", f"{U}/s0/c0", f"{U}/s0/c5", "--all"], "share"),
        (["path", f"{U}/s0/c0", f"{U}/s0/c5", "--by", "time", "--bytes", "1 MiB"], "for the message alone"),
        (["distances", "trn1.32xlarge"], "mean 2.133"),
        (["cut-tree", U, *lost], "least maximum flow"),
        (["profile", "trn2-16.48xlarge"], "1,024 GB/s"),
        (["collectives", "trn2-16.48xlarge"], "all-to-all"),
        (["place", U, "--memory", "1,000 GiB", "--nearest", "best", *lost], "within 2 hops"),
        (["sweep", "trn1.32xlarge", "--fail", "chip", "--measure", "nominal"], "16 failures in 1 class"),
    ):
        status, out, error = run(*arguments)
        assert (status, error) == (0, "")
        assert says in out
    status, out, _ = run("place", "trn1.32xlarge", "--memory", "1,000 GiB", "--nearest", "best")
    assert status == 1
    assert "no chip reaches 1,000 GiB" in out
