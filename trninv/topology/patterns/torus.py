"""A torus of chips without switches; over several servers the first axis runs from server to server."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from math import prod

from trninv.errors import CatalogError
from trninv.topology.blueprint import Blueprint, Link, Node, Sides, assembled, chip_nodes
from trninv.topology.pattern import Holds, Pattern, Permutation, Places, Position, Solid
from trninv.topology.sketch import Point, Sketch
from trninv.topology.sketches.torus import planes, square
from trninv.topology.torus import coordinates, number, torus

_SPACE = 110.0
"""From chip to chip in space."""

_Move = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""Which axis becomes each axis, mirrored (-1) or not, shifted by how much."""


def _build(
    sides: tuple[int, ...],
    axes: tuple[str, ...],
    servers_by_rack: tuple[int, ...] = (1,),
    chips_per_nic: int = 1,
) -> Blueprint:
    """Of sides, each axis made of wires of a role."""
    servers = sum(servers_by_rack)
    if len(sides) != len(axes):
        raise CatalogError(f"{len(sides)} sides and {len(axes)} axes: name the role of each side's wires")
    if servers not in (1, *sides[:1]):
        raise CatalogError(f"{servers} servers: the first side must run over them")
    links = [Link(link.a, link.b, axes[link.axis]) for link in torus(sides)]
    nodes = chip_nodes(prod(sides) // servers, servers_by_rack)
    return assembled(
        "torus", nodes, links, servers_by_rack=servers_by_rack, chips_per_nic=chips_per_nic, sides=tuple(sides)
    )


def _position(chip: Node, sides: Sides) -> Position:
    """Of a 4×4 (row, column), of a 4×4×4 (server, row, column): device = columns × row + column."""
    return coordinates((chip.server or 0) * prod(sides[1:]) + chip.ordinal, sides)


def _spots(places: Places, sides: Sides) -> dict[int, tuple[int, int, int]]:
    """Plane, row and column of each chip; the planes of more than three dimensions follow each other."""
    found = {}
    for key, chip in places.items():
        *planes, row, column = (0, *_position(chip, sides))[-max(len(sides), 2) :]
        found[key] = number(planes, sides[:-2]), row, column
    return found


def _sketch(places: Places, sides: Sides, narrow: bool) -> Sketch:
    *several, rows, columns = (1, *sides)[-max(len(sides), 2) :]
    drawn = planes if several else square
    return drawn(
        places, _spots(places, sides), (rows, columns), lambda a, b: _wraps(places[a], places[b], sides), narrow=narrow
    )


def _flat(places: Places, sides: Sides) -> dict[int, Point]:
    return dict(_sketch(places, sides, narrow=False).at)


def _solid(places: Places, sides: Sides) -> dict[int, Solid]:
    """Column to the right, row down, plane after plane towards the reader."""
    *planes, rows, columns = (1, 1, *sides)
    middle = [(of - 1) / 2 for of in (columns, rows, prod(planes))]
    return {
        key: Solid(*(_SPACE * (at - half) for at, half in zip((column, row, plane), middle, strict=True)))
        for key, (plane, row, column) in _spots(places, sides).items()
    }


def _wraps(a: Node, b: Node, sides: Sides) -> bool:
    return any(abs(x - y) > 1 for x, y in zip(_position(a, sides), _position(b, sides), strict=True))


def _symmetries(places: Places, sides: Sides, holds: Holds) -> Iterator[Permutation]:
    """Shifts, mirrors and exchanged axes; every combination of them where one of the first two does not hold."""
    at = {_position(chip, sides): key for key, chip in places.items()}
    axes, still = range(len(sides)), (0,) * len(sides)
    ahead, order = (1,) * len(sides), tuple(axes)
    one = [tuple(int(i == axis) for i in axes) for axis in axes]
    steps = [
        *(_moved(at, sides, (order, ahead, shift)) for shift in one),
        *(_moved(at, sides, (order, tuple(1 - 2 * i for i in mirror), still)) for mirror in one),
    ]
    orders = [o for o in permutations(axes) if all(sides[i] == sides[o[i]] for i in axes)]
    if all(map(holds, steps)):  # then these and exchanged axes make up all others
        yield from [*steps, *(_moved(at, sides, (each, ahead, still)) for each in orders)]
        return
    for move in product(orders, product((1, -1), repeat=len(sides)), product(*map(range, sides))):
        yield _moved(at, sides, move)


def _moved(at: Mapping[Position, int], sides: Sides, move: _Move) -> Permutation:
    """Each chip to where its position is moved to, as far as there are chips."""
    order, signs, shift = move
    image = {}
    for position, node in at.items():
        to = tuple((signs[i] * position[order[i]] + shift[i]) % sides[i] for i in range(len(sides)))
        if to in at:
            image[node] = at[to]
    return image


def _faults(blueprint: Blueprint) -> Iterator[str]:
    sides = blueprint.sides
    if any(node.kind == "switch" for node in blueprint.nodes):
        yield "it has a switch"
    if not blueprint.wires or prod(sides) != blueprint.chips:
        yield f"sides {'×'.join(map(str, sides))} do not make {blueprint.chips} chips joined by wires"
        return
    axis = {(link.a, link.b): link.axis for link in torus(sides)}
    if axis.keys() != {(wire.a, wire.b) for wire in blueprint.wires}:
        yield "its wires are not just those to the next chip along each axis"
        return
    if mixed := _mixed((axis[wire.a, wire.b], wire.role) for wire in blueprint.wires):
        yield f"axis {mixed[0]} has wires of several roles"


def _mixed(roles: Iterable[tuple[int, str]]) -> list[int]:
    """Axes with more than one role."""
    found: dict[int, set[str]] = defaultdict(set)
    for axis, role in roles:
        found[axis].add(role)
    return sorted(axis for axis, names in found.items() if len(names) > 1)


PATTERN = Pattern(
    name="torus",
    says="a torus of chips, each wired to the next along every axis",
    build=_build,
    flat=_flat,
    sketch=_sketch,
    faults=_faults,
    position=_position,
    solid=_solid,
    wraps=_wraps,
    symmetries=_symmetries,
)
