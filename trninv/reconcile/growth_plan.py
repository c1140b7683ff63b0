"""Plan what an adopted cluster gains."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from trninv.catalog.models import DomainModel
from trninv.inventory.address.lookup import Place
from trninv.inventory.seeding.cluster_plan import ADOPTED, ClusterPlan, group_domains
from trninv.inventory.state.bindings import Binding, ProposedBinding, list_bindings
from trninv.reconcile.adoption_plan import NetworkPath, PlannedDomain, SkippedMachine, arrange_domains, extend_fabric
from trninv.reconcile.domain_assignment import DomainAssignment, UnassignedMachine
from trninv.reconcile.identification import Identification, attach_bindings, drop_undone_inferences
from trninv.reconcile.latest_observations import LatestObservations, Machine
from trninv.reconcile.machine_groups import ULTRASERVER, MachineGroup, Slot, group_machines, load_slots
from trninv.reconcile.slot_assignment import assign_slots
from trninv.topology.fabric_tree import FabricTree, ServerOrdinals


@dataclass(frozen=True, slots=True)
class ClusterGrowth:
    """What a cluster gains.

    Attributes
    ----------
    plan
        The extended cluster; None if its domains and its fabric do not change.
    first_ordinal
        Ordinal of the first new domain.
    new_bindings
        Machines in existing slots.
    skipped
        Machines that are not added, and why.

    """

    plan: ClusterPlan | None
    first_ordinal: int
    domains: tuple[PlannedDomain, ...]
    new_bindings: tuple[ProposedBinding, ...]
    skipped: tuple[SkippedMachine, ...]

    @property
    def slots(self) -> Iterable[tuple[ServerOrdinals, Machine, bool]]:
        """The ordinals of each new slot's domain and server, its machine, and whether its slot is interchangeable."""
        return (
            ((ordinal, server), machine, server in domain.placed_by_order)
            for ordinal, domain in enumerate(self.domains, self.first_ordinal)
            for server, machine in domain.machines.items()
        )

    @property
    def empty_slots(self) -> Iterable[ServerOrdinals]:
        """The new slots without a machine."""
        return (
            (ordinal, server)
            for ordinal, domain in enumerate(self.domains, self.first_ordinal)
            for server in domain.empty_servers
        )


@dataclass(frozen=True, slots=True)
class GrowthInput:
    """The slots and bindings of a cluster, and the observations.

    Attributes
    ----------
    machines
        Machines without a slot, and bound ones.
    empty_addresses
        Addresses of slots that never had a machine.

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
        """Read from the tables; ``unbound`` are the machines without a slot."""
        open_bindings = list(list_bindings(connection))
        bound_names = {name for entry in open_bindings for name in (entry.instance, entry.host) if name}
        bound_machines = [entry for entry in latest.machines.values() if {entry.name, entry.host} & bound_names]
        return cls(load_slots(connection, cluster), open_bindings, latest, [*bound_machines, *unbound], empty_addresses)


def plan_growth(
    connection: Connection,
    current_plan: ClusterPlan,
    models: Mapping[str, DomainModel],
    growth_input: GrowthInput,
    chips: Mapping[str, int],
) -> ClusterGrowth:
    """Plan what a cluster gains; write nothing.

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
    identification = drop_undone_inferences(
        connection, _fill_empty_slots([group for group in groups if group.unbound and group.bound], growth_input)
    )
    domains, skipped = arrange_domains(new_groups, models, extends_cluster=True)
    if reason := _growth_blocker(current_plan):
        skipped += (SkippedMachine(machine.name, reason) for domain in domains for machine in domain.machines.values())
        domains = []
    skipped += (SkippedMachine(unassigned.name, unassigned.why) for unassigned in identification.unassigned)
    extended_plan = _extended_plan(
        current_plan, domains, _changed_paths(current_plan, identification.proposed_bindings, growth_input)
    )
    return ClusterGrowth(
        extended_plan, current_plan.domains, tuple(domains), identification.proposed_bindings, tuple(sorted(skipped))
    )


