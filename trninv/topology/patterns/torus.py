"""Declare the torus of chips without switches; over several servers the first axis runs from server to server."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from math import prod

from trninv.errors import CatalogError
from trninv.topology.blueprint import Blueprint, BlueprintLink, BlueprintNode, Sides, assemble, chip_nodes
from trninv.topology.pattern import IsSymmetry, NodesByNumber, Pattern, Permutation, Point3D, Position
from trninv.topology.planar_layout import PlanarLayout, Point2D
from trninv.topology.planar_layouts.torus import single_plane, stacked_planes
from trninv.topology.torus import coordinates, node_number, torus_links

_CHIP_PITCH_3D = 110.0
"""The distance between chips in space."""

_AxisTransform = tuple[Sequence[int], Sequence[int], Sequence[int]]
"""The source axis of each axis, its sign (-1 mirrors it) and its shift."""


def _build(
    sides: tuple[int, ...],
    axes: tuple[str, ...],
    servers_by_rack: tuple[int, ...] = (1,),
    chips_per_nic: int = 1,
) -> Blueprint:
    """Build a torus from its sides and from the role of the links along each axis."""
    servers = sum(servers_by_rack)
    if len(sides) != len(axes):
        raise CatalogError(f"{len(sides)} sides and {len(axes)} axes: name the role of the links along each side")
    if servers not in (1, *sides[:1]):
        raise CatalogError(f"{servers} servers: the first side must be the number of servers")
    links = [BlueprintLink(link.a, link.b, axes[link.axis]) for link in torus_links(sides)]
    nodes = chip_nodes(prod(sides) // servers, servers_by_rack)
    return assemble(
        "torus", nodes, links, servers_by_rack=servers_by_rack, chips_per_nic=chips_per_nic, sides=tuple(sides)
    )


def _position(chip: BlueprintNode, sides: Sides) -> Position:
    """Return (row, column) for 4×4 and (server, row, column) for 4×4×4: device = columns × row + column."""
    return coordinates((chip.server or 0) * prod(sides[1:]) + chip.ordinal, sides)


def _grid_positions(nodes: NodesByNumber, sides: Sides) -> dict[int, tuple[int, int, int]]:
    """Return plane, row and column of each chip; above three dimensions planes are numbered consecutively."""
    positions = {}
    for key, chip in nodes.items():
        *planes, row, column = (0, *_position(chip, sides))[-max(len(sides), 2) :]
        positions[key] = node_number(planes, sides[:-2]), row, column
    return positions


def _planar_layout(nodes: NodesByNumber, sides: Sides, narrow: bool) -> PlanarLayout:
    *plane_sides, rows, columns = (1, *sides)[-max(len(sides), 2) :]
    draw = stacked_planes if plane_sides else single_plane
    return draw(
        nodes,
        _grid_positions(nodes, sides),
        (rows, columns),
        lambda a, b: _wraps_around(nodes[a], nodes[b], sides),
        narrow=narrow,
    )


def _plane_positions(nodes: NodesByNumber, sides: Sides) -> dict[int, Point2D]:
    return dict(_planar_layout(nodes, sides, narrow=False).positions)


def _space_positions(nodes: NodesByNumber, sides: Sides) -> dict[int, Point3D]:
    """Return positions with columns to the right, rows down and planes towards the viewer."""
    *planes, rows, columns = (1, 1, *sides)
    middles = [(count - 1) / 2 for count in (columns, rows, prod(planes))]
    return {
        key: Point3D(
            *(_CHIP_PITCH_3D * (index - middle) for index, middle in zip((column, row, plane), middles, strict=True))
        )
        for key, (plane, row, column) in _grid_positions(nodes, sides).items()
    }


def _wraps_around(a: BlueprintNode, b: BlueprintNode, sides: Sides) -> bool:
    return any(abs(x - y) > 1 for x, y in zip(_position(a, sides), _position(b, sides), strict=True))


def _symmetries(nodes: NodesByNumber, sides: Sides, is_symmetry: IsSymmetry) -> Iterator[Permutation]:
    """Yield shifts, mirrors and exchanged axes; all their combinations if one of the first two is no symmetry."""
    chip_at = {_position(chip, sides): key for key, chip in nodes.items()}
    axes, no_shift = range(len(sides)), (0,) * len(sides)
    no_mirror, same_order = (1,) * len(sides), tuple(axes)
    unit_vectors = [tuple(int(i == axis) for i in axes) for axis in axes]
    steps = [
        *(_permutation(chip_at, sides, (same_order, no_mirror, shift)) for shift in unit_vectors),
        *(
            _permutation(chip_at, sides, (same_order, tuple(1 - 2 * i for i in mirror), no_shift))
            for mirror in unit_vectors
        ),
    ]
    orders = [axis_order for axis_order in permutations(axes) if all(sides[i] == sides[axis_order[i]] for i in axes)]
    if all(map(is_symmetry, steps)):  # then these and exchanged axes generate all other symmetries
        yield from [*steps, *(_permutation(chip_at, sides, (axis_order, no_mirror, no_shift)) for axis_order in orders)]
        return
    for transform in product(orders, product((1, -1), repeat=len(sides)), product(*map(range, sides))):
        yield _permutation(chip_at, sides, transform)


def _permutation(chip_at: Mapping[Position, int], sides: Sides, transform: _AxisTransform) -> Permutation:
    """Map each chip to the chip at its transformed position, where there is one."""
    order, signs, shift = transform
    image = {}
    for position, node in chip_at.items():
        image_position = tuple((signs[i] * position[order[i]] + shift[i]) % sides[i] for i in range(len(sides)))
        if image_position in chip_at:
            image[node] = chip_at[image_position]
    return image


def _violations(blueprint: Blueprint) -> Iterator[str]:
    sides = blueprint.sides
    if any(node.kind == "switch" for node in blueprint.nodes):
        yield "it has a switch"
    if not blueprint.scale_up_links or prod(sides) != blueprint.chips:
        yield f"sides {'×'.join(map(str, sides))} do not give {blueprint.chips} linked chips"
        return
    axis = {(link.a, link.b): link.axis for link in torus_links(sides)}
    if axis.keys() != {(wire.a, wire.b) for wire in blueprint.scale_up_links}:
        yield "its links do not connect each chip to the next along each axis, and only those"
        return
    if mixed := _axes_with_mixed_roles((axis[wire.a, wire.b], wire.role) for wire in blueprint.scale_up_links):
        yield f"axis {mixed[0]} has links of several roles"


def _axes_with_mixed_roles(roles: Iterable[tuple[int, str]]) -> list[int]:
    """Return the axes with more than one role."""
    roles_by_axis: dict[int, set[str]] = defaultdict(set)
    for axis, role in roles:
        roles_by_axis[axis].add(role)
    return sorted(axis for axis, names in roles_by_axis.items() if len(names) > 1)


PATTERN = Pattern(
    name="torus",
    description="A torus of chips, each linked to the next along every axis",
    build=_build,
    plane_positions=_plane_positions,
    custom_layout=_planar_layout,
    violations=_violations,
    position=_position,
    space_positions=_space_positions,
    wraps_around=_wraps_around,
    symmetries=_symmetries,
)
