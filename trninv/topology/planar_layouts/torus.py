"""Lay out tori plane by plane, for `trninv.topology.patterns.torus`.

A plane holds the chips that differ only in their last two coordinates, which are row and column. In an UltraServer, a
plane is the chips of one server. Each plane is drawn as a panel; if there are several, the grid of chips is oblique.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from trninv.topology.blueprint import BlueprintNode
from trninv.topology.planar_layout import (
    LinkPath,
    LinkRouter,
    PlanarLayout,
    Point2D,
    Rectangle,
    SymbolSize,
    TextLabel,
    straight_lines,
    wraparound_stubs,
)

GridPositions = Mapping[int, tuple[int, int, int]]
"""Plane, row and column of each chip."""
WrapsAround = Callable[[int, int], bool]
"""Returns whether the link between two chips leads from the last chip of an axis back to the first."""


class _Pitch(NamedTuple):
    """Distances to the next row, column and plane, a panel's margins around its chips, and the length of stubs.

    A pair has the components along and across the direction from row to row, which is horizontal on narrow screens.
    """

    row: float
    column: tuple[float, float]
    plane: float
    margin_before: tuple[float, float]
    margin_after: tuple[float, float]
    stub: float


def stacked_planes(
    nodes: Mapping[int, BlueprintNode],
    grid_positions: GridPositions,
    extent: tuple[int, int],
    wraps_around: WrapsAround,
    *,
    narrow: bool,
) -> PlanarLayout:
    """Place planes side by side, with rows from top to bottom; if narrow, stack them, with rows from left to right."""
    rows, columns = extent
    pitch = (
        _Pitch(max(80.0, 18.5 * columns + 6), (18.5, 33.0), 33.0 * columns + 24, (26, 28), (26, 18), 16)
        if narrow
        else _Pitch(25.0 * columns + 8, (25.0, 46.0), 46.0 * columns + 46, (58, 30), (38, 30), 20)
    )

    def place(plane: int, row: int, column: int) -> Point2D:
        along = pitch.row * row + pitch.column[0] * column
        across = pitch.plane * plane + pitch.column[1] * column
        return Point2D(along, across) if narrow else Point2D(across, along)

    def panel(plane: int) -> Rectangle:
        first, last = place(plane, 0, 0), place(plane, rows - 1, columns - 1)
        (left_margin, top_margin), (right_margin, bottom_margin) = (
            (pitch.margin_before, pitch.margin_after)
            if narrow
            else (pitch.margin_before[::-1], pitch.margin_after[::-1])
        )
        return Rectangle(
            first.x - left_margin,
            first.y - top_margin,
            last.x - first.x + left_margin + right_margin,
            last.y - first.y + top_margin + bottom_margin,
        )

    positions = {key: place(*grid_position) for key, grid_position in grid_positions.items()}
    names = _plane_names(nodes, grid_positions)
    boxes = {plane: panel(plane) for plane in names}
    return PlanarLayout(
        positions=positions,
        route=_link_router(
            positions, wraps_around, lambda a, b: wraparound_stubs(positions[a], positions[b], pitch.stub)
        ),
        sizes=dict.fromkeys(positions, SymbolSize(24, 24)) if narrow else {},
        panels=list(boxes.values()),
        labels=[_title(names[plane], box, narrow=narrow) for plane, box in boxes.items()],
        font_size=12.0 if narrow else 13.0,
    )


def single_plane(
    nodes: Mapping[int, BlueprintNode],
    grid_positions: GridPositions,
    extent: tuple[int, int],
    wraps_around: WrapsAround,
    *,
    narrow: bool,
) -> PlanarLayout:
    """Place a torus of at most two dimensions in one panel, with arcs for the links that wrap around."""
    rows, columns = extent
    pitch, bow, margin = (72.0, 26.0, 54.0) if narrow else (96.0, 34.0, 62.0)
    positions = {key: Point2D(pitch * column, pitch * row) for key, (_, row, column) in grid_positions.items()}
    # the margins on the right and below are smaller, because arcs are only above and on the left
    box = Rectangle(-margin, -margin, pitch * (columns - 1) + 2 * margin - 22, pitch * (rows - 1) + 2 * margin - 22)
    return PlanarLayout(
        positions=positions,
        route=_link_router(positions, wraps_around, lambda a, b: _arc(positions[a], positions[b], bow)),
        panels=[box],
        labels=[_title(name, box, narrow=False) for name in _plane_names(nodes, grid_positions).values()],
    )


def _link_router(positions: Mapping[int, Point2D], wraps_around: WrapsAround, wrapped: LinkRouter) -> LinkRouter:
    """Return a router that routes links that wrap around by ``wrapped``, and all other links as straight lines."""
    unwrapped = straight_lines(positions)
    return lambda a, b: wrapped(a, b) if wraps_around(a, b) else unwrapped(a, b)


_ARC_STEPS = 16
"""Number of straight pieces of an arc."""


def _arc(start: Point2D, end: Point2D, bow: float) -> LinkPath:
    """Return an arc between two points: above the chips of a row, or to the left of the chips of a column."""
    up_bow, left_bow = (bow, 0.0) if start.y == end.y else (0.0, bow)
    points = []
    for step in range(_ARC_STEPS + 1):
        share = step / _ARC_STEPS
        height = 1 - (2 * share - 1) ** 4
        x = start.x + (end.x - start.x) * share - left_bow * height
        y = start.y + (end.y - start.y) * share - up_bow * height
        points.append(Point2D(x, y))
    return LinkPath((tuple(points),), points[_ARC_STEPS // 2])


def _plane_names(nodes: Mapping[int, BlueprintNode], grid_positions: GridPositions) -> dict[int, str]:
    """Return the title of each plane, which is its range of servers, such as "s0–s3"."""
    servers: dict[int, set[int]] = {}
    for key, (plane, _, _) in sorted(grid_positions.items(), key=lambda item: item[1]):
        servers.setdefault(plane, set()).add(nodes[key].server or 0)
    return {
        plane: "–".join(f"s{ordinal}" for ordinal in sorted({min(ordinals), max(ordinals)}))
        for plane, ordinals in servers.items()
    }


def _title(name: str, box: Rectangle, *, narrow: bool) -> TextLabel:
    """Return a panel's title, placed in a corner where the panel has no chips."""
    if narrow:
        return TextLabel(name, box.x + box.width - 5, box.y + 18, "end", strong=True)
    return TextLabel(name, box.x + 12, box.y + 20, strong=True)
