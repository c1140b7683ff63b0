"""The database against the catalog: every fact, model, row, link and documented total."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, Subquery, Table, and_, func, select

from trninv.catalog.facts import Catalog, Fact, render
from trninv.catalog.models import System, Systems
from trninv.errors import AddressError
from trninv.inventory import cascade, triggers
from trninv.inventory.address import cluster_name
from trninv.inventory.chain import Chain
from trninv.inventory.held import held_row
from trninv.inventory.join_order import OrderedJoin
from trninv.inventory.layout import Wanted, wanted
from trninv.inventory.plan import Plan, plan_of
from trninv.inventory.record import fact_rows, legal_rows, model_ids, model_rows, recorded, recorded_sets
from trninv.inventory.replay import replay
from trninv.inventory.schema import ORDER, TABLES
from trninv.inventory.seals import anchored, unsealed
from trninv.inventory.stamp import Progress, quiet, rows_of
from trninv.inventory.succession import succession
from trninv.inventory.totals import totals
from trninv.topology.tree import Tree

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the database and the catalog.

    Attributes
    ----------
    what
        "missing" or "unexpected" rows (a changed row is one of each), a "changed" cluster, or a "total".

    """

    cluster: str
    table: str
    what: str
    detail: str


def verify(
    connection: Connection, catalog: Catalog, systems: Systems, slug: str | None = None, progress: Progress = quiet
) -> Iterator[Difference]:
    """Differences in the catalog's tables, and in one cluster or all."""
    yield from _facts(connection, catalog)
    yield from _legal_sets(connection, systems)
    yield from _held(connection)
    if wrong := cascade.check(connection):
        yield Difference("", "node", "changed", wrong)
    yield from _unknown_models(connection, catalog, systems)
    table = TABLES["cluster"]
    wanted = select(table).order_by(table.c.id)
    clusters = connection.execute(wanted if slug is None else wanted.where(table.c.slug == slug)).mappings().all()
    plans = {cluster["id"]: plan_of(connection, catalog, systems, cluster) for cluster in clusters}
    planned = [(plans[each["id"]], each) for each in clusters]
    alike = slug is None and _is_all_there(connection, catalog, planned, progress)
    for cluster in clusters:
        plan = plans[cluster["id"]]
        yield from _cluster(connection, catalog, plan, cluster)
        if plan:  # rows can only be compared if the models that they refer to exist
            if not alike and _has_models(connection, catalog, plan):
                yield from _rows(connection, catalog, plan, cluster, progress)
            yield from _documented(connection, catalog, systems, cluster)
    if slug is None and not alike:
        yield from _strays(connection, clusters)


def kept(connection: Connection, history: Chain, anchor: tuple[int, str] | None = None) -> Iterator[Difference]:
    """What is wrong with the history: edited events, triggers that do not run, tables that it does not lead to.

    Parameters
    ----------
    anchor
        Event and digest of a seal that was noted elsewhere, which must be there.

    """
    if history.broken:
        yield Difference("", "state_event", "changed", history.broken)
    if wrong := triggers.check(connection):
        yield Difference("", "state_event", "missing", wrong)
    seal = anchored(connection, anchor) if anchor else ()
    for fault in (*seal, *unsealed(connection), *replay(connection), *succession(connection)):
        yield Difference(*fault)


def _is_all_there(
    connection: Connection, catalog: Catalog, clusters: Sequence[tuple[Plan | None, RowMapping]], progress: Progress
) -> bool:
    """Whether every row that the clusters must have exists, and no other: cheaper than to tell whose each row is."""
    sizes = Counter[str]()
    for plan, cluster in clusters:
        if plan is None or not _has_models(connection, catalog, plan):
            return False
        with wanted(connection, catalog, plan, cluster) as rows:
            for name in _tables(rows, cluster, progress):
                must = rows.rows[name].subquery("must")
                if _found(connection, TABLES[name], must) != rows.sizes[name]:
                    return False
        sizes.update(rows.sizes)
    number = func.count()
    return all(connection.scalar(select(number).select_from(TABLES[name])) == sizes[name] for name in ORDER)


