"""Where the parts of a domain are drawn; web/src/drawing/layout.ts places them the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Final

from trninv.drawing.svg import Point

RADIUS: Final = 11.0
_PLANE, _COLUMN, _ROW, _SLANT = 300.0, 60.0, 104.0, 24.0
_STEP, _RISE, _SERVER, _RACK = 30.0, 8.0, 240.0, 190.0


@dataclass(frozen=True, slots=True)
class Part:
    """A chip or switch of a domain; server is None of a switch that is a rack's."""

    address: str
    kind: str
    ordinal: int
    server: int | None
    rack: int
    state: str = "up"


@dataclass(frozen=True, slots=True)
class Wire:
    """A link of a domain; bandwidth when healthy, in bytes per second of one direction."""

    a: str
    b: str
    nominal: int
    technology: str
    state: str = "up"

    @property
    def ends(self) -> frozenset[str]:
        return frozenset((self.a, self.b))


def layout(parts: Sequence[Part], *, switched: bool) -> dict[str, Point]:
    return _by_rack(parts) if switched else _by_plane(parts)


def wraps(parts: Sequence[Part], wires: Sequence[Wire]) -> set[frozenset[str]]:
    """The wires that wrap around a torus."""
    at = {part.address: position for part, position in zip(parts, _positions(parts), strict=True)}
    far = (wire for wire in wires if any(abs(x - y) > 1 for x, y in zip(at[wire.a], at[wire.b], strict=True)))
    return {wire.ends for wire in far}


def _positions(parts: Sequence[Part]) -> list[tuple[int, int, int]]:
    """Server, row and column of a torus chip: device = columns × row + column."""
    columns = isqrt(1 + max(part.ordinal for part in parts))
    return [(part.server or 0, *divmod(part.ordinal, columns)) for part in parts]


def _by_plane(parts: Sequence[Part]) -> dict[str, Point]:
    """Column to the right, row down, server a plane further right."""
    return {
        part.address: (_PLANE * plane + _COLUMN * column, _ROW * row + _SLANT * column)
        for part, (plane, row, column) in zip(parts, _positions(parts), strict=True)
    }


def _by_rack(parts: Sequence[Part]) -> dict[str, Point]:
    """A column a rack, a row a server; a rack's switches outermost, then its servers'; every second rack mirrored."""
    servers: dict[int, set[int]] = {}
    for part in parts:
        of_rack = servers.setdefault(part.rack, set())
        if part.server is not None:
            of_rack.add(part.server)
    rows = max(map(len, servers.values()))
    chips = 1 + max(part.ordinal for part in parts if part.kind == "chip")
    step = max(_STEP, _SERVER / chips)
    width, height = _RACK + step * chips, _RISE * chips + 38
    at: dict[str, Point] = {}
    for column, rack in enumerate(sorted(servers)):
        edge, way = (column * width + width - step, -1) if column % 2 else (column * width, 1)
        shared = [part for part in parts if part.rack == rack and part.server is None]
        for place, part in enumerate(shared):
            at[part.address] = edge, rows * height * (place + 0.5) / len(shared)
        for part in parts:
            if part.rack == rack and part.server is not None:
                top = (part.server - min(servers[rack])) * height
                chip = part.kind == "chip"
                x, along = (_RACK - step + step * part.ordinal, part.ordinal) if chip else (60.0, chips / 2)
                at[part.address] = edge + way * x, top + _RISE * along
    return at
