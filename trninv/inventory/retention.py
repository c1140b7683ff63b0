"""Which observations are kept: the newest of each speaker, and all that findings cite; older ones are removed.

A speaker is the instance or host that a file of one machine is of. Listings of managers have none, and are kept. The
triggers of ``observation`` say the same of the newest ``LEAST_OBSERVATIONS``, whoever deletes.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, select, tuple_

from trninv.inventory.schema import TABLES

_AT_ONCE: Final = 500
"""Observations that are removed by one statement, and of a speaker at a time."""
_OBSERVATION, _SERVER, _CHIP, _LINK = (
    TABLES[name] for name in ("observation", "observed_server", "observed_chip", "observed_link")
)
_OF_SPEAKER: Final = (
    _OBSERVATION.c.source == bindparam("source"),
    _OBSERVATION.c.speaker == bindparam("speaker"),
)
_OLDEST_KEPT: Final = (
    select(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
    .where(*_OF_SPEAKER)
    .order_by(_OBSERVATION.c.seen_at.desc(), _OBSERVATION.c.id.desc())
    .offset(bindparam("before_it"))
    .limit(1)
)
_SUPERSEDED: Final = (
    select(_OBSERVATION.c.id)
    .where(*_OF_SPEAKER, ~_OBSERVATION.c.is_cited)
    .where(tuple_(_OBSERVATION.c.seen_at, _OBSERVATION.c.id) < _OLDEST_KEPT.scalar_subquery())
    .where(_OBSERVATION.c.id < select(func.max(_OBSERVATION.c.id)).where(*_OF_SPEAKER).scalar_subquery())
    .order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
    .limit(bindparam("most"))
)


def remove_superseded(connection: Connection, source: str, speakers: Iterable[str], newest: int) -> int:
    """Remove what lies before the newest observations of speakers, but for what findings cite; return how many went.

    Of each speaker 500 at most go at a time, the oldest first: the next call goes on.

    Parameters
    ----------
    newest
        How many of each are kept, ``LEAST_OBSERVATIONS`` or more.

    """
    removed, going = 0, list[int]()
    for speaker in speakers:
        which = {"source": source, "speaker": speaker, "before_it": newest - 1, "most": _AT_ONCE}
        going += connection.scalars(_SUPERSEDED, which)
        while len(going) >= _AT_ONCE:
            removed += _remove(connection, going[:_AT_ONCE])
            del going[:_AT_ONCE]
    return removed + _remove(connection, going)


def _remove(connection: Connection, observations: list[int]) -> int:
    """Remove observations, and then what they said: the triggers let it go once they are gone."""
    if not observations:
        return 0
    servers = connection.scalars(select(_SERVER.c.id).where(_SERVER.c.observation_id.in_(observations))).all()
    for table, column, keys in (
        (_OBSERVATION, "id", observations),
        (_SERVER, "id", servers),
        (_CHIP, "observed_server_id", servers),
        (_LINK, "observation_id", observations),
    ):
        connection.execute(delete(table).where(table.c[column].in_(keys)))
    return len(observations)
