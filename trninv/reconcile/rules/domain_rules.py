"""Declare the drift rules that apply to one domain."""

from collections import defaultdict
from collections.abc import Iterable

from trninv.reconcile.drift_input import DriftInput
from trninv.reconcile.latest_observations import ObservedValue
from trninv.reconcile.occupied_slots import OccupiedSlot
from trninv.reconcile.rules.registry import DOMAIN_RULES, FindingDraft, FindingDrafts

_GROUP_LABELS = {"capacity_block": "capacity block", "place": "UltraServer"}
_PAIRED_SERVERS = 4
"""The size of UltraServers whose sides are known: H and V alternate around the ring."""


@DOMAIN_RULES(
    "lnc-differs", "logical core configurations (neuron-ls, neuron-monitor) of the servers of a domain with each other"
)
def check_lnc_differs(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find domains with several logical core configurations; a job needs the same on all servers."""
    values = [
        (slot, observed) for slot in slots if (observed := drift_input.agreed_value(slot.machine, "logical_cores"))
    ]
    if len({observed.value for _, observed in values}) > 1:
        yield _domain_finding(
            "one logical core configuration", [(slot, observed, f"LNC {observed.value}") for slot, observed in values]
        )


@DOMAIN_RULES("domain-split", "UltraServers (driver) and capacity blocks of the servers of a domain with each other")
def check_domain_split(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find domains in several UltraServers or capacity blocks; domains of one server can share a block."""
    for fact, label in _GROUP_LABELS.items() if slots[0].model.servers > 1 else ():
        values = [(slot, observed) for slot in slots if (observed := drift_input.agreed_value(slot.machine, fact))]
        groups = [
            (slot, observed, observed.value.ultraserver if fact == "place" else observed.value)
            for slot, observed in values
        ]
        if len({group for _, _, group in groups}) > 1:
            yield _domain_finding(f"one {label}", groups)


@DOMAIN_RULES("node-order-wrong", "the driver's numbers of a domain's servers around its ring with the design's order")
def check_node_order_wrong(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find rings in another order; rotations and reflections are equal, since any server may win the election."""
    model = slots[0].model
    values = [(slot, observed) for slot in slots if (observed := drift_input.agreed_value(slot.machine, "place"))]
    numbered = [(slot, observed) for slot, observed in values if observed.value.position is not None]
    positions = {slot.ordinal: observed.value.position for slot, observed in numbered}
    is_split = len({observed.value.ultraserver for _, observed in numbered}) > 1
    if not model.is_ring or is_split or len(set(positions.values())) < len(positions):
        return
    symmetries = ((start, step) for start in range(model.servers) for step in (1, -1))
    if not any(
        all((start + step * ordinal) % model.servers == positions[ordinal] for ordinal in positions)
        for start, step in symmetries
    ):
        yield _domain_finding(
            "the ring order of the design",
            [(slot, observed, f"node {observed.value.position}") for slot, observed in numbered],
        )


def _domain_finding(expected: str, entries: Iterable[tuple[OccupiedSlot, ObservedValue, str]]) -> FindingDraft:
    """Return a finding about some servers of a domain."""
    servers, evidence, domain = defaultdict(list), set(), ""
    for slot, observed, label in entries:
        servers[label].append(f"s{slot.ordinal}")
        evidence.add(observed.observation)
        domain = slot.domain
    summary = "; ".join(f"{label}: {', '.join(names)}" for label, names in servers.items())
    return FindingDraft(domain, None, expected, summary, tuple(sorted(evidence)))


def links_of_side(
    slot: OccupiedSlot, side: str, slots: Iterable[OccupiedSlot], drift_input: DriftInput
) -> tuple[str, ...]:
    """Return a server's links to its neighbour on side H or V; empty if the neighbour is unknown.

    The driver's nodes 0 and 1, and 2 and 3, are joined by their sides V, the others by H.
    """
    observed = drift_input.agreed_value(slot.machine, "place")
    if (
        observed is None
        or observed.value.position is None
        or slot.model.servers != _PAIRED_SERVERS
        or not slot.model.is_ring
    ):
        return ()
    own_position = observed.value.position
    other_position = (
        own_position ^ 1 if side == "V" else (own_position + (1 if own_position % 2 else -1)) % _PAIRED_SERVERS
    )
    for other in slots:
        other_place = drift_input.agreed_value(other.machine, "place")
        if other_place and other_place.value == (observed.value.ultraserver, other_position):
            return tuple(f"{slot.address}/c{chip}--{other.address}/c{chip}" for chip in range(slot.model.chips))
    return ()


@DOMAIN_RULES("side-link-down", "link status of NeuronUltraServer objects (H to the other rack, V within it) with up")
def check_side_link_down(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find sides with links down; a side is all links of a server to one neighbour in its UltraServer."""
    for slot in slots:
        for side in "HV":
            observed = slot.machine.link_states.get(side) if slot.machine else None
            if observed and observed.value == "down":
                links = links_of_side(slot, side, slots, drift_input)
                yield FindingDraft(
                    slot.address, slot.instance, f"side {side} up", f"side {side} down", (observed.observation,), links
                )


@DOMAIN_RULES(
    "interconnect-impaired", "InterconnectStatus of EC2's capacity blocks with ok; insufficient-data is ignored"
)
def check_interconnect_impaired(slots: list[OccupiedSlot], drift_input: DriftInput) -> FindingDrafts:
    """Find domains with an instance of an impaired capacity block; EC2 does not name the links."""
    blocks = {
        observed.value for slot in slots if (observed := drift_input.agreed_value(slot.machine, "capacity_block"))
    }
    for block in sorted(blocks):
        observed = drift_input.latest.capacity_blocks.get(block)
        if observed and observed.value == "impaired":
            yield FindingDraft(slots[0].domain, None, "ok", f"{block} impaired", (observed.observation,))
