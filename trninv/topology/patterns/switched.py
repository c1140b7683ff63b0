"""A two-level switched domain: a switch a server, a switch a rack, direct links between twins in two racks."""

from collections.abc import Iterator, Mapping
from itertools import combinations, groupby
from typing import NamedTuple

from trninv.topology.blueprint import Blueprint, Link, Node, Sides, assembled, chip_nodes
from trninv.topology.pattern import Holds, Pattern, Permutation, Places
from trninv.topology.sketch import Point, Sketch
from trninv.topology.sketches.switched import by_rack


def _build(racks: int, servers_per_rack: int, chips_per_server: int, chips_per_nic: int = 1) -> Blueprint:
    """Chips, then the servers' switches, then the racks', whose ordinals run on from the servers'."""
    by_rack = (servers_per_rack,) * racks
    servers = racks * servers_per_rack
    nodes = [
        *chip_nodes(chips_per_server, by_rack),
        *(Node("switch", server, server // servers_per_rack, server) for server in range(servers)),
        *(Node("switch", None, rack, servers + rack) for rack in range(racks)),
    ]
    return assembled("switched", nodes, _wires(nodes), servers_by_rack=by_rack, chips_per_nic=chips_per_nic)


def _wires(nodes: list[Node]) -> Iterator[Link]:
    """Every chip to the switch of its server and of its rack, and to its twins: the same place of every other rack."""
    hub = {(node.rack, node.server): local for local, node in enumerate(nodes) if node.kind == "switch"}
    chips = [(local, node) for local, node in enumerate(nodes) if node.kind == "chip"]
    for local, chip in chips:
        yield Link(local, hub[chip.rack, chip.server], "server")
        yield Link(local, hub[chip.rack, None], "rack")
    racks = [[local for local, _ in rack] for _, rack in groupby(chips, key=lambda chip: chip[1].rack)]
    for twins in zip(*racks, strict=True):
        yield from (Link(a, b, "twin") for a, b in combinations(twins, 2))


def _sketch(places: Places, _sides: Sides, narrow: bool) -> Sketch:
    return by_rack(places, narrow=narrow)


def _flat(places: Places, _sides: Sides) -> dict[int, Point]:
    return dict(by_rack(places, narrow=False).at)


class _Seat(NamedTuple):
    """Of a chip or switch, each counted from 0 among its like; ``chip`` is None of a switch, the only one there."""

    rack: int
    server: int | None
    chip: int | None


def _symmetries(places: Places, _sides: Sides, _holds: Holds) -> Iterator[Permutation]:
    """Two servers of a rack (in every rack), two chips of a server (in every rack) or two racks change places."""
    seats = _seats(places)
    keys = {seat: key for key, seat in seats.items()}
    servers = sorted({seat.server for seat in seats.values() if seat.server is not None})
    chips = sorted({seat.chip for seat in seats.values() if seat.chip is not None})
    racks = sorted({seat.rack for seat in seats.values()})

    def image(moved: Mapping[_Seat, _Seat]) -> Permutation:
        return {key: keys[to] for key, seat in seats.items() if (to := moved.get(seat, seat)) in keys}

    for a, b in combinations(servers, 2):
        other = {a: b, b: a}
        yield image({s: s._replace(server=other[s.server]) for s in keys if s.server in other})
    for server in servers:
        for a, b in combinations(chips, 2):
            other = {a: b, b: a}
            yield image({s: s._replace(chip=other[s.chip]) for s in keys if s.server == server and s.chip in other})
    for a, b in combinations(racks, 2):
        other = {a: b, b: a}
        yield image({s: s._replace(rack=other[s.rack]) for s in keys if s.rack in other})


def _seats(places: Places) -> dict[int, _Seat]:
    racks = sorted({node.rack for node in places.values()})
    servers = {
        rack: sorted({node.server for node in places.values() if node.rack == rack and node.server is not None})
        for rack in racks
    }
    return {
        key: _Seat(
            racks.index(node.rack),
            None if node.server is None else servers[node.rack].index(node.server),
            node.ordinal if node.kind == "chip" else None,
        )
        for key, node in places.items()
    }


def _faults(blueprint: Blueprint) -> Iterator[str]:
    switches = [(node.rack, node.server) for node in blueprint.nodes if node.kind == "switch"]
    racks = range(len(blueprint.servers_by_rack))
    if switches != [*((blueprint.rack_of(s), s) for s in range(blueprint.servers)), *((rack, None) for rack in racks)]:
        yield "it does not have a switch a server, then a switch a rack"
    elif len(set(blueprint.servers_by_rack)) > 1:
        yield "its racks differ in the number of servers, so that chips lack a twin"
    elif blueprint.wires != tuple(sorted(_wires(list(blueprint.nodes)))):
        yield "its wires are not just those of chips to the switches of their server and rack and to their twins"


PATTERN = Pattern(
    name="switched",
    says="a switch a server and a switch a rack, and direct links between twins in two racks",
    build=_build,
    flat=_flat,
    sketch=_sketch,
    faults=_faults,
    symmetries=_symmetries,
)
