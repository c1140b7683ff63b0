"""A fleet by the room that is left: a square a domain, the larger and darker, the larger its largest free block."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import Final

from trninv.drawing.palette import ROOM
from trninv.drawing.svg import QUIET, Picture, Style, add, label
from trninv.jobs.model import legal_of
from trninv.jobs.room import largest
from trninv.jobs.stock import stock
from trninv.routing.wiring import Reader
from trninv.units import counted

_CELL, _LEAST, _ASPECT, _ROW = 12.0, 3.0, 1.6, 20.0
_FULL: Final = "#eef0f4"


def read(reader: Reader, cluster: str) -> tuple[Sequence[int], Sequence[int]]:
    """Chips of the largest free block of each domain, and the sizes of sets that schedulers grant.

    Raises
    ------
    LimitError
        The cluster has domains of several models.

    """
    there = stock(reader, cluster)
    legal = legal_of(reader.connection, there.model)
    return [each.chips for each in largest(there, legal)], legal.sizes


def picture(cluster: str, blocks: Sequence[int], sizes: Sequence[int]) -> str:
    """An SVG document: blocks are in the order of the domains, and shown by the largest size that goes into them."""
    columns = ceil(sqrt(len(blocks) * _ASPECT))
    rows = ceil(len(blocks) / columns)
    made = Picture(cluster, "domains in their order, by their largest free block")
    paths: dict[int, list[str]] = {}
    for at, chips in enumerate(blocks):
        of = sum(size <= chips for size in sizes)
        side = _side(of, len(sizes))
        x, y = (_CELL * part + (_CELL - side) / 2 for part in (at % columns, at // columns))
        paths.setdefault(of, []).append(f"M{x:g} {y:g}h{side:g}v{side:g}h-{side:g}z")
    ends = [(0, sizes[0]), *pairwise(sizes), (sizes[-1], None)]
    bottom, width = _CELL * rows + 8, max(_CELL * columns, 420.0)
    for of in sorted(paths, reverse=True):
        says = f"{_words(*ends[of])}: {counted(len(paths[of]), 'domain')}"
        look: Style = {"fill": _fill(of, len(sizes)), "stroke": QUIET, "stroke_width": 0.4}
        add(made.drawing, "path", says, d="".join(paths[of]), **look)
        side = _side(of, len(sizes))
        edge = (_CELL - side) / 2
        box: Style = {"x": edge, "y": bottom + edge, "width": side, "height": side}
        add(made.drawing, "rect", **box, **look)
        label(made.drawing, (_CELL + 10, bottom + 10), says, 13)
        bottom += _ROW
    return made.text(-16, -10, width + 16, bottom)


def _side(of: int, sizes: int) -> float:
    return _LEAST + (_CELL - 1 - _LEAST) * of / sizes


def _fill(of: int, sizes: int) -> str:
    """By how many of the sizes go into a block."""
    return ROOM[(of - 1) * (len(ROOM) - 1) // max(sizes - 1, 1)] if of else _FULL


def _words(least: int, more: int | None) -> str:
    if more is None:
        return f"{counted(least, 'chip')} or more"
    if not least and more == 1:
        return "no chip"
    return counted(least, "chip") if more == least + 1 else f"{least} to {more - 1} chips"
