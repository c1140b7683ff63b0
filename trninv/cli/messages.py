"""Print the messages of all commands, wrapped to the terminal."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from trninv.characters import escape_controls
from trninv.database.finding_rules import failed_parts
from trninv.units import pluralize

if TYPE_CHECKING:
    from trninv.incidents.model import RelatedFinding


def print_wrapped(text: str, *, err: bool = False) -> None:
    """Print lines; on a terminal, wrap long lines and indent their continuation."""
    if (sys.stderr if err else sys.stdout).isatty():
        columns = get_terminal_size().columns
        text = "\n".join(part for line in text.split("\n") for part in wrap(line, columns))
    click.echo(text, err=err)


def wrap(line: str, columns: int) -> Iterator[str]:
    """Yield the parts of a line wrapped to a width; words are never broken, so that they can be copied."""
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
    """Print a hint, such as the next command, on stderr if stdout is a terminal."""
    if sys.stdout.isatty():
        print_wrapped(text, err=True)


def format_unapplied(findings: "Sequence[RelatedFinding]", scope: str | None = None, start: str = "") -> str:
    """Return what to do about findings of drift on parts that are up; an empty text if there are none."""
    if not findings:
        return ""
    command = "trninv drift" if scope is None else f"trninv drift {scope}"
    sets_any = any(failed_parts(finding.rule, finding.address, finding.observed) for finding in findings)
    apply = ", and --apply sets what failed down" if sets_any else ""
    return f"{start}{pluralize(len(findings), 'high finding')} of drift on parts that are up: {command}{apply}"


def _cell_count(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 # most text is ASCII and does not need it

    return cell_len(text)


def to_cells(line: Iterable[object]) -> list[str]:
    """Return the cells of a row as text, empty for None, with control characters escaped."""
    return ["" if cell is None else escape_controls(str(cell).strip()) for cell in line]
