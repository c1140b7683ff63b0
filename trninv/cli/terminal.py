"""Print tables fitted to the terminal's width, with glyphs and colors for states, in a pager if they are long.

`output.print_table` uses it on a terminal only; a pipe gets plain text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import product
from typing import Final

import click
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trninv.characters import escape_controls
from trninv.cli.messages import to_cells
from trninv.units import TIMESTAMP, format_seconds

STATE_GLYPHS: Final = {
    "up": ("●", ""),
    "degraded": ("◐", "yellow"),
    "down": ("✕", "bold red"),
    "maintenance": ("◆", "magenta"),
}
"""Glyph and style by state; the glyph makes states distinguishable without color."""
SEVERITY_GLYPHS: Final = {"high": ("▲", "bold red"), "medium": ("△", "yellow"), "info": ("·", "")}
_GLYPHS_BY_COLUMN: Final = {
    "state": STATE_GLYPHS,
    "before": STATE_GLYPHS,
    "after": STATE_GLYPHS,
    "severity": SEVERITY_GLYPHS,
}
"""Glyphs by column name; in other columns, words such as "up" may be names, for instance of a job."""
_WORD = re.compile(r"(\w+)(?: to [\d.]+)?")
"""A state or severity; a degraded part has a factor too, as in "degraded to 0.5"."""
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?( ?(%|[A-Za-z]{1,5}(/s)?))?")
"""A number with an optional unit; columns of these are aligned to the right."""
_SPACE = re.compile(rf"(?<![{''.join(glyph for glyph, _ in (*STATE_GLYPHS.values(), *SEVERITY_GLYPHS.values()))}])\s+")
"""Spaces at which a cell may be wrapped, but not the one after a glyph."""
_COLUMN_GAP: Final = 2
"""Spaces between columns."""
_MAX_WORD_CELLS: Final = 64
"""The maximum width, in terminal cells, of a word that is never broken; addresses are shorter."""
_CUT_COLUMNS: Final = ("why", "who", "what")
"""Columns whose cells are cut so that each row of their table is one line; the first ones are cut first."""
_MIN_CUT_CELLS: Final = 12
"""The width to which such a cell may be cut."""
_MAX_CELL_LINES: Final = 4
"""If a cell needs more lines than this, optional columns are omitted first."""


def print_terminal_table(
    headers: Sequence[str], lines: Sequence[Sequence[str]], optional_columns: Sequence[str] = ()
) -> None:
    """Print a table of escaped cells to the terminal, in a pager if it is longer than the screen.

    If it is too wide or a cell would be too tall, empty columns are omitted, then optional columns, which a note below
    the table names. If that is not enough, each row is printed as a block with one line per column. Reasons and the
    like are cut, so that their rows are one line each.
    """
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(_render_table(console, headers, lines, optional_columns))
    if captured.get().count("\n") < console.height:
        click.echo(captured.get(), nl=False)
    else:
        click.echo_via_pager(captured.get())


@contextmanager
def full_screen(
    optional_columns: Sequence[str] = (),
) -> Iterator[Callable[[str, Sequence[str], Sequence[Sequence[object]]], None]]:
    """Use the whole screen until the block ends; yield a function that redraws it with a heading and any rows."""
    console = Console(highlight=False)
    with Live(console=console, screen=True, auto_refresh=False) as live:

        def draw(heading: str, headers: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
            table = (
                [_render_table(console, headers, [to_cells(line) for line in lines], optional_columns)] if lines else []
            )
            live.update(Group(Text(escape_controls(heading), "bold"), "", *table), refresh=True)

        yield draw


def _render_table(
    console: Console, headers: Sequence[str], lines: Sequence[Sequence[str]], optional_columns: Sequence[str]
) -> RenderableType:
    """Return the table with as many columns as fit; if too few columns fit, return one block per row."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    styled_lines = [
        [_style_cell(cell, today, name) for cell, name in zip(line, _cell_names(headers, line), strict=True)]
        for line in lines
    ]
    texts = [[header, *(line[column].plain for line in styled_lines)] for column, header in enumerate(headers)]
    empty = [column for column, cells in enumerate(texts) if not any(cells[1:])]
    removable = [
        column
        for name in optional_columns
        for column, header in enumerate(headers)
        if header == name and column not in empty
    ]
    candidates = [*empty, *removable]
    cuts = (True, False) if any(header in _CUT_COLUMNS for header in headers) else (False,)
    for is_cut, count in product(cuts, range(len(candidates) + 1)):
        removed = candidates[:count]
        kept = [column for column in range(len(headers)) if column not in removed]
        kept_headers, kept_texts = [headers[column] for column in kept], [texts[column] for column in kept]
        column_widths = (
            _fit_lines(kept_headers, kept_texts, console.width) if is_cut else fit_columns(kept_texts, console.width)
        )
        if not column_widths or (not is_cut and removed != candidates and _has_tall_cell(kept_texts, column_widths)):
            continue
        kept_lines = [[line[column] for column in kept] for line in styled_lines]
        table = _build_table(kept_headers, kept_lines, column_widths, is_cut=is_cut)
        omitted = [headers[column] for column in removed if column in removable]
        full_widths = [max(map(cell_len, cells)) for cells in kept_texts] if is_cut else column_widths
        cut = [
            header for header, full, width in zip(kept_headers, full_widths, column_widths, strict=True) if full > width
        ]
        notes = [f"{verb} to fit: {', '.join(names)}" for verb, names in (("omitted", omitted), ("cut", cut)) if names]
        return Group(table, Text(f"{'; '.join(notes)} (--format json has all)", "dim")) if notes else table
    return Group(*_build_blocks(headers, styled_lines))


