"""A cluster made out of what was imported: its machines by domain, empty slots, and the fabric as they report it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from trninv.catalog.facts import Catalog
from trninv.catalog.models import Systems
from trninv.errors import AdoptionError, ClusterExistsError
from trninv.inventory import stamp
from trninv.inventory.address import address_of, cluster_name, resolve
from trninv.inventory.binding import Standing, bindings, put
from trninv.inventory.happened import OF_STATE
from trninv.inventory.named import is_host, is_instance
from trninv.inventory.plan import ADOPTED, Plan, plan_of
from trninv.inventory.schema import TABLES
from trninv.inventory.state import UP, Condition, set_state
from trninv.live.fleet import Domain, LeftOut, Planned, planned
from trninv.live.groups import chips_of, grouped, living
from trninv.live.growth import Seen, growth
from trninv.live.newest import Machine, Newest, newest
from trninv.topology.tree import Ordinals

NO_INSTANCE: Final = "no instance"
"""Why a slot is down in which nothing stands."""
WHO: Final = "trninv adopt"
WITHIN: Final = timedelta(hours=24)
"""A machine that was seen last so long before the others is taken for gone."""

_CLUSTER, _DOMAIN, _SERVER = (TABLES[name] for name in ("cluster", "domain", "server"))


@dataclass(frozen=True, slots=True)
class AdoptedModel:
    """The domains of one model, the machines in them, and slots without one.

    Attributes
    ----------
    ordered
        Machines that stand in their domain in the order of their names, for want of anything that tells them apart.

    """

    model: str
    domains: int
    machines: int
    empty: int
    ordered: int


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became a cluster, or would; of one that was adopted before, what it has grown by.

    Attributes
    ----------
    tiers
        How many network nodes there are in each tier, the top one first; none where nothing says.
    left_out
        Machines that are in no domain, and why.
    is_known
        Whether it was adopted before.
    filled
        Its slots that were empty and have an instance now, which are up again.

    """

    cluster: str
    models: tuple[AdoptedModel, ...]
    tiers: tuple[int, ...]
    left_out: tuple[LeftOut, ...]
    is_known: bool = False
    filled: tuple[str, ...] = ()


def adopt(
    connection: Connection,
    catalog: Catalog,
    systems: Systems,
    name: str,
    progress: stamp.Progress = stamp.quiet,
    *,
    dry_run: bool = False,
) -> Adopted:
    """Make a cluster out of all machines that stand nowhere yet, or let it grow by them; in the caller's transaction.

    What a cluster has stays as it is. Where its domains or its fabric become more, its history is known from then on.

    Raises
    ------
    AddressError
        The name cannot be part of an address.
    ClusterExistsError
        There is a cluster of that name that was not adopted.
    AdoptionError
        Nothing can be adopted, what was seen contradicts itself, or there is no room for more.

    """
    slug = cluster_name(name)
    known = connection.scalar(select(_CLUSTER.c.system).where(_CLUSTER.c.slug == slug))
    if known not in (None, ADOPTED):
        raise ClusterExistsError(f"{slug} is there already, as {known}: adopt under another name")
    if known == ADOPTED:
        return _again(connection, catalog, systems, slug, progress, dry_run=dry_run)
    plan = _plan(connection, systems)
    if not dry_run:
        stamp.make(connection, catalog, plan.plan, slug, progress)
        _occupy(connection, slug, plan.slots, plan.empty)
    return _told(slug, plan.domains, plan.plan, plan.left_out)


def _again(
    connection: Connection, catalog: Catalog, systems: Systems, slug: str, progress: stamp.Progress, *, dry_run: bool
) -> Adopted:
    """Let a cluster grow, and put slots into service that were empty and have an instance now."""
    cluster = connection.execute(select(_CLUSTER).where(_CLUSTER.c.slug == slug)).mappings().one()
    plan = plan_of(connection, catalog, systems, cluster)
    if plan is None:
        raise AdoptionError(f"{slug} has domains of models that the catalog does not know: trninv verify lists them")
    place, seen, empty = resolve(connection, slug), newest(connection), _empty(connection)
    came = _came(connection, seen)
    of = Seen.of(connection, place, seen, came, empty)
    more = growth(connection, plan, systems.domains, of, chips_of(connection, came))
    if not dry_run and more.plan:
        stamp.grow(connection, catalog, more.plan, cluster, progress)
    if not dry_run:
        put(connection, more.filled, who=WHO)
        _occupy(connection, slug, more.slots, more.empty)
    held = {each.address for each in bindings(connection, place)} | {each.address for each in more.filled}
    filled = sorted(held & empty)
    if not dry_run:
        set_state(connection, filled, UP, why="an instance stands there now", who=WHO, source="import")
    told = _told(slug, more.domains, more.plan, more.left_out, plan)
    return replace(told, is_known=True, filled=tuple(filled))


