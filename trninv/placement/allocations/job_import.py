"""Allocate chips to the jobs in a scheduler's listing; end the jobs it no longer lists.

`trninv import` reads a listing of Slurm or Kubernetes with `read_jobs` and stores it with `import_jobs`. A system, by
default named like the scheduler, owns the jobs it imports. Jobs of other systems and jobs that ``trninv allocate``
made never change; a listed job on one of their chips is a conflict.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam, func, select, update

from trninv.database.bulk_load import bulk_insert
from trninv.database.bulk_read import batches
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import InvalidArgumentError, InvalidFileError
from trninv.importers import kubernetes_jobs, slurm_jobs
from trninv.importers.ingestion import ImportFile
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import ImportErrors
from trninv.importers.scheduler_job import HostAllocation, SchedulerJob
from trninv.inventory.state.chip_ids import format_chip_ids
from trninv.placement.allocations.allocation_rows import next_job_key, server_addresses, smallest_place
from trninv.placement.allocations.host_slots import HostSlots
from trninv.placement.allocations.job_allocations import OWN_SYSTEM, change_transaction
from trninv.placement.allocations.server_cordons import cordon_omitted_jobs
from trninv.units import pluralize

_T: Final = TABLES
READERS: Final = {"slurm": slurm_jobs.read, "kubernetes": kubernetes_jobs.read}
"""Readers of job listings by scheduler."""
_SYSTEM = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
"""The pattern for the name of a system."""


@dataclass(frozen=True, slots=True)
class JobImportResult:
    """The result of importing a job listing.

    Attributes
    ----------
    allocated, moved, unchanged, ended
        Numbers of jobs that are new, that have different chips than before, that have the same chips, and that ended.
    whole_servers
        Jobs that get whole servers because the scheduler does not report which chips they have.
    without_chips
        Jobs without chips in the listing, and so without an allocation.
    started_late
        Jobs that start later than reported: their chips were still allocated.
    omitted
        Jobs that were omitted, and why; empty unless ``keep_going`` is set.
    cordoned
        Servers of omitted jobs, as far as the slots of their hosts are known. They stay cordoned until a complete
        import omits none of their jobs.
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
    """Return the jobs in listings of one scheduler, a key of READERS.

    Raises
    ------
    InvalidFileError
        A file is invalid, or a job is listed twice; the error lists the faults of all files.

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
        Whether to omit a job whose chips can't be allocated, instead of refusing the import: for example, its host is
        unknown or its chips belong to another job. Its previous chips are freed, and its servers are cordoned.

    Raises
    ------
    InvalidArgumentError
        The system's name is invalid, or is the name of trninv's own jobs.
    InvalidFileError
        The listing is empty although jobs run, unless ``partial`` or ``allow_empty`` is set; or the chips of a job
        can't be allocated, unless ``keep_going`` is set. The error lists all faults.

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
    """Import a listing in a transaction that records the change; see `import_jobs`."""
    running = _running_jobs(connection, system)
    if running and not jobs and not (partial or allow_empty):
        raise InvalidFileError(
            f"no job with chips is listed, so {pluralize(len(running), 'job')} of {system} would end; add "
            "--allow-empty if that is right"
        )
    identities = {job.identity for job in jobs}
    kept = running.keys() - identities if partial else set[str]()
    requested = _RequestedChips(HostSlots(connection, jobs), _other_owners(connection, system, kept))
    for job in sorted(jobs, key=lambda job: job.identity not in running):  # jobs that already run keep their chips
        requested.add(job)
    if not keep_going:
        requested.errors.raise_if_any()
    requested_chips = requested.chips
    # Listed jobs that get no chips end even if the listing is partial.
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
    _change_ends(connection, jobs, running, requested_chips, time)
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
    """A job of the system that has not ended: its key in ``job``, the ids of its chips, and its end, if any."""

    key: int
    chips: frozenset[int]
    until: str | None = None


_NOT_RUNNING: Final = _RunningJob(0, frozenset())
"""The default for a job that does not run yet: it has no chips."""


def _running_jobs(connection: Connection, system: str) -> dict[str, _RunningJob]:
    """Return the running jobs of a system by identity, their id in the scheduler."""
    job, allocation = _T["job"], _T["allocation"]
    query = select(job.c.external_id, job.c.id, job.c.until_at)
    jobs = connection.execute(query.where(job.c.system == system, job.c.ended_at.is_(None))).all()
    chips_by_key: dict[int, set[int]] = {row.id: set() for row in jobs}
    chips = select(allocation.c.job_id, allocation.c.chip_id).join(job, job.c.id == allocation.c.job_id)
    for row in connection.execute(chips.where(job.c.system == system, allocation.c.ended_at.is_(None))):
        chips_by_key[row.job_id].add(row.chip_id)
    return {row.external_id: _RunningJob(row.id, frozenset(chips_by_key[row.id]), row.until_at) for row in jobs}


def _other_owners(connection: Connection, system: str, kept: Collection[str]) -> dict[int, str]:
    """Return the owner, in words, of each chip (id) that belongs to a job which the import does not change.

    These jobs are those of other systems, and the jobs of this system whose identities are in ``kept``.
    """
    job, allocation = _T["job"], _T["allocation"]
    query = select(allocation.c.chip_id, job.c.system, job.c.name, job.c.external_id)
    query = query.join(job, job.c.id == allocation.c.job_id).where(allocation.c.ended_at.is_(None))
    return {
        row.chip_id: f"job {row.name} of {row.system}"
        for row in connection.execute(query if kept else query.where(job.c.system != system))
        if row.system != system or row.external_id in kept
    }


@dataclass(slots=True)
class _RequestedChips:
    """The chips that listed jobs should get, as far as they can be allocated.

    Attributes
    ----------
    owners
        The job that owns each chip (id), in words: jobs that the import does not change, and listed jobs once added.
    chips, clusters
        Ids of the chips of each job, and id of their cluster, by job identity.
    without_chips
        Number of jobs that have no chips in the listing.
    whole_server_jobs
        Identities of the jobs that get whole servers because the listing does not name their chips.
    omitted
        A job whose chips can't be allocated, by the id of each server that it is on.
    errors
        The reasons why chips of jobs can't be allocated.

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
        servers = {allocation.host: self.slots.servers.get(allocation.host) for allocation in job.allocations}
        for host in (host for host, server in servers.items() if server is None):
            self.errors.add(job.where, f"job {job.name} is on {host}, which has no slot; run trninv bind SLOT {host}")
        requested = set[int]()
        for allocation in job.allocations:
            if server := servers[allocation.host]:
                requested |= {*self._chips_on_host(job, allocation, server)}
        clusters = {self.slots.cluster_ids[server] for server in servers.values() if server}
        if len(clusters) > 1:
            self.errors.add(job.where, f"job {job.name} is on hosts of several clusters; bind them to slots of one")
        if conflicts := sorted(requested & self.owners.keys()):
            owner = self.owners[conflicts[0]]
            self.errors.add(
                job.where,
                f"job {job.name} is on {pluralize(len(conflicts), 'chip')} of {owner}; release one of the jobs",
            )
        if self.errors.count > error_count:
            with_chips = (servers[allocation.host] for allocation in job.allocations if self._has_chips(allocation))
            self.omitted |= dict.fromkeys(filter(None, with_chips), f"{job.name} ({job.identity})")
            return
        if not requested:
            self.without_chips += 1
            return
        self.chips[job.identity] = frozenset(requested)
        self.clusters[job.identity] = clusters.pop()
        self.owners |= dict.fromkeys(requested, f"job {job.name} ({job.identity})")

    def _has_chips(self, allocation: HostAllocation) -> bool:
        """Return whether a job has chips on a host.

        If the listing neither names nor counts the job's chips on the host, the job has chips there only if the listing
        does not name or count the chips of any job.
        """
        if allocation.chips is not None:
            return bool(allocation.chips)
        return not self.slots.lists_chips if allocation.count is None else allocation.count > 0

    def _chips_on_host(self, job: SchedulerJob, allocation: HostAllocation, server: int) -> Iterable[int]:
        """Return the ids of a job's chips on a host, whose slot has the id ``server``; add an error if unknown.

        If the listing does not name the chips, the job gets the whole server. If it only counts them and other jobs
        share the host, the chips are unknown.
        """
        chips = self.slots.chips[server]
        if allocation.chips is not None:
            if missing := [str(ordinal) for ordinal in allocation.chips if ordinal not in chips]:
                self.errors.add(job.where, f"job {job.name}: {allocation.host} has no chip {', '.join(missing)}")
            return (chips[ordinal] for ordinal in allocation.chips if ordinal in chips)
        if not self._has_chips(allocation):
            return ()
        if allocation.count == len(chips):
            return chips.values()
        self.whole_server_jobs.add(job.identity)
        if allocation.count is not None and self.slots.jobs_per_host[allocation.host] > 1:
            self.errors.add(
                job.where,
                f"job {job.name} shares {allocation.host} with others, and the listing does not say which chips it "
                "has; set File= for each device in gres.conf, so that gres_detail has IDX",
            )
            return ()
        return chips.values()


