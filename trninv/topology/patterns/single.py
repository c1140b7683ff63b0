"""Declare the wiring pattern "single": one chip, without scale-up links."""

from collections.abc import Iterator

from trninv.topology.blueprint import Blueprint, Sides, assemble, chip_nodes
from trninv.topology.pattern import NodesByNumber, Pattern
from trninv.topology.planar_layout import Point2D


def _build() -> Blueprint:
    return assemble("single", chip_nodes(1, (1,)), (), servers_by_rack=(1,), chips_per_nic=1)


def _plane_positions(nodes: NodesByNumber, _sides: Sides) -> dict[int, Point2D]:
    return dict.fromkeys(nodes, Point2D(0.0, 0.0))


def _violations(blueprint: Blueprint) -> Iterator[str]:
    if blueprint.chips > 1 or blueprint.scale_up_links:
        yield "it has more than one chip, or a link"


PATTERN = Pattern(
    name="single",
    description="A single chip",
    build=_build,
    plane_positions=_plane_positions,
    violations=_violations,
)
