"""Allocate chips to the jobs in a scheduler's listing; end the jobs it no longer lists.

A system owns its jobs. Jobs of other systems and jobs allocated here never change; a chip of theirs is a conflict.
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
"""Readers of job listings by scheduler."""
_SYSTEM = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True)
class JobImportResult:
    """The result of importing a job listing.

    Attributes
    ----------
    allocated, moved, unchanged, ended
        Numbers of jobs that are new, have other chips than before, have the same, and are no longer listed.
    whole_servers
        Jobs that get whole servers because the scheduler does not report which chips.
    without_chips
        Jobs without chips in the listing, and so without an allocation.
    started_late
        Jobs that start later than reported: their chips were still allocated.
    omitted
        Jobs that were omitted, and why; empty unless ``keep_going`` is set.
    cordoned
        Servers of omitted jobs, as far as these hosts are bound. They stay cordoned until a complete import has all
        of their jobs.
    uncordoned
        Servers that were cordoned for jobs that earlier imports omitted, and are uncordoned now.

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
    InvalidFileError
        A file is invalid, or lists a job twice; the error has the faults of all files.

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
    """Allocate chips as a system's listing says, within the caller's transaction.

    Parameters
    ----------
    partial
        Whether the listing has only some jobs; jobs that it lacks stay as they are.
    allow_empty
        Whether a listing without jobs may end all jobs of the system.
    keep_going
        Whether a job on unknown hosts, or on chips of other jobs, is omitted instead of refused. Its previous chips are
        freed, and its servers are cordoned.

    Raises
    ------
    InvalidArgumentError
        The system's name is invalid, or is the name of trninv's own jobs.
    InvalidFileError
        A job is on a host without a slot, or on a chip of another job; the error has all faults.

    """
    if system == OWN_SYSTEM or not _SYSTEM.fullmatch(system):
        raise InvalidArgumentError(
            f"system {system[:40]!r}: use letters, digits and '-', "
            f"but not {OWN_SYSTEM}, the name of jobs that are allocated here"
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
            f"no job with chips is listed, so {pluralize(len(running), 'job')} of {system} would end; add "
            "--allow-empty if that is right"
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
    """A job with its current chips."""

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
    """Return the owner of each chip that a job of another system has."""
    job, allocation = _T["job"], _T["allocation"]
    query = (
        select(allocation.c.chip_id, job.c.system, job.c.name)
        .join(job, job.c.id == allocation.c.job_id)
        .where(allocation.c.ended_at.is_(None), job.c.system != system)
    )
    return {row.chip_id: f"job {row.name} of {row.system}" for row in connection.execute(query)}


@dataclass(slots=True)
class _RequestedChips:
    """The chips that listed jobs have, as far as they can be allocated.

    Attributes
    ----------
    chips
        Chips by job identity.
    whole_server_jobs
        Jobs that get whole servers because the listing does not name their chips.
    omitted
        A job whose chips can't be allocated, by each of its servers.

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
        """Add a job's chips, or note why they can't be allocated."""
        error_count = self.errors.count
        servers = {part.host: self.slots.servers.get(part.host) for part in job.allocations}
        for host in (host for host, server in servers.items() if server is None):
            self.errors.add(job.where, f"job {job.name} is on {host}, which has no slot; run trninv bind SLOT {host}")
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
                f"job {job.name} is on {pluralize(len(conflicts), 'chip')} of {owner}; release one of the jobs",
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
        """Return whether a job has chips on the host of a part."""
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
                f"job {job.name} shares {part.host} with others, and the listing does not say which chips it has; set "
                "File= for each device in gres.conf, so that gres_detail has IDX",
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
    """Write new and changed allocations; return how many jobs got a chip later than they started."""
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
        )  # an event at the previous place
        connection.execute(statement.values(place=bindparam("to")), job_updates)
    bulk_insert(connection, allocation, allocation_rows)
    return len(started_late)


def _last_release(connection: Connection, earliest: str) -> dict[int, str]:
    """Return when each chip was last released, for releases after a time."""
    allocation = _T["allocation"]
    query = select(allocation.c.chip_id, func.max(allocation.c.ended_at).label("ended_at")).group_by(
        allocation.c.chip_id
    )
    return {row.chip_id: row.ended_at for row in connection.execute(query.where(allocation.c.ended_at > earliest))}
