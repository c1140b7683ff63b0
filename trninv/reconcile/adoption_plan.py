"""Plan the domains and the fabric of an adopted cluster, without writing to the database.

A domain is the largest group of chips that NeuronLink connects: one server or one UltraServer. The fabric is the EFA
network between domains, and a network node is one of its switches. `adoption` calls `plan_cluster` for a new cluster;
`growth_plan` calls `arrange_domains` and `extend_fabric` for a cluster that grows.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trninv.catalog.models import DomainModel
from trninv.errors import AdoptionError
from trninv.inventory.seeding.cluster_plan import ADOPTED, ClusterPlan, group_domains
from trninv.reconcile.latest_observations import Machine
from trninv.reconcile.machine_groups import GroupMember, MachineGroup, instance_type_of
from trninv.reconcile.ring_order import server_ring
from trninv.topology.fabric_tree import FabricTree, ServerOrdinals

NetworkPath = tuple[str, ...]
"""The names of the network nodes above a server, top tier first."""


class SkippedMachine(NamedTuple):
    """A machine that is not adopted, and why."""

    name: str
    why: str


class PlannedSlot(NamedTuple):
    """A new slot and the machine that is in it.

    Attributes
    ----------
    ordinals
        The ordinal of the domain in the cluster, and of the server in the domain.
    is_placed_by_order
        Whether the machine got this slot in the order of machine names, because no source reports its server.

    """

    ordinals: ServerOrdinals
    machine: Machine
    is_placed_by_order: bool


@dataclass(frozen=True, slots=True)
class PlannedDomain:
    """A domain that adoption will create.

    Attributes
    ----------
    machines
        Machines by server ordinal.
    placed_by_order
        Ordinals of servers whose machines were assigned in the order of machine names, because no source reports which
        server each machine is.
    network_paths
        The network nodes above each server, by server ordinal; empty if no source reports them.

    """

    model: DomainModel
    machines: Mapping[int, Machine]
    placed_by_order: frozenset[int]
    network_paths: Mapping[int, NetworkPath]

    @property
    def empty_servers(self) -> list[int]:
        """The ordinals of the servers without a machine."""
        return [server for server in range(self.model.blueprint.servers) if server not in self.machines]


@dataclass(frozen=True, slots=True)
class PlannedCluster:
    """A cluster that adoption will create.

    Attributes
    ----------
    plan
        The domain models and the fabric from which `cluster_seeding` creates the cluster.
    domains
        The domains, in the order of their ordinals.

    """

    plan: ClusterPlan
    domains: tuple[PlannedDomain, ...]
    skipped: tuple[SkippedMachine, ...]

    @property
    def slots(self) -> Iterator[PlannedSlot]:
        """The slots with a machine."""
        return planned_slots(self.domains)

    @property
    def empty_slots(self) -> Iterator[ServerOrdinals]:
        """The slots without a machine."""
        return empty_slots(self.domains)


def planned_slots(domains: Iterable[PlannedDomain], first_ordinal: int = 0) -> Iterator[PlannedSlot]:
    """Yield the slots of domains that have a machine; the domains are numbered from ``first_ordinal``."""
    for ordinal, domain in enumerate(domains, first_ordinal):
        for server, machine in domain.machines.items():
            yield PlannedSlot((ordinal, server), machine, server in domain.placed_by_order)


def empty_slots(domains: Iterable[PlannedDomain], first_ordinal: int = 0) -> Iterator[ServerOrdinals]:
    """Yield the slots of domains that have no machine; the domains are numbered from ``first_ordinal``."""
    for ordinal, domain in enumerate(domains, first_ordinal):
        for server in domain.empty_servers:
            yield ordinal, server


def plan_cluster(groups: Iterable[MachineGroup], models: Mapping[str, DomainModel]) -> PlannedCluster:
    """Plan a cluster from groups of machines.

    Parameters
    ----------
    models
        Domain models by slug, in the order that their domains have in the cluster.

    Raises
    ------
    AdoptionError
        No machine can be adopted, or the observed network nodes contradict each other.

    """
    domains, skipped = arrange_domains(groups, models)
    if not domains:
        raise AdoptionError(_nothing_adopted_message(skipped))
    return PlannedCluster(
        ClusterPlan(ADOPTED, group_domains(domain.model for domain in domains), _build_fabric(domains)),
        tuple(domains),
        tuple(skipped),
    )


def arrange_domains(
    groups: Iterable[MachineGroup], models: Mapping[str, DomainModel], *, extends_cluster: bool = False
) -> tuple[list[PlannedDomain], list[SkippedMachine]]:
    """Return the domains that groups of machines form, in the cluster's order, and the skipped machines.

    The fabric connects the domains of a cluster. So if the cluster has or gets more than one domain, domains whose
    network nodes no source reports are skipped.

    Parameters
    ----------
    extends_cluster
        Whether the cluster already has domains.

    """
    skipped, domains = list[SkippedMachine](), list[PlannedDomain]()
    for group in groups:
        new_domain, reason = _plan_domain(group, models)
        if new_domain is None:
            skipped += (SkippedMachine(member.name, reason) for member in group.members)
        else:
            domains.append(new_domain)
            names = {machine.name for machine in new_domain.machines.values()}
            duplicate_reason = "another instance has its position in the UltraServer"
            skipped += (
                SkippedMachine(member.name, duplicate_reason) for member in group.members if member.name not in names
            )
    if extends_cluster or len(domains) > 1:
        isolated = [domain for domain in domains if not domain.network_paths]
        skipped += (
            SkippedMachine(machine.name, _isolation_reason(domain))
            for domain in isolated
            for machine in domain.machines.values()
        )
        domains = [domain for domain in domains if domain.network_paths]
    model_order = {slug: number for number, slug in enumerate(models)}
    domains.sort(
        key=lambda domain: (
            model_order[domain.model.slug],
            min(domain.network_paths.values(), default=()),
            _first_machine_name(domain),
        )
    )
    return domains, sorted(skipped)


def _isolation_reason(domain: PlannedDomain) -> str:
    """Return why a domain can't be in one cluster with others."""
    if domain.model.nic_link is None:
        slug = domain.model.slug
        return f"{slug} has no EFA device and can't join others; run trninv seed {slug} --name NAME, then bind"
    return "no source reports its network nodes; import aws ec2 describe-instance-topology"


