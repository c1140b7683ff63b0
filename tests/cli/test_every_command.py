"""What holds for all commands that there are: their help, and the examples in it."""

import re

import click
import pytest
from every_command import EVERY, WIDE, parsed, taken
from rich.cells import cell_len

from conftest import Run
from trninv.cli.main import trninv
from trninv.cli.usage_errors import read_examples


@pytest.mark.parametrize("words", [(), *EVERY], ids=" ".join)
def test_help_fits_a_terminal_of_eighty_columns_and_cuts_nothing_short(run: Run, words: tuple[str, ...]) -> None:
    status, out, _ = run(*words, "--help")
    assert status == 0
    assert [line for line in out.split("\n") if cell_len(line) > WIDE] == []
    assert not re.search(r"[a-z:,;]\.\.\.", out)


@pytest.mark.parametrize(("words", "command"), EVERY.items(), ids=map(" ".join, EVERY))
def test_every_example_of_help_is_one_that_the_command_takes(words: tuple[str, ...], command: click.Command) -> None:
    shown = [each for each in read_examples(command) if "trninv" in each]
    assert any(" ".join(words) in each for each in shown)
    for line in shown:
        for each in taken(line):
            parsed(trninv, each)
