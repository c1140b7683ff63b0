"""Declare the fields of events and how things relate to them."""

from typing import Any, Final

from sqlalchemy import ColumnElement, and_, case, func, literal_column, or_, select

from trninv.database.tables import TABLES
from trninv.inventory.schema.enumerations import ACTION, EVENT_SOURCE, PART_KIND, STATE
from trninv.inventory.schema.thing import Field, RelatedList, Relation, Sql, ValueFormat
from trninv.inventory.state.state_change import is_cascaded

EVENT: Final = TABLES["state_event"]
_PART_EVENT: Final = EVENT.alias("of_part")
_SAME: Final = and_(
    EVENT.c.before == EVENT.c.state,
    func.coalesce(EVENT.c.factor_ppm_before, literal_column("0"))
    == func.coalesce(EVENT.c.factor_ppm, literal_column("0")),
)
"""Only the part's own state changed, not the effective one, because its server is unhealthy."""
IS_STATE_CHANGE: Final = EVENT.c.action.is_(None)
"""The event is a change of a part's state, not an action on a job or a server."""


def _own_or_effective(column: str, own: str, tells: str) -> Sql:
    """Return a column of the effective condition, or the own one where only that changed; null for actions."""
    return case(
        (~IS_STATE_CHANGE, None), (and_(_SAME, EVENT.c[tells].is_not(None)), EVENT.c[own]), else_=EVENT.c[column]
    )


EVENT_FIELDS: Final = (
    Field("id", ValueFormat.ID, EVENT.c.id, "Opaque id.", is_filterable=False),
    Field(
        "event",
        ValueFormat.INT,
        EVENT.c.id,
        "Event number; numbers keep the order of the changes, even if the clock went back.",
    ),
    Field("batch", ValueFormat.INT, EVENT.c.batch, "Number of the first event of the same change.", nullable=True),
    Field("at", ValueFormat.TEXT, EVENT.c.at, "Time in UTC.", is_filterable=False),
    Field("who", ValueFormat.TEXT, EVENT.c.who, "Who made the change."),
    Field("source", ValueFormat.ENUM, EVENT.c.source, "Where it came from.", nullable=True, enumeration=EVENT_SOURCE),
    Field(
        "kind",
        ValueFormat.ENUM,
        EVENT.c.kind,
        "Kind of the part; null for an action.",
        nullable=True,
        enumeration=PART_KIND,
    ),
    Field(
        "action",
        ValueFormat.ENUM,
        EVENT.c.action,
        "Action on a job or on a server's cordon; null for a change of a part's state.",
        nullable=True,
        enumeration=ACTION,
    ),
    Field("job", ValueFormat.TEXT, EVENT.c.job, "Name of the job that started, moved or ended.", nullable=True),
    Field(
        "address",
        ValueFormat.TEXT,
        EVENT.c.address,
        "Address of the part, or the smallest place with all chips of the job; it may no longer exist.",
    ),
    Field(
        "before",
        ValueFormat.ENUM,
        _own_or_effective("before", "own_before", "own_before"),
        "State before: the effective one, or the part's own if only that changed. Null for an action.",
        nullable=True,
        enumeration=STATE,
    ),
    Field(
        "factor_before",
        ValueFormat.MILLIONTHS,
        _own_or_effective("factor_ppm_before", "own_factor_ppm_before", "own_before"),
        "Fraction of its bandwidth that a degraded part carried before.",
        nullable=True,
    ),
    Field(
        "after",
        ValueFormat.ENUM,
        _own_or_effective("state", "own_state", "own_state"),
        "State after, effective or own as before; null for an action.",
        nullable=True,
        enumeration=STATE,
    ),
    Field(
        "factor",
        ValueFormat.MILLIONTHS,
        _own_or_effective("factor_ppm", "own_factor_ppm", "own_state"),
        "Fraction of its bandwidth that a degraded part carries after.",
        nullable=True,
    ),
    Field("why", ValueFormat.TEXT, EVENT.c.why, "The reason given."),
    Field(
        "cascaded",
        ValueFormat.BOOLEAN,
        is_cascaded(),
        "Whether the event is cascaded: it followed from an event of the part's server.",
    ),
    Field(
        "clock_went_back", ValueFormat.BOOLEAN, EVENT.c.clock_went_back, "Whether the previous event has a later time."
    ),
)


def is_at_or_below(address: ColumnElement[Any], place: ColumnElement[Any]) -> Sql:
    """Return the condition that an address is a place, below it, or a link whose first end is at or below it."""
    prefix_ends = {"/": "0", "--": "-."}  # the next character or text in sort order
    ranges = (
        and_(address >= place + _text(prefix), address < place + _text(end)) for prefix, end in prefix_ends.items()
    )
    return or_(address == place, *ranges)


def _text(text: str) -> Sql:
    return literal_column(f"'{text}'", EVENT.c.address.type)


def event_relations(address: Sql, *, include_parts: bool = False) -> tuple[Relation, RelatedList]:
    """Return the last event of a thing with an address and the list of all its events.

    Parameters
    ----------
    include_parts
        Whether events of places below it count too, and of links whose first end is one of them.
    """
    description = "it, of everything in it and of links whose first end is in it" if include_parts else "it"
    where = is_at_or_below(_PART_EVENT.c.address, address) if include_parts else _PART_EVENT.c.address == address
    changed = select(func.max(_PART_EVENT.c.id)).where(where, _PART_EVENT.c.action.is_(None))
    last = changed.correlate_except(_PART_EVENT).scalar_subquery()
    return (
        Relation(
            "last_change", ("event",), last, f"The latest state change of {description}; null: none.", nullable=True
        ),
        RelatedList(
            "events",
            "event",
            (EVENT.c.address,),
            address,
            f"Events of {description}, oldest first.",
            by_containment=include_parts,
        ),
    )