def _occupy(
    connection: Connection, slug: str, standing: Iterable[tuple[Ordinals, Machine, bool]], empty: Iterable[Ordinals]
) -> None:
    """Let machines stand in slots that were just made; the others are down."""
    slots = _slots(connection, slug)
    put(connection, [_standing(*slots[slot], machine, ordered=o) for slot, machine, o in standing], who=WHO)
    down = [slots[slot][1] for slot in empty]
    set_state(connection, down, Condition("down"), why=NO_INSTANCE, who=WHO, source="import")


def _empty(connection: Connection) -> set[str]:
    """Addresses of slots that are down because no instance was seen there."""
    event = TABLES["state_event"]
    of_state = select(event.c.address, func.max(event.c.id).label("id")).where(OF_STATE)
    last = of_state.group_by(event.c.address).subquery()
    empty = select(event.c.address).join(last, last.c.id == event.c.id).where(event.c.why == NO_INSTANCE)
    return set(connection.scalars(empty.where(event.c.state == "down", event.c.who == WHO)))


def _plan(connection: Connection, systems: Systems) -> Planned:
    came = _came(connection, newest(connection))
    sizes = {slug: model.blueprint.servers for slug, model in systems.domains.items()}
    if not came and any(True for _ in bindings(connection)):
        raise AdoptionError("every machine that was imported stands in a slot already: trninv bindings lists them")
    groups = grouped(((each, None) for each in came), sizes, chips_of(connection, came))
    return planned(groups, systems.domains)


def _came(connection: Connection, seen: Newest) -> list[Machine]:
    """Machines that stand nowhere, and have a name that can be written."""
    standing = {name for each in bindings(connection) for name in (each.instance, each.host) if name}
    machines = (each for each in living(seen, WITHIN) if not {each.name, each.host} & standing)
    return [each for each in machines if is_instance(each.name) or is_host(each.name)]


def _slots(connection: Connection, slug: str) -> Mapping[Ordinals, tuple[int, str]]:
    """Id and address of each server of a cluster, by the ordinals of its domain and itself."""
    query = (
        select(_DOMAIN.c.ordinal, _SERVER.c.ordinal, _SERVER.c.id, address_of("server"))
        .join(_DOMAIN, _DOMAIN.c.id == _SERVER.c.domain_id)
        .join(_CLUSTER, _CLUSTER.c.id == _DOMAIN.c.cluster_id)
        .where(_CLUSTER.c.slug == slug)
    )
    return {(domain, server): (key, address) for domain, server, key, address in connection.execute(query)}


def _standing(key: int, address: str, machine: Machine, *, ordered: bool) -> Standing:
    host = machine.host if machine.host and is_host(machine.host, of=machine.instance) else None
    confidence = "interchangeable" if ordered else "certain"
    return Standing(key, address, machine.instance, host, "adopted", confidence)


def _told(
    slug: str, domains: Sequence[Domain], plan: Plan | None, left_out: tuple[LeftOut, ...], before: Plan | None = None
) -> Adopted:
    """What there is more than before."""
    names = dict.fromkeys(each.model.name for each in domains)
    models = tuple(_model(name, [each for each in domains if each.model.name == name]) for name in names)
    tiers = _tiers(plan) - _tiers(before) if plan else Counter[int]()
    return Adopted(slug, models, tuple(tiers[tier] for tier in range(1, max(tiers, default=0) + 1)), left_out)


def _tiers(plan: Plan | None) -> Counter[int]:
    return Counter(node.tier for node in plan.fabric.nodes()) if plan and plan.fabric else Counter[int]()


def _model(name: str, domains: Sequence[Domain]) -> AdoptedModel:
    counts = (
        sum(map(len, listed)) for listed in zip(*((d.machines, d.empty, d.ordered) for d in domains), strict=True)
    )
    return AdoptedModel(name, len(domains), *counts)
