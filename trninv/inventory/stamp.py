"""Stamping: a cluster is created, and grown, by one INSERT … SELECT per table, and removed by one DELETE per table."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Select, Subquery, delete, func, insert, or_, select, update

from trninv.catalog.facts import Catalog
from trninv.catalog.models import System
from trninv.catalog.needs import check_facts
from trninv.errors import AdoptionError, ClusterExistsError
from trninv.inventory.address import cluster_name
from trninv.inventory.binding import end_all
from trninv.inventory.bulk import bulk, size
from trninv.inventory.chain import change
from trninv.inventory.fold import fold, spans
from trninv.inventory.ids import BLOCKS, ROOM, next_block, next_id
from trninv.inventory.layout import Wanted, wanted
from trninv.inventory.plan import ADOPTED, Plan
from trninv.inventory.record import model_ids, record_facts, record_models
from trninv.inventory.schema import HELD, ORDER, TABLES
from trninv.inventory.staging import analyze
from trninv.inventory.start import record
from trninv.timestamps import current_timestamp, format_timestamp
from trninv.units import counted

_CLUSTER = TABLES["cluster"]


Progress = Callable[[str, int, int], None]
"""Called with the next table, the number of rows done, and the number of rows in all."""


def quiet(_table: str, _done: int, _total: int) -> None:
    """Say nothing."""


def seed(
    connection: Connection,
    catalog: Catalog,
    system: System,
    name: str | None = None,
    progress: Progress = quiet,
) -> bool:
    """Seed a system as a cluster within the caller's transaction; False if it already exists.

    Raises
    ------
    AddressError
        The name cannot be part of an address.
    DatabaseError
        Other clusters were seeded from a catalog with different numbers.
    ClusterExistsError
        A cluster of that name has another system or size.

    """
    slug = system.slug if name is None else cluster_name(name)
    present = connection.execute(select(_CLUSTER.c.system, _CLUSTER.c.domains).where(_CLUSTER.c.slug == slug)).first()
    if present == (system.slug, system.domains):
        return False
    if present is not None:
        made = "an adopted cluster" if present.system == ADOPTED else f"a {present.system}"
        shape = f"{made} of {counted(present.domains, 'domain')}"
        raise ClusterExistsError(f"{slug} is there already, as {shape}: choose another --name, or unseed it first")
    check_facts(catalog, [system.domain], fabric=system.domains > 1)
    make(connection, catalog, Plan.of(catalog, system), slug, progress)
    return True


def make(connection: Connection, catalog: Catalog, plan: Plan, slug: str, progress: Progress = quiet) -> None:
    """Create a cluster of a name that no other has, within the caller's transaction.

    Raises
    ------
    DatabaseError
        Other clusters were seeded from a catalog with different numbers.

    """
    record_models(connection, catalog, plan.models)
    record_facts(connection, catalog)
    cluster = _row(connection, plan, slug)
    connection.execute(insert(_CLUSTER).values(cluster))
    record(connection, cluster, "seed", cluster["known_from"])
    with wanted(connection, catalog, plan, cluster) as must:
        _check_room(plan, must)
        with bulk(connection, sum(must.sizes.values()), size(connection)):
            _insert(connection, must, progress)


def grow(
    connection: Connection, catalog: Catalog, plan: Plan, cluster: Mapping[Any, Any], progress: Progress = quiet
) -> None:
    """Give a cluster what its plan has more than it; what is there stays, but for what its fabric's links carry.

    Parameters
    ----------
    plan
        The cluster's own, with domains after its own and network nodes that are numbered after its own.

    Raises
    ------
    AdoptionError
        There is no room for that in the cluster's block of ids.
    DatabaseError
        Other clusters were seeded from a catalog with different numbers.

    """
    record_models(connection, catalog, plan.models)
    record_facts(connection, catalog)
    with wanted(connection, catalog, plan, cluster, since=cluster["domains"]) as must:
        _check_room(plan, must)
        rows = sum(must.sizes.values()) * (plan.domains - cluster["domains"]) // plan.domains
        with bulk(connection, rows, size(connection)):
            _insert(connection, must, progress, beside=True)
    with wanted(connection, catalog, plan, cluster) as must:
        _rewire(connection, must.rows["link"].subquery("must"))
    new = _shape(connection, plan) | _known(connection)
    state = next((fold(connection, span) for span in spans(connection) if span.cluster_id == cluster["id"]), None)
    record(connection, cluster, "grow", new["known_from"], state)
    connection.execute(update(_CLUSTER).where(_CLUSTER.c.id == cluster["id"]).values(new))


def _check_room(plan: Plan, must: Wanted) -> None:
    if plan.system == ADOPTED and (over := [name for name in ROOM if must.sizes[name] > ROOM[name]]):
        listed = " and ".join(f"{must.sizes[name]:,} in {name}" for name in over)
        raise AdoptionError(f"its rows are too many ({listed}): {ROOM['server']:,} servers and what they hold fit")


def _insert(connection: Connection, must: Wanted, progress: Progress, *, beside: bool = False) -> None:
    """Insert rows; beside others only those that are not there."""
    total, done = sum(must.sizes.values()), 0
    for name, rows in must.rows.items():
        progress(name, done, total)
        table, columns, new = TABLES[name], list(rows.selected_columns.keys()), rows
        if beside:
            given = rows.subquery("given")
            new = select(given).where(given.c.id.not_in(select(table.c.id)))
        connection.execute(insert(table).from_select(columns, new, include_defaults=False))
        done += must.sizes[name]
        if name == "domain":  # the other statements cross the blueprint with it
            analyze(connection, table)
    progress("keys and indexes", done, total)


def _rewire(connection: Connection, must: Subquery) -> None:
    """Let links of the fabric end where they must, and carry what they must."""
    link = TABLES["link"]
    written = ("b_id", "cables", "bandwidth_bytes_per_s", "link_model_id", "technology")
    differ = or_(*(link.c[name] != must.c[name] for name in written))
    same = link.c.id == must.c.id, must.c.scope == "fabric"
    connection.execute(update(link).where(*same, differ).values({name: must.c[name] for name in written}))


def ending(connection: Connection, cluster_id: int) -> dict[str, int]:
    """How many bindings and jobs end where a cluster is removed, without those of which there are none."""
    binding, job = TABLES["binding"], TABLES["job"]
    server = rows_of("server", cluster_id).with_only_columns(TABLES["server"].c.id)
    live = {
        "binding": select(func.count()).where(binding.c.server_id.in_(server), binding.c.until.is_(None)),
        "job": select(func.count()).where(job.c.cluster_id == cluster_id, job.c.ended.is_(None)),
    }
    return {name: found for name, query in live.items() if (found := connection.scalar(query))}


def unseed(connection: Connection, cluster_id: int) -> None:
    """Remove a cluster and everything in it, within the caller's transaction, and end its servers' bindings.

    Of its jobs and closings the events stay: those that end them are the last.
    """
    _unhold(connection, cluster_id)
    ours = {name: rows_of(name, cluster_id).with_only_columns(TABLES[name].c.id) for name in ORDER}
    rows = sum(connection.scalar(select(func.count()).select_from(ids.subquery())) or 0 for ids in ours.values())
    end_all(connection, ours["server"], who="trninv unseed")
    with bulk(connection, rows, size(connection) - rows):
        for name in reversed(ORDER):
            connection.execute(delete(TABLES[name]).where(TABLES[name].c.id.in_(ours[name])))
    slug = connection.scalar(delete(_CLUSTER).where(_CLUSTER.c.id == cluster_id).returning(_CLUSTER.c.slug))
    record(connection, {"id": cluster_id, "slug": slug}, "unseed", next_id(connection, TABLES["state_event"]) - 1)


def _unhold(connection: Connection, cluster_id: int) -> None:
    """End who holds the chips of a cluster and which of its servers are closed, and remove their rows."""
    job, closing = TABLES["job"], TABLES["closing"]
    jobs = select(job.c.id).where(job.c.cluster_id == cluster_id)
    server = rows_of("server", cluster_id).with_only_columns(TABLES["server"].c.id)
    domain = rows_of("domain", cluster_id).with_only_columns(TABLES["domain"].c.id)
    of = {"allocation": ("job_id", jobs), "closing": ("server_id", server), "domain_held": ("id", domain)}
    with change(connection, who="trninv unseed", why="unseeded", source="command") as now:
        at = format_timestamp(now)
        connection.execute(update(job).where(job.c.id.in_(jobs), job.c.ended.is_(None)).values(ended=at))
        shut = closing.c.server_id.in_(server), closing.c.until.is_(None)
        connection.execute(update(closing).where(*shut).values(until=at))
        for name in HELD:
            table = TABLES[name]
            column, ids = of.get(name, ("id", jobs))
            connection.execute(delete(table).where(table.c[column].in_(ids)))


def rows_of(name: str, cluster_id: int) -> Select[Any]:
    """The rows of a table that belong to a cluster."""
    table, rows = TABLES[name], select(TABLES[name])
    for parent, column in _PARENTS.get(name, ()):
        rows = rows.join(TABLES[parent], TABLES[parent].c.id == column)
        table = TABLES[parent]
    return rows.where(table.c.cluster_id == cluster_id)


_PARENTS = {
    "server": [("domain", TABLES["server"].c.domain_id)],
    "tray": [("server", TABLES["tray"].c.server_id), ("domain", TABLES["server"].c.domain_id)],
    "chip": [("node", TABLES["chip"].c.id)],
    "switch": [("node", TABLES["switch"].c.id)],
    "nic": [("node", TABLES["nic"].c.id)],
    "network_node": [("node", TABLES["network_node"].c.id)],
    "core": [("node", TABLES["core"].c.chip_id)],
    "link": [("node", TABLES["link"].c.a_id)],
}
"""How to get from a table without cluster_id to one that has it."""


def _row(connection: Connection, plan: Plan, slug: str) -> dict[str, Any]:
    return {
        "id": next_id(connection, _CLUSTER),
        "slug": slug,
        "system": plan.system,
        **_shape(connection, plan),
        **{f"first_{name}_id": next_block(connection, name, ADOPTED) for name in BLOCKS},
        **_known(connection),
    }


def _shape(connection: Connection, plan: Plan) -> dict[str, Any]:
    """How many domains a cluster has, and of which model if that is one."""
    models, ids = {model.slug for model in plan.models}, model_ids(connection, TABLES["domain_model"])
    return {"domain_model_id": ids[models.pop()] if len(models) == 1 else None, "domains": plan.domains}


def _known(connection: Connection) -> dict[str, Any]:
    """From which event and time on its history is known: its parts have been the same since."""
    return {
        "known_from": next_id(connection, TABLES["state_event"]) - 1,
        "known_since": current_timestamp(),
    }
