"""Declare the drift rules that apply to the whole fleet rather than to one slot or domain; `drift` applies them.

They find instances without a slot, instances that were replaced, UltraServers and capacity blocks with too many or
contradictory instances, network nodes that do not match the design, and error counters that grew.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from trninv.catalog.instance_types import models_of
from trninv.reconcile.drift_input import CounterIncrease, DriftInput
from trninv.reconcile.latest_observations import Machine, ObservedValue, lowest_network_node
from trninv.reconcile.occupied_slots import OccupiedSlot, servers_per_domain
from trninv.reconcile.rules.registry import FLEET_RULES, FindingDraft, FindingDrafts
from trninv.units import pluralize

_Members = list[tuple[Machine, ObservedValue]]
"""Machines, each with the observed fact that puts it in a group."""


@FLEET_RULES("instance-unplaced")
def check_instance_unplaced(drift_input: DriftInput, _: list[CounterIncrease]) -> FindingDrafts:
    """Find instances without a slot whose type is in the catalog, except those in findings of domain-overfull."""
    unassigned = [
        (machine, observed) for machine, observed in drift_input.unassigned_machines() if models_of(observed.value)
    ]
    overfull_machines = (
        {machine for _, _, members in _overfull_groups(drift_input) for machine, _ in members} if unassigned else set()
    )
    for machine, observed in unassigned:
        if machine not in overfull_machines:
            yield FindingDraft(
                None, machine.name, "a slot", f"{observed.value} without a slot", (observed.observation,)
            )


@FLEET_RULES("instance-replaced")
def check_instance_replaced(drift_input: DriftInput, _: list[CounterIncrease]) -> FindingDrafts:
    """Find slots whose instance was replaced by another within the last day."""
    bound_names = {slot.address: slot.bound_name for slot in drift_input.slots}
    for binding in drift_input.replaced_bindings:
        if (instance := bound_names.get(binding.address)) is not None:
            yield FindingDraft(binding.address, instance, binding.instance or binding.host, str(instance), ())


@FLEET_RULES("domain-overfull")
def check_domain_overfull(drift_input: DriftInput, _: list[CounterIncrease]) -> FindingDrafts:
    """Find UltraServers and blocks with too many instances; the finding is about the domain that has most of them."""
    slot_by_machine = {slot.machine: slot for slot in drift_input.slots if slot.machine}
    for group, servers, members in _overfull_groups(drift_input):
        domains = sorted(slot_by_machine[machine].domain for machine, _ in members if machine in slot_by_machine)
        address = max(domains, key=domains.count, default=None)
        observed = f"{len(members)} instances in {group}"
        yield FindingDraft(
            address, None, f"at most {pluralize(servers, 'server')}", observed, _observation_ids(members)
        )


def _overfull_groups(drift_input: DriftInput) -> Iterator[tuple[str, int, _Members]]:
    """Yield capacity blocks and UltraServers with too many machines: name, servers per domain, and machines.

    Models with one server per domain are ignored, because any number of their domains can share a capacity block.
    """
    for fact in ("capacity_block", "ring_position"):
        for group, members in _machines_by_group(drift_input, fact).items():
            servers = next((size for machine, _ in members if (size := _domain_servers(drift_input, machine))), 0)
            if 1 < servers < len(members):
                yield group, servers, members


def _machines_by_group(drift_input: DriftInput, fact: str) -> dict[str, _Members]:
    """Return the recently observed machines by capacity block or, for the fact ring_position, by UltraServer."""
    groups = defaultdict(list)
    for machine in drift_input.latest.machines.values():
        observed = drift_input.agreed_value(machine, fact)
        if observed and machine.name not in drift_input.missing_from_listing and drift_input.is_fresh(observed):
            groups[observed.value.ultraserver if fact == "ring_position" else observed.value].append(
                (machine, observed)
            )
    return groups


def _domain_servers(drift_input: DriftInput, machine: Machine) -> int:
    """Return the servers per domain for a machine's type; 0 if the type is unknown."""
    observed = drift_input.agreed_value(machine, "instance_type")
    return servers_per_domain(observed.value) if observed else 0


