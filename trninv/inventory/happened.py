"""What can be asked of an event, in SQL: its fields, and of which places it is."""

from typing import Any, Final

from sqlalchemy import ColumnElement, and_, case, func, literal_column, or_, select

from trninv.inventory.enumerations import ACTION, EVENT_SOURCE, PART_KIND, STATE
from trninv.inventory.fields import Field, Form, Many, One, Sql
from trninv.inventory.schema import TABLES
from trninv.inventory.state import taken_along

EVENT: Final = TABLES["state_event"]
_OF: Final = EVENT.alias("of_part")
_SAME: Final = and_(
    EVENT.c.before == EVENT.c.state,
    func.coalesce(EVENT.c.factor_ppm_before, literal_column("0"))
    == func.coalesce(EVENT.c.factor_ppm, literal_column("0")),
)
"""Only what the part would be without its server has changed."""


OF_STATE: Final = EVENT.c.action.is_(None)
"""A row that tells a change of a part's state, and not what was done to a job or for jobs' sake."""


def _own(column: str, own: str, tells: str) -> Sql:
    """A condition's column, or that of the part's own condition where only that has changed; null of what has none."""
    return case((~OF_STATE, None), (and_(_SAME, EVENT.c[tells].is_not(None)), EVENT.c[own]), else_=EVENT.c[column])


FIELDS: Final = (
    Field("id", Form.ID, EVENT.c.id, "Opaque id.", listed=False),
    Field("event", Form.WHOLE, EVENT.c.id, "Its number: they keep the order of the changes, whatever the clock said."),
    Field("batch", Form.WHOLE, EVENT.c.batch, "Number of the first event of the same change.", null=True),
    Field("at", Form.TEXT, EVENT.c.at, "When, in UTC.", listed=False),
    Field("who", Form.TEXT, EVENT.c.who, "Who made the change."),
    Field("source", Form.ENUM, EVENT.c.source, "Where it came from.", null=True, enumeration=EVENT_SOURCE),
    Field(
        "kind",
        Form.ENUM,
        EVENT.c.kind,
        "What kind of part it is, of a change of state.",
        null=True,
        enumeration=PART_KIND,
    ),
    Field(
        "action",
        Form.ENUM,
        EVENT.c.action,
        "What was done to a job, or to a server for jobs' sake; null: a part's state was changed.",
        null=True,
        enumeration=ACTION,
    ),
    Field("job", Form.TEXT, EVENT.c.job, "Name of the job that began, moved or ended.", null=True),
    Field(
        "address",
        Form.TEXT,
        EVENT.c.address,
        "Address that the part had, or the least place that has all chips of the job; it may be gone.",
    ),
    Field(
        "before",
        Form.ENUM,
        _own("before", "own_before", "own_before"),
        "Its state before; of a part whose server is not up either, its own. Null: it is of no part's state.",
        null=True,
        enumeration=STATE,
    ),
    Field(
        "factor_before",
        Form.MILLIONTHS,
        _own("factor_ppm_before", "own_factor_ppm_before", "own_before"),
        "The part that it carried before, of what was degraded.",
        null=True,
    ),
    Field(
        "after",
        Form.ENUM,
        _own("state", "own_state", "own_state"),
        "Its state from then on; null as before.",
        null=True,
        enumeration=STATE,
    ),
    Field(
        "factor",
        Form.MILLIONTHS,
        _own("factor_ppm", "own_factor_ppm", "own_state"),
        "The part that it carried from then on, of what was degraded.",
        null=True,
    ),
    Field("why", Form.TEXT, EVENT.c.why, "The reason that was given."),
    Field("taken_along", Form.YES, taken_along(), "Whether its server was changed, and took it along."),
    Field("clock_went_back", Form.YES, EVENT.c.clock_went_back, "Whether the event before it has a later time."),
)


def inside(address: ColumnElement[Any], place: ColumnElement[Any]) -> Sql:
    """That an address is a place's, of what it holds, or of a link that is named from there."""
    after = {"/": "0", "--": "-."}  # what comes next
    ranges = (and_(address >= place + _text(begins), address < place + _text(ends)) for begins, ends in after.items())
    return or_(address == place, *ranges)


def _text(text: str) -> Sql:
    return literal_column(f"'{text}'", EVENT.c.address.type)


def history_of(address: Sql, *, holds: bool = False) -> tuple[One, Many]:
    """The last event of a thing with an address, and all of them.

    Parameters
    ----------
    holds
        Whether those of what it holds are among them, and of links that are named from there.

    """
    its = "it, of what it holds and of links named from there (A of A--B)" if holds else "it"
    where = inside(_OF.c.address, address) if holds else _OF.c.address == address
    changed = select(func.max(_OF.c.id)).where(where, _OF.c.action.is_(None))
    last = changed.correlate_except(_OF).scalar_subquery()
    return (
        One("last_change", ("event",), last, f"The newest change of state of {its}; null: none.", null=True),
        Many("events", "event", (EVENT.c.address,), address, f"Events of {its}, the oldest first.", inside=holds),
    )