def _cluster(connection: Connection, catalog: Catalog, plan: Plan | None, cluster: RowMapping) -> Iterator[Difference]:
    """The cluster's own row, the models that it is made of, and the fabric of one that was adopted."""
    slug = cluster["slug"]
    try:
        cluster_name(slug)
    except AddressError as error:
        yield Difference(slug, "cluster", "changed", str(error))
    if plan is None or plan.system != cluster["system"]:
        yield Difference(slug, "cluster", "changed", f"system {cluster['system']!r} is not one that can be seeded")
    if plan is None:
        return
    yield from _models(connection, catalog, plan, slug)
    if plan.domains != cluster["domains"]:
        yield Difference(slug, "cluster", "changed", f"it has {plan.domains} domains, not {cluster['domains']}")
    slugs = {model.slug for model in plan.models}
    ids = model_ids(connection, TABLES["domain_model"])
    if cluster["domain_model_id"] != (ids.get(next(iter(slugs))) if len(slugs) == 1 else None):
        yield Difference(slug, "cluster", "changed", f"its domain model is not {' or '.join(sorted(slugs))}")
    if isinstance(plan.fabric, Tree):
        yield from (Difference(slug, "network_node", "changed", fault) for fault in plan.fabric.faults())


def _documented(
    connection: Connection, catalog: Catalog, systems: Systems, cluster: RowMapping
) -> Iterator[Difference]:
    """The totals of a cluster that has the size of its system."""
    system = systems.names.get(cluster["system"])
    if system and system.domains == cluster["domains"]:
        yield from _totals(connection, catalog, system, cluster)


def _has_models(connection: Connection, catalog: Catalog, plan: Plan) -> bool:
    models = model_rows(catalog, plan.models).items()
    return all(row["slug"] in model_ids(connection, TABLES[name]) for name, rows in models for row in rows)


def _unknown_models(connection: Connection, catalog: Catalog, systems: Systems) -> Iterator[Difference]:
    for name, rows in model_rows(catalog, (system.domain for system in systems.systems)).items():
        known = {row["slug"] for row in rows}
        unknown = [row for row in recorded(connection, TABLES[name]) if row["slug"] not in known]
        if unknown:
            yield _difference("", name, "unexpected", len(unknown), unknown)


def _strays(connection: Connection, clusters: Sequence[RowMapping]) -> Iterator[Difference]:
    """Rows that belong to no cluster, let in while foreign keys were off."""
    number = func.count()
    for name in ORDER:
        ours = sum(
            connection.scalar(rows_of(name, cluster["id"]).with_only_columns(number)) or 0 for cluster in clusters
        )
        all_there_are = connection.scalar(select(number).select_from(TABLES[name])) or 0
        if all_there_are != ours:
            yield Difference("", name, "unexpected", f"{all_there_are - ours} rows that belong to no cluster")


def _facts(connection: Connection, catalog: Catalog) -> Iterator[Difference]:
    for name, rows in fact_rows(catalog).items():
        yield from _compare("", name, rows, recorded(connection, TABLES[name]))


def _legal_sets(connection: Connection, systems: Systems) -> Iterator[Difference]:
    domains = (system.domain for system in systems.systems)
    for model, must in legal_rows(connection, domains).items():
        yield from _compare("", "legal_set", must, recorded_sets(connection, model))


def _held(connection: Connection) -> Iterator[Difference]:
    """The words of held chips, which triggers keep, against the rows of who holds them."""
    allocation, chip, server, model = (TABLES[name] for name in ("allocation", "chip", "server", "server_model"))
    bit = (server.c.ordinal * model.c.chips + chip.c.ordinal).label("bit")
    query = select(server.c.domain_id, bit).select_from(
        allocation.join(chip, chip.c.id == allocation.c.chip_id)
        .join(server, server.c.id == chip.c.server_id)
        .join(model, model.c.id == server.c.server_model_id)
    )
    masks = Counter[int]()
    for row in connection.execute(query.where(allocation.c.ended.is_(None))):
        masks[row.domain_id] |= 1 << row.bit
    must = [held_row(domain, mask) for domain, mask in sorted(masks.items())]
    yield from _compare("", "domain_held", must, recorded(connection, TABLES["domain_held"]))


