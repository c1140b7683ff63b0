"""Lay out domains of the pattern "switched" rack by rack, for `trninv.topology.patterns.switched`.

A rack is a panel with rows of chips. The rack's switch is a bar at the panel's outer edge; a server's switch is next to
the server's rows. A bus is a line along a row from which links branch off to the chips. Twins are chips at the
same position in different racks, which are linked to each other.
"""

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from trninv.topology.blueprint import BlueprintNode
from trninv.topology.planar_layout import (
    LinkPath,
    PlanarLayout,
    Point2D,
    Rectangle,
    SymbolSize,
    TextLabel,
    straight_lines,
)

_CHIPS_PER_ROW, _SERVER_GAP, _TWIN_SIDE = 4, 12.0, 16.0
"""Number of chips per row, gap between servers if servers have several rows, and distance from the middle of a chip to
where a link to its twin leaves it."""
_MIN_BAR_HEIGHT = 46.0
_TITLE_HEIGHT, _BOTTOM_MARGIN = 36.0, 10.0
"""Space in a panel above the first row and below the last one."""
_RACK_GAP, _STACKED_RACK_GAP = 168.0, 24.0
"""Gaps between panels that are side by side, and between stacked ones: the low rows of both are whole rows apart."""


class _RowMeasures(NamedTuple):
    """Vertical measures of a row of chips.

    Attributes
    ----------
    height
        Distance between rows.
    node
        Height of chips and of servers' switches.
    rack_bus, server_bus
        Distances of the buses above (to the rack's switch) and below (to the server's switch) from the middle.
    twin_lane, twin_pitch
        Distance from the middle to the first of the links to twins, which run below the bus, and distance between them.

    """

    height: float
    node: float
    rack_bus: float
    server_bus: float
    twin_lane: float
    twin_pitch: float


_LOW_ROWS = _RowMeasures(35.0, 16.0, 10.5, 10.5, 14.0, 2.5)
_HIGH_ROWS = _RowMeasures(48.0, 18.0, 17.0, 15.0, 19.0, 2.5)
"""Measures of rows if servers have one row, of which a rack has many, and if they have several."""


class _RackColumns(NamedTuple):
    """Horizontal measures of a rack.

    Attributes
    ----------
    panel
        Width of the panel.
    bar, label, switch, chip
        Distances of the rack's switch, the servers' labels, the servers' switches and the first chip from the panel's
        outer edge.
    chip_pitch, chip_width
        Distance between neighboring chips, and width of a chip.

    """

    panel: float
    bar: float
    label: float
    switch: float
    chip: float
    chip_pitch: float
    chip_width: float


_WIDE_COLUMNS = _RackColumns(370.0, 20.0, 37.0, 86.5, 145.0, 62.0, 54.0)
_NARROW_COLUMNS = _RackColumns(352.0, 17.0, 32.0, 80.0, 133.0, 55.0, 47.0)
_BAR_WIDTH, _SWITCH_WIDTH = 24.0, 41.0
"""Widths of a rack's switch and of a server's switch."""


def racks_side_by_side(nodes: Mapping[int, BlueprintNode], *, narrow: bool) -> PlanarLayout:
    """Place racks side by side, every second rack reflected so that twins are close; on narrow screens, stack them."""
    rows = _RackRows(nodes, _NARROW_COLUMNS if narrow else _WIDE_COLUMNS, narrow=narrow)
    positions, sizes = {}, {}
    for key, node in nodes.items():
        positions[key], sizes[key] = rows.place(node)
    chips = {key: f"c{node.ordinal}" for key, node in nodes.items() if node.kind == "chip"}

    def route(a: int, b: int) -> LinkPath:
        switch, chip = (a, b) if nodes[a].kind == "switch" else (b, a)
        if nodes[switch].kind == "chip":
            return rows.link_twins(nodes[a].ordinal, positions[a], positions[b])
        if nodes[switch].server is None:
            return rows.link_to_bar(positions[switch], positions[chip])
        return rows.link_to_switch(positions[switch], positions[chip])

    return PlanarLayout(
        positions=positions,
        route=route if len(nodes) > 1 else straight_lines(positions),  # a single node has no links
        sizes=sizes,
        texts=chips,
        panels=[rows.panel(rack) for rack in rows.racks],
        labels=list(rows.labels()),
        font_size=13.0,
        stroke_width=2.2,
    )


