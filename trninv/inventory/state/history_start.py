"""Record the state from which a cluster's history starts, and read since when its history is known.

The recorded start, changed by every event since then, gives the present state. A seeded or adopted cluster starts with
all parts up and nothing allocated. If a cluster grows, or its older events are moved to an archive, its history starts
again from the state at that event. Seals (digests of all events) cover these records.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, case, delete, func, insert, literal_column, select

from trninv.database.as_of import OmittedCluster
from trninv.database.id_blocks import BLOCK_TABLES, next_id
from trninv.database.tables import TABLES
from trninv.errors import InvalidTimeError
from trninv.units import current_timestamp

_START, _SEAL, _ARCHIVE, _CLUSTER = (
    TABLES[name] for name in ("history_start", "event_seal", "history_archive", "cluster")
)
Part = tuple[str, int]
"""The kind and id of a part."""
PartCondition = tuple[str, int | None, str | None, int | None]
"""A part's state and factor, then own state and own factor of a node; factors are in millionths."""
UP: Final[PartCondition] = ("up", None, None, None)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state of a cluster at an event.

    Attributes
    ----------
    parts
        The conditions of parts that are not fully up.
    jobs
        Running jobs by id: name, place and chips (`trninv.inventory.state.chip_ids`; empty: unknown).
    cordoned
        Ids of cordoned servers.
    last_job
        Id of the newest job at that event; every newer job has events.
    """

    parts: dict[Part, PartCondition] = field(default_factory=dict)
    jobs: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    cordoned: frozenset[int] = frozenset()
    last_job: int = 0

    @classmethod
    def parse(cls, text: str) -> "ClusterState | None":
        """Parse a state from its `text`; return None if it is invalid."""
        try:
            values = json.loads(text)
            parts = {(kind, key): (state, *others) for kind, key, state, *others in values["parts"]}
            jobs = {key: (name, place, chips) for key, name, place, chips in values["jobs"]}
            state = cls(parts, jobs, frozenset(values["closed"]), values["last_job"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return state

    @property
    def text(self) -> str:
        """The state as JSON; the key for cordoned servers is still "closed", because seals cover this text."""
        values = {
            "parts": [[*part, *condition] for part, condition in sorted(self.parts.items())],
            "jobs": [[key, *job] for key, job in sorted(self.jobs.items())],
            "closed": sorted(self.cordoned),
            "last_job": self.last_job,
        }
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def record_start(
    connection: Connection, cluster: Any, cause: str, event: int, state: ClusterState | None = None
) -> None:
    """Record that a cluster's history starts after an event.

    Parameters
    ----------
    cluster
        A row or mapping with the cluster's id and slug.
    cause
        Why it starts there: one of START_CAUSE_MEANINGS.
    event
        Number of the last event before the start.
    state
        By default all parts are up and nothing is allocated.
    """
    row = {
        "id": next_id(connection, _START),
        "at": current_timestamp(),
        "event": event,
        "cluster_id": cluster["id"],
        "cluster": cluster["slug"],
        "cause": cause,
        "state": (state or ClusterState()).text,
    }
    connection.execute(insert(_START).values(row))


def latest_starts(connection: Connection) -> dict[str, Any]:
    """Return the newest recorded start by cluster slug, for every slug that was ever used."""
    newest_ids = select(func.max(_START.c.id)).group_by(_START.c.cluster)
    rows = connection.execute(select(_START).where(_START.c.id.in_(newest_ids)).order_by(_START.c.id))
    return {row.cluster: row for row in rows}


def seeded_after() -> ColumnElement[int]:
    """Return an expression: the last event that may be about a cluster before this one, with the same ids.

    A cluster's history may start later than that (``known_from``), when it grew or its older events were archived.
    """
    seed_event = select(func.max(_START.c.event)).where(
        _START.c.cluster_id == _CLUSTER.c.id, _START.c.cause.in_(("seed", "migrate"))
    )
    seeded = func.coalesce(seed_event.correlate(_CLUSTER).scalar_subquery(), literal_column("0"))
    known_from = func.coalesce(_CLUSTER.c.known_from, literal_column("0"))
    return case((seeded < known_from, seeded), else_=known_from)


def prune_starts(connection: Connection) -> None:
    """Remove the starts that are superseded and covered by the seal of the last archived event."""
    first_seal = select(func.max(_ARCHIVE.c.id)).scalar_subquery()
    covered = connection.scalar(select(_SEAL.c.starts).where(_SEAL.c.id == first_seal)) or 0
    newest_ids = [row.id for row in latest_starts(connection).values()]
    connection.execute(delete(_START).where(_START.c.id <= covered, _START.c.id.not_in(newest_ids)))


_MAX_ID = 2**31 - 2
"""The highest id of a row; the number after it still fits into PostgreSQL's integer."""


def history_starts(connection: Connection) -> list[OmittedCluster]:
    """Return every cluster with its blocks of ids and the time and event since which its history is known.

    The class is `OmittedCluster` because answers about earlier times omit the cluster.
    """
    rows = connection.execute(select(TABLES["cluster"])).all()
    first_ids = {block: sorted(getattr(row, f"first_{block}_id") for row in rows) for block in BLOCK_TABLES}
    clusters = list[OmittedCluster]()
    for row in rows:
        blocks = [("cluster", row.id, row.id)]
        for name in BLOCK_TABLES:
            first = getattr(row, f"first_{name}_id")
            end = min((other for other in first_ids[name] if other > first), default=_MAX_ID + 1)
            blocks.append((name, first, end - 1))
        clusters.append(OmittedCluster(row.id, row.slug, row.known_since, row.known_from or 0, tuple(blocks)))
    return clusters


def history_start_error(connection: Connection, cluster: OmittedCluster) -> InvalidTimeError:
    """Return the error for a time before a cluster's history starts; it names the archive of older events, if any.

    A cluster whose `since` is None has no known history at all.
    """
    if cluster.since is None:
        return InvalidTimeError(str(cluster))
    from trninv.inventory.state.hash_chain import last_archived_event  # noqa: PLC0415 # it imports the triggers

    last_archived = last_archived_event(connection)
    archived = (
        f"; events up to {last_archived.id} are in the archive {last_archived.directory}" if last_archived else ""
    )
    return InvalidTimeError(f"{cluster}, from event {cluster.event} on: name a later time{archived}")
