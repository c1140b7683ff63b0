"""Plan how an adopted cluster grows, without writing to the database.

`adoption` calls `plan_growth` for a cluster that was adopted before. Machines without a slot either form new domains or
fill the empty slots of existing ones.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from trninv.catalog.models import DomainModel
from trninv.inventory.address.lookup import Place
from trninv.inventory.seeding.cluster_plan import ADOPTED, ClusterPlan, group_domains
from trninv.inventory.state.bindings import Binding, ProposedBinding, list_bindings
from trninv.reconcile.adoption_plan import (
    NetworkPath,
    PlannedDomain,
    PlannedSlot,
    SkippedMachine,
    arrange_domains,
    empty_slots,
    extend_fabric,
    planned_slots,
)
from trninv.reconcile.domain_assignment import DomainAssignment, UnassignedMachine
from trninv.reconcile.identification import Identification, attach_bindings, drop_undone_inferences
from trninv.reconcile.latest_observations import LatestObservations, Machine
from trninv.reconcile.machine_groups import ULTRASERVER, MachineGroup, Slot, group_machines, load_slots
from trninv.reconcile.slot_assignment import assign_slots
from trninv.topology.fabric_tree import FabricTree, ServerOrdinals

_ALTERNATIVE = "adopt it under another name, or run trninv unseed and adopt the cluster again"
"""What to do instead if a cluster can't get more domains."""


@dataclass(frozen=True, slots=True)
class ClusterGrowth:
    """The new domains, network nodes and bindings of a cluster that grows.

    Attributes
    ----------
    plan
        The extended cluster; None if its domains and its fabric do not change.
    first_ordinal
        Ordinal of the first new domain.
    new_bindings
        Bindings of machines to existing empty slots.
    skipped
        Machines that are not added, and why.

    """

    plan: ClusterPlan | None
    first_ordinal: int
    domains: tuple[PlannedDomain, ...]
    new_bindings: tuple[ProposedBinding, ...]
    skipped: tuple[SkippedMachine, ...]

    @property
    def slots(self) -> Iterable[PlannedSlot]:
        """The new slots with a machine."""
        return planned_slots(self.domains, self.first_ordinal)

    @property
    def empty_slots(self) -> Iterable[ServerOrdinals]:
        """The new slots without a machine."""
        return empty_slots(self.domains, self.first_ordinal)


@dataclass(frozen=True, slots=True)
class GrowthInput:
    """The slots of a cluster, and the bindings and observations from which its growth is planned.

    Attributes
    ----------
    open_bindings
        The current bindings of all clusters.
    machines
        The bound machines of all clusters, and the machines without a slot.
    empty_addresses
        Addresses of slots that adoption set down because they had no machine.

    """

    slots: Sequence[Slot]
    open_bindings: Sequence[Binding]
    latest: LatestObservations
    machines: Sequence[Machine]
    empty_addresses: Collection[str]

    @classmethod
    def load(
        cls,
        connection: Connection,
        cluster: Place,
        latest: LatestObservations,
        unbound: Sequence[Machine],
        empty_addresses: Collection[str],
    ) -> "GrowthInput":
        """Load the slots of a cluster and all open bindings; ``unbound`` are the machines without a slot."""
        open_bindings = list(list_bindings(connection))
        machines = [*latest.bound_machines(open_bindings), *unbound]
        return cls(load_slots(connection, cluster), open_bindings, latest, machines, empty_addresses)


def plan_growth(
    connection: Connection,
    current_plan: ClusterPlan,
    models: Mapping[str, DomainModel],
    growth_input: GrowthInput,
    chips: Mapping[str, int],
) -> ClusterGrowth:
    """Plan how a cluster grows.

    Parameters
    ----------
    models
        Domain models by slug, in the order that new domains have in the cluster.
    chips
        Numbers of chips by machine name, if observed.

    Raises
    ------
    AdoptionError
        The observed network nodes contradict each other or those of the cluster.

    """
    sizes = {slug: model.blueprint.servers for slug, model in models.items()}
    groups = group_machines(
        attach_bindings(growth_input.machines, growth_input.slots, growth_input.open_bindings, growth_input.latest),
        sizes,
        chips,
    )
    new_groups = [group for group in groups if group.unbound and not group.bound]
    partly_bound_groups = [group for group in groups if group.unbound and group.bound]
    identification = drop_undone_inferences(connection, _fill_empty_slots(partly_bound_groups, growth_input))
    domains, skipped = arrange_domains(new_groups, models, extends_cluster=True)
    if reason := _growth_blocker(current_plan):
        skipped += (SkippedMachine(machine.name, reason) for domain in domains for machine in domain.machines.values())
        domains = []
    skipped += (SkippedMachine(unassigned.name, unassigned.why) for unassigned in identification.unassigned)
    new_bindings = identification.proposed_bindings
    extended_plan = _extended_plan(current_plan, domains, _changed_paths(current_plan, new_bindings, growth_input))
    return ClusterGrowth(extended_plan, current_plan.domains, tuple(domains), new_bindings, tuple(sorted(skipped)))


