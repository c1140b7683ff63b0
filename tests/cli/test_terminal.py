"""Tables on a terminal of its own width and height; a screen that follows what changes."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hearing import change
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sqlalchemy import Engine
from terminals import ENVIRONMENT, on_a_terminal, terminal

from trninv.cli.incident_commands import INCIDENT_HEADERS, OPTIONAL_COLUMNS
from trninv.cli.terminal import _fit_lines, _render_table, fit_columns

pytestmark = pytest.mark.slow_on_postgresql

CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]")


@pytest.fixture
def worn(engine: Engine) -> str:
    """URL of a fleet of which a server is down."""
    change(engine, "u-trn2x64/d0/s1")
    return engine.url.render_as_string(hide_password=False)


def test_a_list_fits_the_terminal_and_says_states_by_glyph(worn: str) -> None:
    told = on_a_terminal(worn, "report", "unhealthy", PAGER="cat")
    assert COLOUR.search(told)
    lines = [line.rpartition("\r")[2] for line in CODE.sub("", told).split("\n")]  # without progress
    assert max(map(len, lines)) <= 80
    (chip,) = (line for line in lines if "u-trn2x64/d0/s1/c0 " in line)
    assert "✕ down" in chip


@pytest.mark.slow
def test_no_column_of_a_query_is_left_out(worn: str) -> None:
    query = "SELECT change, address, cause, address AS other, cause AS another FROM v_unhealthy"
    told = CODE.sub("", on_a_terminal(worn, "sql", query, PAGER="cat"))
    assert re.findall(r"^(change|cause) +\S+ *$", told, re.MULTILINE)[:2] == ["change", "cause"]  # a block for each row


@pytest.mark.slow
def test_a_word_has_a_glyph_where_it_is_a_state_and_nowhere_else(worn: str) -> None:
    query = "SELECT 'up' AS job, 'down' AS address, 'degraded to 0.5' AS state"
    told = CODE.sub("", on_a_terminal(worn, "sql", query, PAGER="cat"))
    assert re.search(r"^up +down +◐ degraded to 0.5 *$", told, re.MULTILINE)
    told = CODE.sub("", on_a_terminal(worn, "show", "u-trn2x64/d0/s1", PAGER="cat"))
    assert re.search(r"^state +✕ down *$", told, re.MULTILINE)


@pytest.mark.slow
def test_columns_that_can_be_spared_go_where_a_table_would_not_fit(worn: str) -> None:
    told = CODE.sub("", on_a_terminal(worn, "incidents", PAGER="cat"))
    assert max(map(len, told.split("\n"))) <= 80
    (line,) = (line for line in told.split("\n") if "u-trn2x64/d0/s1 " in line)
    assert "▲ high" in line
    assert "omitted to fit: rule" in told
    assert "rule" in CODE.sub("", on_a_terminal(worn, "incidents", size=(160, 60))).split("\n")[0]
    assert "what they affect: trninv incidents --impact" in told


def test_25_incidents_are_a_line_each_on_a_screen_of_30_lines() -> None:
    why, who = "HBM uncorrectable errors, ticket OPS-4711, waiting for the vendor", "ada.lovelace@example.com"
    rows = [[f"{n}", "high", f"prod/d{n}/s1/c{n}", "1 chip down", "change", "13:55:56Z", who, why] for n in range(25)]
    console = Console(width=80, highlight=False)
    with console.capture() as captured:
        console.print(_render_table(console, INCIDENT_HEADERS, rows, OPTIONAL_COLUMNS))
    _, *lines, note = captured.get().rstrip().split("\n")
    assert [line.split()[0] for line in lines] == [row[0] for row in rows]
    assert all(re.search(r"1 chip down +13:55:56Z +HBM .*…$", line.rstrip()) for line in lines)
    assert max(map(len, lines)) <= 80
    assert note == "omitted to fit: rule, who; cut to fit: why (--format json has all)"


def test_what_is_not_cut_is_not_said_to_be() -> None:
    console = Console(width=80, highlight=False)
    with console.capture() as captured:
        console.print(_render_table(console, ["place", "why"], [["s0", "w" * 73]], ()))
        console.print(_render_table(console, ["place", "why"], [["s0", "w" * 74]], ()))
    assert captured.get().count("cut to fit: why (--format json has all)") == 1


@pytest.mark.parametrize(
    ("width", "expected"),
    [(39, [5, 4, 26]), (38, [5, 4, 25]), (30, [5, 4, 17]), (25, [5, 4, 12]), (24, []), (100, [5, 4, 26])],
)
def test_a_reason_is_cut_down_to_twelve_characters(width: int, expected: list[int]) -> None:
    columns = [["place", "s0"], ["who", "ada?"], ["why", "HBM errors, ticket OPS4711"]]
    assert _fit_lines(["place", "who", "why"], columns, width) == expected


@pytest.mark.slow
def test_an_empty_list_says_which_command_fills_it(worn: str) -> None:
    assert on_a_terminal(worn, "jobs").startswith("no jobs here: trninv allocate JOB PLACE…")
    command = [sys.executable, "-m", "trninv", "--database", worn, "jobs"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.startswith("name ")


@pytest.mark.slow
def test_who_wants_no_colour_gets_none_and_a_pipe_neither(worn: str) -> None:
    told = on_a_terminal(worn, "incidents", size=(132, 60), NO_COLOR="1")
    assert not COLOUR.search(told)
    assert "1 server down, 16 chips down, 16 NICs down" in told
    command = [sys.executable, "-m", "trninv", "--database", worn, "incidents"]
    assert "\x1b" not in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_more_lines_than_the_terminal_has_go_to_the_pager(worn: str, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path / 'paged'}\n")
    pager.chmod(0o755)
    assert "✕ down" not in on_a_terminal(worn, "report", "unhealthy", size=(100, 20), PAGER=str(pager))
    assert (tmp_path / "paged").read_text().count("✕ down") == 33


@pytest.mark.parametrize("width", [40, pytest.param(30, marks=pytest.mark.slow)])
def test_where_words_would_be_broken_a_line_is_a_block(worn: str, width: int) -> None:
    told = CODE.sub("", on_a_terminal(worn, "incidents", size=(width, 60)))
    assert max(map(len, told.split("\n"))) <= width
    assert re.search(r"^place +u-trn2x64/d0/s1 *$", told, re.MULTILINE)


TEXT = st.text("ab ●", max_size=12)


@given(st.lists(st.lists(TEXT, min_size=1, max_size=3), min_size=1, max_size=4), st.integers(10, 60))
def test_columns_are_as_wide_as_the_terminal_allows(columns: list[list[str]], most: int) -> None:
    found = fit_columns(columns, most)
    words = [max(len(word) for cell in cells for word in re.split(r"(?<!●)\s+", cell)) for cells in columns]
    wanted = [max(map(len, cells)) for cells in columns]
    left = most - 2 * (len(columns) - 1)
    if sum(words) > left:
        assert found == []
        return
    assert all(low <= width <= high for low, width, high in zip(words, found, wanted, strict=True))
    assert sum(found) == min(left, sum(wanted))


def test_characters_of_two_cells_and_words_without_end() -> None:
    assert fit_columns([["電源の故障"], ["ab"]], 80) == [10, 2]
    assert fit_columns([["a" * 200, "b"], ["down"]], 80) == [74, 4]
    assert fit_columns([["a" * 200], ["b" * 20]], 80) == []


def test_watch_tells_what_is_not_up_after_each_change(worn: str, engine: Engine) -> None:
    command = [sys.executable, "-m", "trninv", "--database", worn, "watch", "u-trn2x64"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        late = threading.Timer(60, process.kill)
        late.start()
        assert process.stdout
        try:
            assert process.stdout.readline().endswith(": 1 incident: 1 server, 16 chips, 16 NICs unhealthy\n")
            change(engine, "trn1.2xlarge/d0/s0/c0")  # not of the scope
            change(engine, "u-trn2x64/d0/s0/c3")
            headings = (line for line in process.stdout if "unhealthy" in line)
            assert next(headings).endswith(": 1 incident: 1 server, 17 chips, 16 NICs unhealthy\n")
        finally:
            process.kill()
            late.cancel()


def test_watch_is_one_screen_of_a_terminal_and_ends_with_ctrl_c(worn: str) -> None:
    hears = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background shell ignores it
    code = f"{hears}from trninv.cli.main import main\nmain(['--database', {worn!r}, 'watch'])"
    ours, theirs = terminal(120, 30)
    with subprocess.Popen([sys.executable, "-c", code], stdin=theirs, stdout=theirs, env=ENVIRONMENT) as process:
        os.close(theirs)
        late = threading.Timer(60, process.kill)
        late.start()
        found = b""
        while b"1 server down" not in CODE.sub("", found.decode(errors="ignore")).encode():
            found += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        while b"\x1b[?1049l" not in found:  # the screen from before is back
            found += os.read(ours, 65536)
        late.cancel()
    os.close(ours)
    assert process.returncode == 0
    assert "✕" not in found.decode().split("\x1b[?1049h")[0]