class _RackRows:
    """Positions and links of the nodes in the racks of one drawing; a server has one or more rows of chips."""

    def __init__(self, nodes: Mapping[int, BlueprintNode], columns: _RackColumns, *, narrow: bool) -> None:
        servers = sorted({(node.rack, node.server) for node in nodes.values() if node.server is not None})
        self.racks = {
            rack: [server for _, server in rack_servers] for rack, rack_servers in groupby(servers, key=itemgetter(0))
        }
        chips = 1 + max(node.ordinal for node in nodes.values() if node.kind == "chip")
        self.rows_per_server = -(-chips // _CHIPS_PER_ROW)
        self.columns, self.narrow = columns, narrow
        has_many_rows = self.rows_per_server > 1
        self._server_gap = _SERVER_GAP if has_many_rows else 0.0
        self._rows = _HIGH_ROWS if has_many_rows else _LOW_ROWS

    def _height(self, rack: int) -> float:
        """Return the height of a rack's rows, at least that of its switch's name."""
        height = (
            len(self.racks[rack]) * (self.rows_per_server * self._rows.height + self._server_gap) - self._server_gap
        )
        return max(height, _MIN_BAR_HEIGHT)

    def _column(self, rack: int) -> int:
        """Return the index of a rack among the racks of the drawing."""
        return list(self.racks).index(rack)

    def _is_mirrored(self, rack: int) -> bool:
        return not self.narrow and self._column(rack) % 2 == 1

    def panel(self, rack: int) -> Rectangle:
        """Return the panel behind a rack."""
        column, height = self._column(rack), self._height(rack) + _TITLE_HEIGHT + _BOTTOM_MARGIN
        heights_above = [
            self._height(other) + _TITLE_HEIGHT + _BOTTOM_MARGIN + _STACKED_RACK_GAP
            for other in list(self.racks)[:column]
        ]
        x, y = (0.0, sum(heights_above)) if self.narrow else (column * (self.columns.panel + _RACK_GAP), 0.0)
        return Rectangle(x, y, self.columns.panel, height)

    def _x_of(self, rack: int, distance: float) -> float:
        """Return the x coordinate at a distance from the outer edge of a rack."""
        box = self.panel(rack)
        return box.x + (box.width - distance if self._is_mirrored(rack) else distance)

    def _y_of(self, rack: int, server: int, row: int) -> float:
        """Return the y coordinate of the middle of a server's row."""
        block = self.racks[rack].index(server) * (self.rows_per_server * self._rows.height + self._server_gap)
        return self.panel(rack).y + _TITLE_HEIGHT + block + (row + 0.5) * self._rows.height + 2

    def place(self, node: BlueprintNode) -> tuple[Point2D, SymbolSize]:
        """Return the center and size of a chip or switch."""
        rack, columns = node.rack, self.columns
        if node.server is None:
            height = self._height(rack)
            center = Point2D(self._x_of(rack, columns.bar), self.panel(rack).y + _TITLE_HEIGHT + height / 2)
            return center, SymbolSize(_BAR_WIDTH, height)
        if node.kind == "switch":
            center = Point2D(
                self._x_of(rack, columns.switch), self._y_of(rack, node.server, (self.rows_per_server - 1) // 2)
            )
            return center, SymbolSize(_SWITCH_WIDTH, self._rows.node)
        row, column = divmod(node.ordinal, _CHIPS_PER_ROW)
        if self._is_mirrored(rack):  # chips count from left to right in mirrored racks too
            column = _CHIPS_PER_ROW - 1 - column
        center = Point2D(
            self._x_of(rack, columns.chip + column * columns.chip_pitch), self._y_of(rack, node.server, row)
        )
        return center, SymbolSize(columns.chip_width, self._rows.node)

    def link_to_bar(self, bar: Point2D, chip: Point2D) -> LinkPath:
        """Route a link from a rack's switch to a chip, along the bus above the chip's row."""
        bend = Point2D(chip.x, chip.y - self._rows.rack_bus)
        return LinkPath(
            ((Point2D(_offset_toward(bar, chip, _BAR_WIDTH / 2), bend.y), bend, self._edge(chip, -1)),), bend
        )

    def link_to_switch(self, switch: Point2D, chip: Point2D) -> LinkPath:
        """Route a link from a server's switch to a chip, along the bus below the chip's row."""
        bend = Point2D(chip.x, chip.y + self._rows.server_bus)
        side, turn = (_offset_toward(switch, chip, _SWITCH_WIDTH / 2 + gap) for gap in (0.0, 5.0))
        stroke = (Point2D(side, switch.y), Point2D(turn, switch.y), Point2D(turn, bend.y), bend, self._edge(chip, 1))
        return LinkPath((stroke,), bend)

    def link_twins(self, ordinal: int, a: Point2D, b: Point2D) -> LinkPath:
        """Route a link between twins across the gap between their racks or, if narrow, along the panels' inner edge.

        It runs below its row, so that it is seen at which chip it ends.
        """
        column = ordinal % _CHIPS_PER_ROW
        offset = self._rows.twin_lane + self._rows.twin_pitch * (_CHIPS_PER_ROW - 1 - column)
        if self.narrow:
            channel = self.columns.panel - 12 + self._rows.twin_pitch * (column - (_CHIPS_PER_ROW - 1) / 2)
            xs = (a.x + _TWIN_SIDE, channel, channel, b.x + _TWIN_SIDE)
        else:
            side = _TWIN_SIDE if a.x < b.x else -_TWIN_SIDE
            middle = (a.x + b.x) / 2
            xs = (a.x + side, middle, middle, b.x - side)
        ys = (a.y + offset, a.y + offset, b.y + offset, b.y + offset)
        stroke = [Point2D(x, y) for x, y in dict.fromkeys(zip(xs, ys, strict=True))]
        down, up = (Point2D(x, self._edge(chip, 1).y) for x, chip in ((xs[0], a), (xs[-1], b)))
        return LinkPath(((down, *stroke, up),), Point2D(xs[1], (ys[0] + ys[-1]) / 2))

    def _edge(self, chip: Point2D, direction: int) -> Point2D:
        """Return the middle of a chip's upper edge (direction -1) or lower edge (1)."""
        return Point2D(chip.x, chip.y + direction * self._rows.node / 2)

    def labels(self) -> list[TextLabel]:
        """Return the names of racks and servers."""
        labels = []
        for rack, servers in self.racks.items():
            anchor = "end" if self._is_mirrored(rack) else "start"
            box = self.panel(rack)
            labels.append(TextLabel(f"r{rack}", self._x_of(rack, 12), box.y + 22, anchor, strong=True))
            row = (self.rows_per_server - 1) // 2
            labels += [
                TextLabel(
                    f"s{server}", self._x_of(rack, self.columns.label), self._y_of(rack, server, row) + 4.5, anchor
                )
                for server in servers
            ]
        return labels


def _offset_toward(switch: Point2D, chip: Point2D, distance: float) -> float:
    """Return the x coordinate at a distance from a switch, on the side of a chip."""
    return switch.x + (distance if chip.x > switch.x else -distance)
