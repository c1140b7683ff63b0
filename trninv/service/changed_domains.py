"""Find the domains whose parts changed their state since the last scrape, for `trninv.service.fleet_metrics`.

Every change of a part's state has an event, also by plain SQL. The events since the last scrape count only if the last
event and the clusters of that time are still there: a restored backup or a replaced file has others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, func, literal_column, select, union

from trninv.database.tables import NODE_KINDS, TABLES
from trninv.inventory.schema.event_fields import EVENT

MAX_EVENTS: Final = 20_000
"""With more events since the last scrape, any domain may have changed."""
MAX_CHANGED_DOMAINS: Final = 500
"""With more changed domains, all are read: one statement that names no domain takes less time."""
_CLUSTER, _MODEL = TABLES["cluster"], TABLES["domain_model"]
# every scrape after a change executes these statements, and building them again would take longer than running them
_CLUSTERS: Final = (
    select(_CLUSTER, _MODEL.c.slug.label("model"))
    .outerjoin(_MODEL, _MODEL.c.id == _CLUSTER.c.domain_model_id)
    .order_by(_CLUSTER.c.id)
)
_NEWEST_EVENT: Final = select(EVENT).order_by(EVENT.c.id.desc()).limit(1)
_EVENT: Final = select(EVENT).where(EVENT.c.id == bindparam("event"))
_CHANGED_DOMAINS: Final = union(
    *(
        select(part.c.domain_id)
        .join(EVENT, EVENT.c.part_id == part.c.id)
        .where(
            # with coalesce, no database reads all events of a kind by their index instead of the few last events
            func.coalesce(EVENT.c.kind, literal_column("''")).in_([literal_column(f"'{kind}'") for kind in kinds]),
            # with both limits, PostgreSQL expects few events whatever their values are
            EVENT.c.id > bindparam("event"),
            EVENT.c.id <= bindparam("newest"),
            part.c.domain_id.is_not(None),
        )
        for part, kinds in (
            (TABLES["server"], ("server",)),
            (TABLES["node"], NODE_KINDS),
            (TABLES["link"], ("link",)),
        )
    )
)


@dataclass(frozen=True, slots=True)
class FleetState:
    """The clusters and the newest event of a snapshot; None: there is no event.

    Each cluster is a row of ``cluster`` with the slug of its domain model as ``model``, None for several models.
    """

    clusters: Sequence[Row[Any]]
    newest_event: Row[Any] | None

    @classmethod
    def read(cls, connection: Connection) -> "FleetState":
        """Read the state of a connection's snapshot."""
        return cls(connection.execute(_CLUSTERS).all(), connection.execute(_NEWEST_EVENT).first())

    def changed_domains(self, connection: Connection, last: "FleetState | None") -> Sequence[int] | None:
        """Return the ids of domains with parts that changed after a state; None if any domain may have changed."""
        if last is None or last.clusters != self.clusters:
            return None
        if last.newest_event == self.newest_event:
            return ()
        if last.newest_event is None or self.newest_event is None:
            return None
        number = last.newest_event.id
        if self.newest_event.id - number > MAX_EVENTS:
            return None
        if connection.execute(_EVENT, {"event": number}).first() != last.newest_event:
            return None
        numbers = {"event": number, "newest": self.newest_event.id}
        domains = connection.scalars(_CHANGED_DOMAINS, numbers).all()
        return domains if len(domains) <= MAX_CHANGED_DOMAINS else None
