"""Resolve the jobs that a scenario assumes to run or to have ended.

A scenario is a hypothetical change under which a question is answered; nothing is written. The user names jobs and
places; free capacity and move plans need the ids of the chips.
"""

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
    """The jobs that a scenario ends or adds.

    Attributes
    ----------
    ended
        Ids of the freed chips, by the key of the job that ends.
    allocated
        Ids of the allocated chips, by the name of the job that gets them.
    first_key
        The key that the first added job would get; 0 if none is added.

    """

    ended: Mapping[int, Collection[int]] = field(default_factory=dict)
    allocated: Mapping[str, Collection[int]] = field(default_factory=dict)
    first_key: int = 0


def resolve_jobs(connection: Connection, changes: ScenarioChanges) -> JobScenario:
    """Resolve the jobs and places of a scenario: jobs end first, then others get chips if `allocate` would allow it.

    Raises
    ------
    UnknownJobError
        A job that should end does not exist or has ended.
    AddressError, UnknownAddressError, WrongLevelError, InvalidArgumentError
        A place does not exist or can't be allocated.
    ConflictError
        A chip is allocated, down or cordoned, or a job that should get chips already has some.

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
    """Return the ids of the chips of a job that the scenario adds; refuse chips that the job could not get.

    Parameters
    ----------
    ended
        Keys of the jobs that the scenario ends.
    allocated
        Chips of the jobs that the scenario added before this one, by their names.

    """
    check_name(name)
    chips = resolve_chips(connection, places, ()).keys()
    if (key := find_live_job(connection, OWN_SYSTEM, name)) is not None and key not in ended:
        raise ConflictError(f"job {name} already has chips; end it in the scenario too (--without {name})")
    refuse_allocated(connection, list(chips), ended)
    for other, other_chips in allocated.items():
        if shared := chips & set(other_chips):
            row = connection.execute(node_addresses().where(_T["node"].c.id == min(shared))).one()
            raise ConflictError(
                f"{row.address} is allocated to job {other} in this scenario; name other chips for {name}"
            )
    return chips
