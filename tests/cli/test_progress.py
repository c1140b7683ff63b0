"""How far a command is, on a terminal of its own; nothing in a pipe."""

import re
import subprocess
import sys
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from terminals import on_a_terminal

from trninv.cli.progress_line import Progress, format_duration


@pytest.fixture
def clock() -> Iterator[list[float]]:
    """What time it is, in a list of one."""
    now = [100.0]
    with patch("time.monotonic", lambda: now[0]):
        yield now


def test_a_line_has_the_rate_of_what_is_being_done_and_the_time_left(clock: list[float]) -> None:
    progress = Progress("seed lab")
    clock[0] += 3
    assert progress.line() == "seed lab: 3 s"
    progress("node", 0, 1_000)
    assert progress.line() == "seed lab: node, 0 of 1,000, 3 s"
    clock[0] += 2
    progress("link", 400, 1_000)
    assert progress.line() == "seed lab: link, 400 of 1,000, 200/s, about 3 s left"
    progress("events", 0)
    clock[0] += 4
    progress("events", 1_000)
    assert progress.line() == "seed lab: events, 1,000, 250/s, 9 s"
    progress("events", 10, 100_000)
    clock[0] += 1
    assert progress.line().endswith("10 of 100,000, 10/s, about 167 min left")
    assert format_duration(119) == "119 s"


def test_what_a_file_is_called_does_nothing_to_the_terminal() -> None:
    progress = Progress("import")
    progress("\x1b]0;x\x07a.json", 1)
    assert "\x1b" not in progress.line()


SLOW = """
import sys, time
from trninv.cli.progress_line import Progress
with Progress("verify") as progress:
    progress("links", 7, 70)
    time.sleep(1.6)
    progress.print_above("a line")
"""


def test_it_is_shown_from_the_second_second_on_by_itself_and_is_gone_at_the_end() -> None:
    program = [sys.executable, "-c", SLOW]
    piped = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = on_a_terminal("", program=program)
    assert re.search(r"\r\x1b\[Kverify: links, 7 of 70, .* left\r\x1b\[Ka line\n", told)
    assert (*piped.communicate(), piped.returncode) == ("a line\n", "", 0)


def test_what_is_done_at_once_says_nothing() -> None:
    assert on_a_terminal("", program=[sys.executable, "-c", SLOW.replace("time.sleep(1.6)", "")]) == "a line\n"
