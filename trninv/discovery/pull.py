"""Pull one target: read its listings, then import them, bind, allocate and detect drift in one transaction.

All calls are answered before the transaction begins, so that a call that fails, expired credentials for example, leaves
nothing half written.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryFile
from typing import Annotated

from sqlalchemy import Connection, Engine, or_, select

from trninv.database.engine import read_transaction, write_transaction
from trninv.database.tables import TABLES
from trninv.deadline import Progress, silent
from trninv.discovery.blocks import split_listing
from trninv.discovery.discovery_table import RENEWAL_SECONDS, Lease, late_time, lease_target
from trninv.discovery.provider import Follower, PulledJobs, PulledListing, PulledListings, find_provider
from trninv.discovery.target import Target
from trninv.errors import DiscoveryError, InvalidFileError
from trninv.importers.import_report import render_unreported
from trninv.importers.ingestion import ImportFile, ParsedImport, parse_files, store_import
from trninv.importers.scheduler_job import SchedulerJob
from trninv.placement.allocations.job_import import import_jobs, read_jobs
from trninv.reconcile.changes.infer_bindings import infer_bindings
from trninv.reconcile.drift import detect_drift
from trninv.setting_parsers import LEAST_OBSERVATIONS
from trninv.units import format_timestamp, pluralize

AUTHOR = "discover"
"""Who binds the instances that a pull identifies."""
_OBSERVATION = TABLES["observation"]


@dataclass(frozen=True, slots=True)
class PullResult:
    """What a pull of one target read and changed."""

    target: Annotated[str, "The target."]
    servers: Annotated[int, "Number of machines in its largest listing."]
    stored: Annotated[int, "Number of files of observations that were new."]
    bound: Annotated[int, "Number of new bindings."]
    unbound: Annotated[int, "Number of bindings that ended."]
    new_findings: Annotated[int, "Number of new findings."]
    cleared_findings: Annotated[int, "Number of findings that ended."]
    notes: Annotated[tuple[str, ...], "Fields that were not reported, calls that were refused, and changed jobs."]

    def summary(self) -> str:
        """Return the result in one line."""
        return (
            f"{pluralize(self.servers, 'server')}, {self.stored} stored, {self.bound} bound, {self.unbound} unbound, "
            f"{pluralize(self.new_findings, 'new finding')}, {self.cleared_findings} cleared"
        )


def pull_target(
    engine: Engine,
    target: Target,
    *,
    every_seconds: int | None = None,
    allow_empty: bool = False,
    newest: int = LEAST_OBSERVATIONS,
    commits: bool = True,
    progress: Progress = silent,
    follower: Follower | None = None,
) -> PullResult:
    """Pull a target and return what changed.

    Parameters
    ----------
    every_seconds
        The interval in which it is pulled, for `trninv status`; None leaves it unchanged.
    allow_empty
        Whether the target may list no machine at all.
    newest
        The number of versions to keep of each part of a listing.
    commits
        False only checks; nothing is stored.
    follower
        What the provider keeps between pulls; None reads everything.

    Raises
    ------
    BusyError
        Another process is pulling it.
    DiscoveryError
        A call failed, or another account or cluster answers than before.
    InvalidFileError
        Answers are invalid; the error lists all errors.

    """
    provider, started = find_provider(target), datetime.now(UTC)
    with lease_target(engine, str(target), started, every_seconds) as lease, ExitStack() as stack:
        renewal = _Renewal(lease, progress)
        pulled = follower.pull(renewal) if follower else provider.pull(target, renewal)
        _check_identity(lease, pulled)
        read = _read_time(lease, started)
        progress("reading", 0, 0)
        with read_transaction(engine) as connection:
            imports = list(_parse(connection, stack, str(target), pulled, allow_empty=allow_empty))
        jobs = _read_jobs(str(target), pulled.jobs)
        progress("storing", 0, 0)
        connection = stack.enter_context(write_transaction(engine, commits=commits))
        imports = [replace(parsed, taken_at=format_timestamp(read)) for parsed in imports]
        files = [file for parsed in imports for file in store_import(connection, parsed, newest)]
        bindings = infer_bindings(connection, who=AUTHOR)
        job_notes = tuple(_import_jobs(connection, pulled.jobs, jobs))
        drift = detect_drift(connection, progress=progress)
        result = PullResult(
            str(target),
            max((len(listing.entries) for listing in pulled.listings), default=0),
            sum(not file.is_duplicate for file in files),
            len(bindings.created),
            len(bindings.ended),
            drift.new_count,
            drift.cleared_count,
            (*pulled.notes, *render_unreported(files), *job_notes),
        )
        every = every_seconds or (lease.previous and lease.previous.every_seconds)
        lease.finish(
            connection,
            identity=pulled.identity,
            read_at=format_timestamp(read),
            late_at=late_time(read, every),
            result="\n".join([result.summary(), *result.notes]),
            clusters=_reported_clusters(connection, str(target), format_timestamp(read)),
        )
    if not commits:
        lease.release()
    return result


class _Renewal:
    """Progress of a pull's calls, which also renews its lease."""

    def __init__(self, lease: Lease, progress: Progress) -> None:
        self._lease, self._progress, self._due = lease, progress, time.monotonic() + RENEWAL_SECONDS

    def __call__(self, name: str, count: int) -> None:
        self._progress(name, count, 0)
        if time.monotonic() > self._due:
            self._lease.renew()
            self._due = time.monotonic() + RENEWAL_SECONDS


