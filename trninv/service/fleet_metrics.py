"""Count parts, states, events and findings for Prometheus.

/metrics renders `FleetMetrics` at each scrape. A scrape counts only the events after those that the last one counted,
and reads nothing if the database has not changed since and no reservation has begun or ended.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from typing import Any, Final

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.utils import floatToGoString
from sqlalchemy import Connection, Engine, Select, bindparam, cast, func, select

from trninv.database.engine import read_transaction
from trninv.database.finding_rules import FINDING_RULES
from trninv.database.revision import RevisionTracker
from trninv.database.tables import ACTIONS, BIGINT, EVENT_SOURCES, PART_KINDS, STATES, TABLES
from trninv.history.events import last_event_number
from trninv.inventory.schema.event_fields import EVENT, EVENT_FIELDS, IS_STATE_CHANGE
from trninv.inventory.state.chip_use import chip_uses
from trninv.inventory.state.hash_chain import newest_seal
from trninv.inventory.state.state_change import is_cascaded
from trninv.service.changed_domains import FleetState
from trninv.service.free_slots import FreeSlots
from trninv.service.impaired_domains import ImpairedDomains
from trninv.units import format_timestamp

Counts = Counter[tuple[str, ...]]
"""Counts by label values."""
_CLUSTER, _DOMAIN, _SERVER, _NODE, _LINK, _FINDING, _OBSERVATION, _DISCOVERY, _PART_COUNT = (
    TABLES[name]
    for name in ("cluster", "domain", "server", "node", "link", "finding", "observation", "discovery", "part_count")
)
_RECEIVER, _DEAD_LETTER = TABLES["webhook_receiver"], TABLES["webhook_dead_letter"]
_NEW_STATE: Final = next(field.sql for field in EVENT_FIELDS if field.name == "after")
"""The state of a part after an event."""


# every scrape after a change executes these statements, and building them again would take longer than running them
_PARTS_BY_STATE: Final = (
    select(_CLUSTER.c.slug, _PART_COUNT.c.kind, _PART_COUNT.c.state, cast(func.sum(_PART_COUNT.c.number), BIGINT))
    .select_from(_PART_COUNT.join(_CLUSTER))
    .where(_PART_COUNT.c.kind.in_(PART_KINDS), _PART_COUNT.c.number != 0)
    .group_by(_CLUSTER.c.slug, _PART_COUNT.c.kind, _PART_COUNT.c.state)
)
_FINDINGS: Final = (
    select(_FINDING.c.rule, func.count()).where(_FINDING.c.cleared_at.is_(None)).group_by(_FINDING.c.rule)
)
_LAST_OBSERVATIONS: Final = select(_OBSERVATION.c.source, func.max(_OBSERVATION.c.seen_at)).group_by(
    _OBSERVATION.c.source
)
_IN_RANGE: Final = EVENT.c.id > bindparam("after"), EVENT.c.id <= bindparam("until")
_CHANGE_KEYS: Final = EVENT.c.kind, _NEW_STATE, EVENT.c.source
_CHANGES: Final = (
    select(*_CHANGE_KEYS, func.count()).where(*_IN_RANGE, IS_STATE_CHANGE, ~is_cascaded()).group_by(*_CHANGE_KEYS)
)
_ACTION_KEYS: Final = EVENT.c.action, EVENT.c.source
_ACTIONS: Final = select(*_ACTION_KEYS, func.count()).where(*_IN_RANGE, ~IS_STATE_CHANGE).group_by(*_ACTION_KEYS)
_DISCOVERIES: Final = select(_DISCOVERY.c.target, _DISCOVERY.c.read_at, _DISCOVERY.c.every_seconds)
_RECEIVERS: Final = select(_RECEIVER.c.name, _RECEIVER.c.sent, _RECEIVER.c.failed)
_DEAD_LETTERS: Final = select(_DEAD_LETTER.c.receiver, func.count()).group_by(_DEAD_LETTER.c.receiver)
_UNSEALED_EVENTS: Final = select(func.count()).select_from(EVENT).where(EVENT.c.id > bindparam("sealed"))


def count_parts(connection: Connection) -> Counts:
    """Count parts by cluster, kind and state."""
    return _read_counts(connection, _PARTS_BY_STATE)


def count_changes(connection: Connection, after: int, until: int) -> Counts:
    """Count state changes in a range of events by kind, new state and source.

    Cascades, which are the changes of a server's parts that follow the server's own, are not counted.
    """
    return _read_counts(connection, _CHANGES, after=after, until=until)


def count_actions(connection: Connection, after: int, until: int) -> Counts:
    """Count job and cordon events in a range of events, by action and source."""
    return _read_counts(connection, _ACTIONS, after=after, until=until)


def count_findings(connection: Connection) -> Counts:
    """Count open drift findings by rule."""
    return _read_counts(connection, _FINDINGS)


def read_last_observations(connection: Connection) -> dict[tuple[str, ...], float]:
    """Return when each source last reported anything, in seconds since 1970."""
    rows = connection.execute(_LAST_OBSERVATIONS)
    return {(source,): datetime.fromisoformat(time).timestamp() for source, time in rows}


def read_discoveries(connection: Connection) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
    """Return when each target of discovery was last read, in seconds since 1970 (0: never), and its interval."""
    rows = connection.execute(_DISCOVERIES).all()
    times: dict[tuple[str, ...], float] = {
        (row.target,): datetime.fromisoformat(row.read_at).timestamp() if row.read_at else 0.0 for row in rows
    }
    return times, {(row.target,): float(row.every_seconds) for row in rows if row.every_seconds}


def read_seal(connection: Connection) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
    """Return the values of two metrics by label values: the last sealed event, and how many events follow it.

    The first has the event's number by its seal, and is empty if nothing is sealed.
    """
    last = newest_seal(connection)
    number = connection.scalar(_UNSEALED_EVENTS, {"sealed": last.id if last else 0})
    return {(last.sha256,): float(last.id)} if last else {}, {(): float(number or 0)}


def count_messages(connection: Connection) -> Iterator[tuple[str, Mapping[Any, float]]]:
    """Yield the metrics of webhooks with their values by receiver."""
    rows = connection.execute(_RECEIVERS).all()
    dead = _read_counts(connection, _DEAD_LETTERS)
    yield "trninv_webhook_sent", {(row.name,): float(row.sent) for row in rows}
    yield "trninv_webhook_failed", {(row.name,): float(row.failed) for row in rows}
    yield "trninv_webhook_dead_letters", {**{(row.name,): 0 for row in rows}, **dead}


def _read_counts(connection: Connection, query: Select[Any], **parameters: int) -> Counts:
    """Run a query whose last column is a count, and whose other columns are the label values."""
    return Counts({tuple(labels): number for *labels, number in connection.execute(query, parameters)})


MAX_INCREMENTAL_EVENTS: Final = 20_000
"""Maximum number of events that one scrape counts; the next scrape continues."""
_UNHEALTHY_STATES: Final = tuple(state for state in STATES if state != "up")
_FAMILIES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "trninv_parts": ("Servers, chips, switches, NICs, network nodes and links.", ("cluster", "kind")),
    "trninv_parts_unhealthy": (
        "Parts that are degraded, down or in maintenance, with the parts of unhealthy servers.",
        ("cluster", "kind", "state"),
    ),
    "trninv_chips": (
        (
            "Chips that are allocated to a job, even if they are down; free for the next job, even if they are "
            "reserved; or unusable, because they are down, in maintenance or on a cordoned server. The three add up "
            "to all chips."
        ),
        ("cluster", "use"),
    ),
    "trninv_free_slots": (
        (
            "Jobs of that many chips that fit at once in legal sets, without jobs of other sizes, as trninv free "
            "counts them: chips that are reserved now are not free. Clusters with domains of several models have "
            "none."
        ),
        ("cluster", "chips"),
    ),
    "trninv_domains": ("Domains, such as UltraServers.", ("cluster",)),
    "trninv_domains_impaired": (
        "Domains with a part that is down or degraded, including links to NICs; maintenance does not count.",
        ("cluster",),
    ),
    "trninv_findings_open": ("Open findings of the last trninv drift.", ("rule", "severity")),
    "trninv_last_observation_timestamp_seconds": (
        "When a source, such as ec2, last reported; absent for a source that never has.",
        ("source",),
    ),
    "trninv_discovery_last_read_timestamp_seconds": (
        "When trninv discover last read a target, such as aws:us-east-2; 0 if never.",
        ("target",),
    ),
    "trninv_discovery_interval_seconds": (
        "The interval in which a target is pulled; absent for a target that is pulled only on request.",
        ("target",),
    ),
    "trninv_history_sealed_event": (
        (
            "Number of the last sealed event, with its seal as the label, for trninv verify --sealed N:SHA256. Keep a "
            "copy outside the database."
        ),
        ("sha256",),
    ),
    "trninv_history_unsealed_events": ("Events that were written by plain SQL and that the next change will seal.", ()),
    "trninv_webhook_sent": ("Messages that a receiver of webhooks accepted.", ("receiver",)),
    "trninv_webhook_failed": ("Attempts to send a message to a receiver that failed.", ("receiver",)),
    "trninv_webhook_dead_letters": ("Messages to a receiver that were given up and not resent.", ("receiver",)),
    "trninv_changes": (
        (
            "State changes, by the part's own new state and by what made the change, such as command or drift; "
            "cascaded events are not counted."
        ),
        ("kind", "state", "source"),
    ),
    "trninv_job_changes": (
        (
            "Events of jobs, cordons and reservations. A move counts as two events: one at the old place, one at the "
            "new place; as one if an import moved the job within one place."
        ),
        ("action", "source"),
    ),
}
"""Description and labels of each metric; docs/reference/metrics.md is written from them."""
_COUNTERS: Final = ("trninv_changes", "trninv_job_changes", "trninv_webhook_sent", "trninv_webhook_failed")


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
        self._families = dict[str, _RenderedFamily]()
        self._changes = Counts(dict.fromkeys(product(PART_KINDS, STATES, EVENT_SOURCES), 0))
        self._actions = Counts(dict.fromkeys(product(ACTIONS, EVENT_SOURCES), 0))
        self._last_event: int | None = None
        self._fleet_state: FleetState | None = None
        self._free_slots, self._impaired_domains = FreeSlots(), ImpairedDomains()

    def render(self, engine: Engine) -> bytes:
        """Return all metrics in Prometheus' text format."""
        revision = self._revision.current()
        is_current = revision is not None and revision == self._last_revision
        if not is_current or format_timestamp(datetime.now(UTC)) >= self._free_slots.valid_until:
            with read_transaction(engine) as connection:
                is_complete = self._count(connection)
                state = FleetState.read(connection)
                values = dict(self._values(connection, state))
                self._fleet_state = state
            self._text = b"".join(self._render_family(name, values[name]) for name in _FAMILIES)
            self._last_revision = revision if is_complete else None
        return self._text

    def _count(self, connection: Connection) -> bool:
        """Count new events; return whether all events are counted."""
        newest = last_event_number(connection)
        if self._last_event is None or newest < self._last_event:  # first scrape, restored backup, or lagging standby
            self._last_event = newest
        until = min(newest, self._last_event + MAX_INCREMENTAL_EVENTS)
        if until > self._last_event:
            self._changes.update(count_changes(connection, self._last_event, until))
            self._actions.update(count_actions(connection, self._last_event, until))
            self._last_event = until
        return until == newest

    def _values(self, connection: Connection, state: FleetState) -> Iterator[tuple[str, Mapping[Any, float]]]:
        """Yield the values of each metric by its labels."""
        changed = state.changed_domains(connection, self._fleet_state)
        domains = {(row.slug,): row.domains for row in state.clusters}
        parts_by_state, findings = count_parts(connection), count_findings(connection)
        impaired = self._impaired_domains.read(connection, changed)
        parts = Counts()
        for (*key, _), number in parts_by_state.items():
            parts[tuple(key)] += number
        yield "trninv_parts", dict(parts)
        unhealthy_parts = {
            (*key, state): parts_by_state[*key, state] for key, state in product(parts, _UNHEALTHY_STATES)
        }
        yield "trninv_parts_unhealthy", unhealthy_parts
        yield "trninv_chips", chip_uses(connection)
        yield "trninv_free_slots", self._free_slots.read(connection, state.clusters, changed)
        yield "trninv_domains", domains
        yield "trninv_domains_impaired", {cluster: impaired[cluster] for cluster in domains}
        findings_by_rule = {(name, rule.severity): findings[(name,)] for name, rule in FINDING_RULES.items()}
        yield "trninv_findings_open", findings_by_rule
        yield "trninv_last_observation_timestamp_seconds", read_last_observations(connection)
        last_reads, intervals = read_discoveries(connection)
        yield "trninv_discovery_last_read_timestamp_seconds", last_reads
        yield "trninv_discovery_interval_seconds", intervals
        sealed, unsealed = read_seal(connection)
        yield "trninv_history_sealed_event", sealed
        yield "trninv_history_unsealed_events", unsealed
        yield from count_messages(connection)
        yield "trninv_changes", dict(self._changes)
        yield "trninv_job_changes", dict(self._actions)

    def _render_family(self, name: str, values: Mapping[Any, float]) -> bytes:
        """Return a metric in Prometheus' text format, which is kept until its values change."""
        rendered = self._families.get(name)
        if rendered is None or rendered.values != values:
            rendered = self._families[name] = _render_family(name, values, rendered)
        return rendered.text


