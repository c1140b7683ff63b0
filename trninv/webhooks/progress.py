"""Store how far each receiver is, so that sending goes on there after a restart, and messages that were given up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import orjson
from sqlalchemy import Connection, delete, insert, select, update

from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import NotFoundError
from trninv.units import current_timestamp
from trninv.webhooks.message import Message
from trninv.webhooks.receiver import BodyFormat

LOCK: Final = "webhook_receiver"
"""The table that writers lock on PostgreSQL."""
_RECEIVER: Final = TABLES["webhook_receiver"]
_DEAD_LETTER: Final = TABLES["webhook_dead_letter"]
_MAX_ERROR: Final = 500
MAX_DEAD_LETTERS: Final = 10_000
"""Dead letters that are kept of a receiver; beyond it, the oldest are removed."""


@dataclass(frozen=True, slots=True)
class ReceiverProgress:
    """What a receiver has got.

    Attributes
    ----------
    last_event
        Number of the last event that was sent, or was not selected.
    incidents
        What is known of each open incident, by its id.
    checks
        Whether each check passes, by its name.

    """

    last_event: int
    incidents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    checks: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReceiverStatus:
    """What was sent to a receiver."""

    name: Annotated[str, "Name of the receiver."]
    last_event: Annotated[int, "Number of the last event that was sent, or was not selected."]
    sent: Annotated[int, "Messages that it accepted."]
    failed: Annotated[int, "Attempts that failed."]
    error: Annotated[str | None, "Why the latest attempt failed; null if it did not."]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was given up."""

    id: Annotated[int, "Number of the message."]
    receiver: Annotated[str, "Name of the receiver."]
    type: Annotated[str, "What happened, such as incident.opened."]
    attempts: Annotated[int, "How often it was sent."]
    failed_at: Annotated[str, "When it was given up, UTC."]
    error: Annotated[str, "Why the last attempt failed."]
    message: Annotated[str, "Id of the message, the same in each attempt."]
    body: Annotated[str, "What is sent."]


def load_progress(connection: Connection, name: str) -> ReceiverProgress | None:
    """Return how far a receiver is; None for a new one."""
    row = connection.execute(select(_RECEIVER).where(_RECEIVER.c.name == name)).first()
    if row is None:
        return None
    return ReceiverProgress(row.last_event, orjson.loads(row.incidents), orjson.loads(row.checks))


def save_progress(
    connection: Connection,
    name: str,
    progress: ReceiverProgress,
    *,
    sent: int = 0,
    failed: int = 0,
    error: str | None = None,
) -> None:
    """Store how far a receiver is; add messages that it accepted and attempts that failed to their numbers."""
    values: dict[str, Any] = {
        "last_event": progress.last_event,
        "incidents": orjson.dumps(progress.incidents).decode(),
        "checks": orjson.dumps(progress.checks).decode(),
        "error": error and error[:_MAX_ERROR],
    }
    counts = {"sent": _RECEIVER.c.sent + sent, "failed": _RECEIVER.c.failed + failed}
    changed = connection.execute(update(_RECEIVER).where(_RECEIVER.c.name == name).values(**values, **counts))
    if not changed.rowcount:
        values |= {"id": next_id(connection, _RECEIVER), "name": name, "sent": sent, "failed": failed}
        connection.execute(insert(_RECEIVER).values(**values))


def add_dead_letter(
    connection: Connection, receiver: str, message: Message, body_format: BodyFormat, attempts: int, error: str
) -> None:
    """Store a message that was given up, and remove the oldest ones of this receiver beyond MAX_DEAD_LETTERS."""
    connection.execute(
        insert(_DEAD_LETTER).values(
            id=next_id(connection, _DEAD_LETTER),
            receiver=receiver,
            message=message.id,
            type=message.type,
            body=message.body(body_format).decode(),
            attempts=attempts,
            error=error[:_MAX_ERROR],
            failed_at=current_timestamp(),
        )
    )
    own = _DEAD_LETTER.c.receiver == receiver
    excess = select(_DEAD_LETTER.c.id).where(own).order_by(_DEAD_LETTER.c.id.desc()).offset(MAX_DEAD_LETTERS).limit(1)
    if (last := connection.scalar(excess)) is not None:
        connection.execute(delete(_DEAD_LETTER).where(own, _DEAD_LETTER.c.id <= last))


def list_receivers(connection: Connection) -> list[ReceiverStatus]:
    """Return the receivers that there have been, by name."""
    columns = [_RECEIVER.c[name] for name in ReceiverStatus.__slots__]
    return [ReceiverStatus(*row) for row in connection.execute(select(*columns).order_by(_RECEIVER.c.name))]


def list_dead_letters(connection: Connection, numbers: Sequence[int] = ()) -> list[DeadLetter]:
    """Return the messages that were given up, oldest first: all, or those with these numbers.

    Raises
    ------
    NotFoundError
        There is no message with a number.

    """
    columns = [_DEAD_LETTER.c[name] for name in DeadLetter.__slots__]
    query = select(*columns).order_by(_DEAD_LETTER.c.id)
    letters = [DeadLetter(*row) for row in connection.execute(query)]
    if missing := set(numbers) - {letter.id for letter in letters}:
        raise NotFoundError(f"there is no dead letter {min(missing)}; trninv webhooks list lists them")
    return [letter for letter in letters if not numbers or letter.id in numbers]


def remove_dead_letter(connection: Connection, number: int) -> None:
    """Remove a message that was accepted after all; nothing if it is gone."""
    connection.execute(delete(_DEAD_LETTER).where(_DEAD_LETTER.c.id == number))
