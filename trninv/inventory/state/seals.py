"""Check that no seal is missing and that a seal noted elsewhere (an anchor) is unchanged, for `trninv verify`.

A seal is a digest of all events up to one event. trninv seals each of its own changes in the transaction of the change;
events of plain SQL are sealed with the next such change. A migration seals all events at once, so that missing seals of
earlier changes cannot be noticed.
"""

from collections.abc import Iterator

from sqlalchemy import Connection, func, select, union_all

from trninv.database.tables import TABLES
from trninv.errors import UsageError
from trninv.inventory.state.hash_chain import chain_restart, former_seal, last_archived_event
from trninv.inventory.state.replay import MAX_EXAMPLES, HistoryMismatch
from trninv.inventory.state.sealed_rows import changed_rows

_EVENT, _SEAL, _START = (TABLES[name] for name in ("state_event", "event_seal", "history_start"))
_DIGITS = 64
"""The number of hexadecimal digits of a SHA-256."""


def missing_seals(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield one mismatch for all of trninv's own changes that have no seal, if any."""
    migrated = connection.scalar(select(func.max(_START.c.event)).where(_START.c.cause == "migrate")) or 0
    last, batch = func.max(_EVENT.c.id).label("last"), _EVENT.c.batch
    changes = select(last).where(_EVENT.c.id > migrated, _EVENT.c.source != "sql").group_by(batch)
    migration = select(_EVENT.c.id.label("last")).where(_EVENT.c.id == migrated)
    ends = union_all(changes, migration).subquery()
    query = select(ends.c.last).where(ends.c.last.not_in(select(_SEAL.c.id))).order_by(ends.c.last)
    if missing := connection.scalars(query).all():
        listed = ", ".join(map(str, missing[:MAX_EXAMPLES])) + (", …" if len(missing) > MAX_EXAMPLES else "")
        message = f"{len(missing):,} of the changes made by trninv have no seal: those that ended with event {listed}"
        yield HistoryMismatch("", "event_seal", "missing", message)


def changed_sealed_rows(connection: Connection) -> Iterator[HistoryMismatch]:
    """Yield a mismatch for each table, besides those of the history, whose rows are not as they were sealed."""
    for table, problem in changed_rows(connection):
        yield HistoryMismatch("", table, "changed", problem)


def anchor_problems(connection: Connection, anchor: tuple[int, str]) -> Iterator[HistoryMismatch]:
    """Yield the difference between a seal noted elsewhere and the stored one, if any.

    A migration that renames actions in the events restarts the chain: all seals are computed again. A seal noted before
    that is compared with the one that the event had then.
    """
    event, digest = anchor
    stored_digest = connection.scalar(select(_SEAL.c.sha256).where(_SEAL.c.id == event))
    if stored_digest == digest:
        return
    last_archived, restart = last_archived_event(connection), chain_restart(connection)
    if stored_digest is not None and restart and event <= restart.event:
        former_digest = former_seal(connection, restart, event)
        if former_digest is None and event == restart.event:
            former_digest = restart.sha256
        if former_digest == digest:
            return
        if former_digest is None:
            message = (
                f"schema version {restart.schema_version} restarted the chain at event {restart.event}: "
                "an older seal can be checked only against an archive"
            )
            yield HistoryMismatch("", "event_seal", "missing", message)
            return
    if stored_digest is None and last_archived and event < last_archived.id:
        archive = f"the archive {last_archived.directory}"
        message = f"seal {event} was moved with events up to {last_archived.id} to {archive}: name a newer seal"
    elif stored_digest is None:
        message = f"there is no seal of event {event}: events or seals were removed, or this is another database"
    else:
        message = f"the seal of event {event} is {stored_digest}, not {digest}: the history up to it was changed"
    yield HistoryMismatch("", "event_seal", "missing" if stored_digest is None else "changed", message)


def parse_anchor(text: str) -> tuple[int, str]:
    """Parse a seal's event and digest from ``N:SHA256``."""
    event, _, digest = text.partition(":")
    is_digest = len(digest) == _DIGITS and set(digest.lower()) <= set("0123456789abcdef")
    if not (is_digest and event.isascii() and event.isdigit() and len(event) < 19):  # noqa: PLR2004 # fits into 63 bits
        raise UsageError(f"seal {text[:100]!r}: write N:SHA256, as trninv verify and trninv status print it")
    return int(event), digest.lower()
