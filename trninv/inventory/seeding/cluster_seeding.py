"""Create, grow and remove clusters with one statement per table.

`trninv seed` and `unseed` call this module, and so does adoption, which creates clusters from observed instances.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Connection,
    Select,
    Subquery,
    delete,
    false,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from trninv.catalog.facts import Catalog
from trninv.catalog.models import System
from trninv.catalog.required_facts import check_facts
from trninv.database.bulk_load import deferred_indexes, estimated_rows, is_large_load, without_checks
from trninv.database.id_blocks import BLOCK_CAPACITY, BLOCK_TABLES, next_block_start, next_id
from trninv.database.part_counts import store_counts
from trninv.database.tables import INSERT_ORDER, JOB_TABLES, TABLES
from trninv.deadline import Progress, silent
from trninv.errors import AdoptionError, ClusterExistsError, DatabaseError
from trninv.inventory.address.syntax import parse_cluster_name
from trninv.inventory.seeding.blueprint_tables import analyze_table
from trninv.inventory.seeding.catalog_rows import model_ids, store_facts, store_models
from trninv.inventory.seeding.cluster_plan import ADOPTED, ClusterPlan
from trninv.inventory.seeding.expected_rows import ExpectedRows, count_rows, expected_rows
from trninv.inventory.state.bindings import end_bindings
from trninv.inventory.state.event_fold import event_spans, fold_events
from trninv.inventory.state.hash_chain import record_change
from trninv.inventory.state.history_start import record_start
from trninv.inventory.triggers.count_triggers import without_counting
from trninv.units import current_timestamp, format_timestamp, pluralize

_CLUSTER = TABLES["cluster"]
_TOGETHER = "clusters are seeded together"
"""The key in a connection's info that is true inside `seeding_together`."""


def seed(
    connection: Connection,
    catalog: Catalog,
    system: System,
    name: str | None = None,
    progress: Progress = silent,
) -> bool:
    """Seed a system as a cluster within the caller's transaction; return False if it already exists.

    Raises
    ------
    AddressError
        The name cannot be part of an address.
    DatabaseError
        Other clusters were seeded from a catalog with different numbers.
    ClusterExistsError
        A cluster of that name has another system or size.
    """
    slug = system.slug if name is None else parse_cluster_name(name)
    existing = connection.execute(select(_CLUSTER.c.system, _CLUSTER.c.domains).where(_CLUSTER.c.slug == slug)).first()
    if existing == (system.slug, system.domains):
        return False
    if existing is not None:
        kind = "an adopted cluster" if existing.system == ADOPTED else f"a {existing.system}"
        shape = f"{kind} of {pluralize(existing.domains, 'domain')}"
        raise ClusterExistsError(f"{slug} exists already as {shape}: choose another --name, or unseed it first")
    check_facts(catalog, [system.domain], fabric=system.domains > 1)
    create_cluster(connection, catalog, ClusterPlan.from_system(catalog, system), slug, progress)
    return True


def create_cluster(
    connection: Connection, catalog: Catalog, plan: ClusterPlan, slug: str, progress: Progress = silent
) -> None:
    """Create a cluster under an unused name, within the caller's transaction.

    Raises
    ------
    DatabaseError
        Other clusters were seeded from a catalog with different numbers.
    """
    store_models(connection, catalog, plan.models)
    store_facts(connection, catalog)
    cluster = _cluster_row(connection, plan, slug)
    connection.execute(insert(_CLUSTER).values(cluster))
    record_start(connection, cluster, "seed", cluster["known_from"])
    with expected_rows(connection, catalog, plan, cluster) as expected:
        _check_id_capacity(plan, expected)
        size, existing = sum(expected.sizes.values()), estimated_rows(connection)
        # all domains of a group get the same values, so that the checks of one domain's rows cover all rows
        checks_one_domain = is_large_load(size, existing) and len(plan.domain_groups) == 1
        checks = without_checks(connection) if checks_one_domain else nullcontext()
        with _uncounted(connection, size, existing) as is_uncounted, checks:
            _insert(connection, expected, progress)
        if is_uncounted:
            connection.execute(insert(TABLES["part_count"]), expected.counts)
    if checks_one_domain:
        with expected_rows(connection, catalog, plan, cluster, first_domain=plan.domains - 1) as expected:
            _refuse_violations(connection, expected)


def _refuse_violations(connection: Connection, expected: ExpectedRows) -> None:
    """Refuse stored rows, of those expected, that violate a CHECK constraint of their table.

    Raises
    ------
    DatabaseError
    """
    for name, rows in expected.rows.items():
        table, ids = TABLES[name], select(rows.subquery().c.id)
        checks = (check.sqltext for check in table.constraints if isinstance(check, CheckConstraint))
        violates = or_(false(), *(~literal_column(f"({check})", Boolean) for check in checks))
        if connection.scalar(select(table.c.id).where(table.c.id.in_(ids), violates).limit(1)) is not None:
            raise DatabaseError(
                f"the rows of {name} violate its constraints: correct the wiring pattern or the catalog"
            )