def _models(connection: Connection, catalog: Catalog, plan: Plan, slug: str) -> Iterator[Difference]:
    slugs = {
        name: {row["id"]: row["slug"] for row in recorded(connection, TABLES[name])}
        for name in ("chip_model", "server_model", "domain_model", "link_model")
    }
    for name, rows in model_rows(catalog, plan.models).items():
        found = [
            {
                key: slugs[key.removesuffix("_id")].get(value) if key.endswith("_model_id") else value
                for key, value in row.items()
                if key != "id"
            }
            for row in recorded(connection, TABLES[name])
            if row["slug"] in {wanted["slug"] for wanted in rows}
        ]
        yield from _compare(slug, name, rows, found)


def _compare(
    cluster: str, table: str, wanted: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> Iterator[Difference]:
    for what, rows, others in (("missing", wanted, found), ("unexpected", found, wanted)):
        kept = [dict(row) for row in rows if row not in others]
        if kept:
            yield _difference(cluster, table, what, len(kept), kept)


def _rows(
    connection: Connection, catalog: Catalog, plan: Plan, cluster: RowMapping, progress: Progress
) -> Iterator[Difference]:
    with wanted(connection, catalog, plan, cluster) as rows:
        for name in _tables(rows, cluster, progress):
            table, must = TABLES[name], rows.rows[name].subquery("must")
            have = rows_of(name, cluster["id"]).with_only_columns(*(table.c[column.name] for column in must.c))
            if _agree(connection, table, must, have, rows.sizes[name]):
                continue
            yield from _except(connection, cluster["slug"], name, "missing", select(must), have)
            yield from _except(connection, cluster["slug"], name, "unexpected", have, select(must))


def _tables(of: Wanted, cluster: RowMapping, progress: Progress) -> Iterator[str]:
    """The tables of a cluster's rows, of each of which is told that it is next."""
    done, total = 0, sum(of.sizes.values())
    for name in ORDER:
        progress(f"{name} of {cluster['slug']}", done, total)
        yield name
        done += of.sizes[name]


def _agree(connection: Connection, table: Table, must: Subquery, have: Select[Any], size: int) -> bool:
    """Whether both hold the same rows: equally many, and every wanted row exists. Cheaper than EXCEPT both ways."""
    here = connection.scalar(have.with_only_columns(func.count()))
    return here == size == _found(connection, table, must)


def _found(connection: Connection, table: Table, must: Subquery) -> int:
    """How many of the rows that must be there are."""
    alike = [column.is_not_distinct_from(table.c[column.name]) for column in must.c if column.name != "id"]
    joined = OrderedJoin(must, table, and_(table.c.id == must.c.id, *alike))
    return connection.scalar(select(func.count()).select_from(joined)) or 0


def _except(
    connection: Connection, cluster: str, table: str, what: str, left: Select[Any], right: Select[Any]
) -> Iterator[Difference]:
    extra = left.except_(right).subquery()
    rows = connection.execute(select(extra).order_by(extra.c.id).limit(_SHOWN)).mappings().all()
    if rows:
        size = connection.scalar(select(func.count()).select_from(extra)) or 0
        yield _difference(cluster, table, what, size, [dict(row) for row in rows])


def _difference(cluster: str, table: str, what: str, size: int, rows: Sequence[Mapping[Any, Any]]) -> Difference:
    listed = "; ".join(", ".join(f"{key}={value}" for key, value in row.items()) for row in rows[:_SHOWN])
    more = "; …" if size > _SHOWN else ""
    return Difference(cluster, table, what, f"{size} row{'s' * (size > 1)}: {listed}{more}")


def _totals(connection: Connection, catalog: Catalog, system: System, cluster: RowMapping) -> Iterator[Difference]:
    """A documented total must equal the sum of the rows, unless another source's total does."""
    for name, value in totals(connection, cluster["id"]).items():
        facts = [fact for fact in catalog.of(system.slug, name) if fact.value is not None]
        if facts and not any(_says(fact, value) for fact in facts):
            printed = ", ".join(f"{fact} ({fact.source.title})" for fact in facts)
            found = render(value, facts[0].attribute.dimension)
            yield Difference(cluster["slug"], "cluster", "total", f"{name} adds up to {found}, documented: {printed}")


def _says(fact: Fact, total: int) -> bool:
    """Whether a total agrees with a document's, which may be "over 30,000" or "up to 1 million"."""
    value = fact.value or 0
    if fact.written.startswith("over "):
        return total > value
    return total <= value if fact.written.startswith("up to ") else total == value
