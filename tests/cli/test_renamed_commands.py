"""One command places jobs, and another name of a command answers with that command."""

import json
import re

import pytest

from conftest import Run
from trninv.cli.main import trninv
from trninv.cli.usage_errors import _OTHER_NAMES
from trninv.routing.fleet import BaseFleet

DOMAIN = "u-trn2x64/d0"
NEAREST = ("--memory", "1,000 GiB", "--nearest")


_DECLARED = {"memory_pool": "pool", "memoryPool": "pool", "set-state": "set", "setState": "set", "detectDrift": "drift"}
"""Names in Python and GraphQL."""


@pytest.mark.parametrize(("other", "commands"), [*_OTHER_NAMES.items(), *_DECLARED.items()])
def test_another_name_answers_with_commands_that_exist(run: Run, other: str, commands: str) -> None:
    status, out, error = run(other, "x")
    assert (status, out) == (2, "")
    assert error.startswith(f"trninv: there is no command {other}: did you mean {commands}?\n")
    for name in re.split(", | or ", commands):
        assert trninv.get_command(trninv.make_context("trninv", ["status"]), name)


def test_an_option_that_became_a_command_answers_with_it(run: Run) -> None:
    status, out, error = run("bind", "--infer", "u-trn2x64")
    assert (status, out) == (2, "")
    assert error.startswith("trninv bind: there is no option --infer: it is now called trninv infer-bindings\n")


@pytest.mark.parametrize(("scope", "start"), [(DOMAIN, "best"), (f"{DOMAIN}/s1/c5", "here")])
def test_place_finds_the_nearest_chips_as_python_does(run: Run, lite_fleet: BaseFleet, scope: str, start: str) -> None:
    found = json.loads(run("place", scope, *NEAREST, start, "--format", "json")[1])
    wanted = lite_fleet.memory_placement(scope, "1,000 GiB", best=start == "best")
    assert (found["place"], found["chips"], found["radius"]) == (wanted.place, list(wanted.chips), wanted.radius)


def test_the_nearest_chips_of_a_scenario(run: Run) -> None:
    status, out, _ = run("place", f"{DOMAIN}/s1/c5", *NEAREST, "here", "--down", f"{DOMAIN}/s1/c6")
    assert (status, f"{DOMAIN}/s1/c6" in out.partition("baseline")[0]) == (0, False)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--nearest", "best"], "--nearest needs --memory"),
        ([*NEAREST, "best", "--chips", "4"], "--nearest takes only SCOPE and --memory; omit --chips"),
        ([*NEAREST, "best", "2x2x1"], "--nearest takes only SCOPE and --memory; omit SHAPE"),
        ([*NEAREST, "best", "--with", f"a={DOMAIN}/s0"], "--nearest takes only SCOPE and --memory; omit --with"),
        ([*NEAREST, "there"], "--nearest"),
        (["--memory", "1 PiB", "--nearest", "best", "--format", "json"], ""),
    ],
)
def test_what_nearest_does_not_take_is_refused(run: Run, words: list[str], says: str) -> None:
    status, _, error = run("place", DOMAIN, *words)
    assert (status, says in error) == (2 if says else 1, True), error