@dataclass(frozen=True, slots=True)
class _RenderedFamily:
    """A metric in Prometheus' text format: its comments, its lines without their values, and the whole text."""

    values: Mapping[Any, float]
    comments: bytes
    lines: Mapping[Any, bytes]
    text: bytes


def _format_value(value: float) -> bytes:
    text: str = floatToGoString(value)  # type: ignore[no-untyped-call] # the library has no types here
    return text.encode()


def _render_family(name: str, values: Mapping[Any, float], last: _RenderedFamily | None) -> _RenderedFamily:
    """Render a metric; comments and labels are taken from the last time if possible, because rendering takes long."""
    if last and last.values.keys() == values.keys():
        comments, lines = last.comments, last.lines
    else:
        comments = generate_latest(_FamilyCollector(_build_family(name, {})))
        rendered = generate_latest(_FamilyCollector(_build_family(name, values))).removeprefix(comments)
        starts = (line.rpartition(b" ")[0] for line in rendered.split(b"\n"))
        lines = dict(zip(values, starts, strict=False))
    samples = (b"%b %b\n" % (lines[key], _format_value(value)) for key, value in values.items())
    return _RenderedFamily(values, comments, lines, comments + b"".join(samples))


class _FamilyCollector:
    """Adapts a metric family to what `generate_latest` calls."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> list[Metric]:
        return [self._family]


def _build_family(name: str, values: Mapping[Any, float]) -> Metric:
    description, labels = _FAMILIES[name]
    family_type = CounterMetricFamily if name in _COUNTERS else GaugeMetricFamily
    family = family_type(name, description, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
