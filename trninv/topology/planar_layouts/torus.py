"""Lay out tori plane by plane."""

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


class _Pitch(NamedTuple):
    """Steps to the next row, column and plane as (along, across) the rows' axis, and a panel's margins around its
    chips.
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
    """Place the planes of a torus side by side with rows downwards; if narrow, stacked and turned by 90°."""
    rows, columns = extent
    pitch = (
        _Pitch(max(80.0, 18.5 * columns + 6), (18.5, 33.0), 33.0 * columns + 24, (26, 28), (26, 18), 20)
        if narrow
        else _Pitch(25.0 * columns + 8, (25.0, 46.0), 46.0 * columns + 46, (58, 30), (38, 30), 24)
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
    """Place a torus of two dimensions in one panel; links that wrap around are arcs, since there is space."""
    rows, columns = extent
    pitch, bow, edge = (72.0, 26.0, 54.0) if narrow else (96.0, 34.0, 62.0)
    positions = {key: Point2D(pitch * column, pitch * row) for key, (_, row, column) in grid_positions.items()}
    box = Rectangle(-edge, -edge, pitch * (columns - 1) + 2 * edge - 22, pitch * (rows - 1) + 2 * edge - 22)
    return PlanarLayout(
        positions=positions,
        route=_link_router(positions, wraps_around, lambda a, b: _arc(positions[a], positions[b], bow)),
        panels=[box],
        labels=[_title(name, box, narrow=False) for name in _plane_names(nodes, grid_positions).values()],
    )


def _link_router(positions: Mapping[int, Point2D], wraps_around: WrapsAround, wrapped: LinkRouter) -> LinkRouter:
    unwrapped = straight_lines(positions)
    return lambda a, b: wrapped(a, b) if wraps_around(a, b) else unwrapped(a, b)


_STEPS = 16


def _arc(one: Point2D, two: Point2D, bow: float) -> LinkPath:
    """Return an arc above the chips between two places of a row, or left of those between two places of a column."""
    up_bow, left_bow = (bow, 0.0) if one.y == two.y else (0.0, bow)
    points = []
    for step in range(_STEPS + 1):
        share = step / _STEPS
        height = 1 - (2 * share - 1) ** 4
        points.append(
            Point2D(
                one.x + (two.x - one.x) * share - left_bow * height, one.y + (two.y - one.y) * share - up_bow * height
            )
        )
    return LinkPath((tuple(points),), points[_STEPS // 2])


def _plane_names(nodes: Mapping[int, BlueprintNode], grid_positions: GridPositions) -> dict[int, str]:
    """Return the title of each plane, its range of servers."""
    servers: dict[int, set[int]] = {}
    for key, (plane, _, _) in sorted(grid_positions.items(), key=lambda item: item[1]):
        servers.setdefault(plane, set()).add(nodes[key].server or 0)
    return {
        plane: "–".join(f"s{item}" for item in sorted({min(ordinals), max(ordinals)}))
        for plane, ordinals in servers.items()
    }


def _title(name: str, box: Rectangle, *, narrow: bool) -> TextLabel:
    """Return a panel's title in a corner without chips."""
    if narrow:
        return TextLabel(name, box.x + box.width - 10, box.y + 18, "end", strong=True)
    return TextLabel(name, box.x + 12, box.y + 20, strong=True)
