"""Tell from when on each cluster's history is known."""

from sqlalchemy import Connection, select

from trninv.database.as_of import OmittedCluster
from trninv.database.id_blocks import BLOCK_TABLES
from trninv.database.tables import TABLES
from trninv.errors import InvalidTimeError
from trninv.inventory.state.hash_chain import last_archived_event

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
