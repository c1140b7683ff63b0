"""Remove observations that newer ones have superseded, whenever new ones are stored.

An observation is an imported file with what a tool reported, stored with rows of its servers, chips and links. A
speaker is the instance or host that a file about a single machine belongs to. Files about several machines have no
speaker and are all kept.
Triggers of ``observation`` protect the newest ``LEAST_OBSERVATIONS`` of each speaker from deletion.
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, select, tuple_

from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.inventory.state.observation_lock import try_lock_inventory

_BATCH_SIZE: Final = 500
"""The maximum number of observations removed per statement, and per speaker and call."""
_OBSERVATION, _SERVER, _CHIP, _LINK = (
    TABLES[name] for name in ("observation", "observed_server", "observed_chip", "observed_link")
)
_IS_FROM_SPEAKER: Final = (
    _OBSERVATION.c.source == bindparam("source"),
    _OBSERVATION.c.speaker == bindparam("speaker"),
)
_OLDEST_KEPT: Final = (
    select(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
    .where(*_IS_FROM_SPEAKER)
    .order_by(_OBSERVATION.c.seen_at.desc(), _OBSERVATION.c.id.desc())
    .offset(bindparam("newer"))
    .limit(1)
)
"""Selects the oldest of the speaker's newest observations, which are kept."""
_SUPERSEDED: Final = (
    select(_OBSERVATION.c.id)
    .where(*_IS_FROM_SPEAKER, ~_OBSERVATION.c.is_cited)
    .where(tuple_(_OBSERVATION.c.seen_at, _OBSERVATION.c.id) < _OLDEST_KEPT.scalar_subquery())
    .where(_OBSERVATION.c.id < select(func.max(_OBSERVATION.c.id)).where(*_IS_FROM_SPEAKER).scalar_subquery())
    .order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)
    .limit(bindparam("limit"))
)
"""Selects the speaker's observations that may be removed."""


def remove_superseded(connection: Connection, source: str, speakers: Iterable[str], newest: int) -> int:
    """Remove observations of speakers, except the newest and those that findings cite; return the number removed.

    At most 500 per speaker are removed, oldest first; the next call removes more. A speaker's observation that was
    stored last is kept, even if its file is old. If another transaction has the inventory's lock, or this login may not
    take it, nothing is removed; the speaker's next report does.

    Parameters
    ----------
    newest
        The number of observations to keep per speaker, at least ``LEAST_OBSERVATIONS``.
    """
    removed, superseded = 0, list[int]()
    exceeding = _speakers_with_more(connection, source, speakers, newest)
    if not exceeding or not try_lock_inventory(connection):
        return 0
    for speaker in exceeding:
        parameters = {"source": source, "speaker": speaker, "newer": newest - 1, "limit": _BATCH_SIZE}
        superseded += connection.scalars(_SUPERSEDED, parameters)
        while len(superseded) >= _BATCH_SIZE:
            removed += _remove(connection, superseded[:_BATCH_SIZE])
            del superseded[:_BATCH_SIZE]
    return removed + _remove(connection, superseded)


def _speakers_with_more(connection: Connection, source: str, speakers: Iterable[str], newest: int) -> list[str]:
    """Return those of the speakers that have more observations than the number to keep, sorted by name."""
    exceeding = list[str]()
    for batch in batches(speakers):
        query = select(_OBSERVATION.c.speaker).where(_OBSERVATION.c.source == source, _OBSERVATION.c.speaker.in_(batch))
        query = query.group_by(_OBSERVATION.c.speaker).having(func.count() > newest)
        exceeding += connection.scalars(query)
    return sorted(exceeding)


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
