"""All commands that there are, and the examples in their help."""

import itertools
import shlex
from collections.abc import Iterator

import click

from trninv.cli.main import trninv

WIDE = 80
"""Columns that everything fits."""


def commands(group: click.Group, *above: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command, those of groups too, by its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        if command := group.get_command(context, name):
            yield (*above, name), command
            if isinstance(command, click.Group):
                yield from commands(command, *above, name)


EVERY = dict(commands(trninv))


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
