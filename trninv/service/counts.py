"""What there is and what is not up, as numbers: a look at few rows of the database, however large the fleet."""

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

from trninv.inventory.chain import newest
from trninv.inventory.fields import in_cluster
from trninv.inventory.happened import EVENT, FIELDS, OF_STATE
from trninv.inventory.kinds import KINDS
from trninv.inventory.schema import TABLES, is_not_up
from trninv.inventory.state import taken_along

Counts = Counter[tuple[str, ...]]
"""Numbers by what they are of."""

_CLUSTER, _DOMAIN, _SERVER, _NODE, _LINK, _FINDING, _OBSERVATION = (
    TABLES[name] for name in ("cluster", "domain", "server", "node", "link", "finding", "observation")
)
_IN_CLUSTERS: Final[dict[Table, FromClause]] = {
    _SERVER: _SERVER.join(_DOMAIN).join(_CLUSTER),
    _NODE: _NODE.join(_CLUSTER),
    _LINK: _LINK.join(_NODE, _NODE.c.id == _LINK.c.a_id).join(_CLUSTER),
}
_KIND: Final[dict[Table, ColumnElement[str]]] = {
    _SERVER: literal_column("'server'"),
    _NODE: _NODE.c.kind,
    _LINK: literal_column("'link'"),
}
_AFTER: Final = next(field.sql for field in FIELDS if field.name == "after")


def clusters(connection: Connection) -> Sequence[Any]:
    """Their rows."""
    return connection.execute(select(_CLUSTER).order_by(_CLUSTER.c.id)).all()


def parts(connection: Connection, of: Sequence[Any]) -> Counts:
    """How many parts clusters have, by cluster and kind: the one look at all rows."""
    found = _by_cluster(connection, _SERVER) + _by_cluster(connection, _NODE)
    for row in of:
        links = select(func.count()).where(in_cluster(KINDS["link"], _LINK.c.id, literal(row.id)))
        found[row.slug, "link"] = connection.scalar(links) or 0
    return found


def lost(connection: Connection) -> Counts:
    """How many parts are not up, by cluster, kind and state."""
    tables = (_SERVER, _NODE, _LINK)
    return sum((_by_cluster(connection, of, of.c.state, where=is_not_up(of)) for of in tables), Counts())


def impaired(connection: Connection) -> Counts:
    """How many domains have something that is down or degraded, by cluster."""
    of = {_SERVER: _SERVER.c.domain_id, _NODE: _NODE.c.domain_id, _LINK: _LINK.c.domain_id}
    planned: ColumnElement[str] = literal_column("'maintenance'")
    ids = union(*(select(key).where(and_(is_not_up(table), table.c.state != planned)) for table, key in of.items()))
    query = select(_CLUSTER.c.slug, func.count()).select_from(_DOMAIN.join(_CLUSTER)).where(_DOMAIN.c.id.in_(ids))
    return _counts(connection, query.group_by(_CLUSTER.c.slug))


def changes(connection: Connection, after: int, until: int) -> Counts:
    """How many changes were made by the events after one up to another, by kind, new state and source."""
    by = EVENT.c.kind, _AFTER, EVENT.c.source
    query = select(*by, func.count()).where(EVENT.c.id > after, EVENT.c.id <= until, OF_STATE, ~taken_along())
    return _counts(connection, query.group_by(*by))


def actions(connection: Connection, after: int, until: int) -> Counts:
    """How often something was done to jobs, or to servers for their sake, by action and source."""
    by = EVENT.c.action, EVENT.c.source
    query = select(*by, func.count()).where(EVENT.c.id > after, EVENT.c.id <= until, ~OF_STATE)
    return _counts(connection, query.group_by(*by))


def findings(connection: Connection) -> Counts:
    """How many findings of drift are open, by rule."""
    query = select(_FINDING.c.rule, func.count()).where(_FINDING.c.cleared_at.is_(None))
    return _counts(connection, query.group_by(_FINDING.c.rule))


def observed(connection: Connection) -> dict[tuple[str, ...], float]:
    """When each source last reported anything, in seconds since 1970."""
    query = select(_OBSERVATION.c.source, func.max(_OBSERVATION.c.seen_at)).group_by(_OBSERVATION.c.source)
    return {(source,): datetime.fromisoformat(at).timestamp() for source, at in connection.execute(query)}


def seal(connection: Connection) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
    """The last event that is sealed, by its seal, and how many events follow it."""
    last = newest(connection)
    number = connection.scalar(select(func.count()).select_from(EVENT).where(EVENT.c.id > (last.id if last else 0)))
    return {(last.sha256,): float(last.id)} if last else {}, {(): float(number or 0)}


def _by_cluster(connection: Connection, of: Table, *by: ColumnElement[Any], where: Any = None) -> Counts:
    query = select(_CLUSTER.c.slug, _KIND[of].label("what"), *by, func.count()).select_from(_IN_CLUSTERS[of])
    query = query.group_by(_CLUSTER.c.slug, "what", *by)
    return _counts(connection, query if where is None else query.where(where))


def _counts(connection: Connection, query: Select[Any]) -> Counts:
    return Counts({tuple(row[:-1]): row[-1] for row in connection.execute(query)})