def _growth_blocker(plan: ClusterPlan) -> str:
    """Return why a cluster can't get more domains, or an empty text."""
    if plan.fabric is None:
        return f"the cluster has no fabric because no network nodes were known; {_ALTERNATIVE}"
    if isinstance(plan.fabric, FabricTree) and plan.fabric.is_dense:
        return f"the cluster was adopted by an earlier trninv and can't get more domains; {_ALTERNATIVE}"
    return ""


def _fill_empty_slots(groups: Iterable[MachineGroup], growth_input: GrowthInput) -> Identification:
    """Assign the unbound machines of each group to free slots of the domain in which its bound machines are."""
    occupied_ids = {binding.server_id for binding in growth_input.open_bindings}
    free_slots = defaultdict[int, list[Slot]](list)
    for slot in growth_input.slots:
        if slot.id not in occupied_ids:
            free_slots[slot.domain].append(slot)
    proposals, unassigned = list[ProposedBinding](), list[UnassignedMachine]()
    for group in groups:
        if reason := _conflict_reason(group):
            unassigned += (UnassignedMachine(member.name, reason) for member in group.unbound)
            continue
        bound_slot = group.slots[0]
        method = "ultraserver" if group.key.startswith(ULTRASERVER) else "capacity-block"
        evidence = f"{group.bound[0].name} is in {bound_slot.domain_address}"
        domain = bound_slot.domain
        assignment = DomainAssignment(domain, method, "certain", evidence)
        group_proposals, group_unassigned = assign_slots(group, assignment, free_slots[domain], {}, in_order=True)
        proposals += group_proposals
        unassigned += group_unassigned
    return Identification(tuple(proposals), tuple(unassigned))


def _conflict_reason(group: MachineGroup) -> str:
    """Return why a group's machines can't be in one domain of the cluster, or an empty text."""
    slot_by_domain = {slot.domain: slot for slot in group.slots}
    if len(slot_by_domain) > 1:
        domains = sorted(slot.domain_address for slot in slot_by_domain.values())
        return f"instances of {group.key} are in {' and '.join(domains)}"
    (slot,) = slot_by_domain.values()
    if not group.domain_models:
        return f"its type differs from the other instances of {group.key}"
    if len(group.members) > slot.servers:
        return (
            f"{group.key} has {len(group.members)} instances, but its domain has {slot.servers} servers; if one "
            "replaces another, run trninv bind"
        )
    return MachineGroup(group.key, group.unbound).duplicate_reason


def _changed_paths(
    plan: ClusterPlan, proposals: Iterable[ProposedBinding], growth_input: GrowthInput
) -> dict[ServerOrdinals, NetworkPath]:
    """Return the observed network nodes above empty slots that get a machine, where the current plan has others."""
    if not isinstance(plan.fabric, FabricTree):
        return {}
    names, current_paths = {node.vendor_id for node in plan.fabric.nodes_by_number}, plan.fabric.network_paths()
    by_id = {slot.id: slot for slot in growth_input.slots}
    paths = dict[ServerOrdinals, NetworkPath]()
    for proposal in proposals:
        machine = growth_input.latest.find_machine(proposal.instance or proposal.host)
        nodes = machine and machine.value("network_nodes")
        if not nodes or proposal.address not in growth_input.empty_addresses:
            continue
        slot = by_id[proposal.server_id]
        ordinals, path = (slot.domain_ordinal, slot.ordinal), tuple(str(nodes).split())
        # a dense fabric has no free numbers for new nodes
        can_be_added = names.issuperset(path) or not plan.fabric.is_dense
        if path != current_paths.get(ordinals) and can_be_added:
            paths[ordinals] = path
    return paths


def _extended_plan(
    plan: ClusterPlan, domains: Sequence[PlannedDomain], changed_paths: Mapping[ServerOrdinals, NetworkPath]
) -> ClusterPlan | None:
    """Return the plan of the cluster with the new domains and network paths, or None if nothing changes."""
    if not isinstance(plan.fabric, FabricTree) or not (domains or changed_paths):
        return None
    new_paths = {
        (ordinal, server): path
        for ordinal, domain in enumerate(domains, plan.domains)
        for server, path in domain.network_paths.items()
    }
    old_models = (group.model for group in plan.domain_groups for _ in range(group.domains))
    return ClusterPlan(
        ADOPTED,
        group_domains([*old_models, *(new_domain.model for new_domain in domains)]),
        extend_fabric(plan.fabric, {**changed_paths, **new_paths}),
    )