def _growth_blocker(plan: ClusterPlan) -> str:
    """Return why a cluster can't get more domains, or an empty text."""
    if plan.fabric is None:
        return f"the cluster has no fabric because no network nodes were known; {_ALTERNATIVE}"
    if isinstance(plan.fabric, FabricTree) and plan.fabric.is_dense:
        return f"the cluster was adopted by an earlier trninv and can't get more domains; {_ALTERNATIVE}"
    return ""


_ALTERNATIVE = "adopt it under another name, or run trninv unseed and adopt the cluster again"


def _fill_empty_slots(groups: Iterable[MachineGroup], growth_input: GrowthInput) -> Identification:
    """Assign machines of existing domains to the free slots there."""
    occupied_ids, free_slots = (
        {binding.server_id for binding in growth_input.open_bindings},
        defaultdict[int, list[Slot]](list),
    )
    for slot in growth_input.slots:
        if slot.id not in occupied_ids:
            free_slots[slot.domain].append(slot)
    proposals, unassigned = list[ProposedBinding](), list[UnassignedMachine]()
    for group in groups:
        if reason := _conflict_reason(group):
            unassigned += (UnassignedMachine(member.name, reason) for member in group.unbound)
            continue
        first = next(iter(group.slots))
        method = "ultraserver" if group.key.startswith(ULTRASERVER) else "capacity-block"
        evidence = f"{group.bound[0].name} stands in {first.address.rpartition('/')[0]}"
        assignment = DomainAssignment(first.domain, method, "certain", evidence)
        group_proposals, group_unassigned = assign_slots(group, assignment, free_slots[first.domain], {}, in_order=True)
        proposals += group_proposals
        unassigned += group_unassigned
    return Identification(tuple(proposals), tuple(unassigned))


def _conflict_reason(group: MachineGroup) -> str:
    """Return why a group's machines can't be in one domain of the cluster, or an empty text."""
    slot_by_domain = {slot.domain: slot for slot in group.slots}
    if len(slot_by_domain) > 1:
        domains = sorted(slot.address.rpartition("/")[0] for slot in slot_by_domain.values())
        return f"instances of {group.key} are in {' and '.join(domains)}"
    (slot,) = slot_by_domain.values()
    if not group.domain_models:
        return f"its type differs from the other instances of {group.key}"
    if len(group.members) > slot.servers:
        return (
            f"{group.key} has {len(group.members)} instances, but its domain has {slot.servers} servers; if one "
            "replaces another, run trninv bind"
        )
    return ""


def _changed_paths(
    plan: ClusterPlan, proposals: Iterable[ProposedBinding], growth_input: GrowthInput
) -> dict[ServerOrdinals, NetworkPath]:
    """Return the reported network nodes above empty slots that differ from the assumed ones."""
    if not isinstance(plan.fabric, FabricTree):
        return {}
    names, current_paths = {node.vendor_id for node in plan.fabric.nodes_by_number}, plan.fabric.network_paths()
    by_id = {slot.id: slot for slot in growth_input.slots}
    paths = dict[ServerOrdinals, NetworkPath]()
    for proposal in proposals:
        machine = growth_input.latest.machines.get(proposal.instance or "") or growth_input.latest.hosts.get(
            proposal.host or ""
        )
        nodes = machine and machine.value("network_nodes")
        slot = by_id[proposal.server_id]
        ordinals = slot.domain_ordinal, slot.ordinal
        if (
            not nodes
            or proposal.address not in growth_input.empty_addresses
            or current_paths.get(ordinals) == (path := tuple(str(nodes).split()))
        ):
            continue
        if names.issuperset(path) or not plan.fabric.is_dense:
            paths[ordinals] = path
    return paths


def _extended_plan(
    plan: ClusterPlan, domains: Sequence[PlannedDomain], changed_paths: Mapping[ServerOrdinals, NetworkPath]
) -> ClusterPlan | None:
    """Return the cluster with the new domains, or None if nothing changes."""
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
