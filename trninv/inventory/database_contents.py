"""Read what a database holds, for `trninv status`: clusters, tables, discoveries and the latest seal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, and_, func, select

from trninv.database.engine import newest_schema_version
from trninv.database.sql_constructs import CurrentTime
from trninv.database.tables import INSERT_ORDER, TABLES
from trninv.inventory.state.hash_chain import newest_seal

_LATE_AT = TABLES["discovery"].c.late_at
IS_LATE: Final = and_(_LATE_AT.is_not(None), CurrentTime() > _LATE_AT)
"""The condition that a target of discovery is late now."""


@dataclass(frozen=True, slots=True)
class DatabaseContents:
    """What a database holds.

    Attributes
    ----------
    sealed
        The latest seal of the events, as EVENT:SHA256; None if there are no events.
    clusters
        Slug, system and numbers of domains and chips of each cluster.
    discoveries
        The targets that trninv discover pulls.
    rows
        Number of rows by table.

    """

    schema_version: str
    sealed: str | None
    clusters: tuple[dict[str, Any], ...]
    discoveries: tuple[dict[str, Any], ...]
    rows: dict[str, int]


def read_contents(connection: Connection) -> DatabaseContents:
    """Return what the database holds; one of another schema version is refused when it is opened."""
    seal = newest_seal(connection)
    rows = {
        name: connection.scalar(select(func.count()).select_from(TABLES[name])) or 0 for name in ("fact", *INSERT_ORDER)
    }
    return DatabaseContents(
        newest_schema_version(),
        f"{seal.id}:{seal.sha256}" if seal else None,
        tuple(list_clusters(connection)),
        tuple(list_discoveries(connection)),
        rows,
    )


def list_clusters(connection: Connection) -> Sequence[dict[str, Any]]:
    """Return slug, system, number of domains and number of chips of each cluster."""
    cluster, node = TABLES["cluster"], TABLES["node"]
    chips = (
        select(func.count())
        .where(node.c.cluster_id == cluster.c.id, node.c.kind == "chip")
        .scalar_subquery()
        .label("chips")
    )
    query = select(cluster.c.slug, cluster.c.system, cluster.c.domains, chips).order_by(cluster.c.id)
    return [dict(row) for row in connection.execute(query).mappings()]


def list_discoveries(connection: Connection) -> Sequence[dict[str, object]]:
    """Return the targets that trninv discover pulls; the state is an error, late or ok."""
    discovery = TABLES["discovery"]
    names = ("target", "every_seconds", "read_at", "late_at", "result", "error", "clusters")
    query = select(*(discovery.c[name] for name in names), IS_LATE.label("late")).order_by(discovery.c.target)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    for row in rows:
        row["state"] = "; ".join(filter(None, ["late" if row.pop("late") else "", row["error"]])) or "ok"
    return rows
