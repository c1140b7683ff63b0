"""Store the catalog's sources, facts and models in the database, when a cluster is seeded or the schema migrated."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update

from trninv.catalog.facts import Catalog, conflict_kind, render_value
from trninv.catalog.models import COMPUTE, ChipModel, DomainModel, LinkModel, ServerModel, legal_sets
from trninv.catalog.required_facts import check_facts
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import DatabaseError

Row = Mapping[str, Any]


def store_facts(connection: Connection, catalog: Catalog) -> None:
    """Update the tables source and fact from the catalog, if they differ."""
    if all(stored_rows(connection, TABLES[name]) == rows for name, rows in fact_rows(catalog).items()):
        return
    for name in ("fact", "source"):
        connection.execute(delete(TABLES[name]))
    for name, rows in fact_rows(catalog).items():
        connection.execute(insert(TABLES[name]), rows)


def store_models(connection: Connection, catalog: Catalog, domains: Sequence[DomainModel]) -> None:
    """Insert the models that domains consist of, or update them while there are no clusters.

    Raises
    ------
    UnknownFactError
        No document states a number that a model needs.
    DatabaseError
        Clusters exist that were seeded with other numbers of a model.
    """
    check_facts(catalog, domains)
    clusters = connection.scalars(select(TABLES["cluster"].c.slug).limit(1)).all()
    for name, rows in model_rows(catalog, domains).items():
        table = TABLES[name]
        ids = model_ids(connection, table)
        for row in rows:
            values = {key: _resolve_model(connection, key, value) for key, value in row.items()}
            if row["slug"] in ids:
                is_same = (table.c[key].is_not_distinct_from(value) for key, value in values.items())
                if connection.scalar(select(table.c.id).where(*is_same)) is not None:
                    continue
                if clusters:
                    raise DatabaseError(
                        f"{row['slug']} has different numbers from those with which {clusters[0]} was seeded: "
                        "trninv verify lists them; unseed the clusters, then seed again"
                    )
                connection.execute(update(table).where(table.c.slug == row["slug"]).values(values))
            else:
                ids[row["slug"]] = next_id(connection, table)
                connection.execute(insert(table).values(id=ids[row["slug"]], **values))
    store_legal_sets(connection, domains)


def store_legal_sets(connection: Connection, domains: Iterable[DomainModel]) -> None:
    """Update the legal sets of domain models (chips or servers that schedulers assign together) if they differ."""
    table = TABLES["legal_set"]
    for key, expected in legal_set_rows(connection, domains).items():
        if stored_legal_sets(connection, key) == expected:
            continue
        connection.execute(delete(table).where(table.c.domain_model_id == key))
        first_id = next_id(connection, table)
        connection.execute(insert(table), [{"id": key, **row} for key, row in enumerate(expected, first_id)])


def legal_set_rows(connection: Connection, domains: Iterable[DomainModel]) -> dict[int, list[dict[str, Any]]]:
    """Return the rows of legal_set without ids, by the id of each stored domain model."""
    ids = model_ids(connection, TABLES["domain_model"])
    models_by_slug = {domain.slug: domain for domain in domains if domain.slug in ids}
    return {
        ids[slug]: sorted(
            ({"domain_model_id": ids[slug], **asdict(legal_set)} for legal_set in legal_sets(domain)),
            key=lambda row: (row["unit"], row["size"], row["ordinal"]),
        )
        for slug, domain in models_by_slug.items()
    }


def stored_legal_sets(connection: Connection, domain_model: int) -> list[dict[str, Any]]:
    """Return the stored rows of legal_set without ids, in the order of `legal_set_rows`."""
    table = TABLES["legal_set"]
    query = select(*(column for column in table.c if column.name != "id")).where(
        table.c.domain_model_id == domain_model
    )
    return [dict(row) for row in connection.execute(query.order_by("unit", "size", "ordinal")).mappings()]


def stored_rows(connection: Connection, table: Table) -> list[dict[str, Any]]:
    """Return the stored rows of a table, by id."""
    return [dict(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]


def model_ids(connection: Connection, table: Table) -> dict[str, int]:
    """Return the ids of a model table, by slug."""
    return {slug: key for key, slug in connection.execute(select(table.c.id, table.c.slug))}


@lru_cache(maxsize=1)
def fact_rows(catalog: Catalog) -> Mapping[str, Sequence[Row]]:
    """Return the rows of source and fact, with ids in the order of the catalog."""
    sources = {slug: key for key, slug in enumerate(catalog.sources, start=1)}
    return {
        "source": [
            {
                "id": sources[source.slug],
                "slug": source.slug,
                "title": source.title,
                "publisher": source.publisher,
                "date": source.date,
                "kind": source.kind,
                "note": source.note,
            }
            for source in catalog.sources.values()
        ],
        "fact": [
            {
                "id": key,
                "subject": fact.subject,
                "attribute": fact.attribute.name,
                "dimension": fact.attribute.dimension,
                "source_id": sources[fact.source.slug],
                "as_written": fact.as_written,
                "unit": fact.unit,
                "quote": fact.quote,
                "reading_unit": fact.reading_unit,
                "reading_direction": fact.direction,
                "reading_reason": fact.reading_reason,
                "formula": fact.formula,
                "value": fact.value,
                "shown": fact.as_written if fact.value is None else render_value(fact.value, fact.attribute.dimension),
                "preference": catalog.facts_about(*fact.key).index(fact),
                "disputed": catalog.is_disputed(fact),
                "note": catalog.note(fact),
                "differs_in": conflict_kind(catalog.facts_about(*fact.key)),
                "others": "; ".join(catalog.other_values(fact)) or None,
                "dispute": catalog.describe_dispute(fact),
            }
            for key, fact in enumerate(catalog.facts, start=1)
        ],
    }


def model_rows(catalog: Catalog, models: Iterable[DomainModel]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the model tables for domain models, without ids; references to other models are slugs."""
    domains = _unique_by_slug(models)
    servers = _unique_by_slug(domain.server for domain in domains)
    return {
        "chip_model": [_chip_model_row(catalog, chip) for chip in _unique_by_slug(server.chip for server in servers)],
        "server_model": [
            _server_model_row(catalog, server, next(domain for domain in domains if domain.server == server))
            for server in servers
        ],
        "domain_model": [_domain_model_row(domain) for domain in domains],
        "link_model": [
            _link_model_row(catalog, link)
            for link in _unique_by_slug(link for domain in domains for link in domain.links.values())
        ],
        "switch_model": [
            asdict(switch) for switch in _unique_by_slug(domain.switch for domain in domains if domain.switch)
        ],
    }


