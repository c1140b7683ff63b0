"""Read stored measurements of a place, and say which assumption a measurement above the limit breaks."""

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, func, select

from trninv.database.as_of import as_of_event
from trninv.database.tables import TABLES
from trninv.enumeration import DescribedEnum
from trninv.inventory.address.lookup import Place
from trninv.inventory.address.rows_in import rows_in

_MEASUREMENT, _START = TABLES["measurement"], TABLES["history_start"]
_GIB_TO_GB: Final = 1.074
"""2³⁰ over 10⁹, rounded up."""


class BrokenAssumption(DescribedEnum):
    """What is wrong with a measurement that is faster than the wiring allows."""

    UNITS = "UNITS", "Units: GiB taken for GB, or bits for bytes."
    DIRECTION = "DIRECTION", "Direction: both directions are counted together."
    PATH = "PATH", "Path: the wiring had no path between these places."
    RANKS = "RANKS", "Ranks: the size is that of one rank, or the ranks ran on other chips."


def broken_assumption(bandwidth: int, limit: int | None, ranks: int | None) -> BrokenAssumption | None:
    """Return the mildest assumption that explains a bandwidth above the limit; None if it is not above."""
    if limit is None or bandwidth <= limit:
        return None
    if not limit:
        return BrokenAssumption.PATH
    if bandwidth <= limit * _GIB_TO_GB:
        return BrokenAssumption.UNITS
    if bandwidth <= 2 * limit:
        return BrokenAssumption.DIRECTION
    if ranks is not None and bandwidth <= limit * ranks:
        return BrokenAssumption.RANKS
    return BrokenAssumption.UNITS


def read_measurements(connection: Connection, place: Place, maximum: int) -> tuple[list[Row[Any]], int]:
    """Return the newest measurements at or below a place, newest first, and the number of all of them.

    A measurement of an earlier cluster of the same name is omitted, and so is one after the time that is read.
    """
    condition = and_(rows_in(place, "measurement"), is_current(connection, place.address.partition("/")[0]))
    count = connection.scalar(select(func.count()).select_from(_MEASUREMENT).where(condition)) or 0
    newest = (_MEASUREMENT.c.measured_at.desc(), _MEASUREMENT.c.id.desc())
    rows = connection.execute(select(_MEASUREMENT).where(condition).order_by(*newest).limit(maximum)).all()
    return list(rows), count


def is_current(connection: Connection, cluster: str) -> ColumnElement[bool]:
    """Return the condition that a cluster existed when it was measured, and that this is not after the time read."""
    seeded = func.coalesce(
        select(func.max(_START.c.event)).where(_START.c.cluster == cluster, _START.c.cause == "seed").scalar_subquery(),
        0,
    )
    condition = _MEASUREMENT.c.event >= seeded
    event = as_of_event(connection)
    return condition if event is None else and_(condition, _MEASUREMENT.c.event <= event)
