"""Compare the database with the catalog and with its recorded history, for `trninv verify`.

The catalog has the documented numbers and the models that clusters consist of. Every row of a cluster follows from its
system's models and its number of domains, or, if it was adopted, from its domains and network nodes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, Subquery, Table, and_, func, select

from trninv.catalog.facts import Catalog, Fact, render_value
from trninv.catalog.models import System, SystemCatalog
from trninv.database.part_counts import KEYS, SUMS, recount_query
from trninv.database.sql_constructs import OrderedJoin
from trninv.database.tables import INSERT_ORDER, TABLES, allocation_bits_row
from trninv.deadline import Progress, silent
from trninv.errors import AddressError
from trninv.inventory.address.syntax import parse_cluster_name
from trninv.inventory.seeding.catalog_rows import (
    fact_rows,
    legal_set_rows,
    model_ids,
    model_rows,
    stored_legal_sets,
    stored_rows,
)
from trninv.inventory.seeding.cluster_plan import ClusterPlan, load_plan
from trninv.inventory.seeding.cluster_seeding import cluster_rows
from trninv.inventory.seeding.expected_rows import ExpectedRows, expected_rows
from trninv.inventory.seeding.totals import cluster_totals
from trninv.inventory.state.binding_check import binding_problems
from trninv.inventory.state.hash_chain import ChainStatus
from trninv.inventory.state.replay import replay_history
from trninv.inventory.state.seals import anchor_problems, changed_sealed_rows, missing_seals
from trninv.inventory.triggers import cascade_triggers, registry
from trninv.topology.fabric_tree import FabricTree

_MAX_EXAMPLES = 3
_RECOUNT = "run DELETE FROM part_count, then trninv migrate, which counts again"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A difference between the database and the catalog or the recorded history.

    Attributes
    ----------
    kind
        "missing" or "unexpected": rows (a changed row is reported once as each) or, if missing, a trigger that does not
        run; "changed": a cluster, a table or the chain of seals; "total": a sum that contradicts documents.
    """

    cluster: str
    table: str
    kind: str
    detail: str


def verify(
    connection: Connection,
    catalog: Catalog,
    systems: SystemCatalog,
    slug: str | None = None,
    progress: Progress = silent,
) -> Iterator[Mismatch]:
    """Yield what is wrong in the cluster `slug`, or in all clusters, and in the tables that all clusters share.

    The shared tables have facts, models, legal sets, allocation bits and counts of parts. The states of all parts are
    compared with those of their servers.
    """
    yield from _fact_mismatches(connection, catalog)
    yield from _legal_set_mismatches(connection, systems)
    yield from _allocation_bit_mismatches(connection)
    yield from _count_mismatches(connection)
    if problem := cascade_triggers.check(connection):
        yield Mismatch("", "node", "changed", problem)
    yield from _unknown_model_mismatches(connection, catalog, systems)
    table = TABLES["cluster"]
    query = select(table).order_by(table.c.id)
    clusters = connection.execute(query if slug is None else query.where(table.c.slug == slug)).mappings().all()
    plans = {cluster["id"]: load_plan(connection, catalog, systems, cluster) for cluster in clusters}
    planned = [(plans[row["id"]], row) for row in clusters]
    all_present = slug is None and _is_complete(connection, catalog, planned, progress)
    for cluster in clusters:
        plan = plans[cluster["id"]]
        yield from _cluster_mismatches(connection, catalog, plan, cluster)
        if plan:
            # without the models to which they refer, the expected rows can't be built
            if not all_present and _has_models(connection, catalog, plan):
                yield from _row_mismatches(connection, catalog, plan, cluster, progress)
            yield from _documented_total_mismatches(connection, catalog, systems, cluster)
    if slug is None and not all_present:
        yield from _orphan_row_mismatches(connection, clusters)


def verify_history(
    connection: Connection, history: ChainStatus, anchor: tuple[int, str] | None = None
) -> Iterator[Mismatch]:
    """Yield what is wrong with the history: edited events, notes and token events, disabled triggers, other tables.

    Parameters
    ----------
    anchor
        Event and digest of a seal noted elsewhere, which must still be stored.
    """
    if history.broken:
        yield Mismatch("", "state_event", "changed", history.broken)
    if problem := registry.check(connection):
        yield Mismatch("", "state_event", "missing", problem)
    anchor_mismatches = anchor_problems(connection, anchor) if anchor else ()
    for mismatch in (
        *anchor_mismatches,
        *missing_seals(connection),
        *changed_sealed_rows(connection),
        *replay_history(connection),
        *binding_problems(connection),
    ):
        yield Mismatch(*mismatch)


