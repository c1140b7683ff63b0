"""Declare the fields of events, and the relations from things to their events.

An event is one recorded change: of a part's state, of a job's allocation or of a server's cordon.
"""

from typing import Any, Final

from sqlalchemy import Select, and_, case, func, literal_column, or_, select

from trninv.database.tables import TABLES
from trninv.inventory.address.rows_in import is_at_or_below
from trninv.inventory.schema.enumerations import ACTION, EVENT_SOURCE, PART_KIND, STATE
from trninv.inventory.schema.thing import Field, RelatedList, Relation, Sql, ValueFormat, column_field
from trninv.inventory.state.state_change import is_cascaded

EVENT: Final = TABLES["state_event"]
_PART_EVENT: Final = EVENT.alias("of_part")
_LATER: Final = EVENT.alias("later_move")
_IS_EFFECTIVE_SAME: Final = and_(
    EVENT.c.before == EVENT.c.state,
    func.coalesce(EVENT.c.factor_ppm_before, literal_column("0"))
    == func.coalesce(EVENT.c.factor_ppm, literal_column("0")),
)
"""True if the effective state and factor did not change; the own state may have, if the part's server is unhealthy."""
IS_STATE_CHANGE: Final = EVENT.c.action.is_(None)
"""True of a change of a part's state, false of an action on a job or a server."""


def _own_or_effective(column: str, own_column: str, own_state: str) -> Sql:
    """Return a column of a part's effective condition, or of its own where only that changed; null for actions."""
    return case(
        (~IS_STATE_CHANGE, None),
        (and_(_IS_EFFECTIVE_SAME, EVENT.c[own_state].is_not(None)), EVENT.c[own_column]),
        else_=EVENT.c[column],
    )


def _moved_from() -> Sql:
    """Return whether a job left the event's place; null unless the event is a move.

    A move by trninv leaves the job's old row without chips; an import moves the row itself, with two events.
    """
    next_move: Select[Any] = select(literal_column("1")).where(
        _LATER.c.action == "move",
        _LATER.c.part_id == EVENT.c.part_id,
        _LATER.c.id > EVENT.c.id,
        _LATER.c.batch == EVENT.c.batch,
    )
    departed = or_(EVENT.c.chip_ids.is_(None), next_move.correlate_except(_LATER).exists())
    return case((EVENT.c.action == "move", departed))


EVENT_FIELDS: Final = (
    Field("id", ValueFormat.ID, EVENT.c.id, "Opaque id.", is_filterable=False),
    column_field(
        EVENT.c.id, "Event number; numbers keep the order of the changes, even if the clock went back.", name="event"
    ),
    column_field(EVENT.c.batch, "Number of the first event of the same change."),
    column_field(EVENT.c.at, "Time in UTC.", ValueFormat.TIME),
    column_field(EVENT.c.who, "Who made the change."),
    column_field(EVENT.c.source, "Where it came from.", enumeration=EVENT_SOURCE),
    column_field(EVENT.c.kind, "Kind of the part; null for an action.", enumeration=PART_KIND),
    column_field(
        EVENT.c.action,
        "Action on a job or on a server's cordon; null for a change of a part's state.",
        enumeration=ACTION,
    ),
    column_field(EVENT.c.job, "Name of the job or reservation."),
    Field(
        "moved_from",
        ValueFormat.BOOLEAN,
        _moved_from(),
        "Of a move: true at the place that the job left, false at the one that it got. Null for any other event.",
        nullable=True,
        is_filterable=False,
    ),
    column_field(
        EVENT.c.address, "Address of the part, or the smallest place with all chips of the job; it may no longer exist."
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
        "State after: the effective one, or the part's own if only that changed. Null for an action.",
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
    column_field(EVENT.c.why, "The reason for the change."),
    Field(
        "cascaded",
        ValueFormat.BOOLEAN,
        is_cascaded(),
        "Whether the event is cascaded: it followed from an event of the part's server.",
    ),
    column_field(EVENT.c.clock_went_back, "Whether the previous event has a later time."),
)


def event_relations(address: Sql, *, include_parts: bool = False) -> tuple[Relation, RelatedList]:
    """Return the relation from a thing with an address to its last change of state, and the list of its events.

    Parameters
    ----------
    include_parts
        Whether to include events of everything below the address, and of links whose first end is at or below it.
    """
    description = "it, of everything in it and of links whose first end is in it" if include_parts else "it"
    where = is_at_or_below(_PART_EVENT.c.address, address) if include_parts else _PART_EVENT.c.address == address
    last_id = select(func.max(_PART_EVENT.c.id)).where(where, _PART_EVENT.c.action.is_(None))
    last_change = last_id.correlate_except(_PART_EVENT).scalar_subquery()
    return (
        Relation(
            "last_change",
            ("event",),
            last_change,
            f"The latest state change of {description}; null: none.",
            nullable=True,
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
