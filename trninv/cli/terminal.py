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
_SEVERITIES: Final = {"high": ("▲", "bold red"), "medium": ("△", "yellow"), "info": ("·", "")}
_GLYPHS: Final = {"state": STATES, "before": STATES, "after": STATES, "severity": _SEVERITIES}
"""Of words, in columns that are called so: elsewhere up and down are names, such as a job's."""
_WORD = re.compile(r"(\w+)(?: to [\d.]+)?")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)(?:\.\d+)?\+00:00")
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?( ?(%|[A-Za-z]{1,5}(/s)?))?")
_SPACE = re.compile(rf"(?<![{''.join(glyph for glyph, _ in (*STATES.values(), *_SEVERITIES.values()))}])\s+")
_BETWEEN: Final = 2
"""Spaces between columns."""
_LONG: Final = 64
"""Cells of a word that may be broken: longer than any address."""
_TALL: Final = 4
"""Lines of a cell that are too many where columns can be spared."""


def table(headers: Sequence[str], lines: Sequence[Sequence[str]], spare: Sequence[str] = ()) -> None:
    """Print a table to the terminal, in its pager where it has more lines than that; cells are plain already.

    Where the longest words of all columns don't fit beside each other, columns that are empty are left out, then those
    that can be spared, which is said; and where that is not enough, a line of the table is a block of lines.
    """
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(_drawn(console, headers, lines, spare))
    if captured.get().count("\n") < console.height:
        click.echo(captured.get(), nl=False)
    else:
        click.echo_via_pager(captured.get())


@contextmanager
def screen(spare: Sequence[str] = ()) -> Iterator[Callable[[str, Sequence[str], Sequence[Sequence[object]]], None]]:
    """The terminal as one screen, until the end; what draws a heading and a table in it, anew each time."""
    console = Console(highlight=False)
    with Live(console=console, screen=True, auto_refresh=False) as live:

        def draw(heading: str, headers: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
            table = [_drawn(console, headers, [cells_of(line) for line in lines], spare)] if lines else []
            live.update(Group(Text(plain(heading), "bold"), "", *table), refresh=True)

        yield draw


def _drawn(
    console: Console, headers: Sequence[str], lines: Sequence[Sequence[str]], spare: Sequence[str]
) -> RenderableType:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    named = (zip(line, _named(headers, line), strict=True) for line in lines)
    shown = [[_cell(cell, today, name) for cell, name in line] for line in named]
    texts = [[header, *(line[at].plain for line in shown)] for at, header in enumerate(headers)]
    empty = [at for at, cells in enumerate(texts) if not any(cells[1:])]
    spared = [at for name in spare for at, header in enumerate(headers) if header == name and at not in empty]
    can_go = [*empty, *spared]
    for gone in (can_go[:count] for count in range(len(can_go) + 1)):
        kept = [at for at in range(len(headers)) if at not in gone]
        found = widths([texts[at] for at in kept], console.width)
        if found and (gone == can_go or not _is_tall([texts[at] for at in kept], found)):
            drawn = _table([headers[at] for at in kept], [[line[at] for at in kept] for line in shown], found)
            names = ", ".join(headers[at] for at in gone if at in spared)
            return Group(drawn, Text(f"left out to fit: {names} (--format json has all)", "dim")) if names else drawn
    return Group(*_blocks(headers, shown))


def _is_tall(columns: Sequence[Sequence[str]], found: Sequence[int]) -> bool:
    return any(cell_len(cell) > _TALL * width for cells, width in zip(columns, found, strict=True) for cell in cells)


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
    drawn.show_header = any(headers)
    for at, (header, width) in enumerate(zip(headers, found, strict=True)):
        cells = [line[at].plain for line in lines if line[at].plain]
        is_right = bool(cells) and all(map(_NUMBER.fullmatch, cells))
        drawn.add_column(header, justify="right" if is_right else "left", width=width, overflow="fold")
    for line in lines:
        drawn.add_row(*line)
    return drawn


def _blocks(headers: Sequence[str], lines: Sequence[Sequence[Text]]) -> Iterator[RenderableType]:
    for at, line in enumerate(lines):
        if at:
            yield ""
        drawn = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0), show_header=False)
        drawn.add_column(style="bold", width=max(map(cell_len, headers)))
        drawn.add_column(overflow="fold")
        for header, cell in zip(headers, line, strict=True):
            if cell.plain:
                drawn.add_row(header, cell)
        yield drawn


def _named(headers: Sequence[str], line: Sequence[str]) -> Sequence[str]:
    """What each cell of a line is called: by its header, or, of a table without, by the first cell."""
    return headers if any(headers) else ["", *[line[0]] * (len(line) - 1)]


def _cell(of: str, today: str, name: str) -> Text:
    """States and severities by glyph and colour; a time of today by its seconds, another day's by its minutes."""
    if name in _GLYPHS and (found := _WORD.fullmatch(of)) and found[1] in _GLYPHS[name]:
        glyph, style = _GLYPHS[name][found[1]]
        return Text(f"{glyph} {of}", style)
    return Text(_TIME.sub(lambda time: f"{time[2]}{time[3]}Z" if time[1] == today else f"{time[1]} {time[2]}Z", of))
