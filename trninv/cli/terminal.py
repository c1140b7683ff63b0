"""Tables on a terminal: as wide as it is, states by glyph and colour, numbers to the right, long ones paged.

What a program reads from a pipe is `output.rows`, without any of this.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

import click
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trninv.characters import plain
from trninv.cli.output import cells_of

STATES: Final = {
    "up": ("●", ""),
    "degraded": ("◐", "yellow"),
    "down": ("✕", "bold red"),
    "maintenance": ("◆", "magenta"),
}
"""Glyph and style of a state: never colour alone."""
_OF_STATES: Final = {"state", "before", "after"}
"""What columns are called that hold states: elsewhere up and down are names, such as a job's."""
_STATE = re.compile(rf"({'|'.join(STATES)})(?: to [\d.]+)?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)(?:\.\d+)?\+00:00")
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?( ?(%|[A-Za-z]{1,5}(/s)?))?")
_SPACE = re.compile(rf"(?<![{''.join(glyph for glyph, _ in STATES.values())}])\s+")
_BETWEEN: Final = 2
"""Spaces between columns."""
_LONG: Final = 64
"""Cells of a word that may be broken: longer than any address."""


def table(headers: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a table to the terminal, in its pager where it has more lines than that; cells are plain already.

    Where the longest words of all columns don't fit beside each other, a line of the table is a block of lines.
    """
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(_drawn(console, headers, lines))
    if captured.get().count("\n") < console.height:
        click.echo(captured.get(), nl=False)
    else:
        click.echo_via_pager(captured.get())


@contextmanager
def screen() -> Iterator[Callable[[str, Sequence[str], Sequence[Sequence[object]]], None]]:
    """The terminal as one screen, until the end; what draws a heading and a table in it, anew each time."""
    console = Console(highlight=False)
    with Live(console=console, screen=True, auto_refresh=False) as live:

        def draw(heading: str, headers: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
            table = [_drawn(console, headers, [cells_of(line) for line in lines])] if lines else []
            live.update(Group(Text(plain(heading), "bold"), "", *table), refresh=True)

        yield draw


def _drawn(console: Console, headers: Sequence[str], lines: Sequence[Sequence[str]]) -> RenderableType:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    named = (zip(line, _named(headers, line), strict=True) for line in lines)
    shown = [[_cell(cell, today, name) for cell, name in line] for line in named]
    texts = [[header, *(line[at].plain for line in shown)] for at, header in enumerate(headers)]
    found = widths(texts, console.width)
    return _table(headers, shown, found) if found else Group(*_blocks(headers, shown))


def widths(columns: Sequence[Sequence[str]], most: int) -> list[int]:
    """Cells of each column, so that together they fit: of long columns words go to further lines.

    A character of East Asia has two cells. Empty where words would have to be broken that are no longer than addresses.
    """
    most -= _BETWEEN * (len(columns) - 1)
    wanted = [max(map(cell_len, cells)) for cells in columns]
    found = [max(min(cell_len(word), _LONG) for cell in cells for word in _SPACE.split(cell)) for cells in columns]
    if sum(found) > most:
        return []
    while (left := most - sum(found)) and (wider := [at for at, width in enumerate(found) if width < wanted[at]]):
        for at in sorted(wider, key=found.__getitem__)[:left]:
            found[at] += 1
    return found


def _table(headers: Sequence[str], lines: Sequence[Sequence[Text]], found: Sequence[int]) -> RenderableType:
    drawn = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), header_style="bold underline")
    for at, (header, width) in enumerate(zip(headers, found, strict=True)):
        cells = [line[at].plain for line in lines if line[at].plain]
        is_right = bool(cells) and all(map(_NUMBER.fullmatch, cells))
        drawn.add_column(header, justify="right" if is_right else "left", width=width, overflow="fold")
    for line in lines:
        drawn.add_row(*line)
    return drawn


def _blocks(headers: Sequence[str], lines: Sequence[Sequence[Text]]) -> Iterator[RenderableType]:
    for line in lines:
        drawn = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), show_header=False)
        drawn.add_column(style="bold", width=max(map(cell_len, headers)))
        drawn.add_column(overflow="fold")
        for header, cell in zip(headers, line, strict=True):
            if cell.plain:
                drawn.add_row(header, cell)
        yield drawn
        yield ""


def _named(headers: Sequence[str], line: Sequence[str]) -> Sequence[str]:
    """What each cell of a line is called: by its header, or, of a table without, by the first cell."""
    return headers if any(headers) else ["", *[line[0]] * (len(line) - 1)]


def _cell(of: str, today: str, name: str) -> Text:
    """States by glyph and colour; a time of today by its seconds, another day's by its minutes."""
    if name in _OF_STATES and (found := _STATE.fullmatch(of)):
        glyph, style = STATES[found[1]]
        return Text(f"{glyph} {of}", style)
    return Text(_TIME.sub(lambda time: f"{time[2]}{time[3]}Z" if time[1] == today else f"{time[1]} {time[2]}Z", of))
