"""A chip of its own, without scale-up links."""

from collections.abc import Iterator

from trninv.topology.blueprint import Blueprint, Sides, assembled, chip_nodes
from trninv.topology.pattern import Pattern, Places
from trninv.topology.sketch import Point


def _build() -> Blueprint:
    return assembled("single", chip_nodes(1, (1,)), (), servers_by_rack=(1,), chips_per_nic=1)


def _flat(places: Places, _sides: Sides) -> dict[int, Point]:
    return dict.fromkeys(places, Point(0.0, 0.0))


def _faults(blueprint: Blueprint) -> Iterator[str]:
    if blueprint.chips > 1 or blueprint.wires:
        yield "it has more than one chip, or a wire"


PATTERN = Pattern(name="single", says="a chip of its own", build=_build, flat=_flat, faults=_faults)