def _end_jobs(connection: Connection, keys: Sequence[int], time: str) -> None:
    """End jobs and their allocations."""
    job, allocation = _T["job"], _T["allocation"]
    for batch in batches(keys):
        in_batch = allocation.c.job_id.in_(batch)
        connection.execute(update(allocation).where(in_batch, allocation.c.ended_at.is_(None)).values(ended_at=time))
        connection.execute(update(job).where(job.c.id.in_(batch)).values(ended_at=time))


def _release_moved_chips(
    connection: Connection, moved: Sequence[tuple[_RunningJob, frozenset[int]]], time: str
) -> None:
    """End the allocations of chips that moved jobs no longer have; ``moved`` has each job and its new chips."""
    allocation = _T["allocation"]
    released = [chip for job, new_chips in moved for chip in job.chips - new_chips]
    for batch in batches(sorted(released)):
        in_batch = allocation.c.chip_id.in_(batch)
        connection.execute(update(allocation).where(in_batch, allocation.c.ended_at.is_(None)).values(ended_at=time))


def _allocate_changed(
    connection: Connection,
    system: str,
    jobs: Sequence[SchedulerJob],
    running: Mapping[str, _RunningJob],
    requested: _RequestedChips,
    time: str,
) -> int:
    """Write new jobs, and jobs whose chips changed; return how many jobs got a chip later than they started."""
    job, allocation, started_late = _T["job"], _T["allocation"], set[str]()
    next_key, next_row = next_job_key(connection), next_id(connection, allocation)
    addresses = requested.slots.chip_addresses(connection)
    job_rows: list[tuple[object, ...]] = []
    job_updates: list[dict[str, object]] = []
    allocation_rows: list[tuple[object, ...]] = []
    released_at = _last_release(connection, min((listed_job.started_at or time for listed_job in jobs), default=time))
    for listed_job in jobs:
        previous, chips = running.get(listed_job.identity), requested.chips[listed_job.identity]
        place = smallest_place(addresses[chip] for chip in chips)
        chip_ids = format_chip_ids(dict.fromkeys(chips, "work"))
        if previous:
            key, started_at = previous.key, time
            job_updates.append({"key": key, "to": place, "at": time, "chips": chip_ids})
        else:
            key, started_at = next_key, min(listed_job.started_at or time, time)
            next_key += 1
            values = {
                "id": key,
                "cluster_id": requested.clusters[listed_job.identity],
                "name": listed_job.name,
                "system": system,
                "external_id": listed_job.identity,
                "submitted_at": listed_job.submitted_at,
                "started_at": started_at,
                "place": place,
                "priority": listed_job.priority,
                "pinned": 0,
                "who": listed_job.who,
                "chip_ids": chip_ids,
                "until_at": listed_job.until,
            }
            job_rows.append(tuple(map(values.get, job.c.keys())))
        for chip in sorted(chips - (previous or _NOT_RUNNING).chips):
            start = max(started_at, released_at.get(chip, started_at))  # not before another job released the chip
            if start > started_at:
                started_late.add(listed_job.identity)
            allocation_rows.append((next_row, key, chip, "work", start, None))
            next_row += 1
    bulk_insert(connection, job, job_rows)
    if job_updates:
        statement = update(job).where(job.c.id == bindparam("key"))
        # The first statement keeps the old place, so that a trigger records the move there.
        connection.execute(statement.values(moved_at=bindparam("at"), chip_ids=bindparam("chips")), job_updates)
        connection.execute(statement.values(place=bindparam("to")), job_updates)
    bulk_insert(connection, allocation, allocation_rows)
    return len(started_late)


