"""What a wiring pattern is: how a domain is built, placed in drawings, turned onto itself, and checked.

Each file of `trninv.topology.patterns` holds one as ``PATTERN``; `trninv.topology.register` finds them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from trninv.errors import CatalogError
from trninv.topology import blueprint as blueprints
from trninv.topology.arguments import bind_arguments
from trninv.topology.blueprint import Blueprint, BlueprintNode, Sides
from trninv.topology.sketch import PlanarLayout, Point2D, straight_lines

NodesByNumber = Mapping[int, BlueprintNode]
"""Chips and switches of one domain, or of a part of it, under any numbers; racks may be counted from anywhere."""
Position = tuple[int, ...]
Permutation = Mapping[int, int]
"""Which place each place is mapped to; one that leads out of what is there lacks some."""
IsSymmetry = Callable[[Permutation], bool]
"""Whether a candidate keeps every node's kind and every link's capacity on the wiring as it is."""


class Point3D(NamedTuple):
    """About the middle of a domain, in the unit of sketches: x to the right, y down, z towards the reader."""

    x: float
    y: float
    z: float


def _no_position(_node: BlueprintNode, _sides: Sides) -> Position | None:
    return None


def _never_wraps(_a: BlueprintNode, _b: BlueprintNode, _sides: Sides) -> bool:
    return False


def _no_symmetries(_nodes: NodesByNumber, _sides: Sides, _is_symmetry: IsSymmetry) -> Iterator[Permutation]:
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A wiring pattern.

    Attributes
    ----------
    name
        What TOML files and the database call it; the name of its file.
    says
        What it is, in a line.
    build
        Makes a blueprint. Its parameters are those that a TOML file gives, annotated as `arguments` reads them; whole
        numbers are 1 or more. Raises CatalogError where they don't fit together.
    flat
        Where chips and switches are drawn, in a picture where a chip's radius is 12.5.
    faults
        What breaks the pattern's rules in a blueprint.
    position
        Coordinates of a chip, of which solvers try closed forms; None without any.
    sketch
        The flat picture, for a wide screen or a narrow one; what differs from straight lines between the places of
        ``flat``.
    solid
        Where chips stand in space, of a pattern that can be turned; else None.
    wraps
        Whether a wire between two chips leads around the back, so that it is drawn as two stubs.
    symmetries
        Candidates for symmetries of the wiring as it is. Each is checked before it is used, so that a wrong one costs
        time only and a missing one has equal failures solved more than once.

    """

    name: str
    description: str
    build: Callable[..., Blueprint]
    plane_positions: Callable[[NodesByNumber, Sides], dict[int, Point2D]]
    violations: Callable[[Blueprint], Iterator[str]]
    position: Callable[[BlueprintNode, Sides], Position | None] = _no_position
    custom_layout: Callable[[NodesByNumber, Sides, bool], PlanarLayout] | None = None
    space_positions: Callable[[NodesByNumber, Sides], dict[int, Point3D]] | None = None
    wraps_around: Callable[[BlueprintNode, BlueprintNode, Sides], bool] = _never_wraps
    symmetries: Callable[[NodesByNumber, Sides, IsSymmetry], Iterator[Permutation]] = _no_symmetries

    def blueprint(self, parameters: Mapping[str, object]) -> Blueprint:
        """Build from a TOML file's parameters, and check what was built.

        Raises
        ------
        CatalogError
            Parameters are wrong, or the blueprint breaks a rule.

        """
        blueprint = self.build(**bind_arguments(self.build, parameters, minimum=1))
        self.check(blueprint)
        return blueprint

    def planar_layout(self, nodes: NodesByNumber, sides: Sides, *, narrow: bool = False) -> PlanarLayout:
        """The flat picture."""
        if self.custom_layout:
            return self.custom_layout(nodes, sides, narrow)
        positions = self.plane_positions(nodes, sides)
        return PlanarLayout(positions=positions, route=straight_lines(positions))

    def check(self, blueprint: Blueprint) -> None:
        """Hold a blueprint to the rules of all blueprints and to the pattern's own.

        Raises
        ------
        CatalogError
            Naming the first rule that is broken.

        """
        if blueprint.pattern != self.name:
            raise CatalogError(f"the blueprint is of wiring {blueprint.pattern!r}, not {self.name!r}")
        if violation := next(chain(blueprints.violations(blueprint), self.violations(blueprint)), None):
            raise CatalogError(violation)
