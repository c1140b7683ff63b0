"""Reserve chips for a job or for maintenance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from trninv.database.as_of import current_time
from trninv.database.bulk_load import bulk_insert
from trninv.database.bulk_read import batches
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import ConflictError, DatabaseError, InvalidArgumentError
from trninv.inventory.change import change
from trninv.inventory.parameter import Argument
from trninv.placement.allocations.allocation_rows import (
    location_columns,
    next_reservation_key,
    refuse_allocated,
    resolve_chips,
)
from trninv.placement.allocations.job_allocations import change_transaction, check_name
from trninv.placement.allocations.reservations import (
    Reservation,
    Window,
    job_conflicts,
    join_conflicts,
    overlapping,
    parse_window,
    read_reservations,
    reservation_conflicts,
)
from trninv.placement.questions.placements import MAX_CHIPS, MAX_SERVERS, placements
from trninv.routing.revision_cache import RevisionCache
from trninv.routing.snapshot import Snapshot

if TYPE_CHECKING:
    from trninv.placement.questions.placements import PlacementsAnswer

_RESERVATION, _RESERVED_CHIP, _NODE = (TABLES[name] for name in ("reservation", "reserved_chip", "node"))


@dataclass(frozen=True, slots=True)
class ReservationResult:
    """A new reservation, and what is still in its way."""

    reservation: Reservation
    jobs: tuple[str, ...]


def _render(result: ReservationResult) -> Iterator[str]:
    yield f"reserved {result.reservation}"
    yield from (f"must end or move before: {job}" for job in result.jobs)


@change(
    scope="operate",
    returns={
        "reservation": "The reservation.",
        "jobs": "For maintenance: the jobs that may still have some of the chips then, in words.",
    },
    undo="`trninv unreserve NAME` cancels it.",
    render=_render,
    examples=(
        "reserve train-70b rainier --chips 64 --from 2026-12-01T08:00:00Z --until 2026-12-05T08:00:00Z",
        'reserve firmware u-trn2x64/d0/s3 --maintenance --until 4h --why "new firmware"',
    ),
)
def reserve(
    connection: Connection,
    name: Annotated[str, Argument("Name of the reservation.", metavar="NAME", is_text=True)],
    places: Annotated[
        Sequence[str],
        Argument("Chips, servers, racks and domains to reserve; with a size, one place to search.", metavar="PLACE…"),
    ],
    *,
    who: str,
    until: Annotated[
        str,
        Argument("When it ends: a time, or a duration from its start, such as 12h.", is_text=True, option="--until"),
    ],
    from_: Annotated[
        str | None,
        Argument(
            "When it begins: a time, or a duration from now, such as 1h; by default now. A time up to an hour ago is "
            "now, an earlier one is refused.",
            name="from",
            option="--from",
            metavar="TIME",
            is_text=True,
        ),
    ] = None,
    maintenance: Annotated[bool, Argument("Take the places out of service instead of keeping them for a job.")] = False,
    shape: Annotated[
        str | None, Argument("Box of a torus, rows × columns × servers, in any rotation.", is_text=True)
    ] = None,
    chips: Annotated[int | None, Argument("Number of chips, in a legal set", minimum=1, maximum=MAX_CHIPS)] = None,
    servers: Annotated[int | None, Argument("Number of whole servers", minimum=1, maximum=MAX_SERVERS)] = None,
    domains: Annotated[int | None, Argument("Number of whole domains", minimum=1, maximum=MAX_SERVERS)] = None,
    why: str = "",
    source: str = "command",
) -> ReservationResult:
    """Reserve chips for a job or for maintenance, from one time until just before another.

    Name the places, or a size to reserve the best place of that size, as `trninv place` finds it. Either all chips are
    reserved or none: the change is refused if a chip is reserved for a part of that time. Chips for a job must also be
    up, on no cordoned server and without a job that may still run then; maintenance lists such jobs.
    """
    check_name(name)
    size = {"shape": shape, "chips": chips, "servers": servers, "domains": domains}
    size_options = [f"--{name}" for name, value in size.items() if value is not None]
    if len(size_options) > 1:
        raise InvalidArgumentError(f"give only one of {' and '.join(size_options)}")
    if maintenance and size_options:
        raise InvalidArgumentError("maintenance is of named places; name them instead of a size")
    if size_options and len(places) != 1:
        raise InvalidArgumentError(f"{len(places)} places: with a size, name one place to search")
    with change_transaction(connection, who=who, why=why, source=source) as time:
        now = current_time(connection)
        window = parse_window(from_, until, now)
        if connection.scalar(select(_RESERVATION.c.id).where(overlapping(Window(time)), _RESERVATION.c.name == name)):
            raise ConflictError(f"a reservation {name} is not over; choose another name, or cancel it (unreserve)")
        if size_options:
            places = _best_places(connection, places[0], size, window)
        ids = sorted(resolve_chips(connection, places, ()))
        jobs = tuple(job_conflicts(connection, ids, window, now))
        conflicts = [*reservation_conflicts(connection, ids, overlapping(window)), *(() if maintenance else jobs)]
        if conflicts:
            raise ConflictError(
                f"{join_conflicts(conflicts)}; choose another time or other chips (trninv place --from)"
            )
        if not maintenance:
            refuse_allocated(connection, ids, _jobs_of(connection, ids))
        kind = "maintenance" if maintenance else "job"
        row = {"name": name, "kind": kind, "from_at": window.start, "until_at": window.end, "started_at": time}
        key = _insert(connection, ids, row | {"who": who, "why": why})
    (reservation,) = read_reservations(connection, _RESERVATION.c.id == key)
    return ReservationResult(reservation, jobs)


def _best_places(
    connection: Connection, scope: str, size: dict[str, int | str | None], window: Window
) -> Sequence[str]:
    """Return the best places of a size that are free in a window.

    Raises
    ------
    ConflictError
        There are none; the message names the reservations in the way.

    """
    snapshot = Snapshot(connection, RevisionCache(None))
    times = {"from_": window.start, "until": window.end}
    answer = cast("PlacementsAnswer", placements.function(snapshot, scope, **size, k=1, **times))
    if not answer.placements:
        reserved = f": reserved are {join_conflicts(answer.reservations)}" if answer.reservations else ""
        raise ConflictError(f"no place for {answer.request} in {scope} {window}: {answer.reason}{reserved}")
    return answer.placements[0].places


def _jobs_of(connection: Connection, chips: Sequence[int]) -> list[int]:
    """Return the keys of the jobs that have some of the chips now; they will have ended in time."""
    allocation = TABLES["allocation"]
    query = select(allocation.c.job_id).distinct().where(allocation.c.ended_at.is_(None))
    return [key for batch in batches(chips) for key in connection.scalars(query.where(allocation.c.chip_id.in_(batch)))]


def _insert(connection: Connection, chips: Sequence[int], row: dict[str, str]) -> int:
    """Insert a reservation and its chips; return its key."""
    key, first_id = next_reservation_key(connection), next_id(connection, _RESERVED_CHIP)
    cluster = connection.scalar(select(_NODE.c.cluster_id).where(_NODE.c.id == chips[0]))
    location = location_columns(connection, dict.fromkeys(chips, "work"))
    values = {"id": key, "cluster_id": cluster, "chips": len(chips), **location, **row}
    try:
        connection.execute(insert(_RESERVATION), values)
        bulk_insert(connection, _RESERVED_CHIP, [(first_id + index, key, chip) for index, chip in enumerate(chips)])
    except (IntegrityError, DatabaseError) as error:
        cause = getattr(error, "orig", error.__cause__)  # the driver's error, which SQLAlchemy or bulk_insert wraps
        if isinstance(cause, connection.dialect.loaded_dbapi.IntegrityError):
            raise ConflictError("a chip was just reserved by another; try again") from None
        raise
    return key
