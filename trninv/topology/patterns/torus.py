"""Declare the wiring pattern "torus": chips without switches, each linked to the next along every axis.

If a torus spans several servers, its first axis leads from server to server.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import prod

from trninv.errors import CatalogError
from trninv.topology.blueprint import Blueprint, BlueprintLink, BlueprintNode, Sides, assemble, chip_nodes
from trninv.topology.pattern import IsSymmetry, NodesByNumber, Pattern, Permutation, Point3D, Position
from trninv.topology.planar_layout import PlanarLayout, Point2D
from trninv.topology.planar_layouts.torus import single_plane, stacked_planes
from trninv.topology.torus import coordinates, node_number, torus_links

_CHIP_PITCH_3D = 110.0
"""Distance between neighboring chips in 3D drawings."""


def _build(
    sides: tuple[int, ...],
    axes: tuple[str, ...],
    servers_by_rack: tuple[int, ...] = (1,),
    chips_per_nic: int = 1,
) -> Blueprint:
    """Build a torus from its sides and from the names of its axes, which are the roles of the links along them."""
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
    """Return a chip's coordinates: (row, column) if the sides are 4×4, and (server, row, column) if they are 4×4×4.

    The chips of a server are numbered row by row.
    """
    return coordinates((chip.server or 0) * prod(sides[1:]) + chip.ordinal, sides)


def _grid_positions(nodes: NodesByNumber, sides: Sides) -> dict[int, tuple[int, int, int]]:
    """Return the plane, row and column of each chip.

    Row and column are the last two coordinates. Planes are numbered consecutively over all other coordinates.
    """
    positions = {}
    for key, chip in nodes.items():
        *planes, row, column = (0, *_position(chip, sides))[-max(len(sides), 2) :]
        positions[key] = node_number(planes, sides[:-2]), row, column
    return positions


def _planar_layout(nodes: NodesByNumber, sides: Sides, narrow: bool) -> PlanarLayout:
    rows, columns = (1, *sides)[-2:]
    grid_positions = _grid_positions(nodes, sides)
    # of an UltraServer, a single server may be drawn
    draw = stacked_planes if len({plane for plane, _, _ in grid_positions.values()}) > 1 else single_plane
    return draw(
        nodes,
        grid_positions,
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
    """Yield shifts, reflections and exchanges of axes, or all combinations of them if a shift or reflection fails."""
    from trninv.topology import torus_symmetries  # noqa: PLC0415 # NumPy is slow to import

    key_at = {_position(chip, sides): key for key, chip in nodes.items()}
    return torus_symmetries.symmetries(key_at, sides, is_symmetry)


def _violations(blueprint: Blueprint) -> Iterator[str]:
    sides = blueprint.sides
    if any(node.kind == "switch" for node in blueprint.nodes):
        yield "it has a switch"
    if not blueprint.scale_up_links or prod(sides) != blueprint.chips:
        yield f"sides {'×'.join(map(str, sides))} do not give {blueprint.chips} linked chips"
        return
    axis = {(link.a, link.b): link.axis for link in torus_links(sides)}
    if axis.keys() != {(link.a, link.b) for link in blueprint.scale_up_links}:
        yield "its links do not connect each chip to the next along each axis, and only those"
        return
    if mixed := _axes_with_mixed_roles((axis[link.a, link.b], link.role) for link in blueprint.scale_up_links):
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
