"""Create or grow a cluster from imported machines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from trninv.catalog.facts import Catalog
from trninv.catalog.models import SystemCatalog
from trninv.database.tables import TABLES
from trninv.deadline import Progress, silent
from trninv.errors import AdoptionError, ClusterExistsError
from trninv.inventory.address.expressions import address_expression
from trninv.inventory.address.lookup import resolve_place
from trninv.inventory.address.machine_names import is_host_name, is_instance_id
from trninv.inventory.address.syntax import parse_cluster_name
from trninv.inventory.schema.event_fields import IS_STATE_CHANGE
from trninv.inventory.seeding import cluster_seeding
from trninv.inventory.seeding.cluster_plan import ADOPTED, ClusterPlan, load_plan
from trninv.inventory.state.bindings import ProposedBinding, bind, list_bindings
from trninv.inventory.state.condition import UP, Condition
from trninv.inventory.state.state_change import set_state
from trninv.reconcile.adoption_plan import PlannedCluster, PlannedDomain, SkippedMachine, plan_cluster
from trninv.reconcile.growth_plan import GrowthInput, plan_growth
from trninv.reconcile.latest_observations import LatestObservations, Machine, load_latest_observations
from trninv.reconcile.machine_groups import group_machines, load_chip_counts, recent_machines
from trninv.topology.fabric_tree import ServerOrdinals

NO_INSTANCE: Final = "no instance"
"""The reason in the event that sets an empty slot down."""
AUTHOR: Final = "trninv adopt"
MACHINE_EXPIRY: Final = timedelta(hours=24)
"""A machine is treated as gone if its last observation is older than the latest of all by this much."""

_CLUSTER, _DOMAIN, _SERVER = (TABLES[name] for name in ("cluster", "domain", "server"))


@dataclass(frozen=True, slots=True)
class AdoptedModel:
    """The domains of one model, the machines in them, and slots without one.

    Attributes
    ----------
    ordered
        Machines that were placed in their domain in the order of their names, because no source tells them apart.

    """

    model: str
    domains: int
    machines: int
    empty_slots: int
    placed_by_order: int


@dataclass(frozen=True, slots=True)
class AdoptionResult:
    """What an adoption created or added, or would with ``dry_run``.

    Attributes
    ----------
    tiers
        Number of network nodes per tier, top tier first; empty if no source reports them.
    skipped
        Machines that are in no domain, and why.
    is_extended
        Whether the cluster was adopted before.
    filled_slots
        Slots that were empty and have an instance now; they are up again.

    """

    cluster: str
    models: tuple[AdoptedModel, ...]
    tiers: tuple[int, ...]
    skipped: tuple[SkippedMachine, ...]
    is_extended: bool = False
    filled_slots: tuple[str, ...] = ()


def adopt(
    connection: Connection,
    catalog: Catalog,
    systems: SystemCatalog,
    name: str,
    progress: Progress = silent,
    *,
    dry_run: bool = False,
) -> AdoptionResult:
    """Create or grow a cluster from all machines without a slot, within the caller's transaction.

    Existing parts of a cluster do not change. If its domains or its fabric grow, its history starts then.

    Raises
    ------
    AddressError
        The name cannot be part of an address.
    ClusterExistsError
        A cluster with this name exists and was not adopted.
    AdoptionError
        Nothing can be adopted, observations contradict each other, or the cluster can't grow.

    """
    slug = parse_cluster_name(name)
    current_system = connection.scalar(select(_CLUSTER.c.system).where(_CLUSTER.c.slug == slug))
    if current_system not in (None, ADOPTED):
        raise ClusterExistsError(f"cluster {slug} already exists, as {current_system}; adopt under another name")
    if current_system == ADOPTED:
        return _grow_adopted(connection, catalog, systems, slug, progress, dry_run=dry_run)
    plan = _plan_new_cluster(connection, systems)
    if not dry_run:
        cluster_seeding.create_cluster(connection, catalog, plan.plan, slug, progress)
        _occupy(connection, slug, plan.slots, plan.empty_slots)
    return _result(slug, plan.domains, plan.plan, plan.skipped)


def _grow_adopted(
    connection: Connection,
    catalog: Catalog,
    systems: SystemCatalog,
    slug: str,
    progress: Progress,
    *,
    dry_run: bool,
) -> AdoptionResult:
    """Grow a cluster, and set up slots that were empty and have an instance now."""
    cluster = connection.execute(select(_CLUSTER).where(_CLUSTER.c.slug == slug)).mappings().one()
    plan = load_plan(connection, catalog, systems, cluster)
    if plan is None:
        raise AdoptionError(f"{slug} has domains of models that the catalog does not have; trninv verify lists them")
    place, latest, empty = (
        resolve_place(connection, slug),
        load_latest_observations(connection),
        _empty_slots(connection),
    )
    unbound = _unbound_machines(connection, latest)
    growth_input = GrowthInput.load(connection, place, latest, unbound, empty)
    extension = plan_growth(connection, plan, systems.domains, growth_input, load_chip_counts(connection, unbound))
    if not dry_run and extension.plan:
        cluster_seeding.grow_cluster(connection, catalog, extension.plan, cluster, progress)
    if not dry_run:
        bind(connection, extension.new_bindings, who=AUTHOR)
        _occupy(connection, slug, extension.slots, extension.empty_slots)
    occupied = {binding.address for binding in list_bindings(connection, place)} | {
        binding.address for binding in extension.new_bindings
    }
    filled = sorted(occupied & empty)
    if not dry_run:
        set_state(connection, filled, UP, why="an instance is bound now", who=AUTHOR, source="import")
    result = _result(slug, extension.domains, extension.plan, extension.skipped, plan)
    return replace(result, is_extended=True, filled_slots=tuple(filled))


def _occupy(
    connection: Connection,
    slug: str,
    assignments: Iterable[tuple[ServerOrdinals, Machine, bool]],
    empty: Iterable[ServerOrdinals],
) -> None:
    """Bind machines to new slots, and set empty slots down."""
    slots = _slots_by_ordinals(connection, slug)
    bind(
        connection,
        [
            _propose_binding(*slots[slot], machine, is_placed_by_order=is_ordered)
            for slot, machine, is_ordered in assignments
        ],
        who=AUTHOR,
    )
    empty_addresses = [slots[slot][1] for slot in empty]
    set_state(connection, empty_addresses, Condition("down"), why=NO_INSTANCE, who=AUTHOR, source="import")


def _empty_slots(connection: Connection) -> set[str]:
    """Return the addresses of slots that adoption set down because they had no instance."""
    event = TABLES["state_event"]
    state_events = select(event.c.address, func.max(event.c.id).label("id")).where(IS_STATE_CHANGE)
    last_events = state_events.group_by(event.c.address).subquery()
    empty = select(event.c.address).join(last_events, last_events.c.id == event.c.id).where(event.c.why == NO_INSTANCE)
    return set(connection.scalars(empty.where(event.c.state == "down", event.c.who == AUTHOR)))


def _plan_new_cluster(connection: Connection, systems: SystemCatalog) -> PlannedCluster:
    unbound = _unbound_machines(connection, load_latest_observations(connection))
    sizes = {slug: model.blueprint.servers for slug, model in systems.domains.items()}
    if not unbound and any(True for _ in list_bindings(connection)):
        raise AdoptionError("every imported machine already has a slot; trninv bindings lists them")
    groups = group_machines(((machine, None) for machine in unbound), sizes, load_chip_counts(connection, unbound))
    return plan_cluster(groups, systems.domains)


def _unbound_machines(connection: Connection, latest: LatestObservations) -> list[Machine]:
    """Return the machines without a slot that have a valid name."""
    bound_names = {name for entry in list_bindings(connection) for name in (entry.instance, entry.host) if name}
    machines = (
        entry for entry in recent_machines(latest, MACHINE_EXPIRY) if not {entry.name, entry.host} & bound_names
    )
    return [entry for entry in machines if is_instance_id(entry.name) or is_host_name(entry.name)]


def _slots_by_ordinals(connection: Connection, slug: str) -> Mapping[ServerOrdinals, tuple[int, str]]:
    """Return id and address of each server of a cluster, by the ordinals of its domain and itself."""
    query = (
        select(_DOMAIN.c.ordinal, _SERVER.c.ordinal, _SERVER.c.id, address_expression("server"))
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
        .where(_CLUSTER.c.slug == slug)
    )
    return {(domain, server): (key, address) for domain, server, key, address in connection.execute(query)}


def _propose_binding(key: int, address: str, machine: Machine, *, is_placed_by_order: bool) -> ProposedBinding:
    host = machine.host if machine.host and is_host_name(machine.host, instance=machine.instance) else None
    confidence = "interchangeable" if is_placed_by_order else "certain"
    return ProposedBinding(key, address, machine.instance, host, "adopted", confidence)


def _result(
    slug: str,
    domains: Sequence[PlannedDomain],
    plan: ClusterPlan | None,
    skipped: tuple[SkippedMachine, ...],
    previous_plan: ClusterPlan | None = None,
) -> AdoptionResult:
    """Build the result from the added domains and tiers."""
    names = dict.fromkeys(domain.model.name for domain in domains)
    models = tuple(
        _summarize_model(name, [domain for domain in domains if domain.model.name == name]) for name in names
    )
    tiers = _count_tiers(plan) - _count_tiers(previous_plan) if plan else Counter[int]()
    return AdoptionResult(slug, models, tuple(tiers[tier] for tier in range(1, max(tiers, default=0) + 1)), skipped)


def _count_tiers(plan: ClusterPlan | None) -> Counter[int]:
    return Counter(node.tier for node in plan.fabric.nodes()) if plan and plan.fabric else Counter[int]()


def _summarize_model(name: str, domains: Sequence[PlannedDomain]) -> AdoptedModel:
    counts = (
        sum(map(len, values))
        for values in zip(
            *((domain.machines, domain.empty_servers, domain.placed_by_order) for domain in domains), strict=True
        )
    )
    return AdoptedModel(name, len(domains), *counts)
