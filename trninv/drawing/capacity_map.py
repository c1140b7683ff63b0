"""Draw a cluster's domains as squares, sized and colored by their largest free block, for `trninv draw`.

A free block is the largest set of chips in a domain that one job can use. Schedulers allocate sets of a few sizes only,
so a square's size and color tell the number of those sizes that fit into its block.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import Final

from trninv.drawing.palette import CAPACITY_COLORS
from trninv.drawing.svg import MUTED, PANEL_FILL, Style, SvgDocument, add_element, draw_label
from trninv.placement.candidates.free_blocks import largest_blocks
from trninv.placement.candidates.free_capacity import read_capacity
from trninv.placement.candidates.placement_model import read_legal_sets
from trninv.placement.candidates.reserved_chips import with_current_reservations
from trninv.routing.snapshot import Snapshot
from trninv.units import pluralize

_CELL_SIZE, _MIN_SIDE, _LEGEND_ROW_HEIGHT = 12.0, 3.0, 20.0
_ASPECT_RATIO: Final = 1.6
"""Columns per row of the grid of domains."""


def read_free_blocks(snapshot: Snapshot, cluster: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return the number of chips in each domain's largest free block, and the sizes of sets that schedulers allocate.

    Raises
    ------
    SeveralModelsError
        The cluster has domains of several models.

    """
    capacity = with_current_reservations(snapshot, read_capacity(snapshot, cluster))
    legal_sets = read_legal_sets(snapshot.connection, capacity.model)
    return [block.chips for block in largest_blocks(capacity, legal_sets)], legal_sets.sizes


def draw_capacity(cluster: str, blocks: Sequence[int], sizes: Sequence[int]) -> str:
    """Return an SVG of the largest free blocks, in the order of the domains.

    Parameters
    ----------
    blocks
        The number of chips in each domain's largest free block.
    sizes
        The sizes of sets that schedulers allocate, in ascending order.

    """
    columns = ceil(sqrt(len(blocks) * _ASPECT_RATIO))
    rows = ceil(len(blocks) / columns)
    document = SvgDocument(cluster, "domains in order, by largest free block")
    paths: dict[int, list[str]] = {}
    for index, chips in enumerate(blocks):
        size_count = sum(size <= chips for size in sizes)
        side = _square_side(size_count, len(sizes))
        x, y = (_CELL_SIZE * coordinate + (_CELL_SIZE - side) / 2 for coordinate in (index % columns, index // columns))
        paths.setdefault(size_count, []).append(f"M{x:g} {y:g}h{side:g}v{side:g}h-{side:g}z")
    size_ranges = [(0, sizes[0]), *pairwise(sizes), (sizes[-1], None)]
    bottom, width = _CELL_SIZE * rows + 8, max(_CELL_SIZE * columns, 420.0)  # wide enough for the legend
    for size_count in sorted(paths, reverse=True):
        text = f"{_legend_text(*size_ranges[size_count])}: {pluralize(len(paths[size_count]), 'domain')}"
        style: Style = {"fill": _fill_color(size_count, len(sizes)), "stroke": MUTED, "stroke_width": 0.4}
        add_element(document.drawing, "path", text, d="".join(paths[size_count]), **style)
        side = _square_side(size_count, len(sizes))
        inset = (_CELL_SIZE - side) / 2
        box: Style = {"x": inset, "y": bottom + inset, "width": side, "height": side}
        add_element(document.drawing, "rect", **box, **style)
        draw_label(document.drawing, (_CELL_SIZE + 10, bottom + 10), text, 13)
        bottom += _LEGEND_ROW_HEIGHT
    document.bounds = (-16, -10, width + 16, bottom)
    return document.to_file()


def _square_side(size_count: int, total_count: int) -> float:
    """Return the side of the square for a block into which ``size_count`` of all ``total_count`` sizes fit."""
    return _MIN_SIDE + (_CELL_SIZE - 1 - _MIN_SIDE) * size_count / total_count


def _fill_color(size_count: int, total_count: int) -> str:
    """Return the color of a block into which ``size_count`` of all ``total_count`` sizes fit."""
    return (
        CAPACITY_COLORS[(size_count - 1) * (len(CAPACITY_COLORS) - 1) // max(total_count - 1, 1)]
        if size_count
        else PANEL_FILL
    )


def _legend_text(min_chips: int, next_size: int | None) -> str:
    """Return the text for blocks of at least ``min_chips`` and fewer than ``next_size`` chips."""
    if next_size is None:
        return f"{pluralize(min_chips, 'chip')} or more"
    if not min_chips and next_size == 1:
        return "no free chips"
    return pluralize(min_chips, "chip") if next_size == min_chips + 1 else f"{min_chips} to {next_size - 1} chips"
