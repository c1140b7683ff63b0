"""Declare the wiring pattern "chain": the chips of one server in a row, each linked to the next."""

from collections.abc import Iterator

from trninv.topology.blueprint import Blueprint, BlueprintLink, Sides, assemble, chip_nodes
from trninv.topology.pattern import IsSymmetry, NodesByNumber, Pattern, Permutation
from trninv.topology.planar_layout import Point2D

_CHIP_PITCH = 72.0
"""Distance between neighboring chips in drawings."""


def _build(chips: int, chips_per_nic: int = 1) -> Blueprint:
    return assemble(
        "chain", chip_nodes(chips, (1,)), _scale_up_links(chips), servers_by_rack=(1,), chips_per_nic=chips_per_nic
    )


def _scale_up_links(chips: int) -> list[BlueprintLink]:
    return [BlueprintLink(chip, chip + 1, "next") for chip in range(chips - 1)]


def _plane_positions(nodes: NodesByNumber, _sides: Sides) -> dict[int, Point2D]:
    return {key: Point2D(_CHIP_PITCH * chip.ordinal, 0.0) for key, chip in nodes.items()}


def _symmetries(nodes: NodesByNumber, _sides: Sides, _is_symmetry: IsSymmetry) -> Iterator[Permutation]:
    """Yield the reversal of the row, which is the only symmetry except the identity."""
    row = sorted(nodes, key=lambda key: nodes[key].ordinal)
    yield dict(zip(row, reversed(row), strict=True))


def _violations(blueprint: Blueprint) -> Iterator[str]:
    if blueprint.scale_up_links != tuple(_scale_up_links(blueprint.chips)):
        yield "its links do not connect each chip to the next, and only those"


PATTERN = Pattern(
    name="chain",
    description="Chips in a row, each linked to the next",
    build=_build,
    plane_positions=_plane_positions,
    violations=_violations,
    symmetries=_symmetries,
)
