"""A chain: chips of one server in a row, each wired to the next, the last to none."""

from collections.abc import Iterator

from trninv.topology.blueprint import Blueprint, Link, Sides, assembled, chip_nodes
from trninv.topology.pattern import Holds, Pattern, Permutation, Places
from trninv.topology.sketch import Point

_PITCH = 72.0
"""From chip to chip in drawings."""


def _build(chips: int, chips_per_nic: int = 1) -> Blueprint:
    return assembled("chain", chip_nodes(chips, (1,)), _wires(chips), servers_by_rack=(1,), chips_per_nic=chips_per_nic)


def _wires(chips: int) -> list[Link]:
    return [Link(chip, chip + 1, "next") for chip in range(chips - 1)]


def _flat(places: Places, _sides: Sides) -> dict[int, Point]:
    return {key: Point(_PITCH * chip.ordinal, 0.0) for key, chip in places.items()}


def _symmetries(places: Places, _sides: Sides, _holds: Holds) -> Iterator[Permutation]:
    """The mirror image."""
    in_order = sorted(places, key=lambda key: places[key].ordinal)
    yield dict(zip(in_order, reversed(in_order), strict=True))


def _faults(blueprint: Blueprint) -> Iterator[str]:
    if blueprint.wires != tuple(_wires(blueprint.chips)):
        yield "its wires are not just those from each chip to the next"


PATTERN = Pattern(
    name="chain",
    says="chips in a row, each wired to the next",
    build=_build,
    flat=_flat,
    faults=_faults,
    symmetries=_symmetries,
)