def _is_complete(
    connection: Connection,
    catalog: Catalog,
    clusters: Sequence[tuple[ClusterPlan | None, RowMapping]],
    progress: Progress,
) -> bool:
    """Return whether exactly the expected rows exist; checking this is cheaper than finding each row's cluster."""
    sizes = Counter[str]()
    for plan, cluster in clusters:
        if plan is None or not _has_models(connection, catalog, plan):
            return False
        with expected_rows(connection, catalog, plan, cluster) as rows:
            for name in _tables_with_progress(rows, cluster, progress):
                expected = rows.rows[name].subquery("expected")
                if _count_existing(connection, TABLES[name], expected) != rows.sizes[name]:
                    return False
        sizes.update(rows.sizes)
    number = func.count()
    return all(connection.scalar(select(number).select_from(TABLES[name])) == sizes[name] for name in INSERT_ORDER)


def _cluster_mismatches(
    connection: Connection, catalog: Catalog, plan: ClusterPlan | None, cluster: RowMapping
) -> Iterator[Mismatch]:
    """Yield differences in the cluster's row, its models and, if it is adopted, its fabric."""
    slug = cluster["slug"]
    try:
        parse_cluster_name(slug)
    except AddressError as error:
        yield Mismatch(slug, "cluster", "changed", str(error))
    if plan is None or plan.system != cluster["system"]:
        yield Mismatch(slug, "cluster", "changed", f"there is no system {cluster['system']!r}")
    if plan is None:
        return
    yield from _model_mismatches(connection, catalog, plan, slug)
    if plan.domains != cluster["domains"]:
        yield Mismatch(
            slug, "cluster", "changed", f"it has {plan.domains} domains, but {cluster['domains']} are recorded"
        )
    slugs = {model.slug for model in plan.models}
    ids = model_ids(connection, TABLES["domain_model"])
    if cluster["domain_model_id"] != (ids.get(next(iter(slugs))) if len(slugs) == 1 else None):
        yield Mismatch(slug, "cluster", "changed", f"its domain model is not {' or '.join(sorted(slugs))}")
    if isinstance(plan.fabric, FabricTree):
        yield from (Mismatch(slug, "network_node", "changed", fault) for fault in plan.fabric.violations())


def _documented_total_mismatches(
    connection: Connection, catalog: Catalog, systems: SystemCatalog, cluster: RowMapping
) -> Iterator[Mismatch]:
    """Yield totals that differ from documents, if the cluster has the documented size of its system."""
    system = systems.by_name.get(cluster["system"])
    if system and system.domains == cluster["domains"]:
        yield from _total_mismatches(connection, catalog, system, cluster)


def _has_models(connection: Connection, catalog: Catalog, plan: ClusterPlan) -> bool:
    models = model_rows(catalog, plan.models).items()
    return all(row["slug"] in model_ids(connection, TABLES[name]) for name, rows in models for row in rows)


def _unknown_model_mismatches(connection: Connection, catalog: Catalog, systems: SystemCatalog) -> Iterator[Mismatch]:
    for name, rows in model_rows(catalog, (system.domain for system in systems.systems)).items():
        expected_slugs = {row["slug"] for row in rows}
        unknown = [row for row in stored_rows(connection, TABLES[name]) if row["slug"] not in expected_slugs]
        if unknown:
            yield _mismatch("", name, "unexpected", len(unknown), unknown)


def _orphan_row_mismatches(connection: Connection, clusters: Sequence[RowMapping]) -> Iterator[Mismatch]:
    """Yield rows that belong to no cluster; such rows can be inserted while foreign keys are off."""
    number = func.count()
    for name in INSERT_ORDER:
        owned = sum(
            connection.scalar(cluster_rows(name, cluster["id"]).with_only_columns(number)) or 0 for cluster in clusters
        )
        total = connection.scalar(select(number).select_from(TABLES[name])) or 0
        if total != owned:
            yield Mismatch("", name, "unexpected", f"{total - owned} rows that belong to no cluster")


