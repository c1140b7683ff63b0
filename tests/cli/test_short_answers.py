"""A question prints its answer in a few lines; --explain adds why, -q leaves only the value."""

from dataclasses import replace

import pytest

from conftest import Run
from trninv.routing.fleet import BaseFleet
from trninv.units import Bandwidth

U = "u-trn2x64/d0"
PAIR = (f"{U}/s0/c0", f"{U}/s2/c10")
QUESTIONS = [("bisection", U), ("path", *PAIR), ("bandwidth", *PAIR), ("pool", f"{U}/s0/c0"), ("capability", U)]


@pytest.mark.parametrize("question", [*QUESTIONS, ("cut-tree", U)])
def test_an_answer_has_few_lines_and_says_what_is_disputed(run: Run, question: tuple[str, ...]) -> None:
    status, out, _ = run(*question)
    lines = [line for line in out.splitlines() if not line.startswith(("hops", "--", *"123456789"))]
    assert (status, len(lines) <= 5) == (0, True)
    assert lines[-1].startswith("disputed: neuronlink-v3-plane bandwidth")
    assert lines[-1].endswith(" (--explain)")
    assert "meaning:" not in out


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("option", ["--explain", "-v"])
def test_explain_adds_the_definition_and_every_source(run: Run, question: tuple[str, ...], option: str) -> None:
    short, long = run(*question)[1], run(*question, option)[1]
    assert "\nmeaning: " in long
    assert "\nevidence: neuronlink-v3-plane bandwidth 128 GB/s, from " in long
    assert "(--explain)" not in long
    answer = [line for line in short.splitlines() if not line.startswith("disputed:")]
    assert set(answer) <= set(long.splitlines())


def test_details_are_the_links_of_a_cut_and_the_steps_of_a_path(run: Run) -> None:
    for question, detail in ((("bisection", U), f"{U}/s0/c0--{U}/s3/c0"), (("path", *PAIR), f"{U}/s0/c0--{U}/s0/c1")):
        assert detail not in run(*question)[1]
        assert detail in run(*question, "--explain")[1]


@pytest.mark.parametrize(
    ("question", "printed"),
    [
        (("bisection", U), "2048 GB/s"),
        (("path", *PAIR), "6 hops"),
        (("path", PAIR[0], PAIR[0]), "0 hops"),
        (("path", *PAIR, "--by", "bandwidth"), "64 GB/s"),
        (("bandwidth", *PAIR), "640 GB/s"),
        (("pool", f"{U}/s0/c0", "--hops", "1"), "672 GiB"),
        (("distances", U), "6 hops"),
        (("cut-tree", U), "640 GB/s"),
        (("profile", U, "--chips", "16"), "2048 GB/s"),
        (("free", U), "64 chips"),
        (("place", U, "--chips", "16"), f"{U}/s0"),
        (("place", U, "--chips", "16", "--copies", "2"), f"{U}/s0\n{U}/s1"),
    ],
)
def test_quiet_prints_the_value_with_its_unit(run: Run, question: tuple[str, ...], printed: str) -> None:
    assert run(*question, "-q")[:2] == (0, f"{printed}\n")


def test_quiet_prints_both_bounds_unless_they_are_equal(lite_fleet: BaseFleet) -> None:
    answer = lite_fleet.bisection(U)
    assert answer.value_lines() == [2048 * 10**9]
    assert replace(answer, lower=Bandwidth(1)).value_lines() == [1, 2048 * 10**9]


@pytest.mark.parametrize("question", [("collectives", U), ("profile", U), ("expected", U)])
def test_quiet_is_refused_where_there_is_no_single_value(run: Run, question: tuple[str, ...]) -> None:
    status, out, error = run(*question, "-q")
    assert (status, out) == (2, "")
    assert "no single value; use --format json" in error


def test_quiet_says_why_there_is_no_answer(run: Run) -> None:
    status, out, _ = run("path", *PAIR, "--down", PAIR[1], "-q")
    assert status == 1
    assert "no path from" in out


def test_a_place_is_shown_without_its_links_and_facts(run: Run) -> None:
    short = run("show", f"{U}/s0/c0")[1]
    assert "\n7 links: --links, 29 facts (" in short
    assert "64 GB/s" not in short
    links, facts = run("show", f"{U}/s0/c0", "--links")[1], run("show", f"{U}/s0/c0", "--facts")[1]
    assert f"{U}/s3/c0" in links
    assert "disputed or assumed): --facts" in links
    assert "as written" in facts
    assert "--facts" not in run("show", f"{U}/s0/c0", "--links", "--facts")[1]
