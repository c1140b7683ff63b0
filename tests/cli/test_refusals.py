"""What a command says that is wrongly written: what is wrong, and what would be right."""

import pytest

from conftest import Run
from trninv.cli.command_index import shorten
from trninv.cli.messages import wrap


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["shwo"], "trninv: there is no command shwo: did you mean show?\n"),
        (["impacts"], "trninv: there is no command impacts\n"),
        (["bisect"], "trninv: there is no command bisect: did you mean bisection?\n"),
        (["gomory-hu"], "trninv: there is no command gomory-hu: see trninv cut-tree --help\n"),
        (["token", "lst"], "trninv token: there is no command lst: did you mean list?\n"),
        (["--databse", "x"], "trninv: there is no option --databse: did you mean --database?\n"),
        (
            ["incidents", "--placee", "x"],
            "there is no option --placee: the options are --impact, --closed, --at, --format, --help\n",
        ),
        (["set", "a", "down"], "trninv set: --why is missing: The reason, recorded with the change\n"),
        (["import"], "trninv import: KIND is missing: one of ec2, hyperpod, "),
        (["incidents", "--format", "jsno"], "trninv incidents: --format: 'jsno' is not one of 'table', 'json'\n"),
        (["incidents", "--format", "csv"], "'table', 'json'; trninv list incident --format csv writes it\n"),
        (["events", "--format", "csv"], "'table', 'json', 'ndjson'; trninv list event --format csv writes it\n"),
        (["status", "--format", "csv"], "trninv status: --format: 'csv' is not one of 'table', 'json'\n"),
    ],
)
def test_what_is_wrong_is_said_in_the_first_line(run: Run, arguments: list[str], told: str) -> None:
    status, out, error = run(*arguments)
    assert (status, out) == (2, "")
    assert told in error.split("\n")[0] + "\n"
    assert error.endswith(" --help\n")


def test_a_report_shows_how_its_cluster_is_named(run: Run) -> None:
    assert "\n  trninv report unhealthy --set cluster=u-trn2x64\n" in run("report", "unhealthy", "prod")[2]


def test_what_is_right_is_shown_below(run: Run) -> None:
    example = 'trninv set u-trn2x64/d0/s0/c0--u-trn2x64/d0/s1/c0 degraded --factor 0.5 --why "half of its lanes"'
    assert f"\n  {example}\n" in run("set", "u-trn2x64", "--reason", "x")[2]


def test_a_hostile_word_does_nothing_to_the_terminal(run: Run) -> None:
    for words in (["\x1b]0;x\x07"], ["show", "--\x1b[2J"], ["show", "a", "--format", "\x1b[2J"]):
        assert "\x1b" not in run(*words)[2]


def test_a_line_is_broken_between_words_and_further_in() -> None:
    assert [*wrap("meaning: of one direction", 16)] == ["meaning: of one", "  direction"]
    assert [*wrap("  電源の故障 ab", 12)] == ["  電源の故障", "    ab"]
    assert [*wrap("see u-trn2x64/d0/s0/c0 now", 8)] == ["see", "  u-trn2x64/d0/s0/c0", "  now"]
    assert [*wrap("          ^   ^", 20)] == ["          ^   ^"]


def test_a_short_help_ends_with_a_clause() -> None:
    assert shorten("What is not up, and why: the worst first. More.", 30) == "What is not up, and why"
    assert shorten("What is not up, and why: the worst first.", 20) == "What is not up"
    assert shorten("Which single failure does it", 10) == "Which single failure does it"
