"""Create or grow a cluster from imported machines, for ``trninv adopt``.

A new cluster is planned by `plan_cluster`, an existing one is extended by `plan_growth`. This module writes the plan:
it creates the parts, binds each machine to its slot (a server's place in the design), and sets the state of empty
slots to down.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select

from trninv.catalog.facts import Catalog
from trninv.catalog.models import SystemCatalog
from trninv.database.tables import TABLES
from trninv.deadline import Progress, silent
from trninv.errors import AdoptionError, ClusterExistsError
from trninv.inventory.address.expressions import address_expression, join_containers
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.syntax import parse_cluster_name
from trninv.inventory.schema.event_fields import IS_STATE_CHANGE
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.cluster_plan import ADOPTED, ClusterPlan, load_plan
from trninv.inventory.state.bindings import ProposedBinding, bind, list_bindings
from trninv.inventory.state.condition import UP, Condition
from trninv.inventory.state.state_change import set_state
from trninv.reconcile.adoption_plan import PlannedCluster, PlannedDomain, PlannedSlot, SkippedMachine, plan_cluster
from trninv.reconcile.growth_plan import GrowthInput, plan_growth
from trninv.reconcile.identification import MACHINE_EXPIRY
from trninv.reconcile.latest_observations import (
    LatestObservations,
    Machine,
    has_valid_name,
    load_latest_observations,
    valid_host_name,
)
from trninv.reconcile.machine_groups import group_machines, instance_type_of, load_chip_counts, recent_machines
from trninv.reconcile.missing_machines import missing_machines
from trninv.topology.fabric_tree import ServerOrdinals

NO_INSTANCE: Final = "no instance"
"""The reason recorded in the event that sets an empty slot down; later adoptions find the empty slots by it."""
AUTHOR: Final = "trninv adopt"
"""The author of the events and bindings that adoption records."""

_CLUSTER, _DOMAIN, _SERVER = (TABLES[name] for name in ("cluster", "domain", "server"))


@dataclass(frozen=True, slots=True)
class AdoptedModel:
    """How many domains of one model an adoption added, and how many of their slots have a machine or are empty.

    Attributes
    ----------
    placed_by_order
        Number of machines whose slots were chosen in the order of machine names, because no source reports the slots.

    """

    model: str
    domains: int
    machines: int
    empty_slots: int
    placed_by_order: int


class TypeConflict(NamedTuple):
    """A machine with different instance types in its records: the type that counts, and the others."""

    name: str
    type: str
    other_types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AdoptionResult:
    """What an adoption created or added.

    Attributes
    ----------
    models
        The added domains, by model.
    tiers
        Number of added network nodes (switches of the EFA fabric) per tier, top tier first; empty if there are none.
    skipped
        Machines that were not added, and why.
    is_extended
        Whether the cluster had been adopted before, so that this adoption could only extend it.
    filled_slots
        Addresses of slots that were empty and have an instance now; their state is up again.
    type_conflicts
        Machines that have different instance types in their records; the latest type counts.

    """

    cluster: str
    models: tuple[AdoptedModel, ...]
    tiers: tuple[int, ...]
    skipped: tuple[SkippedMachine, ...]
    is_extended: bool = False
    filled_slots: tuple[str, ...] = ()
    type_conflicts: tuple[TypeConflict, ...] = ()


def adopt(
    connection: Connection,
    catalog: Catalog,
    systems: SystemCatalog,
    name: str,
    progress: Progress = silent,
) -> AdoptionResult:
    """Create or grow a cluster from all machines without a slot, within the caller's transaction.

    In an existing cluster, only empty slots that get a machine change: their state becomes up, and the network nodes
    above them become those that are reported. If the cluster gets new domains or network nodes, its recorded history is
    complete only from that time.

    Raises
    ------
    AddressError
        The name cannot be part of an address.
    ClusterExistsError
        A cluster with this name exists and was not adopted.
    AdoptionError
        No machine can be adopted, observations contradict each other, or the cluster can't grow.

    """
    slug = parse_cluster_name(name)
    current_system = connection.scalar(select(_CLUSTER.c.system).where(_CLUSTER.c.slug == slug))
    if current_system not in (None, ADOPTED):
        raise ClusterExistsError(f"cluster {slug} already exists, as {current_system}; adopt under another name")
    if current_system == ADOPTED:
        return _grow_adopted(connection, catalog, systems, slug, progress)
    unbound = _unbound_machines(connection, load_latest_observations(connection))
    plan = _plan_new_cluster(connection, systems, unbound)
    cluster_seeding.create_cluster(connection, catalog, plan.plan, slug, progress)
    _bind_new_slots(connection, slug, plan.slots, plan.empty_slots)
    result = _build_result(slug, plan.domains, plan.plan, plan.skipped)
    return replace(result, type_conflicts=tuple(_type_conflicts(unbound)))


def _grow_adopted(
    connection: Connection,
    catalog: Catalog,
    systems: SystemCatalog,
    slug: str,
    progress: Progress,
) -> AdoptionResult:
    """Add machines to a cluster that was adopted before; set the state of empty slots that got a machine to up."""
    cluster = connection.execute(select(_CLUSTER).where(_CLUSTER.c.slug == slug)).mappings().one()
    plan = load_plan(connection, catalog, systems, cluster)
    if plan is None:
        raise AdoptionError(f"{slug} has domains of models that the catalog does not have; trninv verify lists them")
    place = resolve_place(connection, slug)
    latest = load_latest_observations(connection)
    empty = _empty_slots(connection)
    unbound = _unbound_machines(connection, latest)
    growth_input = GrowthInput.load(connection, place, latest, unbound, empty)
    extension = plan_growth(connection, plan, systems.domains, growth_input, load_chip_counts(connection, unbound))
    if extension.plan:
        cluster_seeding.grow_cluster(connection, catalog, extension.plan, cluster, progress)
    bind(connection, extension.new_bindings, who=AUTHOR)
    _bind_new_slots(connection, slug, extension.slots, extension.empty_slots)
    filled = sorted({binding.address for binding in list_bindings(connection, place)} & empty)
    set_state(connection, filled, UP, why="an instance is bound now", who=AUTHOR, source="import")
    result = _build_result(slug, extension.domains, extension.plan, extension.skipped, plan)
    conflicts = tuple(_type_conflicts(unbound))
    return replace(result, is_extended=True, filled_slots=tuple(filled), type_conflicts=conflicts)


def _bind_new_slots(
    connection: Connection,
    slug: str,
    planned_slots: Iterable[PlannedSlot],
    empty: Iterable[ServerOrdinals],
) -> None:
    """Bind machines to new slots, and set the state of new empty slots to down."""
    servers = _servers_by_ordinals(connection, slug)
    bind(connection, [_propose_binding(*servers[slot.ordinals], slot) for slot in planned_slots], who=AUTHOR)
    empty_addresses = [address for _, address in (servers[ordinals] for ordinals in empty)]
    set_state(connection, empty_addresses, Condition("down"), why=NO_INSTANCE, who=AUTHOR, source="import")


def _empty_slots(connection: Connection) -> set[str]:
    """Return the addresses of slots whose latest state change is that adoption set them down as empty."""
    event = TABLES["state_event"]
    state_events = select(event.c.address, func.max(event.c.id).label("id")).where(IS_STATE_CHANGE)
    last_events = state_events.group_by(event.c.address).subquery()
    empty = select(event.c.address).join(last_events, last_events.c.id == event.c.id).where(event.c.why == NO_INSTANCE)
    return set(connection.scalars(empty.where(event.c.state == "down", event.c.who == AUTHOR)))


def _plan_new_cluster(connection: Connection, systems: SystemCatalog, unbound: Sequence[Machine]) -> PlannedCluster:
    """Plan a cluster from all machines without a slot."""
    sizes = {slug: model.blueprint.servers for slug, model in systems.domains.items()}
    if not unbound and next(list_bindings(connection), None):
        raise AdoptionError("every imported machine already has a slot; trninv bindings lists them")
    groups = group_machines(((machine, None) for machine in unbound), sizes, load_chip_counts(connection, unbound))
    return plan_cluster(groups, systems.domains)


def _unbound_machines(connection: Connection, latest: LatestObservations) -> list[Machine]:
    """Return the recently observed machines that are not gone and have a valid name and no slot."""
    missing = missing_machines(connection, latest, only_discovered=True)
    bound = latest.bound_machines(list_bindings(connection))
    return [
        entry
        for entry in recent_machines(latest, MACHINE_EXPIRY)
        if has_valid_name(entry) and entry.name not in missing and entry not in bound
    ]


def _type_conflicts(machines: Iterable[Machine]) -> Iterator[TypeConflict]:
    """Yield the machines that have different instance types in their records."""
    for machine in machines:
        types, counting = {str(entry.value) for entry in machine.reported_types()}, instance_type_of(machine)
        if len(types) > 1 and counting:
            yield TypeConflict(machine.name, counting, tuple(sorted(types - {counting})))


def _servers_by_ordinals(connection: Connection, slug: str) -> Mapping[ServerOrdinals, tuple[int, str]]:
    """Return id and address of each server of a cluster, by the ordinals of its domain and itself."""
    query = (
        select(_DOMAIN.c.ordinal, _SERVER.c.ordinal, _SERVER.c.id, address_expression("server"))
        .select_from(join_containers("server"))
        .where(_CLUSTER.c.slug == slug)
    )
    return {(domain, server): (server_id, address) for domain, server, server_id, address in connection.execute(query)}


def _propose_binding(server_id: int, address: str, slot: PlannedSlot) -> ProposedBinding:
    confidence = "interchangeable" if slot.is_placed_by_order else "certain"
    host = valid_host_name(slot.machine)
    return ProposedBinding(server_id, address, slot.machine.instance, host, "adopted", confidence)


def _build_result(
    slug: str,
    domains: Sequence[PlannedDomain],
    plan: ClusterPlan | None,
    skipped: tuple[SkippedMachine, ...],
    previous_plan: ClusterPlan | None = None,
) -> AdoptionResult:
    """Summarize the added domains, and count the network nodes in each tier that the previous plan does not have."""
    names = dict.fromkeys(domain.model.name for domain in domains)
    models = tuple(
        _summarize_model(name, [domain for domain in domains if domain.model.name == name]) for name in names
    )
    tiers = _count_tiers(plan) - _count_tiers(previous_plan) if plan else Counter[int]()
    return AdoptionResult(slug, models, tuple(tiers[tier] for tier in range(1, max(tiers, default=0) + 1)), skipped)


def _count_tiers(plan: ClusterPlan | None) -> Counter[int]:
    """Return the number of network nodes by tier; tier 1 is the top."""
    return Counter(node.tier for node in plan.fabric.nodes()) if plan and plan.fabric else Counter[int]()


def _summarize_model(name: str, domains: Sequence[PlannedDomain]) -> AdoptedModel:
    return AdoptedModel(
        name,
        len(domains),
        machines=sum(len(domain.machines) for domain in domains),
        empty_slots=sum(len(domain.empty_servers) for domain in domains),
        placed_by_order=sum(len(domain.placed_by_order) for domain in domains),
    )