def _first_machine_name(domain: PlannedDomain) -> str:
    return min(machine.name for machine in domain.machines.values())


def _nothing_adopted_message(skipped: Sequence[SkippedMachine]) -> str:
    if not skipped:
        return "no machine was imported that can be adopted; run trninv import ec2 or trninv import kubernetes"
    (reason, count), *_ = Counter(machine.why for machine in skipped).most_common(1)
    return f"none of {len(skipped):,} machines can be adopted; reason for {count:,} of them: {reason}"


def _plan_domain(group: MachineGroup, models: Mapping[str, DomainModel]) -> tuple[PlannedDomain | None, str]:
    """Return the domain that a group forms and an empty text, or None and the reason why it forms none."""
    types = sorted({instance_type for member in group.members if (instance_type := instance_type_of(member.machine))})
    if not types:
        return None, "no source reports its type"
    domain_models = [models[slug] for slug in group.domain_models]
    if len(domain_models) != 1:
        type_names = " and ".join(types)
        if domain_models:
            return None, f"several models in the catalog have its type {type_names}; its number of chips would decide"
        return None, f"no model in the catalog has its type {type_names}"
    (model,) = domain_models
    servers = model.blueprint.servers
    if servers > 1 and not group.key:
        hint = "import its capacity block from EC2, or the output of trninv collect"
        return None, f"no source reports which {model.name} it is in; {hint}"
    if len(group.members) > servers:
        return None, f"{group.key} has {len(group.members)} machines, but one {model.name} has {servers}"
    machines, placed_by_order = _assign_servers(group.members, model)
    # a model without EFA devices can't be part of a fabric
    network_paths = _network_paths(machines, servers) if model.nic_link else {}
    return PlannedDomain(model, machines, placed_by_order, network_paths), ""


def _assign_servers(members: Sequence[GroupMember], model: DomainModel) -> tuple[dict[int, Machine], frozenset[int]]:
    """Assign machines to the servers of a domain by ring position or, if no server has it, by the order of their names.

    Return the machine of each server, and the servers whose machines were assigned by the order of names (none in a
    domain of one server). If two machines have the same position, the second one by name is omitted.
    """
    servers = range(model.blueprint.servers)
    ring, free = server_ring(model.slug) or servers, list(servers)
    by_position, without_position = dict[int, Machine](), list[Machine]()
    for member in sorted(members, key=lambda member: member.name):
        # if the servers form no ring, a position is taken as the ordinal of a server
        if (position := member.position) is None or position not in servers:
            without_position.append(member.machine)
        elif (server := ring[position]) in free:
            free.remove(server)
            by_position[server] = member.machine
    by_name = dict(zip(free, without_position, strict=False))
    placed_by_order = frozenset(by_name) if model.blueprint.servers > 1 else frozenset[int]()
    return dict(sorted((by_position | by_name).items())), placed_by_order


def _network_paths(machines: Mapping[int, Machine], servers: int) -> dict[int, NetworkPath]:
    """Return the network nodes above each server, or an empty dictionary if no source reports any.

    A server without a report gets the nodes that are reported most often.
    """
    reported_paths = {
        server: tuple(str(nodes).split())
        for server, machine in machines.items()
        if (nodes := machine.value("network_nodes"))
    }
    if not reported_paths:
        return {}
    (common_path, _), *_ = Counter(sorted(reported_paths.values())).most_common(1)
    return {server: reported_paths.get(server, common_path) for server in range(servers)}


def _build_fabric(domains: Sequence[PlannedDomain]) -> FabricTree | None:
    """Return the fabric above domains, or None if no source reports network nodes."""
    network_paths = {
        (ordinal, server): path
        for ordinal, domain in enumerate(domains)
        for server, path in domain.network_paths.items()
    }
    return extend_fabric(FabricTree((), {}, {}), network_paths) if network_paths else None


def extend_fabric(fabric: FabricTree, network_paths: Mapping[ServerOrdinals, NetworkPath]) -> FabricTree:
    """Return a copy of a fabric that also has the network nodes above more servers.

    Raises
    ------
    AdoptionError
        The observed network nodes contradict each other.

    """
    try:
        return fabric.with_network_paths(network_paths)
    except ValueError as error:
        raise AdoptionError(f"{error}; import the topology of all instances again, from one account") from None
