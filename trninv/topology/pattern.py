"""Define wiring patterns with their blueprint, layout, symmetries and checks.

Each file of `trninv.topology.patterns` defines one as ``PATTERN``; `trninv.topology.registry` finds them.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, get_args, get_origin

from trninv.errors import CatalogError
from trninv.topology import blueprint as blueprints
from trninv.topology.blueprint import Blueprint, BlueprintNode, Sides
from trninv.topology.planar_layout import PlanarLayout, Point2D, straight_lines


def bind_arguments(
    function: Callable[..., object], values: Mapping[str, object], *, minimum: int = 0
) -> dict[str, Any]:
    """Return the arguments for a function by name, with lists converted to tuples.

    Parameters
    ----------
    function
        Its parameters are annotated with int, str, bool, object, and tuples and mappings of these.
    minimum
        The smallest integer allowed.

    Raises
    ------
    CatalogError
        The table lacks a parameter, has an unknown one, or one of another type.
    """
    parameters = inspect.signature(function, eval_str=True).parameters
    accepted = f"the parameters are {', '.join(parameters)}" if parameters else "there are no parameters"
    if unknown := sorted(values.keys() - parameters.keys()):
        raise CatalogError(f"{unknown[0]!r} is unknown: {accepted}")
    if missing := [
        name for name, parameter in parameters.items() if parameter.default is parameter.empty and name not in values
    ]:
        raise CatalogError(f"{missing[0]!r} is missing: {accepted}")
    return {name: _convert(name, value, parameters[name].annotation, minimum) for name, value in values.items()}


def _convert(name: str, value: object, annotation: Any, minimum: int) -> Any:  # a type, and a value of it
    item_types = get_args(annotation)
    if get_origin(annotation) is tuple and isinstance(value, list):
        return tuple(_convert(name, item, item_types[0], minimum) for item in value)
    if item_types and get_origin(annotation) is not tuple and isinstance(value, dict):
        return {key: _convert(f"{name}.{key}", item, item_types[1], minimum) for key, item in value.items()}
    too_small = isinstance(value, int) and annotation is int and value < minimum
    if annotation is object or (type(value) is annotation and not too_small):
        return value
    raise CatalogError(f"{name} = {value!r} is not {_describe_type(annotation, minimum)}")


def _describe_type(annotation: Any, minimum: int) -> str:  # a type
    if get_args(annotation):
        return "a list" if get_origin(annotation) is tuple else "a table"
    return {int: f"a whole number of at least {minimum}", str: "text", bool: "true or false"}[annotation]


NodesByNumber = Mapping[int, BlueprintNode]
"""Chips and switches of a domain or a part of it, under any numbers; racks may be counted from any number."""
Position = tuple[int, ...]
Permutation = Mapping[int, int]
"""The image of each place; a map that leads outside the present nodes lacks some places."""
IsSymmetry = Callable[[Permutation], bool]
"""Whether a candidate keeps the kind of every node and the capacity of every link, failures included."""


class Point3D(NamedTuple):
    """A point relative to the middle of a domain, in units of planar layouts: x right, y down, z towards the viewer."""

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
        Its name in TOML files and in the database, and the name of its file.
    description
        One line that describes it.
    build
        Builds a blueprint. Its parameters are those of a TOML file, annotated as `bind_arguments` reads them; integers
        are 1 or more. Raises CatalogError if they do not fit together.
    plane_positions
        Positions of chips and switches in a drawing where a chip has the radius 12.5.
    violations
        Yields what breaks the pattern's rules in a blueprint.
    position
        Coordinates of a chip, for which solvers try closed forms; returns None if there are none.
    custom_layout
        The planar layout for a wide or narrow screen, if it is not just straight lines between ``plane_positions``.
    space_positions
        Positions of chips in space, for a pattern that can be shown in 3D; else None.
    wraps_around
        Whether a link between two chips leads around the back, so that it is drawn as two stubs.
    symmetries
        Candidates for symmetries of the wiring, failures included. Each is checked before use: a wrong one only costs
        time, and with a missing one equivalent failures are solved more than once.
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
        """Build a blueprint from a TOML file's parameters and check it.

        Raises
        ------
        CatalogError
            Parameters are wrong, or the blueprint breaks a rule.
        """
        blueprint = self.build(**bind_arguments(self.build, parameters, minimum=1))
        self.check(blueprint)
        return blueprint

    def planar_layout(self, nodes: NodesByNumber, sides: Sides, *, narrow: bool = False) -> PlanarLayout:
        """Return the planar layout of a domain."""
        if self.custom_layout:
            return self.custom_layout(nodes, sides, narrow)
        positions = self.plane_positions(nodes, sides)
        return PlanarLayout(positions=positions, route=straight_lines(positions))

    def check(self, blueprint: Blueprint) -> None:
        """Check a blueprint against the rules for all blueprints and those of the pattern.

        Raises
        ------
        CatalogError
            A rule is broken; the message names the first.
        """
        if blueprint.pattern != self.name:
            raise CatalogError(f"the blueprint has the wiring {blueprint.pattern!r}, not {self.name!r}")
        if violation := next(chain(blueprints.violations(blueprint), self.violations(blueprint)), None):
            raise CatalogError(violation)
