"""Heed reservations in a capacity: chips that are reserved for a part of a window are not free for others.

A window that starts later counts the chips of jobs that will have ended by then as not allocated.
"""

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from sqlalchemy import ColumnElement, Connection, select

from trninv.database.as_of import current_time
from trninv.database.tables import TABLES
from trninv.errors import SeveralModelsError
from trninv.inventory.state.chip_ids import parse_chip_ids
from trninv.placement.allocations.reservations import Window, ended_by, overlapping
from trninv.placement.candidates.free_capacity import FreeCapacity, pack_by_domain, read_capacity
from trninv.routing.snapshot import Snapshot
from trninv.solvers.torus_blocks import MaskRows
from trninv.units import format_timestamp

_RESERVATION, _JOB, _ALLOCATION = (TABLES[name] for name in ("reservation", "job", "allocation"))
_IS_MAINTENANCE: Final = _RESERVATION.c.kind == "maintenance"


def with_reservations(
    snapshot: Snapshot, capacity: FreeCapacity, window: Window, own: str | None = None
) -> FreeCapacity:
    """Return a copy of a capacity for a job in a window, which may have the chips of the reservation named ``own``."""
    reserved = _reserved_chips(snapshot, capacity, overlapping(window, own))
    allocated, now = capacity.allocated, current_time(snapshot.connection)
    if window.start > format_timestamp(now):
        ended = _chips_of_jobs(snapshot.connection, ended_by(window.start, now))
        allocated = allocated & ~pack_by_domain(ended, capacity.group, capacity.model)[capacity.ordinals]
    return replace(capacity, allocated=allocated, reserved=reserved)


def with_current_reservations(snapshot: Snapshot, capacity: FreeCapacity) -> FreeCapacity:
    """Return a copy of a capacity in which chips that are reserved now are not free."""
    present = overlapping(Window.moment(current_time(snapshot.connection)))
    return replace(capacity, reserved=_reserved_chips(snapshot, capacity, present))


def read_current_capacity(snapshot: Snapshot, scope: str) -> FreeCapacity | None:
    """Return the capacity of a scope with the reservations of now; None if it has domains of several models.

    Raises
    ------
    AddressError, UnknownAddressError, WrongLevelError

    """
    try:
        return with_current_reservations(snapshot, read_capacity(snapshot, scope))
    except SeveralModelsError:
        return None


def reserved_from_now(snapshot: Snapshot, capacity: FreeCapacity, until: str | None) -> MaskRows | None:
    """Return the chips that are reserved for a part of the time from now, by the capacity's rows; None if none are.

    Parameters
    ----------
    until
        The end of that time; None or a time that has passed: no end.

    """
    window = Window.of_job(format_timestamp(current_time(snapshot.connection)), until)
    return _reserved_chips(snapshot, capacity, overlapping(window))


def without_maintenance(snapshot: Snapshot, capacity: FreeCapacity, window: Window) -> FreeCapacity:
    """Return a copy in whose scope there are no chips that are in maintenance for a part of a window."""
    condition = overlapping(window) & _IS_MAINTENANCE
    out_of_service = _reserved_chips(snapshot, capacity, condition)
    return capacity if out_of_service is None else replace(capacity, up=capacity.up & ~out_of_service)


def _reserved_chips(snapshot: Snapshot, capacity: FreeCapacity, condition: ColumnElement[bool]) -> MaskRows | None:
    """Return the chips of the reservations that meet a condition, by the capacity's rows; None if none do."""
    query = select(_RESERVATION.c.id, _RESERVATION.c.chip_ids)
    rows = snapshot.connection.execute(query.where(_RESERVATION.c.cluster_id == capacity.group.id, condition)).all()
    masks: MaskRows | None = None
    for row in rows:
        key = ("reserved chips", row.id, capacity.group.model)
        chips = snapshot.cached(key, partial(_pack_chips, row.chip_ids, capacity))[capacity.ordinals]
        masks = chips if masks is None else np.bitwise_or(masks, chips)
    return masks


def _pack_chips(chip_ids: str, capacity: FreeCapacity) -> MaskRows:
    return pack_by_domain(parse_chip_ids(chip_ids) or (), capacity.group, capacity.model)


def _chips_of_jobs(connection: Connection, condition: ColumnElement[bool]) -> list[int]:
    """Return the ids of the chips of jobs that meet a condition."""
    query = select(_ALLOCATION.c.chip_id).join(_JOB, _JOB.c.id == _ALLOCATION.c.job_id)
    return list(connection.scalars(query.where(_ALLOCATION.c.ended_at.is_(None), condition)))
