"""Whether the history has every seal that it must have, and one that was written down elsewhere.

Whatever trninv itself changes is sealed in the transaction of the change: only plain SQL leaves events without a seal,
and each change of trninv's own has one. Migrating seals everything at once, so nothing can be said of what was before.
"""

from collections.abc import Iterator

from sqlalchemy import Connection, func, select, union_all

from trninv.errors import UsageError
from trninv.inventory.chain import removed
from trninv.inventory.replay import SHOWN, Fault
from trninv.inventory.schema import TABLES

_EVENT, _SEAL, _START = (TABLES[name] for name in ("state_event", "event_seal", "history_start"))
_DIGITS = 64


def unsealed(connection: Connection) -> Iterator[Fault]:
    """Yield changes of trninv's own that have no seal."""
    migrated = connection.scalar(select(func.max(_START.c.event)).where(_START.c.cause == "migrate")) or 0
    last, batch = func.max(_EVENT.c.id).label("last"), _EVENT.c.batch
    changes = select(last).where(_EVENT.c.id > migrated, _EVENT.c.source != "sql").group_by(batch)
    all_then = select(_EVENT.c.id.label("last")).where(_EVENT.c.id == migrated)
    ends = union_all(changes, all_then).subquery()
    query = select(ends.c.last).where(ends.c.last.not_in(select(_SEAL.c.id))).order_by(ends.c.last)
    if missing := connection.scalars(query).all():
        listed = ", ".join(map(str, missing[:SHOWN])) + (", …" if len(missing) > SHOWN else "")
        says = f"{len(missing):,} of the changes that trninv sealed have no seal, those that ended with event {listed}"
        yield Fault("", "event_seal", "missing", says)


def anchored(connection: Connection, anchor: tuple[int, str]) -> Iterator[Fault]:
    """Yield what is wrong where a seal that was written down elsewhere is not the one in the database."""
    event, digest = anchor
    found = connection.scalar(select(_SEAL.c.sha256).where(_SEAL.c.id == event))
    if found == digest:
        return
    gone = removed(connection)
    if found is None and gone and event < gone.id:
        says = f"seal {event} went with events up to {gone.id} into the archive {gone.directory}: name a newer seal"
    elif found is None:
        says = f"there is no seal of event {event}: events or seals were removed, or this is another database"
    else:
        says = f"the seal of event {event} is {found}, not {digest}: the history up to there is another"
    yield Fault("", "event_seal", "missing" if found is None else "changed", says)


def read(text: str) -> tuple[int, str]:
    """Return event and digest of a seal that is written ``N:SHA256``.

    Raises
    ------
    UsageError

    """
    event, _, digest = text.partition(":")
    is_digest = len(digest) == _DIGITS and set(digest.lower()) <= set("0123456789abcdef")
    if not (is_digest and event.isascii() and event.isdigit() and len(event) < 19):  # noqa: PLR2004 # of 63 bits
        raise UsageError(f"seal {text[:100]!r}: write N:SHA256, as trninv verify and trninv status print it")
    return int(event), digest.lower()
