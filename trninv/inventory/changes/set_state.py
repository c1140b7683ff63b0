"""Set the state of parts."""

from collections.abc import Sequence
from typing import Annotated

from sqlalchemy import Connection

from trninv.database.tables import STATE_MEANINGS
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.inventory.state import state_change
from trninv.inventory.state.condition import Condition
from trninv.inventory.state.state_change import ConditionChange


@change(
    scope="operate",
    returns={"changes": "Parts whose state changed, in the order of the input; others are omitted."},
    undo="`trninv set ADDRESS… STATE --why REASON` with the state before, which the result and `trninv events` show.",
    command="set",
    examples=(
        'set u-trn2x64/d0/s1/c5 down --why "HBM errors, ticket 4711"',
        'set u-trn2x64/d0/s0/c0--u-trn2x64/d0/s1/c0 degraded --factor 0.5 --why "half of its lanes"',
        'set u-trn2x64/d0/s1/c5 up --why "replaced"',
    ),
)
def set_state(
    connection: Connection,
    addresses: Annotated[
        Sequence[str],
        Argument(
            "Servers, chips, switches, NICs, network nodes and links; a server's state cascades to its parts.",
            metavar="ADDRESS…",
        ),
    ],
    state: Annotated[str, Argument("Their new state.", words=STATE_MEANINGS, is_text=True)],
    *,
    why: str,
    who: str,
    factor: Annotated[
        float | None,
        Argument(
            "Only for degraded: the fraction of bandwidth that is left, more than 0 and less than 1.", metavar="F"
        ),
    ] = None,
    unchanged_since: Annotated[
        int | None,
        Argument(
            "Number of the latest event that the client knows (Event.event; 0: none). The change is refused with "
            "CONFLICT if one of the parts changed after it.",
            metavar="EVENT",
        ),
    ] = None,
    source: str = "command",
) -> list[ConditionChange]:
    """Set the state of parts: up, degraded, down or maintenance.

    A server's state cascades to its chips and NICs, which return to their own states once the server is up. Either all
    parts are set or none.
    """
    condition = Condition.from_user(state, factor)
    return state_change.set_state(
        connection, addresses, condition, why=why, who=who, source=source, unchanged_since=unchanged_since
    )