def grow_cluster(
    connection: Connection, catalog: Catalog, plan: ClusterPlan, cluster: Mapping[Any, Any], progress: Progress = silent
) -> None:
    """Add the rows of a larger plan to an existing cluster, and update the links of its fabric.

    Parameters
    ----------
    plan
        The cluster's present plan with more domains and network nodes, numbered after the present ones.

    Raises
    ------
    AdoptionError
        The cluster's blocks of ids are too small.
    DatabaseError
        Other clusters were seeded from a catalog with different numbers.
    """
    store_models(connection, catalog, plan.models)
    store_facts(connection, catalog)
    with expected_rows(connection, catalog, plan, cluster, first_domain=cluster["domains"]) as expected:
        _check_id_capacity(plan, expected)
        # `sizes` count the rows of the whole cluster: estimate the new ones from the share of new domains
        rows = sum(expected.sizes.values()) * (plan.domains - cluster["domains"]) // plan.domains
        with _uncounted(connection, rows, estimated_rows(connection)) as is_uncounted:
            _insert(connection, expected, progress, only_missing=True)
        if is_uncounted:
            store_counts(connection, cluster["id"])
    # uplinks above old domains may carry more now, so the rows of all domains are expected here
    with expected_rows(connection, catalog, plan, cluster) as expected:
        _update_uplinks(connection, expected.rows["link"].subquery("expected"))
    values = _cluster_shape(connection, plan) | _history_start(connection)
    span = next((span for span in event_spans(connection) if span.cluster_id == cluster["id"]), None)
    state = fold_events(connection, span) if span else None
    record_start(connection, cluster, "grow", values["known_from"], state)
    connection.execute(update(_CLUSTER).where(_CLUSTER.c.id == cluster["id"]).values(values))


@contextmanager
def seeding_together(connection: Connection, catalog: Catalog, system: System, slugs: Sequence[str]) -> Iterator[None]:
    """Build keys and indexes once for the clusters of a system that are seeded inside this context.

    One by one, a cluster would rebuild the indexes of those before it, or check each of its rows when it is inserted.
    """
    plan = ClusterPlan.from_system(catalog, system)
    store_models(connection, catalog, plan.models)
    existing = connection.scalar(select(func.count()).where(_CLUSTER.c.slug.in_(slugs))) or 0
    rows = (len(slugs) - existing) * count_rows(connection, catalog, plan)
    with _uncounted(connection, rows, estimated_rows(connection)) as is_uncounted:
        connection.info[_TOGETHER] = is_uncounted
        try:
            yield
        finally:
            del connection.info[_TOGETHER]


@contextmanager
def _uncounted(connection: Connection, rows: int, existing_rows: int, *, deletes: bool = False) -> Iterator[bool]:
    """Load or delete rows quickly; yield whether triggers do not count them, so that the caller has to."""
    if connection.info.get(_TOGETHER):
        yield True
        return
    with (
        deferred_indexes(connection, rows, existing_rows, deletes=deletes) as is_exclusive,
        without_counting(connection) if is_exclusive else nullcontext(),
    ):
        yield is_exclusive


def _check_id_capacity(plan: ClusterPlan, expected: ExpectedRows) -> None:
    """Refuse an adopted cluster with more rows than the ids reserved for it; other clusters have no reserve."""
    if plan.system == ADOPTED and (
        excess := [name for name in BLOCK_CAPACITY if expected.sizes[name] > BLOCK_CAPACITY[name]]
    ):
        counts = " and ".join(f"{expected.sizes[name]:,} in {name}" for name in excess)
        raise AdoptionError(
            f"the cluster has too many rows ({counts}): {BLOCK_CAPACITY['server']:,} servers with their parts fit"
        )


def _insert(connection: Connection, expected: ExpectedRows, progress: Progress, *, only_missing: bool = False) -> None:
    """Insert rows; with `only_missing`, skip those that exist."""
    total, done = sum(expected.sizes.values()), 0
    for name, rows in expected.rows.items():
        progress(name, done, total)
        table, columns, new_rows = TABLES[name], list(rows.selected_columns.keys()), rows
        if only_missing:
            candidates = rows.subquery("candidates")
            new_rows = select(candidates).where(candidates.c.id.not_in(select(table.c.id)))
        connection.execute(insert(table).from_select(columns, new_rows, include_defaults=False))
        done += expected.sizes[name]
        if name == "domain":  # the statements of the other tables join it
            analyze_table(connection, table)
    progress("keys and indexes", done, total)


