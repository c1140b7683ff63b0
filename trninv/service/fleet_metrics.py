"""Count parts, states, events and findings for Prometheus, incrementally."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any, Final

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
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

from trninv.database.engine import read_transaction
from trninv.database.finding_rules import FINDING_RULES
from trninv.database.revision import RevisionTracker
from trninv.database.tables import ACTIONS, EVENT_SOURCES, PART_KINDS, STATES, TABLES, is_unhealthy
from trninv.history.events import last_event_number
from trninv.inventory.schema.event_fields import EVENT, EVENT_FIELDS, IS_STATE_CHANGE
from trninv.inventory.schema.thing import is_in_cluster
from trninv.inventory.schema.things import THINGS
from trninv.inventory.state.chip_use import chip_uses
from trninv.inventory.state.hash_chain import newest_seal
from trninv.inventory.state.state_change import is_cascaded

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


MAX_INCREMENTAL_EVENTS: Final = 20_000
"""Events counted per scrape; the next one continues."""
_UNHEALTHY_STATES: Final = tuple(state for state in STATES if state != "up")
_DESCRIPTIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "trninv_parts": ("Servers, nodes and links that there are.", ("cluster", "kind")),
    "trninv_parts_unhealthy": (
        "Those that are not up; what is in a server that is not up is not up either.",
        ("cluster", "kind", "state"),
    ),
    "trninv_chips": (
        "Chips that a job holds, that the next job may have, and others: down, or in a closed server.",
        ("cluster", "use"),
    ),
    "trninv_domains": ("Domains, such as UltraServers.", ("cluster",)),
    "trninv_domains_impaired": ("Domains of which anything is down or degraded.", ("cluster",)),
    "trninv_findings_open": ("Drift, as trninv drift last found it.", ("rule", "severity")),
    "trninv_last_observation_timestamp_seconds": ("When a source last reported anything.", ("source",)),
    "trninv_history_sealed_event": (
        "The last event that is sealed, and its seal: what trninv verify --sealed takes.",
        ("sha256",),
    ),
    "trninv_history_unsealed_events": ("Events of plain SQL that the next change seals.", ()),
    "trninv_changes": (
        "Changes of states since this process was first asked; what a server takes along is none of its own.",
        ("kind", "state", "source"),
    ),
    "trninv_job_changes": (
        "Events since then of jobs that held chips, moved (mostly two) or ended, and of servers closed or opened.",
        ("action", "source"),
    ),
}


class FleetMetrics:
    """Metrics of the fleet; not thread safe.

    Parameters
    ----------
    revision
        Tracks whether the database changed.

    """

    def __init__(self, revision: RevisionTracker) -> None:
        self._revision = revision
        self._last_revision: object = None
        self._text = b""
        self._clusters: Sequence[Any] = ()
        self._parts = Counts()
        self._changes = Counts(dict.fromkeys(product(PART_KINDS, STATES, EVENT_SOURCES), 0))
        self._actions = Counts(dict.fromkeys(product(ACTIONS, EVENT_SOURCES), 0))
        self._last_event: int | None = None

    def render(self, engine: Engine) -> bytes:
        """Return all metrics in Prometheus' text format."""
        revision = self._revision.current()
        if revision is None or revision != self._last_revision:
            with read_transaction(engine) as connection:
                is_whole = self._count(connection)
                collector = _FamilyCollector(list(self._build_families(connection)))
            self._text = generate_latest(collector)
            self._last_revision = revision if is_whole else None
        return self._text

    def _count(self, connection: Connection) -> bool:
        """Count new events, and parts if the clusters changed; return whether no event is left to count."""
        clusters = read_clusters(connection)
        if clusters != self._clusters:
            self._parts, self._clusters = count_parts(connection, clusters), clusters
        newest = last_event_number(connection)
        if self._last_event is None or newest < self._last_event:  # restored from a backup, or a lagging standby
            self._last_event = newest
        until = min(newest, self._last_event + MAX_INCREMENTAL_EVENTS)
        if until > self._last_event:
            self._changes.update(count_changes(connection, self._last_event, until))
            self._actions.update(count_actions(connection, self._last_event, until))
            self._last_event = until
        return until == newest

    def _build_families(self, connection: Connection) -> Iterator[Metric]:
        unhealthy_parts, unhealthy_domains, findings = (
            count(connection) for count in (count_unhealthy_parts, count_unhealthy_domains, count_findings)
        )
        yield _build_family("trninv_parts", self._parts)
        parts_by_state = {
            (*key, state): unhealthy_parts[*key, state] for key, state in product(self._parts, _UNHEALTHY_STATES)
        }
        yield _build_family("trninv_parts_unhealthy", parts_by_state)
        chips = {row.slug: self._parts[row.slug, "chip"] for row in self._clusters}
        yield _build_family("trninv_chips", chip_uses(connection, chips))
        yield _build_family("trninv_domains", {(row.slug,): row.domains for row in self._clusters})
        yield _build_family(
            "trninv_domains_impaired", {(row.slug,): unhealthy_domains[(row.slug,)] for row in self._clusters}
        )
        findings_by_rule = {(name, rule.severity): findings[(name,)] for name, rule in FINDING_RULES.items()}
        yield _build_family("trninv_findings_open", findings_by_rule)
        yield _build_family("trninv_last_observation_timestamp_seconds", read_last_observations(connection))
        sealed, unsealed = read_seal(connection)
        yield _build_family("trninv_history_sealed_event", sealed)
        yield _build_family("trninv_history_unsealed_events", unsealed)
        yield _build_family("trninv_changes", self._changes, CounterMetricFamily)
        yield _build_family("trninv_job_changes", self._actions, CounterMetricFamily)


class _FamilyCollector:
    """A collector of given metric families."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _build_family(
    name: str,
    values: Mapping[Any, float],
    family_type: type[GaugeMetricFamily | CounterMetricFamily] = GaugeMetricFamily,
) -> Metric:
    description, labels = _DESCRIPTIONS[name]
    family = family_type(name, description, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