def _has_tall_cell(columns: Sequence[Sequence[str]], column_widths: Sequence[int]) -> bool:
    return any(
        cell_len(cell) > _MAX_CELL_LINES * width
        for cells, width in zip(columns, column_widths, strict=True)
        for cell in cells
    )


def fit_columns(columns: Sequence[Sequence[str]], max_width: int) -> list[int]:
    """Return the width of each column in terminal cells so that the table fits, with long cells wrapped.

    The result is empty if words of up to `_MAX_WORD_CELLS` cells would have to be broken. East Asian characters take
    two cells.
    """
    max_width -= _COLUMN_GAP * (len(columns) - 1)
    full_widths = [max(map(cell_len, cells)) for cells in columns]
    result_widths = [
        max(min(cell_len(word), _MAX_WORD_CELLS) for cell in cells for word in _SPACE.split(cell)) for cells in columns
    ]
    if sum(result_widths) > max_width:
        return []
    while (spare_width := max_width - sum(result_widths)) and (
        growable := [column for column, width in enumerate(result_widths) if width < full_widths[column]]
    ):
        for column in sorted(growable, key=result_widths.__getitem__)[:spare_width]:
            result_widths[column] += 1
    return result_widths


def _fit_lines(headers: Sequence[str], columns: Sequence[Sequence[str]], max_width: int) -> list[int]:
    """Return the width of each column so that each row is one line, or nothing if that needs more cuts than allowed."""
    max_width -= _COLUMN_GAP * (len(columns) - 1)
    result_widths = [max(map(cell_len, cells)) for cells in columns]
    for column in (headers.index(name) for name in _CUT_COLUMNS if name in headers):
        excess = max(0, sum(result_widths) - max_width)
        result_widths[column] = max(min(result_widths[column], _MIN_CUT_CELLS), result_widths[column] - excess)
    return result_widths if sum(result_widths) <= max_width else []


def _build_table(
    headers: Sequence[str], lines: Sequence[Sequence[Text]], column_widths: Sequence[int], *, is_cut: bool
) -> RenderableType:
    rich_table = Table(box=None, pad_edge=False, padding=(0, _COLUMN_GAP, 0, 0), header_style="bold underline")
    rich_table.show_header = any(headers)
    for column, (header, width) in enumerate(zip(headers, column_widths, strict=True)):
        cells = [line[column].plain for line in lines if line[column].plain]
        is_right = bool(cells) and all(map(_NUMBER.fullmatch, cells))
        rich_table.add_column(
            header,
            justify="right" if is_right else "left",
            width=width,
            no_wrap=is_cut,
            overflow="ellipsis" if is_cut else "fold",
        )
    for line in lines:
        rich_table.add_row(*line)
    return rich_table


def _build_blocks(headers: Sequence[str], lines: Sequence[Sequence[Text]]) -> Iterator[RenderableType]:
    for index, line in enumerate(lines):
        if index:
            yield ""
        rich_table = Table(box=None, pad_edge=False, padding=(0, _COLUMN_GAP, 0, 0), show_header=False)
        rich_table.add_column(style="bold", width=max(map(cell_len, headers)))
        rich_table.add_column(overflow="fold")
        for header, cell in zip(headers, line, strict=True):
            if cell.plain:
                rich_table.add_row(header, cell)
        yield rich_table


def _cell_names(headers: Sequence[str], line: Sequence[str]) -> Sequence[str]:
    """Return a name for each cell of a row: its header, or the row's first cell in a table without headers."""
    return headers if any(headers) else ["", *[line[0]] * (len(line) - 1)]


def _style_cell(text: str, today: str, name: str) -> Text:
    """Add glyph and color to states and severities; shorten today's times to the second, others to date and minute."""
    if name in _GLYPHS_BY_COLUMN and (match := _WORD.fullmatch(text)) and match[1] in _GLYPHS_BY_COLUMN[name]:
        glyph, style = _GLYPHS_BY_COLUMN[name][match[1]]
        return Text(f"{glyph} {text}", style)
    return Text(TIMESTAMP.sub(lambda time: _shorten_time(time[0], today), text))


def _shorten_time(time: str, today: str) -> str:
    day, _, whole = format_seconds(time).partition("T")
    return whole if day == today else f"{day} {whole[: len('02:00')]}Z"
