"""Declare the two-level switched pattern: a switch per server and per rack, and direct links between twins in two
racks.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, groupby
from typing import NamedTuple

from trninv.topology.blueprint import Blueprint, BlueprintLink, BlueprintNode, Sides, assemble, chip_nodes
from trninv.topology.pattern import IsSymmetry, NodesByNumber, Pattern, Permutation
from trninv.topology.planar_layout import PlanarLayout, Point2D
from trninv.topology.planar_layouts.switched import racks_side_by_side


def _build(racks: int, servers_per_rack: int, chips_per_server: int, chips_per_nic: int = 1) -> Blueprint:
    """Build chips, the servers' switches and the racks' switches, whose ordinals continue those of the servers'."""
    servers_by_rack = (servers_per_rack,) * racks
    servers = racks * servers_per_rack
    nodes = [
        *chip_nodes(chips_per_server, servers_by_rack),
        *(BlueprintNode("switch", server, server // servers_per_rack, server) for server in range(servers)),
        *(BlueprintNode("switch", None, rack, servers + rack) for rack in range(racks)),
    ]
    return assemble(
        "switched", nodes, _scale_up_links(nodes), servers_by_rack=servers_by_rack, chips_per_nic=chips_per_nic
    )


def _scale_up_links(nodes: list[BlueprintNode]) -> Iterator[BlueprintLink]:
    """Yield the links of each chip to the switches of its server and rack, and to its twins at the same place of other
    racks.
    """
    switches = {(node.rack, node.server): local for local, node in enumerate(nodes) if node.kind == "switch"}
    chips = [(local, node) for local, node in enumerate(nodes) if node.kind == "chip"]
    for local, chip in chips:
        yield BlueprintLink(local, switches[chip.rack, chip.server], "server")
        yield BlueprintLink(local, switches[chip.rack, None], "rack")
    racks = [[local for local, _ in rack] for _, rack in groupby(chips, key=lambda chip: chip[1].rack)]
    for twins in zip(*racks, strict=True):
        yield from (BlueprintLink(a, b, "twin") for a, b in combinations(twins, 2))


def _planar_layout(nodes: NodesByNumber, _sides: Sides, narrow: bool) -> PlanarLayout:
    return racks_side_by_side(nodes, narrow=narrow)


def _plane_positions(nodes: NodesByNumber, _sides: Sides) -> dict[int, Point2D]:
    return dict(racks_side_by_side(nodes, narrow=False).positions)


class _Seat(NamedTuple):
    """The place of a chip or switch, with indexes from 0; ``chip`` is None for a switch."""

    rack: int
    server: int | None
    chip: int | None


def _symmetries(nodes: NodesByNumber, _sides: Sides, _is_symmetry: IsSymmetry) -> Iterator[Permutation]:
    """Yield swaps of two servers (in every rack), of two chips of a server (in every rack), and of two racks."""
    seats = _seats(nodes)
    keys = {seat: key for key, seat in seats.items()}
    servers = sorted({seat.server for seat in seats.values() if seat.server is not None})
    chips = sorted({seat.chip for seat in seats.values() if seat.chip is not None})
    racks = sorted({seat.rack for seat in seats.values()})

    def image(new_seats: Mapping[_Seat, _Seat]) -> Permutation:
        return {key: keys[to] for key, seat in seats.items() if (to := new_seats.get(seat, seat)) in keys}

    for a, b in combinations(servers, 2):
        swapped = {a: b, b: a}
        yield image({s: s._replace(server=swapped[s.server]) for s in keys if s.server in swapped})
    for server in servers:
        for a, b in combinations(chips, 2):
            swapped = {a: b, b: a}
            yield image({s: s._replace(chip=swapped[s.chip]) for s in keys if s.server == server and s.chip in swapped})
    for a, b in combinations(racks, 2):
        swapped = {a: b, b: a}
        yield image({s: s._replace(rack=swapped[s.rack]) for s in keys if s.rack in swapped})


def _seats(nodes: NodesByNumber) -> dict[int, _Seat]:
    racks = sorted({node.rack for node in nodes.values()})
    servers = {
        rack: sorted({node.server for node in nodes.values() if node.rack == rack and node.server is not None})
        for rack in racks
    }
    return {
        key: _Seat(
            racks.index(node.rack),
            None if node.server is None else servers[node.rack].index(node.server),
            node.ordinal if node.kind == "chip" else None,
        )
        for key, node in nodes.items()
    }


def _violations(blueprint: Blueprint) -> Iterator[str]:
    switches = [(node.rack, node.server) for node in blueprint.nodes if node.kind == "switch"]
    racks = range(len(blueprint.servers_by_rack))
    if switches != [*((blueprint.rack_of(s), s) for s in range(blueprint.servers)), *((rack, None) for rack in racks)]:
        yield "it does not have one switch per server, then one per rack"
    elif len(set(blueprint.servers_by_rack)) > 1:
        yield "its racks have different numbers of servers, so some chips have no twin"
    elif blueprint.scale_up_links != tuple(sorted(_scale_up_links(list(blueprint.nodes)))):
        yield "its links do not connect chips to the switches of server and rack and to their twins, and only those"


PATTERN = Pattern(
    name="switched",
    description="A switch per server and per rack, and direct links between twins in two racks",
    build=_build,
    plane_positions=_plane_positions,
    custom_layout=_planar_layout,
    violations=_violations,
    symmetries=_symmetries,
)
