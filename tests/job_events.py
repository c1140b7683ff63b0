"""What the history tells of jobs, for those who ask it whether that is right."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine

from trninv.database.engine import read_transaction
from trninv.history.events import Event, list_events
from trninv.inventory.seeding.verification import verify_history
from trninv.inventory.state import hash_chain
from trninv.placement.placement_fleet import Fleet

D = "u-trn2x64/d0"
CLUSTER = "u-trn2x64"


def happened(of: Connection | Fleet | Engine, scope: str | None = None, **tests: Any) -> list[Event]:
    """The oldest first."""
    if isinstance(of, Connection):
        return list(list_events(of, scope, limit=1_000, **tests))[::-1]
    with read_transaction(of.engine if isinstance(of, Fleet) else of) as connection:
        return happened(connection, scope, **tests)


def done(found: Sequence[Event]) -> list[tuple[str | None, str | None, str]]:
    return [(each.action, each.job, each.address) for each in found]


def is_sound(engine: Engine) -> None:
    """All of it is sealed, and nothing is wrong with it."""
    with read_transaction(engine) as connection:
        found = hash_chain.verify_chain(connection)
        assert (found.broken, found.unsealed) == (None, 0)
        assert list(verify_history(connection, found)) == []