@FLEET_RULES("node-id-duplicate")
def check_node_id_duplicate(drift_input: DriftInput, _: list[CounterIncrease]) -> FindingDrafts:
    """Find recently observed instances with the same position in an UltraServer."""
    slot_by_machine = {slot.machine: slot for slot in drift_input.slots if slot.machine}
    for ultraserver, members in _machines_by_group(drift_input, "ring_position").items():
        by_position = defaultdict(list)
        for machine, observed in members:
            if observed.value.position is not None:
                by_position[observed.value.position].append((machine, observed))
        for position, duplicates in by_position.items():
            if len(duplicates) > 1:
                address = next(
                    (slot_by_machine[machine].domain for machine, _ in duplicates if machine in slot_by_machine), None
                )
                names = " and ".join(sorted(machine.name for machine, _ in duplicates))
                summary = f"{names} are all node {position} of {ultraserver}"
                yield FindingDraft(address, None, "different positions", summary, _observation_ids(duplicates))


@FLEET_RULES("network-node-moved")
def check_network_node_moved(drift_input: DriftInput, _: list[CounterIncrease]) -> FindingDrafts:
    """Find instances that moved to another network node; binding an instance again accepts its current node."""
    for slot, previous, current, earlier in drift_input.network_moves:
        if drift_input.agreed_value(slot.machine, "network_nodes") is None:
            continue
        evidence = tuple(sorted({earlier, current.observation}))
        yield FindingDraft(slot.address, slot.instance, previous, lowest_network_node(current.value), evidence)


@FLEET_RULES("fabric-inconsistent")
def check_fabric_inconsistent(drift_input: DriftInput, _increases: list[CounterIncrease]) -> FindingDrafts:
    """Find network nodes that contradict each other or the design; instances that moved are ignored.

    Observed ids of network nodes differ between accounts, so a node of the design and an observed one are compared by
    the instances below them.
    """
    paths = _network_paths(drift_input)
    nodes_above = defaultdict(set)
    for _, path in paths:
        names = path.value.split()
        for higher, lower in pairwise(names):
            nodes_above[lower].add(higher)
    for name, parents in sorted(nodes_above.items()):
        if len(parents) > 1:
            members = [(slot, path) for slot, path in paths if name in path.value.split()]
            yield _network_finding(
                members, "one network node above", f"{name} is below {' and '.join(sorted(parents))}"
            )
    yield from _match_network_nodes(paths)


def _match_network_nodes(paths: list[tuple[OccupiedSlot, ObservedValue]]) -> FindingDrafts:
    """Find network nodes of the design that match several observed nodes, and observed nodes that match several."""
    by_design_node, by_observed_node = defaultdict(list), defaultdict(list)
    for slot, path in paths:
        if slot.network_node:
            by_design_node[slot.network_node].append((slot, path))
            by_observed_node[lowest_network_node(path.value)].append((slot, path))
    for members in by_design_node.values():
        names = sorted({lowest_network_node(path.value) for _, path in members})
        if len(names) > 1:
            yield _network_finding(members, "one network node", f"its servers are below {_shorten_list(names)}")
    for name, members in by_observed_node.items():
        nodes = sorted({str(slot.network_node) for slot, _ in members})
        if len(nodes) > 1:
            yield _network_finding(
                members, "several network nodes", f"{name} is above the servers of {_shorten_list(nodes)}"
            )


def _network_finding(members: list[tuple[OccupiedSlot, ObservedValue]], expected: str, observed: str) -> FindingDraft:
    """Return a finding about the design's network node above the first slot, or else about the slot's cluster."""
    evidence = tuple(sorted({path.observation for _, path in members}))
    slot = members[0][0]
    return FindingDraft(slot.network_node or slot.cluster, None, expected, observed, evidence)


def _shorten_list(names: list[str]) -> str:
    limit = 3
    return ", ".join(names[:limit]) + (f" and {len(names) - limit:,} more" if len(names) > limit else "")


def _network_paths(drift_input: DriftInput) -> list[tuple[OccupiedSlot, ObservedValue]]:
    """Return the slots whose instance did not move, with the observed network nodes above each."""
    moved_slots = {move.slot for move in drift_input.network_moves}
    return [
        (slot, path)
        for slot in drift_input.slots
        if slot not in moved_slots and (path := drift_input.agreed_value(slot.machine, "network_nodes"))
    ]


@FLEET_RULES("ecc-uncorrected")
def check_ecc_uncorrected(_: DriftInput, increases: list[CounterIncrease]) -> FindingDrafts:
    """Find counters of uncorrected errors that grew since they were last reset, by a restart or by a person."""
    for slot, ordinal, before, now, evidence in increases:
        yield FindingDraft(f"{slot.address}/c{ordinal}", slot.instance, str(before), str(now), evidence)


def _observation_ids(members: _Members) -> tuple[int, ...]:
    return tuple(sorted({observed.observation for _, observed in members}))