def _unique_by_slug(models: Iterable[Any]) -> list[Any]:
    return list({model.slug: model for model in models}.values())


def _chip_model_row(catalog: Catalog, chip: ChipModel) -> dict[str, Any]:
    return {
        "slug": chip.slug,
        "name": chip.name,
        "generation": chip.generation,
        "core_model": chip.core_model,
        "cores": catalog.picked_value(chip.slug, "cores"),
        "device_memory_bytes": catalog.picked_value(chip.slug, "device_memory"),
        "device_memory_bandwidth_bytes_per_s": catalog.picked_value(chip.slug, "device_memory_bandwidth"),
        **{compute_column(attribute): catalog.picked_value_or_none(chip.slug, attribute) for attribute in COMPUTE},
    }


def compute_column(attribute: str) -> str:
    """Return the column of chip_model for a compute attribute."""
    kind = attribute.removesuffix("_compute")
    return f"{kind}_gops" if kind == "int8" else f"{kind}_gflops"


def _server_model_row(catalog: Catalog, server: ServerModel, domain: DomainModel) -> dict[str, Any]:
    return {
        "slug": server.slug,
        "chip_model_id": server.chip.slug,
        "chips": domain.blueprint.chips // domain.blueprint.servers,
        "vcpus": catalog.picked_value(server.slug, "vcpus"),
        "host_memory_bytes": catalog.picked_value(server.slug, "host_memory"),
    }


def _domain_model_row(domain: DomainModel) -> dict[str, Any]:
    return {
        "slug": domain.slug,
        "name": domain.name,
        "server_model_id": domain.server.slug,
        "wiring": domain.blueprint.pattern,
        # the lengths of a torus, such as 4x4; empty for patterns without such sizes
        "sides": "x".join(map(str, domain.blueprint.sides)),
        "servers": domain.blueprint.servers,
        "chips": domain.blueprint.chips,
    }


def _link_model_row(catalog: Catalog, link: LinkModel) -> dict[str, Any]:
    return {
        "slug": link.slug,
        "technology": link.technology,
        "scope": link.scope,
        "lanes": catalog.picked_value_or_none(link.slug, "lanes"),
        "bandwidth_bytes_per_s": catalog.picked_value(link.slug, "bandwidth"),
    }


def _resolve_model(connection: Connection, column: str, value: Any) -> Any:
    """Return the id of the model that a slug in a column such as ``chip_model_id`` names; other values unchanged."""
    if not column.endswith("_model_id"):
        return value
    return model_ids(connection, TABLES[column.removesuffix("_id")])[value]
