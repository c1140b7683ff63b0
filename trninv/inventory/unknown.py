"""Since when each cluster's history is known, and what is said to who asks of an earlier moment."""

from sqlalchemy import Connection, select

from trninv.errors import MomentError
from trninv.inventory.chain import removed
from trninv.inventory.ids import BLOCKS
from trninv.inventory.past import Unknown
from trninv.inventory.schema import TABLES

_LAST = 2**31 - 2  # what follows is a whole number on PostgreSQL too


def clusters(connection: Connection) -> list[Unknown]:
    """Every cluster, as it is told where nothing is known of it."""
    rows = connection.execute(select(TABLES["cluster"])).all()
    firsts = {block: sorted(getattr(row, f"first_{block}_id") for row in rows) for block in BLOCKS}

    def last(block: str, first: int) -> int:
        return min((other for other in firsts[block] if other > first), default=_LAST + 1) - 1

    return [
        Unknown(
            row.id,
            row.slug,
            row.known_since,
            row.known_from or 0,
            (
                ("cluster", row.id, row.id),
                *(
                    (block, first, last(block, first))
                    for block in BLOCKS
                    for first in [getattr(row, f"first_{block}_id")]
                ),
            ),
        )
        for row in rows
    ]


def refused(connection: Connection, of: Unknown) -> MomentError:
    """What is said of a moment at which nothing is known of a cluster, and where what was before is to be found."""
    if of.since is None:
        return MomentError(str(of))
    gone = removed(connection)
    archived = f"; events up to {gone.id} are in the archive {gone.directory}" if gone else ""
    return MomentError(f"{of}, from event {of.event} on: name a later time{archived}")