def _check_identity(lease: Lease, pulled: PulledListings) -> None:
    before = lease.previous and lease.previous.identity
    if before and before != pulled.identity:
        raise DiscoveryError(
            f"{lease.target} was {before}, and now {pulled.identity} answers, whose machines would replace all others; "
            f"correct the credentials, or run trninv discover --forget {lease.target}"
        )


def _read_time(lease: Lease, started: datetime) -> datetime:
    """Return the time of a pull, which is after that of the one before even if the clock was set back."""
    before = lease.previous and lease.previous.read_at
    return max(started, datetime.fromisoformat(before) + timedelta(milliseconds=1)) if before else started


def _parse(
    connection: Connection, stack: ExitStack, target: str, pulled: PulledListings, *, allow_empty: bool
) -> Iterator[ParsedImport]:
    """Yield the parsed files of each source; they stay open until the stack closes.

    Raises
    ------
    InvalidFileError
        Files are invalid; the error lists the errors of all sources.

    """
    errors = list[str]()
    if not allow_empty and not any(listing.entries for listing in pulled.listings):
        errors.append(f"{target}: lists no machine; add --allow-empty if there is none")
    for source in dict.fromkeys(listing.source for listing in pulled.listings):
        listings = (listing for listing in pulled.listings if listing.source == source)
        files = (
            file for listing in listings for file in _files(connection, target, listing)
        )  # one at a time in memory
        try:
            parsed = stack.enter_context(parse_files(connection, source, files, allow_empty=True))
        except InvalidFileError as error:
            errors += error.errors
            continue
        for file in parsed.files:
            file.speaker = file.name
        yield parsed
    if errors:
        raise InvalidFileError(f"{target}: {pluralize(len(errors), 'error')}; nothing was imported", errors)


def _reported_clusters(connection: Connection, target: str, read: str) -> str | None:
    """Return the names of the clusters with servers that the pull at a time lists, separated by blanks."""
    observation, observed, binding = (TABLES[name] for name in ("observation", "observed_server", "binding"))
    is_target = observation.c.speaker.startswith(f"{target}/", autoescape=True)
    written = select(observation.c.id).where(is_target, observation.c.seen_at == read)
    is_listed = or_(
        *(
            binding.c[name].in_(select(observed.c[name]).where(observed.c.observation_id.in_(written)))
            for name in ("instance", "host")
        )
    )
    query = select(binding.c.address).where(binding.c.ended_at.is_(None), is_listed)
    return " ".join(sorted({address.partition("/")[0] for address in connection.scalars(query)})) or None


def _read_jobs(target: str, pulled: PulledJobs | None) -> list[SchedulerJob]:
    """Return the jobs of a listing.

    Raises
    ------
    InvalidFileError
        The listing is invalid.

    """
    if pulled is None or not pulled.documents:
        return []
    with TemporaryFile() as file:
        file.writelines(document.text() + b"\n" for document in pulled.documents)
        file.seek(0)
        return read_jobs(pulled.scheduler, [ImportFile(f"{target}/jobs", file)])


def _import_jobs(connection: Connection, pulled: PulledJobs | None, jobs: list[SchedulerJob]) -> Iterator[str]:
    """Allocate chips to the jobs of a listing, and yield what changed; jobs on unknown hosts are omitted."""
    if pulled is None:
        return
    result = import_jobs(connection, pulled.system, jobs, allow_empty=True, keep_going=True)
    if result.allocated or result.moved or result.ended:
        yield f"jobs of {pulled.system}: {result.allocated} allocated, {result.moved} moved, {result.ended} ended"
    if result.omitted:
        yield f"jobs of {pulled.system}: {len(result.omitted)} omitted, such as: {result.omitted[0]}"


def _files(connection: Connection, target: str, listing: PulledListing) -> Iterator[ImportFile]:
    """Yield a listing as files; none if it is empty and always was."""
    name, speaker = f"{target}/{listing.name}", _OBSERVATION.c.speaker
    is_listing = or_(speaker == name, speaker.startswith(f"{name}/", autoescape=True))
    stored = set(
        connection.scalars(select(speaker).where(_OBSERVATION.c.source == listing.source, is_listing).distinct())
    )
    if listing.entries or stored:
        yield from split_listing(target, listing, stored)
