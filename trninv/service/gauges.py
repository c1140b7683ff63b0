"""Report fleet metrics for Prometheus; the database is read only if it changed since the last scrape."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import Connection, Engine

from trninv.history.events import last_event_number
from trninv.inventory.chip_use import chip_uses
from trninv.inventory.database import read_transaction
from trninv.inventory.revision import RevisionTracker
from trninv.inventory.rules import FINDING_RULES
from trninv.inventory.schema import ACTIONS, EVENT_SOURCES, PART_KINDS, STATES
from trninv.service import counts
from trninv.service.counts import Counts

MAX_INCREMENTAL_EVENTS: Final = 20_000
"""Events counted per scrape; the next one continues."""
_UNHEALTHY_STATES: Final = tuple(state for state in STATES if state != "up")
_DESCRIPTIONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "trninv_parts": ("Servers, nodes and links that there are.", ("cluster", "kind")),
    "trninv_parts_not_up": (
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
        clusters = counts.read_clusters(connection)
        if clusters != self._clusters:
            self._parts, self._clusters = counts.count_parts(connection, clusters), clusters
        newest = last_event_number(connection)
        if self._last_event is None or newest < self._last_event:  # restored from a backup, or a lagging standby
            self._last_event = newest
        until = min(newest, self._last_event + MAX_INCREMENTAL_EVENTS)
        if until > self._last_event:
            self._changes.update(counts.count_changes(connection, self._last_event, until))
            self._actions.update(counts.count_actions(connection, self._last_event, until))
            self._last_event = until
        return until == newest

    def _build_families(self, connection: Connection) -> Iterator[Metric]:
        unhealthy_parts, unhealthy_domains, findings = (
            count(connection)
            for count in (counts.count_unhealthy_parts, counts.count_unhealthy_domains, counts.count_findings)
        )
        yield _build_family("trninv_parts", self._parts)
        parts_by_state = {
            (*key, state): unhealthy_parts[*key, state] for key, state in product(self._parts, _UNHEALTHY_STATES)
        }
        yield _build_family("trninv_parts_not_up", parts_by_state)
        chips = {row.slug: self._parts[row.slug, "chip"] for row in self._clusters}
        yield _build_family("trninv_chips", chip_uses(connection, chips))
        yield _build_family("trninv_domains", {(row.slug,): row.domains for row in self._clusters})
        yield _build_family(
            "trninv_domains_impaired", {(row.slug,): unhealthy_domains[(row.slug,)] for row in self._clusters}
        )
        findings_by_rule = {(name, rule.severity): findings[(name,)] for name, rule in FINDING_RULES.items()}
        yield _build_family("trninv_findings_open", findings_by_rule)
        yield _build_family("trninv_last_observation_timestamp_seconds", counts.read_last_observations(connection))
        sealed, unsealed = counts.read_seal(connection)
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
