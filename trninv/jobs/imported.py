"""Jobs as a scheduler lists them: what is new is held, what moved holds other chips, what is gone has ended.

A system owns its jobs: those of others, and those held here, are never touched, and a chip of theirs is a conflict.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam, func, select, update

from trninv.errors import FileError, LimitError
from trninv.importers import kubernetes_jobs, slurm_jobs
from trninv.importers.held import Held, Part
from trninv.importers.observation import File
from trninv.importers.reading import Source
from trninv.importers.value import Faults
from trninv.inventory.bulk import load
from trninv.inventory.chip_ids import written
from trninv.inventory.ids import next_id
from trninv.inventory.schema import TABLES
from trninv.jobs.closings import close_for_left_out
from trninv.jobs.holding import OURS, changing
from trninv.jobs.slots import Slots
from trninv.jobs.taking import batches, least, next_job, server_names
from trninv.units import counted

_T: Final = TABLES
READERS: Final = {"slurm": slurm_jobs.read, "kubernetes": kubernetes_jobs.read}
"""What prints jobs, and what reads it."""
_SYSTEM = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True)
class JobsImported:
    """What became of the jobs of a listing.

    Attributes
    ----------
    held, moved, unchanged, ended
        Jobs that are new, hold other chips than before, hold the same, and are listed no more.
    whole
        Jobs that hold whole servers because the scheduler does not say which chips of them.
    without
        Jobs that hold no chip by the listing, and so none here.
    later
        Jobs with chips that others held when they began, by what was known: held from when those gave them back.
    left_out
        What was left out, and why; empty unless it was asked to keep going.
    not_available
        Servers that left-out jobs are on, as far as these stand in slots: they take no new jobs until an import of all
        jobs leaves none of them out.
    available_again
        Servers that were not available for jobs that earlier imports left out, and take new jobs now.

    """

    system: str
    held: int
    moved: int
    unchanged: int
    ended: int
    whole: int
    without: int
    later: int
    left_out: tuple[str, ...]
    not_available: tuple[str, ...]
    available_again: tuple[str, ...]


def read_jobs(kind: str, files: Iterable[File]) -> list[Held]:
    """The jobs of files of one kind that hold something.

    Raises
    ------
    FileError
        A file is not what it should be, or names a job twice; it has every fault of all files.

    """
    faults = Faults()
    found = [job for file in files for job in READERS[kind](Source(file.content, file.name, faults))]
    seen = set[str]()
    for job in found:
        if job.identity in seen:
            faults.add(job.where, f"job {job.identity} is listed twice")
        seen.add(job.identity)
    faults.raise_if_any()
    return found


def import_jobs(
    connection: Connection,
    system: str,
    jobs: Sequence[Held],
    *,
    partial: bool = False,
    allow_empty: bool = False,
    keep_going: bool = False,
) -> JobsImported:
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
    if system == OURS or not _SYSTEM.fullmatch(system):
        raise LimitError(
            f"system {system[:40]!r}: give it a name of letters, digits and '-', but not {OURS}: its jobs are held here"
        )
    with changing(connection, who=system, source="import") as time:
        flags = {"partial": partial, "allow_empty": allow_empty, "keep_going": keep_going}
        return _imported(connection, system, jobs, time, **flags)


def _imported(
    connection: Connection,
    system: str,
    jobs: Sequence[Held],
    time: str,
    *,
    partial: bool,
    allow_empty: bool,
    keep_going: bool,
) -> JobsImported:
    live = _live(connection, system)
    if live and not jobs and not (partial or allow_empty):
        raise FileError(
            f"no job that holds chips is listed, and {counted(len(live), 'job')} of {system} would end: give "
            "--allow-empty if that is so"
        )
    wanted = _Wanted(Slots(connection, jobs), _others(connection, system))
    for job in sorted(jobs, key=lambda each: each.identity not in live):
        wanted.add(job)
    if not keep_going:
        wanted.faults.raise_if_any()
    listed = wanted.chips
    named = {job.identity for job in jobs}
    gone = [identity for identity in live if identity not in listed and (identity in named or not partial)]
    changed = [
        job for job in jobs if (chips := listed.get(job.identity)) and live.get(job.identity, _NEW).chips != chips
    ]
    _end(connection, [live[identity].key for identity in gone], time)
    moving = [(live[job.identity], listed[job.identity]) for job in changed if job.identity in live]
    _give_back(connection, moving, time)
    later = _hold(connection, system, changed, live, wanted, time)
    opened = close_for_left_out(connection, system, wanted.left_out, time, partial=partial)
    names = server_names(connection, {*wanted.left_out, *opened})
    moved = sum(job.identity in live for job in changed)
    return JobsImported(
        system=system,
        held=len(changed) - moved,
        moved=moved,
        unchanged=len(listed) - len(changed),
        ended=len(gone),
        whole=len(wanted.unsaid & listed.keys()),
        without=wanted.without,
        later=later,
        left_out=tuple(wanted.faults.told),
        not_available=tuple(names[server] for server in sorted(wanted.left_out)),
        available_again=tuple(names[server] for server in sorted(opened)),
    )


@dataclass(frozen=True, slots=True)
class _Live:
    """A job that holds chips already."""

    key: int
    chips: frozenset[int]


_NEW: Final = _Live(0, frozenset())


def _live(connection: Connection, system: str) -> dict[str, _Live]:
    job, allocation = _T["job"], _T["allocation"]
    query = select(job.c.external_id, job.c.id).where(job.c.system == system, job.c.ended.is_(None))
    keys = {row.id: row.external_id for row in connection.execute(query)}
    held: dict[int, set[int]] = {key: set() for key in keys}
    chips = select(allocation.c.job_id, allocation.c.chip_id).join(job, job.c.id == allocation.c.job_id)
    for row in connection.execute(chips.where(job.c.system == system, allocation.c.ended.is_(None))):
        held[row.job_id].add(row.chip_id)
    return {identity: _Live(key, frozenset(held[key])) for key, identity in keys.items()}


def _others(connection: Connection, system: str) -> dict[int, str]:
    """Who holds a chip, of other systems."""
    job, allocation = _T["job"], _T["allocation"]
    query = (
        select(allocation.c.chip_id, job.c.system, job.c.name)
        .join(job, job.c.id == allocation.c.job_id)
        .where(allocation.c.ended.is_(None), job.c.system != system)
    )
    return {row.chip_id: f"job {row.name} of {row.system}" for row in connection.execute(query)}


@dataclass(slots=True)
class _Wanted:
    """The chips that listed jobs want, as far as they can have them.

    Attributes
    ----------
    chips
        By a job's identity.
    unsaid
        Jobs whose chips are not named.
    left_out
        A job that can't have its chips, by each server that it is on.

    """

    slots: Slots
    taken: dict[int, str]
    chips: dict[str, frozenset[int]] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)
    without: int = 0
    unsaid: set[str] = field(default_factory=set)
    left_out: dict[int, str] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)

    def add(self, job: Held) -> None:
        """Take what a job holds, or note why not."""
        before = self.faults.count
        servers = {part.host: self.slots.servers.get(part.host) for part in job.parts}
        for host in (host for host, server in servers.items() if server is None):
            self.faults.add(job.where, f"job {job.name} is on {host}, which stands in no slot: trninv bind SLOT {host}")
        found = {chip for part in job.parts if (key := servers[part.host]) for chip in self._of(job, part, key)}
        clusters = {self.slots.cluster[key] for key in servers.values() if key}
        if len(clusters) > 1:
            self.faults.add(job.where, f"job {job.name} is on hosts of several clusters")
        if taken := sorted(found & self.taken.keys()):
            who = self.taken[taken[0]]
            self.faults.add(
                job.where, f"job {job.name} is on {counted(len(taken), 'chip')} that {who} holds: release one of them"
            )
        if self.faults.count > before:
            on = (key for part in job.parts if (key := servers[part.host]) and self._has_chips(part))
            self.left_out |= dict.fromkeys(on, f"{job.name} ({job.identity})")
            return
        if not found:
            self.without += 1
            return
        self.chips[job.identity] = frozenset(found)
        self.clusters[job.identity] = clusters.pop()
        self.taken |= dict.fromkeys(found, f"job {job.name} ({job.identity})")

    def _has_chips(self, part: Part) -> bool:
        """Whether a job has chips of the host of a part."""
        if part.chips is not None:
            return bool(part.chips)
        return not self.slots.says_chips if part.count is None else part.count > 0

    def _of(self, job: Held, part: Part, server: int) -> Iterable[int]:
        """The chips of a part, which is of a server."""
        chips = self.slots.chips[server]
        if part.chips is not None:
            if unknown := [str(each) for each in part.chips if each not in chips]:
                self.faults.add(job.where, f"job {job.name}: {part.host} has no chip {', '.join(unknown)}")
            return (chips[each] for each in part.chips if each in chips)
        if not self._has_chips(part):
            return ()
        if part.count == len(chips):
            return chips.values()
        self.unsaid.add(job.identity)
        if part.count is not None and self.slots.sharing[part.host] > 1:
            self.faults.add(
                job.where,
                f"job {job.name} shares {part.host} with others, and whose chips are which is not said: give each a "
                "File= in gres.conf, so that gres_detail has IDX",
            )
            return ()
        return chips.values()


def _end(connection: Connection, keys: Sequence[int], time: str) -> None:
    job, allocation = _T["job"], _T["allocation"]
    for part in batches(keys):
        ours = allocation.c.job_id.in_(part)
        connection.execute(update(allocation).where(ours, allocation.c.ended.is_(None)).values(ended=time))
        connection.execute(update(job).where(job.c.id.in_(part)).values(ended=time))


def _give_back(connection: Connection, moved: Sequence[tuple[_Live, frozenset[int]]], time: str) -> None:
    allocation = _T["allocation"]
    chips = [chip for was, becomes in moved for chip in was.chips - becomes]
    for part in batches(sorted(chips)):
        ours = allocation.c.chip_id.in_(part)
        connection.execute(update(allocation).where(ours, allocation.c.ended.is_(None)).values(ended=time))


def _hold(
    connection: Connection, system: str, jobs: Sequence[Held], live: Mapping[str, _Live], wanted: _Wanted, time: str
) -> int:
    """Write what jobs hold anew; how many of them hold a chip later than they began."""
    job, allocation, later = _T["job"], _T["allocation"], set[str]()
    key, row, places = next_job(connection), next_id(connection, allocation), wanted.slots.places(connection)
    made: list[tuple[object, ...]] = []
    moved: list[dict[str, object]] = []
    rows: list[tuple[object, ...]] = []
    taken = {each.identity: wanted.chips[each.identity] - live.get(each.identity, _NEW).chips for each in jobs}
    free = _free_since(connection, min((each.began or time for each in jobs), default=time))
    for each in jobs:
        was = live.get(each.identity)
        holder, began = (was.key, time) if was else (key, min(each.began or time, time))
        place = least(places[chip] for chip in wanted.chips[each.identity])
        chips = written(dict.fromkeys(wanted.chips[each.identity], "work"))
        if was:
            moved.append({"key": was.key, "to": place, "at": time, "chips": chips})
        else:
            told = {"id": key, "cluster_id": wanted.clusters[each.identity], "name": each.name, "system": system}
            told |= {"external_id": each.identity, "submitted": each.submitted, "began": began, "place": place}
            told |= {"priority": each.priority, "pinned": 0, "who": each.who, "chip_ids": chips}
            made.append(tuple(map(told.get, job.c.keys())))
            key += 1
        for chip in sorted(taken[each.identity]):
            since = max(began, free.get(chip, began))
            if since > began:
                later.add(each.identity)
            rows.append((row, holder, chip, "work", since, None))
            row += 1
    load(connection, job, made)
    if moved:
        one = update(job).where(job.c.id == bindparam("key"))
        connection.execute(
            one.values(moved=bindparam("at"), chip_ids=bindparam("chips")), moved
        )  # an event of where it was
        connection.execute(one.values(place=bindparam("to")), moved)
    load(connection, allocation, rows)
    return len(later)


def _free_since(connection: Connection, earliest: str) -> dict[int, str]:
    """When chips were given back last, of those that were after a time."""
    allocation = _T["allocation"]
    query = select(allocation.c.chip_id, func.max(allocation.c.ended).label("ended")).group_by(allocation.c.chip_id)
    return {row.chip_id: row.ended for row in connection.execute(query.where(allocation.c.ended > earliest))}
