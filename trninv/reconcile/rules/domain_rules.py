"""Declare the drift rules that compare the servers of one domain; `drift` applies them.

A domain is one server or one UltraServer. The servers of an UltraServer form a ring whose positions the drivers number.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from trninv.database.finding_rules import describe_side
from trninv.importers.records import NO_BLOCK
from trninv.reconcile.drift_input import DriftInput
from trninv.reconcile.latest_observations import ObservedValue
from trninv.reconcile.occupied_slots import OccupiedSlot
from trninv.reconcile.ring_order import matching_orders, server_ring
from trninv.reconcile.rules.registry import DOMAIN_RULES, FindingDraft, FindingDrafts

_GROUP_LABELS = {"capacity_block": "capacity block", "ring_position": "UltraServer"}
"""What the servers of a domain must share, by fact."""
_PAIRED_SERVERS = 4
"""The number of servers of an UltraServer in which links to another rack (side H) and within a rack (side V) alternate
around the ring. In UltraServers of other sizes, it is unknown which neighbour is on which side of a server."""


@DOMAIN_RULES("lnc-differs")
def check_lnc_differs(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find domains with several logical core configurations; a job needs the same on all servers."""
    values = [
        (slot, observed) for slot in slots if (observed := drift_input.agreed_value(slot.machine, "logical_cores"))
    ]
    if len({observed.value for _, observed in values}) > 1:
        yield _domain_finding(
            "one logical core configuration", [(slot, observed, f"LNC {observed.value}") for slot, observed in values]
        )


@DOMAIN_RULES("domain-split")
def check_domain_split(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find domains whose servers are in different UltraServers or capacity blocks."""
    for fact, label in _GROUP_LABELS.items() if slots[0].model.servers > 1 else ():
        values = [(slot, observed) for slot in slots if (observed := drift_input.agreed_value(slot.machine, fact))]
        groups = [
            (slot, observed, observed.value.ultraserver if fact == "ring_position" else observed.value)
            for slot, observed in values
        ]
        if len({group for _, _, group in groups}) > 1:
            yield _domain_finding(f"one {label}", groups)


@DOMAIN_RULES("scheduler-block-differs")
def check_scheduler_block(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find servers that a scheduler's topology omits, or has in another block than most servers of their domain."""
    by_source = defaultdict[str, list[tuple[OccupiedSlot, ObservedValue]]](list)
    for slot in slots:
        for source, observed in drift_input.fresh_values(slot.machine, "scheduler_block").items():
            by_source[source].append((slot, observed))
    for source, members in by_source.items():
        blocks = Counter(observed.value for _, observed in members if observed.value != NO_BLOCK)
        usual = min(blocks, key=lambda block: (-blocks[block], block), default=None)
        for slot, observed in members:
            if observed.value != usual:
                text = f"in no block by {source}" if observed.value == NO_BLOCK else f"{observed.value} by {source}"
                yield FindingDraft(slot.address, slot.instance, usual or "a block", text, (observed.observation,))


@DOMAIN_RULES("node-order-wrong")
def check_node_order_wrong(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find rings whose order differs from the design's, unless positions are duplicate or in several UltraServers.

    Rotations and reflections count as equal, since drivers may start at any server and go in either direction.
    """
    ring = server_ring(slots[0].model.slug)
    values = [
        (slot, observed) for slot in slots if (observed := drift_input.agreed_value(slot.machine, "ring_position"))
    ]
    numbered = [(slot, observed) for slot, observed in values if observed.value.position is not None]
    servers = {observed.value.position: slot.ordinal for slot, observed in numbered}
    is_split = len({observed.value.ultraserver for _, observed in numbered}) > 1
    if ring and not is_split and len(servers) == len(numbered) and not matching_orders(ring, servers):
        yield _domain_finding(
            "the ring order of the design",
            [(slot, observed, f"node {observed.value.position}") for slot, observed in numbered],
        )


def _domain_finding(expected: str, entries: Iterable[tuple[OccupiedSlot, ObservedValue, str]]) -> FindingDraft:
    """Return a finding about a domain that lists its servers by observed value."""
    servers, evidence, domain = defaultdict(list), set(), ""
    for slot, observed, label in entries:
        servers[label].append(f"s{slot.ordinal}")
        evidence.add(observed.observation)
        domain = slot.domain
    summary = "; ".join(f"{label}: {', '.join(names)}" for label, names in servers.items())
    return FindingDraft(domain, None, expected, summary, tuple(sorted(evidence)))


def neighbor_on_side(
    slot: OccupiedSlot, side: str, slots: Iterable[OccupiedSlot], drift_input: DriftInput
) -> str | None:
    """Return the server to which a server's links of side H or V lead; None if it is unknown.

    The driver's positions 0 and 1, and 2 and 3, are linked by their sides V (within a rack), the others by H.
    """
    observed = drift_input.agreed_value(slot.machine, "ring_position")
    has_sides = slot.model.servers == _PAIRED_SERVERS and slot.model.neighbours  # side V of Trn3 leads to a switch
    if observed is None or observed.value.position is None or not has_sides:
        return None
    own_position = observed.value.position
    other_position = (
        own_position ^ 1 if side == "V" else (own_position + (1 if own_position % 2 else -1)) % _PAIRED_SERVERS
    )
    for other in slots:
        other_observed = drift_input.agreed_value(other.machine, "ring_position")
        if other_observed and other_observed.value == (observed.value.ultraserver, other_position):
            return other.address
    return None


@DOMAIN_RULES("side-link-down")
def check_side_link_down(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find servers that report a side as down; a side is all links of a server to one neighbour in its UltraServer."""
    for slot in slots:
        for side in "HV":
            observed = slot.machine.link_states.get(side) if slot.machine else None
            if observed and observed.value == "down":
                neighbor = neighbor_on_side(slot, side, slots, drift_input)
                summary = describe_side(side, slot.model.chips, neighbor)
                yield FindingDraft(slot.address, slot.instance, f"side {side} up", summary, (observed.observation,))


@DOMAIN_RULES("interconnect-impaired")
def check_interconnect_impaired(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find domains with an instance in a capacity block whose links EC2 reports as impaired, without naming them."""
    blocks = {
        observed.value for slot in slots if (observed := drift_input.agreed_value(slot.machine, "capacity_block"))
    }
    for block in sorted(blocks):
        observed = drift_input.latest.capacity_blocks.get(block)
        if observed and observed.value == "impaired":
            yield FindingDraft(slots[0].domain, None, "ok", f"{block} impaired", (observed.observation,))