def _change_ends(
    connection: Connection,
    jobs: Iterable[SchedulerJob],
    running: Mapping[str, _RunningJob],
    requested: Mapping[str, frozenset[int]],
    time: str,
) -> None:
    """Continue the jobs whose end has changed in other rows: that of a row never changes.

    An end that has passed changes nothing: a job that should have ended counts as one without an end.
    """
    job, allocation = _T["job"], _T["allocation"]
    ends = {
        running[listed.identity].key: listed
        for listed in jobs
        if listed.identity in running.keys() & requested.keys()
        and listed.until != running[listed.identity].until
        and (listed.until is None or listed.until > time)
    }
    for batch in batches(sorted(ends)):
        rows = connection.execute(select(job).where(job.c.id.in_(batch)).order_by(job.c.id)).all()
        is_open = allocation.c.job_id.in_(batch), allocation.c.ended_at.is_(None)
        connection.execute(update(allocation).where(*is_open).values(ended_at=time))
        connection.execute(update(job).where(job.c.id.in_(batch)).values(ended_at=time, moved_at=time))
        first_key, first_row = next_job_key(connection), next_id(connection, allocation)
        continued = [
            row._asdict()
            | {
                "id": first_key + index,
                "started_at": time,
                "ended_at": None,
                "first_started_at": row.first_started_at or row.started_at,
                "moved_at": None,
                "until_at": ends[row.id].until,
            }
            for index, row in enumerate(rows)
        ]
        bulk_insert(connection, job, [tuple(map(values.get, job.c.keys())) for values in continued])
        chips = ((values["id"], chip) for values in continued for chip in sorted(requested[values["external_id"]]))
        allocations = [(first_row + index, key, chip, "work", time, None) for index, (key, chip) in enumerate(chips)]
        bulk_insert(connection, allocation, allocations)


def _last_release(connection: Connection, earliest: str) -> dict[int, str]:
    """Return the time of each chip's last release, for chips that were released after ``earliest``."""
    allocation = _T["allocation"]
    query = select(allocation.c.chip_id, func.max(allocation.c.ended_at).label("ended_at")).group_by(
        allocation.c.chip_id
    )
    return {row.chip_id: row.ended_at for row in connection.execute(query.where(allocation.c.ended_at > earliest))}