def _update_uplinks(connection: Connection, expected: Subquery) -> None:
    """Update the upper ends, models and bandwidths of the fabric's links where they differ."""
    link = TABLES["link"]
    columns = ("b_id", "cables", "bandwidth_bytes_per_s", "link_model_id", "technology")
    differs = or_(*(link.c[name] != expected.c[name] for name in columns))
    is_same_uplink = link.c.id == expected.c.id, expected.c.scope == "fabric"
    values = {name: expected.c[name] for name in columns}
    connection.execute(update(link).where(*is_same_uplink, differs).values(values))


def unseed_impact(connection: Connection, cluster_id: int) -> dict[str, int]:
    """Count the open bindings and jobs, by table, that removing a cluster would end; a table without any is absent."""
    binding, job = TABLES["binding"], TABLES["job"]
    server = cluster_rows("server", cluster_id).with_only_columns(TABLES["server"].c.id)
    queries = {
        "binding": select(func.count()).where(binding.c.server_id.in_(server), binding.c.ended_at.is_(None)),
        "job": select(func.count()).where(job.c.cluster_id == cluster_id, job.c.ended_at.is_(None)),
    }
    return {name: count for name, query in queries.items() if (count := connection.scalar(query))}


def unseed(connection: Connection, cluster_id: int) -> None:
    """Remove a cluster with all its rows, within the caller's transaction, and end its servers' bindings.

    The events of its jobs and cordons stay; the last ones record that they ended.
    """
    _end_allocations(connection, cluster_id)
    ids_by_table = {name: cluster_rows(name, cluster_id).with_only_columns(TABLES[name].c.id) for name in INSERT_ORDER}
    rows = sum(
        connection.scalar(select(func.count()).select_from(ids.subquery())) or 0 for ids in ids_by_table.values()
    )
    end_bindings(connection, ids_by_table["server"], who="trninv unseed")
    with _uncounted(connection, rows, estimated_rows(connection) - rows, deletes=True):
        for name in reversed(INSERT_ORDER):
            connection.execute(delete(TABLES[name]).where(TABLES[name].c.id.in_(ids_by_table[name])))
    connection.execute(delete(TABLES["part_count"]).where(TABLES["part_count"].c.cluster_id == cluster_id))
    slug = connection.scalar(delete(_CLUSTER).where(_CLUSTER.c.id == cluster_id).returning(_CLUSTER.c.slug))
    record_start(connection, {"id": cluster_id, "slug": slug}, "unseed", next_id(connection, TABLES["state_event"]) - 1)


def _end_allocations(connection: Connection, cluster_id: int) -> None:
    """End the jobs and cordons of a cluster, then delete their rows and those of the allocations."""
    job, cordon = TABLES["job"], TABLES["cordon"]
    jobs = select(job.c.id).where(job.c.cluster_id == cluster_id)
    server = cluster_rows("server", cluster_id).with_only_columns(TABLES["server"].c.id)
    domain = cluster_rows("domain", cluster_id).with_only_columns(TABLES["domain"].c.id)
    owner_columns = {
        "allocation": ("job_id", jobs),
        "cordon": ("server_id", server),
        "domain_allocated": ("id", domain),
    }
    with record_change(connection, who="trninv unseed", why="unseeded", source="command") as now:
        time = format_timestamp(now)
        connection.execute(update(job).where(job.c.id.in_(jobs), job.c.ended_at.is_(None)).values(ended_at=time))
        is_open = cordon.c.server_id.in_(server), cordon.c.ended_at.is_(None)
        connection.execute(update(cordon).where(*is_open).values(ended_at=time))
        for name in JOB_TABLES:
            table = TABLES[name]
            column, ids = owner_columns.get(name, ("id", jobs))
            connection.execute(delete(table).where(table.c[column].in_(ids)))


def cluster_rows(name: str, cluster_id: int) -> Select[Any]:
    """Select the rows of a table that belong to a cluster."""
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
"""The joins from a table without cluster_id to one that has it."""


def _cluster_row(connection: Connection, plan: ClusterPlan, slug: str) -> dict[str, Any]:
    """Return a new cluster's row; its blocks of ids follow the ids reserved for adopted clusters to grow."""
    return {
        "id": next_id(connection, _CLUSTER),
        "slug": slug,
        "system": plan.system,
        **_cluster_shape(connection, plan),
        **{f"first_{name}_id": next_block_start(connection, name, ADOPTED) for name in BLOCK_TABLES},
        **_history_start(connection),
    }


def _cluster_shape(connection: Connection, plan: ClusterPlan) -> dict[str, Any]:
    """Return the columns with the number of a cluster's domains and the id of their model; null for several models."""
    models, ids = {model.slug for model in plan.models}, model_ids(connection, TABLES["domain_model"])
    return {"domain_model_id": ids[models.pop()] if len(models) == 1 else None, "domains": plan.domains}


def _history_start(connection: Connection) -> dict[str, Any]:
    """Return the columns with the last event and the present time, after which a cluster's history is complete."""
    return {
        "known_from": next_id(connection, TABLES["state_event"]) - 1,
        "known_since": current_timestamp(),
    }
