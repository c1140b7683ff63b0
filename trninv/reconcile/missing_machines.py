"""Find machines that are gone: a complete listing that replaces the last one with the machine lacks it.

A complete listing is an observation that names all instances of an account or cluster.
"""

import re
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select

from trninv.database.bulk_read import batches
from trninv.database.tables import TABLES
from trninv.reconcile.latest_observations import LatestObservations

_OBSERVATION, _SERVER = TABLES["observation"], TABLES["observed_server"]
_LISTING_COLUMNS = tuple(_OBSERVATION.c[name] for name in ("id", "source", "name", "speaker", "seen_at", "is_whole"))


def missing_machines(
    connection: Connection, latest: LatestObservations, *, only_discovered: bool = False
) -> dict[str, tuple[int, int]]:
    """Return the names of machines that are gone, with the last complete listing that has it and the latest, without.

    A machine that any source reported later is not missing. A listing supersedes an earlier one of the same source if
    both have the same name, if they share an instance, or if the later one has no instance at all. So listings of two
    regions or clusters do not declare each other's instances gone. Listings of discovery, which have a speaker, are
    compared by name: a listing or its blocks. An incomplete listing of discovery counts where no complete one with the
    machine is stored any more; then the complete listings of its target supersede it.

    Parameters
    ----------
    only_discovered
        Whether only listings of discovery count. Two listings by hand may have the same name by chance, such as ``-``.

    """
    query = select(_OBSERVATION).where(_OBSERVATION.c.is_whole)
    if only_discovered:
        query = query.where(_OBSERVATION.c.speaker.is_not(None))
    listings = connection.execute(query.order_by(_OBSERVATION.c.seen_at, _OBSERVATION.c.id)).all()
    newest_time = max((listing.seen_at for listing in listings), default="")
    candidates = [name for name, machine in latest.machines.items() if machine.last_seen_time() < newest_time]
    missing = {}
    successors: dict[int, tuple[int, str] | None] = {}
    for (name, _), last in _last_listings(connection, candidates, only_discovered=only_discovered).items():
        if last.id not in successors:
            successors[last.id] = _next_listing(connection, last, listings)
        successor = successors[last.id]
        if successor is not None and latest.machines[name].last_seen_time() < successor[1]:
            missing[name] = last.id, successor[0]
    return missing


def _last_listings(
    connection: Connection, names: list[str], *, only_discovered: bool
) -> dict[tuple[str, str], Row[Any]]:
    """Return the latest listing that has a machine, a complete one if possible, by machine name and source."""
    listings: dict[tuple[str, str], Row[Any]] = {}
    is_discovered = _OBSERVATION.c.speaker.contains("/")  # the speaker of a single machine's report is its name
    for batch in batches(names):
        name = func.coalesce(_SERVER.c.instance, _SERVER.c.host)
        is_machine = or_(_SERVER.c.instance.in_(batch), _SERVER.c.instance.is_(None) & _SERVER.c.host.in_(batch))
        query = (
            select(name.label("machine"), *_LISTING_COLUMNS)
            .join(_OBSERVATION, _OBSERVATION.c.id == _SERVER.c.observation_id)
            .where(is_machine, is_discovered if only_discovered else or_(_OBSERVATION.c.is_whole, is_discovered))
            .order_by(_OBSERVATION.c.is_whole, _OBSERVATION.c.seen_at, _OBSERVATION.c.id)
        )
        listings |= {(row.machine, row.source): row for row in connection.execute(query)}
    return listings


def _next_listing(connection: Connection, previous: Row[Any], listings: Iterable[Row[Any]]) -> tuple[int, str] | None:
    """Return id and time of the latest complete listing that supersedes an older one, or None."""
    newer = [
        listing for listing in listings if listing.source == previous.source and listing.seen_at > previous.seen_at
    ]
    for listing in reversed(newer):
        if _lists_same_machines(listing, previous):
            return listing.id, listing.seen_at
    if not previous.is_whole:
        return None
    other = _SERVER.alias()
    for listing in reversed(newer):
        if listing.speaker and previous.speaker:
            continue
        common_query = select(_SERVER.c.id).join(other, other.c.instance == _SERVER.c.instance)
        if connection.execute(
            common_query.where(_SERVER.c.observation_id == previous.id, other.c.observation_id == listing.id).limit(1)
        ).first():
            return listing.id, listing.seen_at
    return None


def _lists_same_machines(listing: Row[Any], previous: Row[Any]) -> bool:
    """Return whether the names or, of a listing by hand, its emptiness say that it replaces another."""
    name, other = listing.name, previous.name
    if not previous.is_whole:
        return bool(listing.speaker) and _target(name) == _target(other)
    if listing.speaker and previous.speaker:  # blocks have the name of their listing and a number
        return bool(name == other or name.startswith(f"{other}/") or other.startswith(f"{name}/"))
    return bool(name == other or not (listing.servers or listing.speaker))


def _target(name: str) -> str:
    """Return the target of a discovered listing: TARGET/LISTING, or TARGET/LISTING/BLOCK."""
    return re.sub(r"/[^/]*(/\d+)?\Z", "", name)