def _fact_mismatches(connection: Connection, catalog: Catalog) -> Iterator[Mismatch]:
    for name, rows in fact_rows(catalog).items():
        yield from _compare("", name, rows, stored_rows(connection, TABLES[name]))


def _legal_set_mismatches(connection: Connection, systems: SystemCatalog) -> Iterator[Mismatch]:
    """Compare the sets of chips or servers that schedulers assign together."""
    domains = (system.domain for system in systems.systems)
    for model, expected in legal_set_rows(connection, domains).items():
        yield from _compare("", "legal_set", expected, stored_legal_sets(connection, model))


def _allocation_bit_mismatches(connection: Connection) -> Iterator[Mismatch]:
    """Compare the allocation bits that triggers keep with the open allocations."""
    allocation, chip, server, model = (TABLES[name] for name in ("allocation", "chip", "server", "server_model"))
    bit = (server.c.ordinal * model.c.chips + chip.c.ordinal).label("bit")
    query = select(server.c.domain_id, bit).select_from(
        allocation.join(chip, chip.c.id == allocation.c.chip_id)
        .join(server, server.c.id == chip.c.server_id)
        .join(model, model.c.id == server.c.server_model_id)
    )
    masks = Counter[int]()  # by domain
    for row in connection.execute(query.where(allocation.c.ended_at.is_(None))):
        masks[row.domain_id] |= 1 << row.bit
    expected = [allocation_bits_row(domain, mask) for domain, mask in sorted(masks.items())]
    yield from _compare("", "domain_allocated", expected, stored_rows(connection, TABLES["domain_allocated"]))


def _count_mismatches(connection: Connection) -> Iterator[Mismatch]:
    """Compare the counts that triggers keep with the parts."""
    stored, counted = (
        {tuple(row[: len(KEYS)]): tuple(row[len(KEYS) :]) for row in connection.exec_driver_sql(query)}
        for query in (f"SELECT {', '.join((*KEYS, *SUMS))} FROM part_count", recount_query())  # noqa: S608 # our names
    )
    slugs = dict(map(tuple, connection.execute(select(TABLES["cluster"].c.id, TABLES["cluster"].c.slug))))
    nothing = (0,) * len(SUMS)
    for key in sorted({*stored, *counted}):
        recorded, actual = stored.get(key, nothing), counted.get(key, nothing)
        if recorded != actual:
            cluster, kind, *rest = key
            columns = zip((*KEYS[2:], *SUMS), (*rest, *recorded), strict=True)
            row = ", ".join(f"{name}={value}" for name, value in columns)
            expected = ", ".join(f"{name}={value}" for name, value in zip(SUMS, actual, strict=True))
            detail = f"kind={kind}, {row}; its rows have {expected}: {_RECOUNT}"
            yield Mismatch(slugs.get(cluster, ""), "part_count", "changed", detail)


def _model_mismatches(connection: Connection, catalog: Catalog, plan: ClusterPlan, slug: str) -> Iterator[Mismatch]:
    """Yield differences in the models that a cluster consists of."""
    slugs = {
        name: {row["id"]: row["slug"] for row in stored_rows(connection, TABLES[name])}
        for name in ("chip_model", "server_model", "domain_model", "link_model")
    }

    def with_slugs(row: Mapping[str, Any]) -> dict[str, Any]:
        """Replace the ids of other models in a row by slugs, as `model_rows` has them."""
        return {
            key: slugs[key.removesuffix("_id")].get(value) if key.endswith("_model_id") else value
            for key, value in row.items()
            if key != "id"
        }

    for name, expected in model_rows(catalog, plan.models).items():
        expected_slugs = {row["slug"] for row in expected}
        stored = stored_rows(connection, TABLES[name])
        actual = [with_slugs(row) for row in stored if row["slug"] in expected_slugs]
        yield from _compare(slug, name, expected, actual)


def _compare(
    cluster: str, table: str, expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]
) -> Iterator[Mismatch]:
    """Yield one mismatch for expected rows that are missing, and one for actual rows that are not expected."""
    for kind, rows, others in (("missing", expected, actual), ("unexpected", actual, expected)):
        extra = [dict(row) for row in rows if row not in others]
        if extra:
            yield _mismatch(cluster, table, kind, len(extra), extra)


