"""Encode the states of an event as one number, in SQL."""

from functools import lru_cache, reduce
from typing import Any, Final

from sqlalchemy import ColumnElement, Integer, Text, case, func, literal_column, or_

from trninv.database.tables import STATES, TABLES

_EVENT = TABLES["state_event"]
_BASE: Final = literal_column(str(len(STATES)), Integer)
_PAIR: Final = literal_column(str(len(STATES) ** 2), Integer)
_STATE_NUMBERS: Final[dict[Any, Any]] = {
    literal_column(f"'{state}'", Text): literal_column(str(number), Integer) for number, state in enumerate(STATES)
}


def encode_event() -> ColumnElement[int]:
    """Encode an event's states before and after, and its part's own states, as `decode_states` expects them."""
    effective = encode_states(_EVENT.c.before, _EVENT.c.state)
    own_before = func.coalesce(_EVENT.c.own_before, _EVENT.c.before)
    own_state = func.coalesce(_EVENT.c.own_state, _EVENT.c.state)
    has_own = or_(_EVENT.c.own_before.is_not(None), _EVENT.c.own_state.is_not(None))
    return effective * _PAIR + case((has_own, encode_states(own_before, own_state)), else_=effective)


def encode_states(*states: ColumnElement[str]) -> ColumnElement[int]:
    """Encode states as the digits of one number, which SQLite sorts faster than texts.

    `decode_states` returns the states in the same order.
    """
    numbers = (case(_STATE_NUMBERS, value=state) for state in states)
    return reduce(lambda encoded, number: encoded * _BASE + number, numbers)


@lru_cache(maxsize=len(STATES) ** 4)
def decode_states(encoded: int) -> tuple[str, str, str, str]:
    """Return the states before and after, and the own states before and after."""
    base = len(STATES)
    before, state, own_before, own_state = (STATES[encoded // base**digit % base] for digit in (3, 2, 1, 0))
    return before, state, own_before, own_state
