"""Switched domains rack by rack: a bar for the rack's switch, and rows of chips with a bus above and one below."""

from collections.abc import Mapping
from itertools import groupby
from typing import NamedTuple

from trninv.topology.blueprint import Node
from trninv.topology.sketch import Box, Label, Point, Route, Size, Sketch, straight

_ROW, _ACROSS, _BLOCK = 31.0, 4, 12.0
"""From row to row, chips in a row, and what is between servers of several rows."""
_RACK_BUS, _SERVER_BUS, _TWINS = 12.5, 12.0, 3.0
"""Above and below the middle of a row; from twin's line to twin's line."""
_TITLE, _BELOW = 36.0, 6.0
"""Of a panel, above the first row's bar and below it."""
_BETWEEN, _BENEATH = 168.0, 16.0
"""Between the panels of racks side by side, and of racks one below the other."""


class _Across(NamedTuple):
    """Where things stand in a rack, from the panel's edge that is outside."""

    panel: float
    bar: float
    label: float
    switch: float
    chip: float
    step: float
    wide: float


_WIDE = _Across(370.0, 20.0, 37.0, 86.5, 145.0, 62.0, 54.0)
_NARROW = _Across(352.0, 17.0, 32.0, 80.0, 133.0, 55.0, 47.0)
_BAR, _SWITCH, _HIGH = 24.0, 41.0, 16.0


def by_rack(places: Mapping[int, Node], *, narrow: bool) -> Sketch:
    """Racks side by side, every second one mirrored so that twins face each other; narrow: one below the other."""
    made = _Rows(places, _NARROW if narrow else _WIDE, narrow=narrow)
    at, sizes = {}, {}
    for key, node in places.items():
        at[key], sizes[key] = made.place(node)
    chips = {key: f"c{node.ordinal}" for key, node in places.items() if node.kind == "chip"}

    def route(a: int, b: int) -> Route:
        hub, chip = (a, b) if places[a].kind == "switch" else (b, a)
        if places[hub].kind == "chip":
            return made.twins(places[a].ordinal, at[a], at[b])
        if places[hub].server is None:
            return made.to_bar(at[hub], at[chip])
        return made.to_switch(at[hub], at[chip])

    return Sketch(
        at=at,
        route=route if len(places) > 1 else straight(at),
        sizes=sizes,
        texts=chips,
        panels=[made.panel(rack) for rack in made.racks],
        labels=list(made.labels()),
        font=13.0,
        thick=2.2,
    )


class _Rows:
    """Rows of the racks' servers."""

    def __init__(self, places: Mapping[int, Node], across: _Across, *, narrow: bool) -> None:
        servers = sorted({(node.rack, node.server) for node in places.values() if node.server is not None})
        self.racks = {rack: [server for _, server in of] for rack, of in groupby(servers, key=lambda each: each[0])}
        chips = 1 + max(node.ordinal for node in places.values() if node.kind == "chip")
        self.deep = -(-chips // _ACROSS)
        self.across, self.narrow = across, narrow
        self._gap = _BLOCK if self.deep > 1 else 0.0

    def _height(self, rack: int) -> float:
        """Of a rack's rows."""
        return len(self.racks[rack]) * (self.deep * _ROW + self._gap) - self._gap

    def _column(self, rack: int) -> int:
        return list(self.racks).index(rack)

    def _mirrored(self, rack: int) -> bool:
        return not self.narrow and self._column(rack) % 2 == 1

    def panel(self, rack: int) -> Box:
        """Behind a rack."""
        column, high = self._column(rack), self._height(rack) + _TITLE + _BELOW
        before = [self._height(each) + _TITLE + _BELOW + _BENEATH for each in list(self.racks)[:column]]
        x, y = (0.0, sum(before)) if self.narrow else (column * (self.across.panel + _BETWEEN), 0.0)
        return Box(x, y, self.across.panel, high)

    def _x(self, rack: int, out: float) -> float:
        """Of what stands a way from the outside."""
        box = self.panel(rack)
        return box.x + (box.width - out if self._mirrored(rack) else out)

    def _y(self, rack: int, server: int, row: int) -> float:
        """Of the middle of a server's row."""
        block = self.racks[rack].index(server) * (self.deep * _ROW + self._gap)
        return self.panel(rack).y + _TITLE + block + (row + 0.5) * _ROW + 2

    def place(self, node: Node) -> tuple[Point, Size]:
        """Of a chip or switch: its middle and size."""
        rack, across = node.rack, self.across
        if node.server is None:
            high = self._height(rack)
            return Point(self._x(rack, across.bar), self.panel(rack).y + _TITLE + high / 2), Size(_BAR, high)
        if node.kind == "switch":
            at = Point(self._x(rack, across.switch), self._y(rack, node.server, (self.deep - 1) // 2))
            return at, Size(_SWITCH, _HIGH)
        row, column = divmod(node.ordinal, _ACROSS)
        if self._mirrored(rack):  # its first chip is the innermost, as in the rack that it faces
            column = _ACROSS - 1 - column
        at = Point(self._x(rack, across.chip + column * across.step), self._y(rack, node.server, row))
        return at, Size(across.wide, _HIGH)

    def to_bar(self, bar: Point, chip: Point) -> Route:
        """From a rack's switch along the bus above a row."""
        bend = Point(chip.x, chip.y - _RACK_BUS)
        return Route(((Point(_towards(bar, chip, _BAR / 2), bend.y), bend, _edge(chip, -1)),), bend)

    def to_switch(self, switch: Point, chip: Point) -> Route:
        """From a server's switch along the bus below a row."""
        bend = Point(chip.x, chip.y + _SERVER_BUS)
        side, riser = (_towards(switch, chip, _SWITCH / 2 + more) for more in (0.0, 5.0))
        stroke = (Point(side, switch.y), Point(riser, switch.y), Point(riser, bend.y), bend, _edge(chip, 1))
        return Route((stroke,), bend)

    def twins(self, ordinal: int, a: Point, b: Point) -> Route:
        """Across the space between two racks; narrow: along a channel at the side."""
        beside = ordinal % _ACROSS - (_ACROSS - 1) / 2
        off = _TWINS * beside
        start, end = Point(a.x, a.y + off), Point(b.x, b.y + off)
        if not self.narrow:
            return Route(((start, end),), Point((start.x + end.x) / 2, (start.y + end.y) / 2))
        channel = self.across.panel - 12 + _TWINS * beside
        way = (start, Point(channel, start.y), Point(channel, end.y), end)
        return Route((way,), Point(channel, (start.y + end.y) / 2))

    def labels(self) -> list[Label]:
        """Names of racks and servers."""
        found = []
        for rack, servers in self.racks.items():
            anchor = "end" if self._mirrored(rack) else "start"
            box = self.panel(rack)
            found.append(Label(f"rack {rack}", self._x(rack, 12), box.y + 22, anchor, strong=True))
            row = (self.deep - 1) // 2
            found += [
                Label(f"s{each}", self._x(rack, self.across.label), self._y(rack, each, row) + 4.5, anchor)
                for each in servers
            ]
        return found


def _towards(hub: Point, chip: Point, far: float) -> float:
    """X of what is some way from a hub on the side of a chip."""
    return hub.x + (far if chip.x > hub.x else -far)


def _edge(chip: Point, way: int) -> Point:
    return Point(chip.x, chip.y + way * _HIGH / 2)