def _row_mismatches(
    connection: Connection, catalog: Catalog, plan: ClusterPlan, cluster: RowMapping, progress: Progress
) -> Iterator[Mismatch]:
    """Yield the rows of a cluster that are missing or unexpected, table by table."""
    with expected_rows(connection, catalog, plan, cluster) as rows:
        for name in _tables_with_progress(rows, cluster, progress):
            table, expected = TABLES[name], rows.rows[name].subquery("expected")
            actual = cluster_rows(name, cluster["id"]).with_only_columns(
                *(table.c[column.name] for column in expected.c)
            )
            if _rows_agree(connection, table, expected, actual, rows.sizes[name]):
                continue
            yield from _set_difference(connection, cluster["slug"], name, "missing", select(expected), actual)
            yield from _set_difference(connection, cluster["slug"], name, "unexpected", actual, select(expected))


def _tables_with_progress(expected: ExpectedRows, cluster: RowMapping, progress: Progress) -> Iterator[str]:
    """Yield the tables of a cluster, reporting progress before each."""
    done, total = 0, sum(expected.sizes.values())
    for name in INSERT_ORDER:
        progress(f"{name} of {cluster['slug']}", done, total)
        yield name
        done += expected.sizes[name]


def _rows_agree(connection: Connection, table: Table, expected: Subquery, actual: Select[Any], size: int) -> bool:
    """Return whether exactly the expected rows exist; counting them is cheaper than EXCEPT in both directions."""
    actual_size = connection.scalar(actual.with_only_columns(func.count()))
    return actual_size == size == _count_existing(connection, table, expected)


def _count_existing(connection: Connection, table: Table, expected: Subquery) -> int:
    """Count the expected rows that exist."""
    same_values = [column.is_not_distinct_from(table.c[column.name]) for column in expected.c if column.name != "id"]
    joined = OrderedJoin(expected, table, and_(table.c.id == expected.c.id, *same_values))
    return connection.scalar(select(func.count()).select_from(joined)) or 0


def _set_difference(
    connection: Connection, cluster: str, table: str, kind: str, rows: Select[Any], others: Select[Any]
) -> Iterator[Mismatch]:
    """Yield one mismatch for the rows that are not among the others, if any."""
    extra = rows.except_(others).subquery()
    examples = connection.execute(select(extra).order_by(extra.c.id).limit(_MAX_EXAMPLES)).mappings().all()
    if examples:
        size = connection.scalar(select(func.count()).select_from(extra)) or 0
        yield _mismatch(cluster, table, kind, size, [dict(row) for row in examples])


def _mismatch(cluster: str, table: str, kind: str, size: int, rows: Sequence[Mapping[Any, Any]]) -> Mismatch:
    examples = "; ".join(", ".join(f"{key}={value}" for key, value in row.items()) for row in rows[:_MAX_EXAMPLES])
    more = "; …" if size > _MAX_EXAMPLES else ""
    return Mismatch(cluster, table, kind, f"{size} row{'s' * (size > 1)}: {examples}{more}")


def _total_mismatches(
    connection: Connection, catalog: Catalog, system: System, cluster: RowMapping
) -> Iterator[Mismatch]:
    """Yield the totals of a cluster's rows that agree with none of the documents that state them."""
    for name, value in cluster_totals(connection, cluster["id"]).items():
        facts = [fact for fact in catalog.facts_about(system.slug, name) if fact.value is not None]
        if facts and not any(_agrees(fact, value) for fact in facts):
            printed = ", ".join(f"{fact} ({fact.source.title})" for fact in facts)
            actual = render_value(value, facts[0].attribute.dimension)
            yield Mismatch(cluster["slug"], "cluster", "total", f"{name} adds up to {actual}, documented: {printed}")


def _agrees(fact: Fact, total: int) -> bool:
    """Return whether a total agrees with a document, which may say "over 30,000" or "up to 1 million"."""
    value = fact.value or 0
    if fact.as_written.startswith("over "):
        return total > value
    return total <= value if fact.as_written.startswith("up to ") else total == value
