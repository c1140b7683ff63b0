"""Count parts, unhealthy parts, events and findings with queries that read few rows even of a large fleet."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    and_,
    func,
    literal,
    literal_column,
    select,
    union,
)

from trninv.inventory.chain import newest_seal
from trninv.inventory.fields import is_in_cluster
from trninv.inventory.happened import EVENT, EVENT_FIELDS, IS_STATE_CHANGE
from trninv.inventory.kinds import THINGS
from trninv.inventory.schema import TABLES, is_unhealthy
from trninv.inventory.state import is_cascaded

Counts = Counter[tuple[str, ...]]
"""Counts by label values."""

_CLUSTER, _DOMAIN, _SERVER, _NODE, _LINK, _FINDING, _OBSERVATION = (
    TABLES[name] for name in ("cluster", "domain", "server", "node", "link", "finding", "observation")
)
_IN_CLUSTERS: Final[dict[Table, FromClause]] = {
    _SERVER: _SERVER.join(_DOMAIN).join(_CLUSTER),
    _NODE: _NODE.join(_CLUSTER),
    _LINK: _LINK.join(_NODE, _NODE.c.id == _LINK.c.a_id).join(_CLUSTER),
}
_KIND_SQL: Final[dict[Table, ColumnElement[str]]] = {
    _SERVER: literal_column("'server'"),
    _NODE: _NODE.c.kind,
    _LINK: literal_column("'link'"),
}
_NEW_STATE: Final = next(field.sql for field in EVENT_FIELDS if field.name == "after")


def read_clusters(connection: Connection) -> Sequence[Any]:
    """Return the clusters' rows."""
    return connection.execute(select(_CLUSTER).order_by(_CLUSTER.c.id)).all()


def count_parts(connection: Connection, rows: Sequence[Any]) -> Counts:
    """Count parts by cluster and kind; the only query here that reads all rows."""
    counts = _count_by_cluster(connection, _SERVER) + _count_by_cluster(connection, _NODE)
    for row in rows:
        links = select(func.count()).where(is_in_cluster(THINGS["link"], _LINK.c.id, literal(row.id)))
        counts[row.slug, "link"] = connection.scalar(links) or 0
    return counts


def count_unhealthy_parts(connection: Connection) -> Counts:
    """Count unhealthy parts by cluster, kind and state."""
    tables = (_SERVER, _NODE, _LINK)
    return sum(
        (_count_by_cluster(connection, table, table.c.state, where=is_unhealthy(table)) for table in tables), Counts()
    )


def count_unhealthy_domains(connection: Connection) -> Counts:
    """Count domains with a part that is down or degraded, by cluster."""
    domain_ids = {_SERVER: _SERVER.c.domain_id, _NODE: _NODE.c.domain_id, _LINK: _LINK.c.domain_id}
    planned: ColumnElement[str] = literal_column("'maintenance'")
    ids = union(
        *(select(key).where(and_(is_unhealthy(table), table.c.state != planned)) for table, key in domain_ids.items())
    )
    query = select(_CLUSTER.c.slug, func.count()).select_from(_DOMAIN.join(_CLUSTER)).where(_DOMAIN.c.id.in_(ids))
    return _read_counts(connection, query.group_by(_CLUSTER.c.slug))


def count_changes(connection: Connection, after: int, until: int) -> Counts:
    """Count state changes in a range of events by kind, new state and source; cascades are not counted."""
    by = EVENT.c.kind, _NEW_STATE, EVENT.c.source
    query = select(*by, func.count()).where(EVENT.c.id > after, EVENT.c.id <= until, IS_STATE_CHANGE, ~is_cascaded())
    return _read_counts(connection, query.group_by(*by))


def count_actions(connection: Connection, after: int, until: int) -> Counts:
    """Count job and cordon events in a range of events, by action and source."""
    by = EVENT.c.action, EVENT.c.source
    query = select(*by, func.count()).where(EVENT.c.id > after, EVENT.c.id <= until, ~IS_STATE_CHANGE)
    return _read_counts(connection, query.group_by(*by))


def count_findings(connection: Connection) -> Counts:
    """Count open drift findings by rule."""
    query = select(_FINDING.c.rule, func.count()).where(_FINDING.c.cleared_at.is_(None))
    return _read_counts(connection, query.group_by(_FINDING.c.rule))


def read_last_observations(connection: Connection) -> dict[tuple[str, ...], float]:
    """Return when each source last reported anything, in seconds since 1970."""
    query = select(_OBSERVATION.c.source, func.max(_OBSERVATION.c.seen_at)).group_by(_OBSERVATION.c.source)
    return {(source,): datetime.fromisoformat(time).timestamp() for source, time in connection.execute(query)}


def read_seal(connection: Connection) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
    """Return the last sealed event by its seal, and the number of events after it."""
    last = newest_seal(connection)
    number = connection.scalar(select(func.count()).select_from(EVENT).where(EVENT.c.id > (last.id if last else 0)))
    return {(last.sha256,): float(last.id)} if last else {}, {(): float(number or 0)}


def _count_by_cluster(connection: Connection, table: Table, *by: ColumnElement[Any], where: Any = None) -> Counts:
    query = select(_CLUSTER.c.slug, _KIND_SQL[table].label("what"), *by, func.count()).select_from(_IN_CLUSTERS[table])
    query = query.group_by(_CLUSTER.c.slug, "what", *by)
    return _read_counts(connection, query if where is None else query.where(where))


def _read_counts(connection: Connection, query: Select[Any]) -> Counts:
    return Counts({tuple(row[:-1]): row[-1] for row in connection.execute(query)})
