"""What holds for all commands that there are: their help, and the examples in it."""

import itertools
import re
import shlex
from collections.abc import Iterator

import click
import pytest
from rich.cells import cell_len

from conftest import Run
from trninv.cli.main import trninv
from trninv.cli.refusal import examples

WIDE = 80


def commands(group: click.Group, *above: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command, those of groups too, by its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        if command := group.get_command(context, name):
            yield (*above, name), command
            if isinstance(command, click.Group):
                yield from commands(command, *above, name)


EVERY = dict(commands(trninv))


@pytest.mark.parametrize("words", [(), *EVERY], ids=" ".join)
def test_help_fits_a_terminal_of_eighty_columns_and_cuts_nothing_short(run: Run, words: tuple[str, ...]) -> None:
    status, out, _ = run(*words, "--help")
    assert status == 0
    assert [line for line in out.split("\n") if cell_len(line) > WIDE] == []
    assert not re.search(r"[a-z:,;]\.\.\.", out)


@pytest.mark.parametrize(("words", "command"), EVERY.items(), ids=map(" ".join, EVERY))
def test_every_example_of_help_is_one_that_the_command_takes(words: tuple[str, ...], command: click.Command) -> None:
    shown = [each for each in examples(command) if "trninv" in each]
    assert any(" ".join(words) in each for each in shown)
    for line in shown:
        for each in taken(line):
            parsed(trninv, each)


def taken(example: str) -> Iterator[list[str]]:
    """The words behind each trninv, of an example as a shell reads it."""
    read = shlex.shlex(example, posix=True, punctuation_chars=True)
    read.whitespace_split = True
    for is_within, words in itertools.groupby(read, key=lambda word: word not in {"&&", "|", "<(", ")", ">", ">>"}):
        first, *rest = words
        if is_within and first == "trninv":
            yield rest


def parsed(command: click.Command, words: list[str]) -> None:
    """Parse words as a command does that is run."""
    context = command.make_context(command.name, words)
    if isinstance(command, click.Group):
        _, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found
        parsed(found, rest)
