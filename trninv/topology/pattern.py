"""Define wiring patterns: rules that build domains' blueprints, with functions that lay out, check and compare domains.

Each file of `trninv.topology.patterns` defines a pattern as ``PATTERN``, and `trninv.topology.registry` finds it. The
catalog's TOML files name the pattern of each domain and the pattern's parameters (`trninv.catalog.models`).
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
    """Check the values of a TOML table against a function's parameters; return them with lists converted to tuples.

    Parameters
    ----------
    function
        Its parameters must be annotated as int, str, bool or object, or as a tuple or mapping of these types.
    minimum
        The smallest integer allowed.

    Raises
    ------
    CatalogError
        The table lacks a parameter, or has an unknown parameter or a value of the wrong type.
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


def _convert(name: str, value: object, annotation: Any, minimum: int) -> Any:  # annotation: a type; returns its value
    """Return a value with lists converted to tuples; refuse a value that does not match its parameter's annotation."""
    item_types = get_args(annotation)
    if get_origin(annotation) is tuple and isinstance(value, list):
        return tuple(_convert(name, item, item_types[0], minimum) for item in value)
    if item_types and get_origin(annotation) is not tuple and isinstance(value, dict):
        return {key: _convert(f"{name}.{key}", item, item_types[1], minimum) for key, item in value.items()}
    too_small = isinstance(value, int) and annotation is int and value < minimum
    if annotation is object or (type(value) is annotation and not too_small):
        return value
    raise CatalogError(f"{name} = {value!r} is not {_describe_type(annotation, minimum)}")


def _describe_type(annotation: Any, minimum: int) -> str:  # annotation: a type
    if get_args(annotation):
        return "a list" if get_origin(annotation) is tuple else "a table"
    return {int: f"a whole number of at least {minimum}", str: "text", bool: "true or false"}[annotation]


NodesByNumber = Mapping[int, BlueprintNode]
"""Chips and switches of a domain, or some of them, by database id or any other number. Racks may start above 0."""
Position = tuple[int, ...]
"""Coordinates of a chip, one for each of the pattern's sides."""
Permutation = Mapping[int, int]
"""The node onto which each node is mapped, by node number. A node is left out if it would be mapped onto no node."""
IsSymmetry = Callable[[Permutation], bool]
"""Tests whether a permutation preserves the kind of every node and the capacity of every link, failures included."""


Label = tuple[tuple[Any, ...], ...]
"""A mark on a node, such as a description of its failures. Nodes with equal labels are equivalent."""


class Point3D(NamedTuple):
    """A point relative to the middle of a domain, in the units of planar layouts: x right, y down, z to the viewer."""

    x: float
    y: float
    z: float


def _no_position(_node: BlueprintNode, _sides: Sides) -> Position | None:
    return None


def _never_wraps(_a: BlueprintNode, _b: BlueprintNode, _sides: Sides) -> bool:
    return False


def _no_symmetries(_nodes: NodesByNumber, _sides: Sides, _is_symmetry: IsSymmetry) -> Iterator[Permutation]:
    yield from ()


def _no_arrangements(_nodes: NodesByNumber, _sides: Sides, _labels: Mapping[int, Label]) -> Iterator[Permutation]:
    yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A wiring pattern: a rule that builds blueprints, and functions that check, draw and compare domains.

    Attributes
    ----------
    name
        The pattern's name in TOML files and in the database, and the name of its Python file.
    description
        One line that describes the pattern to users.
    build
        Builds a blueprint. It takes the parameters that a TOML file names, annotated as `bind_arguments` requires;
        integers are 1 or more. It raises CatalogError if the parameters contradict each other.
    plane_positions
        Returns the positions of chips and switches in a drawing in which a chip has the radius 12.5.
    violations
        Yields a message for each rule of the pattern that a blueprint breaks.
    position
        Returns the coordinates of a chip, which solvers use in closed formulas; None if chips have no coordinates.
    custom_layout
        Returns the planar layout for a wide or narrow screen; None draws straight lines between ``plane_positions``.
    space_positions
        Returns the positions of chips in 3D; None if the pattern cannot be drawn in 3D.
    wraps_around
        Returns whether a link leads from the last chip of an axis back to the first, and so is drawn as two stubs or as
        an arc.
    symmetries
        Yields candidates for symmetries of the wiring, failures included. Each is checked before use, so a wrong
        candidate costs only time. If a symmetry is missing, equivalent failures are solved more than once.
    arrangements
        Yields candidates for symmetries of the undamaged wiring that move nodes with labels to the first positions, so
        that equivalent failures are mapped onto the same nodes.
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
    arrangements: Callable[[NodesByNumber, Sides, Mapping[int, Label]], Iterator[Permutation]] = _no_arrangements

    def blueprint(self, parameters: Mapping[str, object]) -> Blueprint:
        """Build a blueprint from the parameters in a TOML file, and check it.

        Raises
        ------
        CatalogError
            A parameter is missing, unknown or wrong, or the blueprint breaks a rule.
        """
        blueprint = self.build(**bind_arguments(self.build, parameters, minimum=1))
        self.check(blueprint)
        return blueprint

    def planar_layout(self, nodes: NodesByNumber, sides: Sides, *, narrow: bool = False) -> PlanarLayout:
        """Return the planar layout of a domain, for a wide or a narrow screen."""
        if self.custom_layout:
            return self.custom_layout(nodes, sides, narrow)
        positions = self.plane_positions(nodes, sides)
        return PlanarLayout(positions=positions, route=straight_lines(positions))

    def check(self, blueprint: Blueprint) -> None:
        """Check a blueprint against the rules for all blueprints and the pattern's own rules.

        Raises
        ------
        CatalogError
            A rule is broken; the message names the first broken rule.
        """
        if blueprint.pattern != self.name:
            raise CatalogError(f"the blueprint has the wiring {blueprint.pattern!r}, not {self.name!r}")
        if violation := next(chain(blueprints.violations(blueprint), self.violations(blueprint)), None):
            raise CatalogError(violation)
