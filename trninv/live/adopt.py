"""A cluster made out of what was imported: its machines by domain, empty slots, and the fabric as they report it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from trninv.catalog.facts import Catalog
from trninv.catalog.models import Systems
from trninv.errors import AdoptionError, ClusterExistsError
from trninv.inventory import stamp
from trninv.inventory.address import Place, address_of, cluster_name, resolve
from trninv.inventory.binding import Standing, bindings, put
from trninv.inventory.named import is_host, is_instance
from trninv.inventory.plan import ADOPTED, Part
from trninv.inventory.schema import TABLES
from trninv.inventory.state import UP, Condition, set_state
from trninv.live.fleet import Domain, LeftOut, Planned, planned
from trninv.live.groups import grouped, living
from trninv.live.newest import Machine, newest
from trninv.topology.tree import Slot
from trninv.units import counted

NO_INSTANCE: Final = "no instance"
"""Why a slot is down in which nothing stands."""
WHO: Final = "trninv adopt"
SINCE: Final = (
    "came since: trninv bind gives them its empty slots, trninv adopt makes them a cluster of another name, and after "
    "trninv unseed it adopts all anew"
)
"""What is said of machines that a cluster which is there already does not take."""
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
    """What became a cluster, or would.

    Attributes
    ----------
    tiers
        How many network nodes there are in each tier, the top one first; none where nothing says.
    left_out
        Machines that are in no domain, and why.
    is_known
        Whether it was adopted before: then nothing is made.
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
    """Make a cluster out of all machines that stand nowhere yet, within the caller's transaction.

    Raises
    ------
    AddressError
        The name cannot be part of an address.
    ClusterExistsError
        There is a cluster of that name.
    AdoptionError
        Nothing can be adopted, or what was seen contradicts itself.

    """
    slug = cluster_name(name)
    known = connection.scalar(select(_CLUSTER.c.system).where(_CLUSTER.c.slug == slug))
    if known not in (None, ADOPTED):
        raise ClusterExistsError(f"{slug} is there already, as {known}: adopt under another name")
    if known == ADOPTED:
        return _again(connection, systems, slug, dry_run=dry_run)
    plan = _plan(connection, systems)
    if not dry_run:
        stamp.make(connection, catalog, plan.plan, slug, progress)
        slots = _slots(connection, slug)
        put(connection, [_standing(*slots[slot], machine, ordered=o) for slot, machine, o in plan.slots], who=WHO)
        empty = [slots[slot][1] for slot in plan.empty]
        set_state(connection, empty, Condition("down"), why=NO_INSTANCE, who=WHO, source="import")
    return _told(slug, plan)


def _again(connection: Connection, systems: Systems, slug: str, *, dry_run: bool) -> Adopted:
    """Put slots into service that were empty and have an instance now; a cluster grows no domains."""
    place = resolve(connection, slug)
    filled = _filled(connection, place)
    try:
        new = sorted(machine.name for _, machine, _ in _plan(connection, systems).slots)
    except AdoptionError:
        new = []
    if new and not filled:
        raise ClusterExistsError(f"{slug} was adopted already, and {counted(len(new), 'machine')} {SINCE}")
    if not dry_run:
        set_state(connection, filled, UP, why="an instance stands there now", who=WHO, source="import")
    return Adopted(slug, (), (), tuple(LeftOut(name, SINCE) for name in new), is_known=True, filled=tuple(filled))


def _filled(connection: Connection, cluster: Place) -> list[str]:
    """Addresses of slots that are down because they were empty, and have an instance now."""
    event = TABLES["state_event"]
    last = select(event.c.address, func.max(event.c.id).label("id")).group_by(event.c.address).subquery()
    empty = select(event.c.address).join(last, last.c.id == event.c.id).where(event.c.why == NO_INSTANCE)
    down = set(connection.scalars(empty.where(event.c.state == "down", event.c.who == WHO)))
    return [each.address for each in bindings(connection, cluster) if each.address in down]


def _plan(connection: Connection, systems: Systems) -> Planned:
    seen = newest(connection)
    standing = {name for each in bindings(connection) for name in (each.instance, each.host) if name}
    machines = [each for each in living(seen, WITHIN) if not {each.name, each.host} & standing]
    named = [each for each in machines if is_instance(each.name) or is_host(each.name)]
    models = {system.domain.slug: system.domain for system in systems.systems}
    sizes = {slug: model.blueprint.servers for slug, model in models.items()}
    if standing and not named:
        raise AdoptionError("every machine that was imported stands in a slot already: trninv bindings lists them")
    return planned(grouped(((each, None) for each in named), sizes), models, _chips(connection, named))


def _chips(connection: Connection, machines: Sequence[Machine]) -> dict[str, int]:
    """How many chips machines have, where that was seen of all of them."""
    chip = TABLES["observed_chip"]
    seen = {each.name: found for each in machines if (found := each.value("chips")) and not found.is_partial}
    rows = {of.observed_server: name for name, of in seen.items()}
    numbers = connection.execute(select(chip.c.observed_server_id, func.count()).group_by(chip.c.observed_server_id))
    found = {rows[key]: number for key, number in numbers if key in rows}
    said = {each.name: int(number) for each in machines if (number := each.value("chip_count"))}
    return said | found


def _slots(connection: Connection, slug: str) -> Mapping[Slot, tuple[int, str]]:
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


def _told(slug: str, plan: Planned) -> Adopted:
    models = tuple(
        _model(part, [each for each in plan.domains if each.model is part.model]) for part in plan.plan.parts
    )
    tiers = Counter(node.tier for node in plan.plan.fabric.nodes()) if plan.plan.fabric else Counter[int]()
    return Adopted(slug, models, tuple(tiers[tier] for tier in sorted(tiers)), plan.left_out)


def _model(part: Part, domains: Sequence[Domain]) -> AdoptedModel:
    counts = (
        sum(map(len, listed)) for listed in zip(*((d.machines, d.empty, d.ordered) for d in domains), strict=True)
    )
    return AdoptedModel(part.model.name, part.domains, *counts)
