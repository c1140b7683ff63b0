"""Plan the domains of an adopted cluster."""

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


class SkippedMachine(NamedTuple):
    """A machine that is not adopted, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class PlannedDomain:
    """A planned domain.

    Attributes
    ----------
    machines
        Machines by server ordinal.
    placed_by_order
        Servers whose machines were placed in the order of their names, because no source tells them apart.
    network_paths
        The network nodes above each server, top tier first; empty if no source reports them.

    """

    model: DomainModel
    machines: Mapping[int, Machine]
    placed_by_order: frozenset[int]
    network_paths: Mapping[int, NetworkPath]

    @property
    def empty_servers(self) -> list[int]:
        """Servers without a machine."""
        return [server for server in range(self.model.blueprint.servers) if server not in self.machines]


@dataclass(frozen=True, slots=True)
class PlannedCluster:
    """A planned cluster.

    Attributes
    ----------
    domains
        In the order of their ordinals.

    """

    plan: ClusterPlan
    domains: tuple[PlannedDomain, ...]
    skipped: tuple[SkippedMachine, ...]

    @property
    def slots(self) -> Iterator[tuple[ServerOrdinals, Machine, bool]]:
        """The ordinals of each machine's domain and server, the machine, and whether its slot is interchangeable."""
        return (
            ((ordinal, server), machine, server in domain.placed_by_order)
            for ordinal, domain in enumerate(self.domains)
            for server, machine in domain.machines.items()
        )

    @property
    def empty_slots(self) -> Iterator[ServerOrdinals]:
        """The slots without a machine."""
        return ((ordinal, server) for ordinal, domain in enumerate(self.domains) for server in domain.empty_servers)


def plan_cluster(groups: Iterable[MachineGroup], models: Mapping[str, DomainModel]) -> PlannedCluster:
    """Plan a cluster from groups of machines.

    Parameters
    ----------
    models
        Domain models by slug, in the order that their domains have in the cluster.

    Raises
    ------
    AdoptionError
        Nothing can be adopted, or the observed network nodes contradict each other.

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
    """Return the domains that groups of machines form, in order, and the machines that are in none.

    Parameters
    ----------
    extends_cluster
        Whether the cluster has other domains, so that the network nodes above these must be known.

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
    """Return why a domain can't join others."""
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
    """Return a group as a domain, or the reason why it can't be one."""
    types = sorted({instance_type for member in group.members if (instance_type := instance_type_of(member.machine))})
    if not types:
        return None, "no source reports its type"
    domain_models = [models[instance_type] for instance_type in group.domain_models]
    if len(domain_models) != 1:
        hint = "; its number of chips would decide" if domain_models else ""
        return None, f"no single model in the catalog has its type {' and '.join(types)}{hint}"
    (model,) = domain_models
    servers = model.blueprint.servers
    if servers > 1 and not group.key:
        return None, f"no source reports its {model.name}: neither its capacity block nor its driver's election"
    if len(group.members) > servers:
        return None, f"{group.key} has {len(group.members)} machines, but one {model.name} has {servers}"
    machines, placed_by_order = _assign_servers(group.members, model)
    return PlannedDomain(
        model, machines, placed_by_order, _network_paths(machines, servers) if model.nic_link else {}
    ), ""


def _assign_servers(members: Sequence[GroupMember], model: DomainModel) -> tuple[dict[int, Machine], frozenset[int]]:
    """Return machines by server: by ring position if known, the others in the order of their names."""
    ring, free = server_ring(model.slug), list(range(model.blueprint.servers))
    by_position, waiting = dict[int, Machine](), list[Machine]()
    for member in sorted(members, key=lambda member: member.name):
        position = member.position
        if position is None:
            waiting.append(member.machine)
        elif (
            server := ring[position] if position < len(ring) else position
        ) in free:  # of two with one position, the first by name
            free.remove(server)
            by_position[server] = member.machine
    by_name = dict(zip(free, waiting, strict=False))
    placed_by_order = frozenset(by_name) if model.blueprint.servers > 1 else frozenset[int]()
    return dict(sorted((by_position | by_name).items())), placed_by_order


def _network_paths(machines: Mapping[int, Machine], servers: int) -> dict[int, NetworkPath]:
    """Return the network nodes above each server; if not reported, the ones that most servers have."""
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
    network_paths = {
        (ordinal, server): path
        for ordinal, domain in enumerate(domains)
        for server, path in domain.network_paths.items()
    }
    return extend_fabric(FabricTree((), {}, {}), network_paths) if network_paths else None


def extend_fabric(fabric: FabricTree, network_paths: Mapping[ServerOrdinals, NetworkPath]) -> FabricTree:
    """Extend a fabric by the network nodes above more servers.

    Raises
    ------
    AdoptionError
        The observed network nodes contradict each other.

    """
    try:
        return fabric.with_network_paths(network_paths)
    except ValueError as error:
        raise AdoptionError(f"{error}; import the topology of all instances again, from one account") from None
