"""What /metrics tells of the fleet, read from the database where anything was written since the last time."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import Connection, Engine

from trninv.history.events import last
from trninv.inventory.chip_use import chip_uses
from trninv.inventory.database import reading
from trninv.inventory.revision import Revision
from trninv.inventory.rules import RULES
from trninv.inventory.schema import ACTIONS, EVENT_SOURCES, PART_KINDS, STATES
from trninv.service import counts
from trninv.service.counts import Counts

AT_ONCE: Final = 20_000
"""Events that are counted in one reading; the next goes on."""
_NOT_UP: Final = tuple(state for state in STATES if state != "up")
_SAYS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
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


class Gauges:
    """Numbers of the fleet. One thread at a time may ask.

    Parameters
    ----------
    revision
        Tells whether anything was written.

    """

    def __init__(self, revision: Revision) -> None:
        self._revision = revision
        self._seen: object = None
        self._text = b""
        self._clusters: Sequence[Any] = ()
        self._parts = Counts()
        self._changes = Counts(dict.fromkeys(product(PART_KINDS, STATES, EVENT_SOURCES), 0))
        self._actions = Counts(dict.fromkeys(product(ACTIONS, EVENT_SOURCES), 0))
        self._counted: int | None = None

    def text(self, engine: Engine) -> bytes:
        """All of them in the format that Prometheus reads."""
        revision = self._revision.current()
        if revision is None or revision != self._seen:
            with reading(engine) as connection:
                is_whole = self._count(connection)
                found = _Found(list(self._families(connection)))
            self._text = generate_latest(found)
            self._seen = revision if is_whole else None
        return self._text

    def _count(self, connection: Connection) -> bool:
        """Count new events, and the parts of clusters where these are others; whether those were all events."""
        clusters = counts.clusters(connection)
        if clusters != self._clusters:
            self._parts, self._clusters = counts.parts(connection, clusters), clusters
        newest = last(connection)
        if self._counted is None or newest < self._counted:  # a backup, or a standby that was behind
            self._counted = newest
        until = min(newest, self._counted + AT_ONCE)
        if until > self._counted:
            self._changes.update(counts.changes(connection, self._counted, until))
            self._actions.update(counts.actions(connection, self._counted, until))
            self._counted = until
        return until == newest

    def _families(self, connection: Connection) -> Iterator[Metric]:
        lost, impaired, found = (of(connection) for of in (counts.lost, counts.impaired, counts.findings))
        yield _family("trninv_parts", self._parts)
        not_up = {(*key, state): lost[*key, state] for key, state in product(self._parts, _NOT_UP)}
        yield _family("trninv_parts_not_up", not_up)
        chips = {row.slug: self._parts[row.slug, "chip"] for row in self._clusters}
        yield _family("trninv_chips", chip_uses(connection, chips))
        yield _family("trninv_domains", {(row.slug,): row.domains for row in self._clusters})
        yield _family("trninv_domains_impaired", {(row.slug,): impaired[(row.slug,)] for row in self._clusters})
        of_rules = {(name, rule.severity): found[(name,)] for name, rule in RULES.items()}
        yield _family("trninv_findings_open", of_rules)
        yield _family("trninv_last_observation_timestamp_seconds", counts.observed(connection))
        sealed, unsealed = counts.seal(connection)
        yield _family("trninv_history_sealed_event", sealed)
        yield _family("trninv_history_unsealed_events", unsealed)
        yield _family("trninv_changes", self._changes, CounterMetricFamily)
        yield _family("trninv_job_changes", self._actions, CounterMetricFamily)


class _Found:
    """Families as what collects them."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


def _family(
    name: str,
    values: Mapping[Any, float],
    of: type[GaugeMetricFamily | CounterMetricFamily] = GaugeMetricFamily,
) -> Metric:
    says, labels = _SAYS[name]
    made = of(name, says, labels=labels)
    for key, value in values.items():
        made.add_metric(key, value)
    return made
