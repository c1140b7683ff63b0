"""Rules of a domain: its servers with each other."""

from collections import defaultdict
from collections.abc import Iterable

from trninv.live.design import Occupancy
from trninv.live.newest import Said
from trninv.live.picture import Picture
from trninv.live.rules.register import DOMAIN, Difference, Differences

_GROUPS = {"capacity_block": "capacity block", "place": "UltraServer"}
_PAIRED = 4
"""Servers of an UltraServer whose sides are known: H and V alternate around its ring."""


@DOMAIN("lnc-differs", "logical core configurations, by neuron-ls or neuron-monitor, of the servers of a domain")
def lnc(slots: list[Occupancy], picture: Picture) -> Differences:
    """Jobs want one for all of their servers."""
    said = [(slot, each) for slot in slots if (each := picture.sure(slot.machine, "logical_cores"))]
    if len({each.value for _, each in said}) > 1:
        yield _differs("one logical core configuration", [(slot, each, f"LNC {each.value}") for slot, each in said])


@DOMAIN("domain-split", "UltraServers by the driver, and capacity blocks of UltraServers, of the servers of a domain")
def split(slots: list[Occupancy], picture: Picture) -> Differences:
    """Plain instances that share a capacity block are a domain each."""
    for fact, called in _GROUPS.items() if slots[0].model.servers > 1 else ():
        said = [(slot, each) for slot in slots if (each := picture.sure(slot.machine, fact))]
        groups = [(slot, each, each.value.ultraserver if fact == "place" else each.value) for slot, each in said]
        if len({group for _, _, group in groups}) > 1:
            yield _differs(f"one {called}", groups)


@DOMAIN("node-order-wrong", "the driver's numbers of a domain's servers, around its ring, with the design's order")
def order(slots: list[Occupancy], picture: Picture) -> Differences:
    """Rotated and reflected rings are the same: the numbers start anew where an election is won by another."""
    model = slots[0].model
    placed = [(slot, said) for slot in slots if (said := picture.sure(slot.machine, "place"))]
    numbered = [(slot, said) for slot, said in placed if said.value.position is not None]
    found = {slot.ordinal: said.value.position for slot, said in numbered}
    is_split = len({said.value.ultraserver for _, said in numbered}) > 1
    if not model.is_ring or is_split or len(set(found.values())) < len(found):
        return
    ways = ((start, step) for start in range(model.servers) for step in (1, -1))
    if not any(all((start + step * at) % model.servers == found[at] for at in found) for start, step in ways):
        yield _differs(
            "the ring in its order", [(slot, said, f"node {said.value.position}") for slot, said in numbered]
        )


def _differs(expected: str, of: Iterable[tuple[Occupancy, Said, str]]) -> Difference:
    """What is found of which servers of a domain."""
    servers, evidence, domain = defaultdict(list), set(), ""
    for slot, said, words in of:
        servers[words].append(f"s{slot.ordinal}")
        evidence.add(said.observation)
        domain = slot.domain
    found = "; ".join(f"{words}: {', '.join(names)}" for words, names in servers.items())
    return Difference(domain, None, expected, found, tuple(sorted(evidence)))


def links_of_side(slot: Occupancy, side: str, slots: Iterable[Occupancy], picture: Picture) -> tuple[str, ...]:
    """The links of a server towards its neighbour at a side, H or V; none where the neighbour is not known.

    The driver's nodes 0 and 1, and 2 and 3, are joined by their sides V, the others by H.
    """
    said = picture.sure(slot.machine, "place")
    if said is None or said.value.position is None or slot.model.servers != _PAIRED or not slot.model.is_ring:
        return ()
    ours = said.value.position
    theirs = ours ^ 1 if side == "V" else (ours + (1 if ours % 2 else -1)) % _PAIRED
    for other in slots:
        place = picture.sure(other.machine, "place")
        if place and place.value == (said.value.ultraserver, theirs):
            return tuple(f"{slot.address}/c{chip}--{other.address}/c{chip}" for chip in range(slot.model.chips))
    return ()


@DOMAIN("side-link-down", "link status of NeuronUltraServer objects: H to the other rack, V within it")
def side_down(slots: list[Occupancy], picture: Picture) -> Differences:
    """A side is all links of a server to one neighbour in its UltraServer."""
    for slot in slots:
        for side in "HV":
            said = slot.machine.sides.get(side) if slot.machine else None
            if said and said.value == "down":
                links = links_of_side(slot, side, slots, picture)
                yield Difference(
                    slot.address, slot.instance, f"side {side} up", f"side {side} down", (said.observation,), links
                )


@DOMAIN("interconnect-impaired", "InterconnectStatus of EC2's capacity blocks; insufficient-data is unknown")
def impaired(slots: list[Occupancy], picture: Picture) -> Differences:
    """Of each domain that has an instance of the block; EC2 does not say which links."""
    blocks = {said.value for slot in slots if (said := picture.sure(slot.machine, "capacity_block"))}
    for block in sorted(blocks):
        said = picture.newest.blocks.get(block)
        if said and said.value == "impaired":
            yield Difference(slots[0].domain, None, "ok", f"{block} impaired", (said.observation,))
