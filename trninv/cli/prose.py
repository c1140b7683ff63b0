"""Sentences on a terminal: broken between words, where a terminal itself would break within them."""

import sys
from collections.abc import Iterator
from shutil import get_terminal_size

import click


def print_wrapped(text: str, *, err: bool = False) -> None:
    """Print lines; on a terminal those that are wider than it go on below, further in."""
    if (sys.stderr if err else sys.stdout).isatty():
        columns = get_terminal_size().columns
        text = "\n".join(part for line in text.split("\n") for part in wrap(line, columns))
    click.echo(text, err=err)


def wrap(line: str, columns: int) -> Iterator[str]:
    """The lines that a line is on so many columns; a word that is longer stays whole, to be copied."""
    if _cell_count(line) <= columns:
        yield line
        return
    indent = " " * (len(line) - len(line.lstrip()))
    filled = ""
    for word in line.split():
        if filled and _cell_count(f"{filled} {word}") > columns:
            yield filled
            filled = f"{indent}  {word}"
        else:
            filled = f"{filled} {word}" if filled else f"{indent}{word}"
    yield filled


def print_hint(text: str) -> None:
    """Tell a person on a terminal which command comes next."""
    if sys.stdout.isatty():
        print_wrapped(text, err=True)


def _cell_count(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 # most text does without

    return cell_len(text)
