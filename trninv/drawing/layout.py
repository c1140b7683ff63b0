"""Where the parts of a domain are drawn, here and in the explorer, which asks for these numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trninv.topology.blueprint import Node, Sides
from trninv.topology.pattern import Point, Solid
from trninv.topology.register import pattern

RADIUS: Final = 11.0
"""Of a chip: the unit of every place."""


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
        """Addresses of both ends."""
        return frozenset((self.a, self.b))


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of parts by address.

    Attributes
    ----------
    flat
        In a flat picture.
    solid
        In space, of a wiring that can be turned; else empty.
    wrapping
        Ends of the wires that lead around the back, drawn as two stubs.

    """

    flat: Mapping[str, Point]
    solid: Mapping[str, Solid]
    wrapping: frozenset[frozenset[str]]


def layout(wiring: str, sides: Sides, parts: Sequence[Part], wires: Sequence[Wire]) -> Layout:
    """Place the parts of a domain, or of a part of one, as the pattern of its wiring says.

    Raises
    ------
    UnknownWiringError
        No pattern is called so.

    """
    of = pattern(wiring)
    places = {
        at: Node("chip" if part.kind == "chip" else "switch", part.server, part.rack, part.ordinal)
        for at, part in enumerate(parts)
    }
    node = {part.address: places[at] for at, part in enumerate(parts)}
    chips = [wire for wire in wires if node[wire.a].kind == node[wire.b].kind == "chip"]
    solid = of.solid(places, sides) if of.solid else {}
    return Layout(
        {parts[at].address: point for at, point in of.flat(places, sides).items()},
        {parts[at].address: point for at, point in solid.items()},
        frozenset(wire.ends for wire in chips if of.wraps(node[wire.a], node[wire.b], sides)),
    )
