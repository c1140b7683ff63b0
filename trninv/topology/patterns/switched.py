"""Declare the wiring pattern "switched": a switch per server and per rack, and direct links between racks.

A chip is linked to the switch of its server, to the switch of its rack, and to its twins, which are the chips at the
same position in the other racks.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, groupby, permutations
from typing import NamedTuple

from trninv.topology.blueprint import Blueprint, BlueprintLink, BlueprintNode, Sides, assemble, chip_nodes
from trninv.topology.pattern import IsSymmetry, Label, NodesByNumber, Pattern, Permutation
from trninv.topology.planar_layout import PlanarLayout, Point2D
from trninv.topology.planar_layouts.switched import racks_side_by_side


def _build(racks: int, servers_per_rack: int, chips_per_server: int, chips_per_nic: int = 1) -> Blueprint:
    """Build chips and switches; the ordinals of the racks' switches follow those of the servers' switches."""
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
    """Yield the links of each chip to the switches of its server and rack, and to its twins in other racks."""
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
    """The position of a chip or switch. The index of a server starts at 0 in every rack, so that racks can be compared.

    ``server`` is None for a rack's switch; ``chip`` is None for all switches.
    """

    rack: int
    server: int | None
    chip: int | None


def _symmetries(nodes: NodesByNumber, _sides: Sides, is_symmetry: IsSymmetry) -> Iterator[Permutation]:
    """Yield swaps of two servers, of two chips of a server (in every rack at the same time), and of two racks.

    Swaps of the first of several interchangeable servers or chips with each of the others generate all their swaps, so
    only these are yielded.
    """
    seats = _seats(nodes)
    keys = {seat: key for key, seat in seats.items()}
    identity = {key: key for key in seats}
    servers = sorted({seat.server for seat in seats.values() if seat.server is not None})
    chips = sorted({seat.chip for seat in seats.values() if seat.chip is not None})
    racks = sorted({seat.rack for seat in seats.values()})
    by_server: dict[int | None, list[_Seat]] = defaultdict(list)
    for seat in keys:
        by_server[seat.server].append(seat)

    def permutation(new_seats: Iterable[tuple[_Seat, _Seat]]) -> Permutation:
        """Map nodes to the nodes at their new seats, and leave out nodes whose new seat is empty; other nodes stay."""
        image = identity.copy()
        for seat, target in new_seats:
            if target in keys:
                image[keys[seat]] = keys[target]
            else:
                del image[keys[seat]]
        return image

    def swap_servers(a: int, b: int) -> Permutation:
        return permutation(
            (seat, seat._replace(server=other)) for server, other in ((a, b), (b, a)) for seat in by_server[server]
        )

    def swap_chips(server: int, a: int, b: int) -> Permutation:
        other = {a: b, b: a}
        return permutation(
            (seat, seat._replace(chip=other[seat.chip])) for seat in by_server[server] if seat.chip in other
        )

    yield from _swaps(servers, swap_servers, is_symmetry)
    for server in servers:
        yield from _swaps(chips, partial(swap_chips, server), is_symmetry)
    for a, b in combinations(racks, 2):
        swapped = {a: b, b: a}
        yield permutation((seat, seat._replace(rack=swapped[seat.rack])) for seat in keys if seat.rack in swapped)


def _swaps(
    items: Sequence[int], swap: Callable[[int, int], Permutation], is_symmetry: IsSymmetry
) -> Iterator[Permutation]:
    """Yield, for each item, the swap with the first earlier item that is a symmetry, if there is one."""
    firsts = list[int]()
    for item in items:
        swapped = next(filter(is_symmetry, (swap(first, item) for first in firsts)), None)
        if swapped is None:
            firsts.append(item)
        else:
            yield swapped


def _arrangements(nodes: NodesByNumber, _sides: Sides, labels: Mapping[int, Label]) -> Iterator[Permutation]:
    """Yield, for each order of the racks, the map that sorts servers, and chips within a server, by their labels."""
    seats = _seats(nodes)
    keys = {seat: key for key, seat in seats.items()}
    by_server: dict[int | None, set[int | None]] = defaultdict(set)
    for seat in keys:
        by_server[seat.server].add(seat.chip)
    racks = sorted({seat.rack for seat in keys})
    for rack_order in permutations(racks):

        def label(server: int | None, chip: int | None, rack_order: Sequence[int] = rack_order) -> tuple[Label, ...]:
            seats_by_rack = (_Seat(rack, server, chip) for rack in rack_order)
            return tuple(labels.get(keys[seat], ()) if seat in keys else () for seat in seats_by_rack)

        chip_orders = {
            server: sorted((chip for chip in chips if chip is not None), key=partial(label, server), reverse=True)
            for server, chips in by_server.items()
        }
        servers = sorted(
            (server for server in by_server if server is not None),
            key=lambda server: (label(server, None), [label(server, chip) for chip in chip_orders[server]]),
            reverse=True,
        )
        new_rack = {rack: new for new, rack in enumerate(rack_order)}
        new_server: dict[int | None, int | None] = {None: None, **{server: new for new, server in enumerate(servers)}}
        new_chip = {server: {chip: new for new, chip in enumerate(order)} for server, order in chip_orders.items()}
        targets = {
            key: _Seat(
                new_rack[seat.rack],
                new_server[seat.server],
                None if seat.chip is None else new_chip[seat.server][seat.chip],
            )
            for key, seat in seats.items()
        }
        if all(target in keys for target in targets.values()):
            yield {key: keys[target] for key, target in targets.items()}


def _seats(nodes: NodesByNumber) -> dict[int, _Seat]:
    """Return the seat of each node."""
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
        yield "its links are not exactly those from each chip to the switches of its server and rack and to its twins"


PATTERN = Pattern(
    name="switched",
    description="A switch per server and per rack, and direct links between twins in different racks",
    build=_build,
    plane_positions=_plane_positions,
    custom_layout=_planar_layout,
    violations=_violations,
    symmetries=_symmetries,
    arrangements=_arrangements,
)
