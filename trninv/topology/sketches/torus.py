"""Tori: a panel a plane, each column lower than the last: every link to the next plane has a height of its own."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from trninv.topology.blueprint import Node
from trninv.topology.sketch import Box, Label, Point, Route, Routing, Size, Sketch, straight, stubs

Spots = Mapping[int, tuple[int, int, int]]
"""Plane, row and column of each chip."""
Wraps = Callable[[int, int], bool]


class _Pitch(NamedTuple):
    """Steps to the next row, column and plane as (along, across) the rows' axis; a panel's edges about its chips."""

    row: float
    column: tuple[float, float]
    plane: float
    before: tuple[float, float]
    behind: tuple[float, float]
    stub: float


def planes(places: Mapping[int, Node], spots: Spots, extent: tuple[int, int], wraps: Wraps, *, narrow: bool) -> Sketch:
    """Of three dimensions and more: planes side by side with rows downwards, or narrow stacked and turned by 90°."""
    rows, columns = extent
    pitch = (
        _Pitch(max(80.0, 18.5 * columns + 6), (18.5, 33.0), 33.0 * columns + 24, (26, 28), (26, 18), 20)
        if narrow
        else _Pitch(25.0 * columns + 8, (25.0, 46.0), 46.0 * columns + 46, (58, 30), (38, 30), 24)
    )

    def place(plane: int, row: int, column: int) -> Point:
        along = pitch.row * row + pitch.column[0] * column
        across = pitch.plane * plane + pitch.column[1] * column
        return Point(along, across) if narrow else Point(across, along)

    def panel(plane: int) -> Box:
        first, last = place(plane, 0, 0), place(plane, rows - 1, columns - 1)
        (left, top), (right, bottom) = (
            (pitch.before, pitch.behind) if narrow else (pitch.before[::-1], pitch.behind[::-1])
        )
        return Box(first.x - left, first.y - top, last.x - first.x + left + right, last.y - first.y + top + bottom)

    at = {key: place(*spot) for key, spot in spots.items()}
    names = _names(places, spots)
    boxes = {plane: panel(plane) for plane in names}
    return Sketch(
        at=at,
        route=_routing(at, wraps, lambda a, b: stubs(at[a], at[b], pitch.stub)),
        sizes=dict.fromkeys(at, Size(24, 24)) if narrow else {},
        panels=list(boxes.values()),
        labels=[_title(names[plane], box, narrow=narrow) for plane, box in boxes.items()],
        font=12.0 if narrow else 13.0,
    )


def square(places: Mapping[int, Node], spots: Spots, extent: tuple[int, int], wraps: Wraps, *, narrow: bool) -> Sketch:
    """Of two dimensions: one panel; what wraps around is an arc, since there is room."""
    rows, columns = extent
    pitch, bow, edge = (72.0, 26.0, 54.0) if narrow else (96.0, 34.0, 62.0)
    at = {key: Point(pitch * column, pitch * row) for key, (_, row, column) in spots.items()}
    box = Box(-edge, -edge, pitch * (columns - 1) + 2 * edge - 22, pitch * (rows - 1) + 2 * edge - 22)
    return Sketch(
        at=at,
        route=_routing(at, wraps, lambda a, b: _arc(at[a], at[b], bow)),
        panels=[box],
        labels=[_title(name, box, narrow=False) for name in _names(places, spots).values()],
    )


def _routing(at: Mapping[int, Point], wraps: Wraps, around: Routing) -> Routing:
    direct = straight(at)
    return lambda a, b: around(a, b) if wraps(a, b) else direct(a, b)


_STEPS = 16


def _arc(one: Point, two: Point, bow: float) -> Route:
    """Above what lies between two places of a row, or left of what lies between those of a column."""
    up, left = (bow, 0.0) if one.y == two.y else (0.0, bow)
    points = []
    for step in range(_STEPS + 1):
        part = step / _STEPS
        out = 1 - (2 * part - 1) ** 4
        points.append(Point(one.x + (two.x - one.x) * part - left * out, one.y + (two.y - one.y) * part - up * out))
    return Route((tuple(points),), points[_STEPS // 2])


def _names(places: Mapping[int, Node], spots: Spots) -> dict[int, str]:
    """The servers of each plane."""
    of: dict[int, set[int]] = {}
    for key, (plane, _, _) in sorted(spots.items(), key=lambda each: each[1]):
        of.setdefault(plane, set()).add(places[key].server or 0)
    return {plane: "–".join(f"s{each}" for each in sorted({min(all_of), max(all_of)})) for plane, all_of in of.items()}


def _title(name: str, box: Box, *, narrow: bool) -> Label:
    """In the corner that no chip is near."""
    if narrow:
        return Label(name, box.x + box.width - 10, box.y + 18, "end", strong=True)
    return Label(name, box.x + 12, box.y + 20, strong=True)
