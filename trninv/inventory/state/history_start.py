"""Record the state from which a cluster's events lead to the present one, and read from when its history is known.

A seeded or adopted cluster starts with all parts up and nothing allocated. A cluster that grows, or whose older events
were moved to an archive, starts again from the state that its events had led to. Seals cover these records.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select

from trninv.database.as_of import OmittedCluster
from trninv.database.id_blocks import BLOCK_TABLES, next_id
from trninv.database.tables import TABLES
from trninv.errors import InvalidTimeError
from trninv.inventory.state.hash_chain import last_archived_event
from trninv.units import current_timestamp

_START, _SEAL, _ARCHIVE = (TABLES[name] for name in ("history_start", "event_seal", "history_archive"))
Part = tuple[str, int]
"""Kind and id."""
Condition = tuple[str, int | None, str | None, int | None]
"""State and factor, then own state and own factor of a node."""
UP: Final[Condition] = ("up", None, None, None)


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
        Id of the newest job so far; newer ones have events.
    """

    parts: dict[Part, Condition] = field(default_factory=dict)
    jobs: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    cordoned: frozenset[int] = frozenset()
    last_job: int = 0

    @classmethod
    def parse(cls, text: str) -> "ClusterState | None":
        """Parse a state that the property `text` wrote; return None for any other text."""
        try:
            values = json.loads(text)
            parts = {(kind, key): (state, *more) for kind, key, state, *more in values["parts"]}
            jobs = {key: (name, place, chips) for key, name, place, chips in values["jobs"]}
            state = cls(parts, jobs, frozenset(values["closed"]), values["last_job"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return state

    @property
    def text(self) -> str:
        """The state as JSON."""
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
    """Record that a cluster's history starts after an event; ``cluster`` has id and slug, and no state means all up."""
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
    """Return the newest recorded start of each cluster name that was ever used."""
    newest = select(func.max(_START.c.id)).group_by(_START.c.cluster)
    rows = connection.execute(select(_START).where(_START.c.id.in_(newest)).order_by(_START.c.id))
    return {row.cluster: row for row in rows}


def prune_starts(connection: Connection) -> None:
    """Remove starts that are superseded and covered by the seal with which the history begins."""
    first_seal = select(func.max(_ARCHIVE.c.id)).scalar_subquery()
    covered = connection.scalar(select(_SEAL.c.starts).where(_SEAL.c.id == first_seal)) or 0
    newest = [row.id for row in latest_starts(connection).values()]
    connection.execute(delete(_START).where(_START.c.id <= covered, _START.c.id.not_in(newest)))


_LAST = 2**31 - 2  # its successor still fits into PostgreSQL's integer


def history_starts(connection: Connection) -> list[OmittedCluster]:
    """Return every cluster with the time, event and id blocks from which its history is known."""
    rows = connection.execute(select(TABLES["cluster"])).all()
    firsts = {block: sorted(getattr(row, f"first_{block}_id") for row in rows) for block in BLOCK_TABLES}

    def last(block: str, first: int) -> int:
        return min((other for other in firsts[block] if other > first), default=_LAST + 1) - 1

    return [
        OmittedCluster(
            row.id,
            row.slug,
            row.known_since,
            row.known_from or 0,
            (
                ("cluster", row.id, row.id),
                *(
                    (block, first, last(block, first))
                    for block in BLOCK_TABLES
                    for first in [getattr(row, f"first_{block}_id")]
                ),
            ),
        )
        for row in rows
    ]


def history_start_error(connection: Connection, cluster: OmittedCluster) -> InvalidTimeError:
    """Return the error for a time before a cluster's history, which names the archive of older events, if any."""
    if cluster.since is None:
        return InvalidTimeError(str(cluster))
    last_archived = last_archived_event(connection)
    archived = (
        f"; events up to {last_archived.id} are in the archive {last_archived.directory}" if last_archived else ""
    )
    return InvalidTimeError(f"{cluster}, from event {cluster.event} on: name a later time{archived}")
