"""Change states at a time of the test's choice."""

from datetime import datetime
from unittest.mock import patch

from sqlalchemy import text

from trninv.database.engine import write_transaction
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import set_state
from trninv.placement.placement_fleet import Fleet


def change(fleet: Fleet, at: datetime, state: str, *addresses: str, why: str = "chance") -> int:
    """Set states at a time; return the number of the last event."""
    condition = Condition.from_user(state, 0.5 if state == "degraded" else None)
    with patch("trninv.inventory.state.hash_chain.datetime") as clock, write_transaction(fleet.engine) as connection:
        clock.now.return_value = at
        set_state(connection, addresses, condition, why=why, who="dice")
        return connection.scalar(text("SELECT coalesce(max(id), 0) FROM state_event")) or 0
