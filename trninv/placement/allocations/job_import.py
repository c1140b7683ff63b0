"""Allocate chips to the jobs in a scheduler's listing; end the jobs it no longer lists.

A system owns its jobs: those of others, and those held here, are never touched, and a chip of theirs is a conflict.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam, func, select, update

from trninv.database.bulk_load import bulk_insert
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, InvalidFileError
from trninv.importers import kubernetes_jobs, slurm_jobs
from trninv.importers.ingestion import ImportFile
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import ImportErrors
from trninv.importers.scheduler_job import HostAllocation, SchedulerJob
from trninv.inventory.state.chip_ids import format_chip_ids
from trninv.placement.allocations.allocation_rows import batches, next_job_key, server_addresses, smallest_place
from trninv.placement.allocations.host_slots import HostSlots
from trninv.placement.allocations.job_allocations import OWN_SYSTEM, change_transaction
from trninv.placement.allocations.server_cordons import cordon_omitted_jobs
from trninv.units import pluralize

_T: Final = TABLES
READERS: Final = {"slurm": slurm_jobs.read, "kubernetes": kubernetes_jobs.read}
"""What prints jobs, and what reads it."""
_SYSTEM = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True)
class JobImportResult:
    """What became of the jobs of a listing.

    Attributes
    ----------
    allocated, moved, unchanged, ended
        Jobs that are new, hold other chips than before, hold the same, and are listed no more.
    whole_servers
        Jobs that hold whole servers because the scheduler does not say which chips of them.
    without_chips
        Jobs that hold no chip by the listing, and so none here.
    started_late
        Jobs with chips that others held when they began, by what was known: held from when those gave them back.
    omitted
        What was left out, and why; empty unless it was asked to keep going.
    cordoned
        Servers that left-out jobs are on, as far as these stand in slots: they take no new jobs until an import of all
        jobs leaves none of them out.
    uncordoned
        Servers that were not available for jobs that earlier imports left out, and take new jobs now.

    """

    system: str
    allocated: int
    moved: int
    unchanged: int
    ended: int
    whole_servers: int
    without_chips: int
    started_late: int
    omitted: tuple[str, ...]
    cordoned: tuple[str, ...]
    uncordoned: tuple[str, ...]


def read_jobs(kind: str, files: Iterable[ImportFile]) -> list[SchedulerJob]:
    """Return the jobs in files of one kind that have an allocation.

    Raises
    ------
    FileError
        A file is not what it should be, or names a job twice; it has every fault of all files.

    """
    faults = ImportErrors()
    jobs = [job for file in files for job in READERS[kind](InputFile(file.content, file.name, faults))]
    identities = set[str]()
    for job in jobs:
        if job.identity in identities:
            faults.add(job.where, f"job {job.identity} is listed twice")
        identities.add(job.identity)
    faults.raise_if_any()
    return jobs


def import_jobs(
    connection: Connection,
    system: str,
    jobs: Sequence[SchedulerJob],
    *,
    partial: bool = False,
    allow_empty: bool = False,
    keep_going: bool = False,
) -> JobImportResult:
    """Hold what a system's jobs hold by its listing, within the caller's transaction.

    Parameters
    ----------
    partial
        Whether the listing is of some jobs only: those that are not in it stay as they are.
    allow_empty
        Whether no job at all may be listed where some were.
    keep_going
        Whether a job on hosts that nobody knows, or on chips that others hold, is left out instead of refused. What it
        held before is given back, and the servers that it is on take no new jobs.

    Raises
    ------
    LimitError
        The system has no name that one can have, or would own the jobs that are held here.
    FileError
        A job is on a host that no slot has, or on a chip that another holds; it has every fault.

    """
    if system == OWN_SYSTEM or not _SYSTEM.fullmatch(system):
        raise InvalidArgumentError(
            f"system {system[:40]!r}: give it a name of letters, digits and '-', "
            f"but not {OWN_SYSTEM}: its jobs are held here"
        )
    with change_transaction(connection, who=system, source="import") as time:
        flags = {"partial": partial, "allow_empty": allow_empty, "keep_going": keep_going}
        return _import_jobs(connection, system, jobs, time, **flags)


def _import_jobs(
    connection: Connection,
    system: str,
    jobs: Sequence[SchedulerJob],
    time: str,
    *,
    partial: bool,
    allow_empty: bool,
    keep_going: bool,
) -> JobImportResult:
    running = _running_jobs(connection, system)
    if running and not jobs and not (partial or allow_empty):
        raise InvalidFileError(
            f"no job that holds chips is listed, and {pluralize(len(running), 'job')} of {system} would end: give "
            "--allow-empty if that is so"
        )
    requested = _RequestedChips(HostSlots(connection, jobs), _foreign_jobs(connection, system))
    for job in sorted(jobs, key=lambda each: each.identity not in running):
        requested.add(job)
    if not keep_going:
        requested.errors.raise_if_any()
    requested_chips = requested.chips
    identities = {job.identity for job in jobs}
    ended = [
        identity for identity in running if identity not in requested_chips and (identity in identities or not partial)
    ]
    changed = [
        job
        for job in jobs
        if (chips := requested_chips.get(job.identity)) and running.get(job.identity, _NOT_RUNNING).chips != chips
    ]
    _end_jobs(connection, [running[identity].key for identity in ended], time)
    moving = [(running[job.identity], requested_chips[job.identity]) for job in changed if job.identity in running]
    _release_moved_chips(connection, moving, time)
    started_late = _allocate_changed(connection, system, changed, running, requested, time)
    uncordoned = cordon_omitted_jobs(connection, system, requested.omitted, time, partial=partial)
    names = server_addresses(connection, {*requested.omitted, *uncordoned})
    moved = sum(job.identity in running for job in changed)
    return JobImportResult(
        system=system,
        allocated=len(changed) - moved,
        moved=moved,
        unchanged=len(requested_chips) - len(changed),
        ended=len(ended),
        whole_servers=len(requested.whole_server_jobs & requested_chips.keys()),
        without_chips=requested.without_chips,
        started_late=started_late,
        omitted=tuple(requested.errors.messages),
        cordoned=tuple(names[server] for server in sorted(requested.omitted)),
        uncordoned=tuple(names[server] for server in sorted(uncordoned)),
    )


@dataclass(frozen=True, slots=True)
class _RunningJob:
    """A job that holds chips already."""

    key: int
    chips: frozenset[int]


_NOT_RUNNING: Final = _RunningJob(0, frozenset())


def _running_jobs(connection: Connection, system: str) -> dict[str, _RunningJob]:
    job, allocation = _T["job"], _T["allocation"]
    query = select(job.c.external_id, job.c.id).where(job.c.system == system, job.c.ended_at.is_(None))
    keys = {row.id: row.external_id for row in connection.execute(query)}
    chips_by_key: dict[int, set[int]] = {key: set() for key in keys}
    chips = select(allocation.c.job_id, allocation.c.chip_id).join(job, job.c.id == allocation.c.job_id)
    for row in connection.execute(chips.where(job.c.system == system, allocation.c.ended_at.is_(None))):
        chips_by_key[row.job_id].add(row.chip_id)
    return {identity: _RunningJob(key, frozenset(chips_by_key[key])) for key, identity in keys.items()}


def _foreign_jobs(connection: Connection, system: str) -> dict[int, str]:
    """Who holds a chip, of other systems."""
    job, allocation = _T["job"], _T["allocation"]
    query = (
        select(allocation.c.chip_id, job.c.system, job.c.name)
        .join(job, job.c.id == allocation.c.job_id)
        .where(allocation.c.ended_at.is_(None), job.c.system != system)
    )
    return {row.chip_id: f"job {row.name} of {row.system}" for row in connection.execute(query)}


@dataclass(slots=True)
class _RequestedChips:
    """The chips that listed jobs want, as far as they can have them.

    Attributes
    ----------
    chips
        By a job's identity.
    whole_server_jobs
        Jobs whose chips are not named.
    omitted
        A job that can't have its chips, by each server that it is on.

    """

    slots: HostSlots
    owners: dict[int, str]
    chips: dict[str, frozenset[int]] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)
    without_chips: int = 0
    whole_server_jobs: set[str] = field(default_factory=set)
    omitted: dict[int, str] = field(default_factory=dict)
    errors: ImportErrors = field(default_factory=ImportErrors)

    def add(self, job: SchedulerJob) -> None:
        """Take what a job holds, or note why not."""
        error_count = self.errors.count
        servers = {part.host: self.slots.servers.get(part.host) for part in job.allocations}
        for host in (host for host, server in servers.items() if server is None):
            self.errors.add(job.where, f"job {job.name} is on {host}, which stands in no slot: trninv bind SLOT {host}")
        requested = {
            chip
            for part in job.allocations
            if (key := servers[part.host])
            for chip in self._chips_of_part(job, part, key)
        }
        clusters = {self.slots.cluster_ids[key] for key in servers.values() if key}
        if len(clusters) > 1:
            self.errors.add(job.where, f"job {job.name} is on hosts of several clusters")
        if conflicts := sorted(requested & self.owners.keys()):
            owner = self.owners[conflicts[0]]
            self.errors.add(
                job.where,
                f"job {job.name} is on {pluralize(len(conflicts), 'chip')} that {owner} holds: release one of them",
            )
        if self.errors.count > error_count:
            servers_of_job = (key for part in job.allocations if (key := servers[part.host]) and self._has_chips(part))
            self.omitted |= dict.fromkeys(servers_of_job, f"{job.name} ({job.identity})")
            return
        if not requested:
            self.without_chips += 1
            return
        self.chips[job.identity] = frozenset(requested)
        self.clusters[job.identity] = clusters.pop()
        self.owners |= dict.fromkeys(requested, f"job {job.name} ({job.identity})")

    def _has_chips(self, part: HostAllocation) -> bool:
        """Whether a job has chips of the host of a part."""
        if part.chips is not None:
            return bool(part.chips)
        return not self.slots.lists_chips if part.count is None else part.count > 0

    def _chips_of_part(self, job: SchedulerJob, part: HostAllocation, server: int) -> Iterable[int]:
        """Return the chips of a part of a server."""
        chips = self.slots.chips[server]
        if part.chips is not None:
            if missing := [str(ordinal) for ordinal in part.chips if ordinal not in chips]:
                self.errors.add(job.where, f"job {job.name}: {part.host} has no chip {', '.join(missing)}")
            return (chips[ordinal] for ordinal in part.chips if ordinal in chips)
        if not self._has_chips(part):
            return ()
        if part.count == len(chips):
            return chips.values()
        self.whole_server_jobs.add(job.identity)
        if part.count is not None and self.slots.jobs_per_host[part.host] > 1:
            self.errors.add(
                job.where,
                f"job {job.name} shares {part.host} with others, and whose chips are which is not said: give each a "
                "File= in gres.conf, so that gres_detail has IDX",
            )
            return ()
        return chips.values()


def _end_jobs(connection: Connection, keys: Sequence[int], time: str) -> None:
    job, allocation = _T["job"], _T["allocation"]
    for part in batches(keys):
        in_batch = allocation.c.job_id.in_(part)
        connection.execute(update(allocation).where(in_batch, allocation.c.ended_at.is_(None)).values(ended_at=time))
        connection.execute(update(job).where(job.c.id.in_(part)).values(ended_at=time))


def _release_moved_chips(
    connection: Connection, moved: Sequence[tuple[_RunningJob, frozenset[int]]], time: str
) -> None:
    allocation = _T["allocation"]
    chips = [chip for before, after in moved for chip in before.chips - after]
    for part in batches(sorted(chips)):
        in_batch = allocation.c.chip_id.in_(part)
        connection.execute(update(allocation).where(in_batch, allocation.c.ended_at.is_(None)).values(ended_at=time))


def _allocate_changed(
    connection: Connection,
    system: str,
    jobs: Sequence[SchedulerJob],
    running: Mapping[str, _RunningJob],
    requested: _RequestedChips,
    time: str,
) -> int:
    """Write what jobs hold anew; how many of them hold a chip later than they began."""
    job, allocation, started_late = _T["job"], _T["allocation"], set[str]()
    key, row, places = (
        next_job_key(connection),
        next_id(connection, allocation),
        requested.slots.chip_addresses(connection),
    )
    job_rows: list[tuple[object, ...]] = []
    job_updates: list[dict[str, object]] = []
    allocation_rows: list[tuple[object, ...]] = []
    added = {
        listed_job.identity: requested.chips[listed_job.identity] - running.get(listed_job.identity, _NOT_RUNNING).chips
        for listed_job in jobs
    }
    released_at = _last_release(connection, min((listed_job.started_at or time for listed_job in jobs), default=time))
    for listed_job in jobs:
        previous = running.get(listed_job.identity)
        job_key, started_at = (previous.key, time) if previous else (key, min(listed_job.started_at or time, time))
        place = smallest_place(places[chip] for chip in requested.chips[listed_job.identity])
        chips = format_chip_ids(dict.fromkeys(requested.chips[listed_job.identity], "work"))
        if previous:
            job_updates.append({"key": previous.key, "to": place, "at": time, "chips": chips})
        else:
            values = {
                "id": key,
                "cluster_id": requested.clusters[listed_job.identity],
                "name": listed_job.name,
                "system": system,
            }
            values |= {
                "external_id": listed_job.identity,
                "submitted_at": listed_job.submitted_at,
                "started_at": started_at,
                "place": place,
            }
            values |= {"priority": listed_job.priority, "pinned": 0, "who": listed_job.who, "chip_ids": chips}
            job_rows.append(tuple(map(values.get, job.c.keys())))
            key += 1
        for chip in sorted(added[listed_job.identity]):
            start = max(started_at, released_at.get(chip, started_at))
            if start > started_at:
                started_late.add(listed_job.identity)
            allocation_rows.append((row, job_key, chip, "work", start, None))
            row += 1
    bulk_insert(connection, job, job_rows)
    if job_updates:
        statement = update(job).where(job.c.id == bindparam("key"))
        connection.execute(
            statement.values(moved_at=bindparam("at"), chip_ids=bindparam("chips")), job_updates
        )  # an event of where it was
        connection.execute(statement.values(place=bindparam("to")), job_updates)
    bulk_insert(connection, allocation, allocation_rows)
    return len(started_late)


def _last_release(connection: Connection, earliest: str) -> dict[int, str]:
    """When chips were given back last, of those that were after a time."""
    allocation = _T["allocation"]
    query = select(allocation.c.chip_id, func.max(allocation.c.ended_at).label("ended_at")).group_by(
        allocation.c.chip_id
    )
    return {row.chip_id: row.ended_at for row in connection.execute(query.where(allocation.c.ended_at > earliest))}
