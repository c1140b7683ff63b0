"""Stamping: a cluster is created by one INSERT … SELECT per table, and removed by one DELETE per table."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Select, delete, func, insert, select

from trninv.catalog.facts import Catalog
from trninv.catalog.models import System
from trninv.errors import ClusterExistsError
from trninv.inventory.address import cluster_name
from trninv.inventory.bulk import bulk, size
from trninv.inventory.ids import next_id
from trninv.inventory.layout import BLOCKS, analyze, staged
from trninv.inventory.record import model_ids, record_facts, record_models
from trninv.inventory.schema import HELD, ORDER, TABLES

_CLUSTER = TABLES["cluster"]


Progress = Callable[[str, int, int], None]
"""Called with the next table, the number of rows done, and the number of rows in all."""


def seed(
    connection: Connection,
    catalog: Catalog,
    system: System,
    name: str | None = None,
    progress: Progress = lambda _table, _done, _total: None,
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
        shape = f"{present.system} of {present.domains:,} domain{'s' * (present.domains > 1)}"
        raise ClusterExistsError(f"{slug} is there already, as a {shape}: choose another --name, or unseed it first")
    record_models(connection, catalog, system)
    record_facts(connection, catalog)
    cluster = _row(connection, system, slug)
    connection.execute(insert(_CLUSTER).values(cluster))
    with staged(connection, catalog, system, cluster) as wanted:
        total, done = sum(wanted.sizes.values()), 0
        with bulk(connection, total, size(connection)):
            for table, rows in wanted.rows.items():
                progress(table, done, total)
                names = list(rows.selected_columns.keys())
                connection.execute(insert(TABLES[table]).from_select(names, rows, include_defaults=False))
                done += wanted.sizes[table]
                if table == "domain":  # the other statements cross the blueprint with it
                    analyze(connection)
            progress("keys and indexes", done, total)
    return True


def unseed(connection: Connection, cluster_id: int) -> None:
    """Remove a cluster and everything in it, within the caller's transaction."""
    _unhold(connection, cluster_id)
    ours = {name: rows_of(name, cluster_id).with_only_columns(TABLES[name].c.id) for name in ORDER}
    rows = sum(connection.scalar(select(func.count()).select_from(ids.subquery())) or 0 for ids in ours.values())
    with bulk(connection, rows, size(connection) - rows):
        for name in reversed(ORDER):
            connection.execute(delete(TABLES[name]).where(TABLES[name].c.id.in_(ours[name])))
    connection.execute(delete(_CLUSTER).where(_CLUSTER.c.id == cluster_id))


def _unhold(connection: Connection, cluster_id: int) -> None:
    """Remove who held the chips of a cluster, and which of its servers were closed."""
    job = select(TABLES["job"].c.id).where(TABLES["job"].c.cluster_id == cluster_id)
    server = rows_of("server", cluster_id).with_only_columns(TABLES["server"].c.id)
    domain = rows_of("domain", cluster_id).with_only_columns(TABLES["domain"].c.id)
    of = {"allocation": ("job_id", job), "closing": ("server_id", server), "domain_held": ("id", domain)}
    for name in HELD:
        table = TABLES[name]
        column, ids = of.get(name, ("id", job))
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


def _row(connection: Connection, system: System, slug: str) -> dict[str, Any]:
    return {
        "id": next_id(connection, _CLUSTER),
        "slug": slug,
        "system": system.slug,
        "domain_model_id": model_ids(connection, TABLES["domain_model"])[system.domain.slug],
        "domains": system.domains,
        **{f"first_{name}_id": next_id(connection, TABLES[name]) for name in BLOCKS},
    }
