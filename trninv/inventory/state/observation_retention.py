"""Remove observations that newer ones have superseded.

A speaker is the instance or host that a file about a single machine belongs to. Listings of managers have no speaker
and are all kept. The triggers of ``observation`` protect the newest ``LEAST_OBSERVATIONS`` from any deletion.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, select, tuple_

from trninv.database.tables import TABLES

_BATCH_SIZE: Final = 500
"""The maximum number of observations removed per statement, and per speaker and call."""
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
    .limit(bindparam("limit"))
)


def remove_superseded(connection: Connection, source: str, speakers: Iterable[str], newest: int) -> int:
    """Remove the observations before the newest ones of speakers, except those that findings cite; return how many.

    At most 500 per speaker are removed, oldest first; the next call continues.

    Parameters
    ----------
    newest
        How many to keep per speaker, at least ``LEAST_OBSERVATIONS``.
    """
    removed, superseded = 0, list[int]()
    for speaker in speakers:
        parameters = {"source": source, "speaker": speaker, "before_it": newest - 1, "limit": _BATCH_SIZE}
        superseded += connection.scalars(_SUPERSEDED, parameters)
        while len(superseded) >= _BATCH_SIZE:
            removed += _remove(connection, superseded[:_BATCH_SIZE])
            del superseded[:_BATCH_SIZE]
    return removed + _remove(connection, superseded)


def _remove(connection: Connection, observations: list[int]) -> int:
    """Remove observations first and then their rows, which triggers protect until the observation is gone."""
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
