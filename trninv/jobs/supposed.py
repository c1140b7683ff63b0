"""Jobs as they are supposed to be: some have ended, others hold places. Nothing is written."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from trninv.errors import ConflictError
from trninv.inventory.address import node_addresses
from trninv.inventory.ids import next_id
from trninv.inventory.schema import TABLES
from trninv.jobs.holding import OURS, check_name, live_job, system_and_id, unknown
from trninv.jobs.taking import chips_at, refuse_taken
from trninv.routing.scenario import Changes

_T = TABLES


@dataclass(frozen=True, slots=True)
class Supposed:
    """What is supposed of jobs, in ids.

    Attributes
    ----------
    ended
        Chips by the key of a job that gives them back.
    held
        Chips by the name of a job that takes them.
    first
        Key of the first of these, if it were held now.

    """

    ended: Mapping[int, Collection[int]] = field(default_factory=dict)
    held: Mapping[str, Collection[int]] = field(default_factory=dict)
    first: int = 0


def supposed(connection: Connection, changes: Changes) -> Supposed:
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
    for name in changes.without:
        if (key := live_job(connection, *system_and_id(name))) is None:
            raise unknown(connection, name)
        ours = allocation.c.job_id == key, allocation.c.ended.is_(None)
        ended[key] = connection.scalars(select(allocation.c.chip_id).where(*ours)).all()
    places: dict[str, list[str]] = {}
    for name, place in changes.with_:
        places.setdefault(name, []).append(place)
    held: dict[str, Collection[int]] = {}
    for name, each in places.items():
        held[name] = _taken(connection, name, each, ended, held)
    return Supposed(ended, held, next_id(connection, _T["job"]) if held else 0)


def _taken(
    connection: Connection,
    name: str,
    places: list[str],
    ended: Collection[int],
    held: Mapping[str, Collection[int]],
) -> Collection[int]:
    """The chips of a job that is held; refused where it could not be."""
    check_name(name)
    chips = chips_at(connection, places, ()).keys()
    if (key := live_job(connection, OURS, name)) is not None and key not in ended:
        raise ConflictError(f"job {name} holds chips already: suppose it ended as well (--without {name})")
    refuse_taken(connection, list(chips), ended)
    for other, theirs in held.items():
        if both := chips & set(theirs):
            named = connection.execute(node_addresses().where(_T["node"].c.id == min(both))).one()
            raise ConflictError(f"{named.address} is supposed to be held by job {other}: name other chips for {name}")
    return chips
