"""Record what happens to tokens: who created, rotated or revoked them, and their first use.

Every change made with a token records the principal's name as its author; these events add what no other event says.
They are append only: triggers refuse to change or delete them (`trninv.inventory.triggers.guards`), and the seals of
the history cover them (`trninv.inventory.state.sealed_rows`). Only principals with the scope admin may list them, so
they are not part of the fleet's history, which everybody may read.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, insert, select, update

from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.inventory.state.sealed_rows import next_sealed_id

_EVENT: Final = TABLES["token_event"]
_PRINCIPAL, _TOKEN = TABLES["principal"], TABLES["token"]


def record_token_events(
    connection: Connection, token_ids: Iterable[int], action: str, *, who: str, time: str, detail: str | None = None
) -> None:
    """Record that something happened to tokens, within the transaction that does it.

    Parameters
    ----------
    token_ids
        The tokens; without any, nothing is recorded.
    action
        One of TOKEN_ACTION_MEANINGS.
    detail
        What the action's name does not say, such as the account of an enrolled instance.
    """
    event = {"action": action, "who": who, "at": time, "detail": detail}
    _insert_events(connection, [{"token_id": token_id, **event} for token_id in token_ids])


def _insert_events(connection: Connection, events: Sequence[Mapping[str, Any]]) -> None:
    if events:
        first_id = next_sealed_id(connection, _EVENT)
        connection.execute(insert(_EVENT), [{"id": key, **event} for key, event in enumerate(events, first_id)])


def record_uses(connection: Connection, uses: Mapping[int, str]) -> None:
    """Store when tokens, given by their ids, were last used; a token's first use is an event."""
    name_by_id = dict[int, str]()
    for batch in batches(sorted(uses)):
        unused = select(_TOKEN.c.id, _PRINCIPAL.c.name).join(_PRINCIPAL, _PRINCIPAL.c.id == _TOKEN.c.principal_id)
        rows = connection.execute(unused.where(_TOKEN.c.id.in_(batch), _TOKEN.c.last_used.is_(None)))
        name_by_id |= {row.id: row.name for row in rows}
    events = ({"token_id": key, "who": name, "at": uses[key]} for key, name in name_by_id.items())
    _insert_events(connection, [{**event, "action": "use", "detail": None} for event in events])
    is_earlier = func.coalesce(_TOKEN.c.last_used, "") < bindparam("used")
    statement = update(_TOKEN).where(_TOKEN.c.id == bindparam("key"), is_earlier).values(last_used=bindparam("used"))
    connection.execute(statement, [{"key": token_id, "used": used} for token_id, used in uses.items()])
