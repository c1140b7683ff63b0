"""Rules of all instances together, and of what changed since they were bound."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from trninv.catalog.instance_types import models_of
from trninv.live.design import Occupancy, servers_of
from trninv.live.newest import Machine, Said
from trninv.live.picture import Grown, Picture, lowest
from trninv.live.rules.register import FLEET, Difference, Differences
from trninv.units import counted

_Members = list[tuple[Machine, Said]]


@FLEET("instance-unplaced", "instances of types that the catalog knows, and any source lately saw, with bindings")
def unplaced(picture: Picture, _: list[Grown]) -> Differences:
    """What domain-overfull speaks of is not told again."""
    found = [(machine, said) for machine, said in picture.unplaced() if models_of(said.value)]
    crowded = {machine for _, _, members in _overfull(picture) for machine, _ in members} if found else set()
    for machine, said in found:
        if machine not in crowded:
            yield Difference(None, machine.name, "a slot", f"{said.value} in none", (said.observation,))


@FLEET("instance-replaced", "bindings that another instance ended within a day")
def replaced(picture: Picture, _: list[Grown]) -> Differences:
    """Told for a day."""
    now = {slot.address: slot.bound for slot in picture.slots}
    for binding in picture.replaced:
        if (instance := now.get(binding.address)) is not None:
            yield Difference(binding.address, instance, binding.instance or binding.host, str(instance), ())


@FLEET("domain-overfull", "instances of an UltraServer or of a capacity block of UltraServers with a domain's servers")
def overfull(picture: Picture, _: list[Grown]) -> Differences:
    """At the domain in which most of them stand."""
    at = {slot.machine: slot for slot in picture.slots if slot.machine}
    for group, servers, members in _overfull(picture):
        domains = sorted(at[machine].domain for machine, _ in members if machine in at)
        address = max(domains, key=domains.count, default=None)
        found = f"{len(members)} in {group}"
        yield Difference(address, None, f"at most {counted(servers, 'server')}", found, _ids(members))


def _overfull(picture: Picture) -> Iterator[tuple[str, int, _Members]]:
    for fact in ("capacity_block", "place"):
        for group, members in _groups(picture, fact).items():
            servers = next((known for machine, _ in members if (known := _servers(picture, machine))), 0)
            if 1 < servers < len(members):
                yield group, servers, members


def _groups(picture: Picture, fact: str) -> dict[str, _Members]:
    found = defaultdict(list)
    for machine in picture.newest.machines.values():
        said = picture.sure(machine, fact)
        if said and machine.name not in picture.gone and picture.is_fresh(said):
            found[said.value.ultraserver if fact == "place" else said.value].append((machine, said))
    return found


def _servers(picture: Picture, machine: Machine) -> int:
    """Of a domain of the machine's type; 0 of a type that is not known."""
    said = picture.sure(machine, "instance_type")
    return servers_of(said.value) if said else 0


@FLEET("node-id-duplicate", "the driver's numbers of instances in an UltraServer with each other")
def duplicate(picture: Picture, _: list[Grown]) -> Differences:
    """Of instances that were lately seen."""
    at = {slot.machine: slot for slot in picture.slots if slot.machine}
    for ultraserver, members in _groups(picture, "place").items():
        by_position = defaultdict(list)
        for machine, said in members:
            if said.value.position is not None:
                by_position[said.value.position].append((machine, said))
        for position, same in by_position.items():
            if len(same) > 1:
                address = next((at[machine].domain for machine, _ in same if machine in at), None)
                names = " and ".join(sorted(machine.name for machine, _ in same))
                found = f"{names} are node {position} of {ultraserver}"
                yield Difference(address, None, "numbers that differ", found, _ids(same))


@FLEET("network-node-moved", "the lowest network node of an instance with the one before it was bound")
def moved(picture: Picture, _: list[Grown]) -> Differences:
    """Once the instance is unbound and bound again, where it is now is where it was."""
    for slot, before, now in picture.moved:
        yield Difference(slot.address, slot.instance, before, lowest(now.value), (now.observation,))


@FLEET("fabric-inconsistent", "the tree of network nodes that instances are below with that of the design")
def fabric(picture: Picture, _grown: list[Grown]) -> Differences:
    """What was moved is left out. Ids are the account's own: whose is which follows from who is below."""
    paths = _paths(picture)
    above = defaultdict(set)
    for _, said in paths:
        names = said.value.split()
        for higher, lower in pairwise(names):
            above[lower].add(higher)
    for name, parents in sorted(above.items()):
        if len(parents) > 1:
            below = [(slot, said) for slot, said in paths if name in said.value.split()]
            yield _below(below, "one network node above", f"{name} is below {' and '.join(sorted(parents))}")
    yield from _matched(paths)


def _matched(paths: list[tuple[Occupancy, Said]]) -> Differences:
    """Network nodes of the design of which several are one, or that are several."""
    ours, theirs = defaultdict(list), defaultdict(list)
    for slot, said in paths:
        if slot.network_node:
            ours[slot.network_node].append((slot, said))
            theirs[lowest(said.value)].append((slot, said))
    for below in ours.values():
        names = sorted({lowest(said.value) for _, said in below})
        if len(names) > 1:
            yield _below(below, "one network node", f"its servers are below {_few(names)}")
    for name, below in theirs.items():
        nodes = sorted({str(slot.network_node) for slot, _ in below})
        if len(nodes) > 1:
            yield _below(below, "several network nodes", f"{name} is above the servers of {_few(nodes)}")


def _below(below: list[tuple[Occupancy, Said]], expected: str, found: str) -> Difference:
    evidence = tuple(sorted({said.observation for _, said in below}))
    slot = below[0][0]
    return Difference(slot.network_node or slot.cluster, None, expected, found, evidence)


def _few(names: list[str]) -> str:
    most = 3
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def _paths(picture: Picture) -> list[tuple[Occupancy, Said]]:
    moved = {each.slot for each in picture.moved}
    return [
        (slot, said)
        for slot in picture.slots
        if slot not in moved and (said := picture.sure(slot.machine, "network_nodes"))
    ]


@FLEET("ecc-uncorrected", "counters of uncorrected errors, by sysfs or neuron-monitor, with those since they last fell")
def ecc(_: Picture, grown: list[Grown]) -> Differences:
    """A fall is a new start of the machine, or somebody cleared them."""
    for slot, ordinal, before, now, evidence in grown:
        yield Difference(f"{slot.address}/c{ordinal}", slot.instance, str(before), str(now), evidence)


def _ids(members: _Members) -> tuple[int, ...]:
    return tuple(sorted({said.observation for _, said in members}))
