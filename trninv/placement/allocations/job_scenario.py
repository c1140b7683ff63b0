"""Resolve the jobs that a scenario assumes to run or to have ended."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import ConflictError
from trninv.inventory.address.expressions import node_addresses
from trninv.placement.allocations.allocation_rows import refuse_allocated, resolve_chips
from trninv.placement.allocations.job_allocations import (
    OWN_SYSTEM,
    check_name,
    find_live_job,
    split_job_name,
    unknown_job_error,
)
from trninv.routing.scenario import ScenarioChanges

_T = TABLES


@dataclass(frozen=True, slots=True)
class JobScenario:
    """What is supposed of jobs, in ids.

    Attributes
    ----------
    ended
        Chips by the key of a job that gives them back.
    allocated
        Chips by the name of a job that takes them.
    first_key
        Key of the first of these, if it were held now.

    """

    ended: Mapping[int, Collection[int]] = field(default_factory=dict)
    allocated: Mapping[str, Collection[int]] = field(default_factory=dict)
    first_key: int = 0


def resolve_jobs(connection: Connection, changes: ScenarioChanges) -> JobScenario:
    """Look up the jobs and places of a scenario: first jobs end, then others take chips, as `hold` lets them.

    Raises
    ------
    UnknownJobError
        A job that is to end holds nothing.
    AddressError, UnknownAddressError, WrongLevelError, LimitError
        A place is none that can be held.
    ConflictError
        It is held, down or closed, or the job holds other chips.

    """
    allocation = _T["allocation"]
    ended: dict[int, Collection[int]] = {}
    for name in changes.assumed_released:
        if (key := find_live_job(connection, *split_job_name(name))) is None:
            raise unknown_job_error(connection, name)
        is_allocated = allocation.c.job_id == key, allocation.c.ended_at.is_(None)
        ended[key] = connection.scalars(select(allocation.c.chip_id).where(*is_allocated)).all()
    places: dict[str, list[str]] = {}
    for name, place in changes.assumed_allocations:
        places.setdefault(name, []).append(place)
    allocated: dict[str, Collection[int]] = {}
    for name, addresses in places.items():
        allocated[name] = _assumed_chips(connection, name, addresses, ended, allocated)
    return JobScenario(ended, allocated, next_id(connection, _T["job"]) if allocated else 0)


def _assumed_chips(
    connection: Connection,
    name: str,
    places: list[str],
    ended: Collection[int],
    allocated: Mapping[str, Collection[int]],
) -> Collection[int]:
    """Resolve the chips of an assumed job; refuse a job that could not have them."""
    check_name(name)
    chips = resolve_chips(connection, places, ()).keys()
    if (key := find_live_job(connection, OWN_SYSTEM, name)) is not None and key not in ended:
        raise ConflictError(f"job {name} holds chips already: suppose it ended as well (--without {name})")
    refuse_allocated(connection, list(chips), ended)
    for other, other_chips in allocated.items():
        if shared := chips & set(other_chips):
            row = connection.execute(node_addresses().where(_T["node"].c.id == min(shared))).one()
            raise ConflictError(f"{row.address} is supposed to be held by job {other}: name other chips for {name}")
    return chips
