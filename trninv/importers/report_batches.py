"""Store what many machines post to the service in one transaction, and accept or refuse each report by itself.

A report is one file of one machine. `store_reports` looks up the tokens of all reports in one statement, parses the
reports outside any transaction, and then stores them together without the inventory's lock. Content that is stored
already is not stored again, so a machine may repeat a report of which it got no answer.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, Final

from sqlalchemy import Connection, Engine, select

from trninv.database.bulk_load import bulk_insert, bulk_update
from trninv.database.engine import read_transaction, write_transaction
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import BusyError, ForbiddenError, TrninvError
from trninv.importers.import_report import ImportResult, MissingByField, describe_missing_fields
from trninv.importers.json_value import ImportErrors
from trninv.importers.parsed_file import ImportOptions, ParsedFile, RowBuilder
from trninv.importers.row_batches import RowBatch, load_batches
from trninv.inventory.access.bearer_tokens import Principal, find_principals, invalid_token_error
from trninv.inventory.access.quota import Quota, Usage, save_usage
from trninv.inventory.state.observation_commits import ObservationCommits
from trninv.inventory.state.observation_lock import lock_observations
from trninv.inventory.state.observation_retention import remove_superseded
from trninv.units import format_timestamp

_OBSERVATION, _SERVER = TABLES["observation"], TABLES["observed_server"]
_ROW_ERRORS: Final = frozenset({"DataError", "IntegrityError"})
"""The drivers' errors about the content of a row, which leave the other rows of a batch storable."""


def _accept(_content: bytes) -> None:
    """Check nothing."""


@dataclass(slots=True, eq=False)
class PostedReport:
    """A report to store.

    Attributes
    ----------
    content
        What `trninv collect` prints.
    taken_at
        When the machine collected it, UTC.
    principal
        Who posts it. It is None if a token says so; then `store_reports` sets it.
    token
        The bearer token; "" if the principal is known.
    check
        Called with the content once the token is known to be valid; raises TrninvError for a malformed report.

    """

    content: bytes
    taken_at: datetime
    principal: Principal | None = None
    token: str = ""
    check: Callable[[bytes], object] = _accept

    @property
    def machine(self) -> str | None:
        """The only machine that it may report; None if the token may report any."""
        return self.principal.name if self.principal and self.principal.scope == "observe" else None


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """The quota of a machine's token, and how many of a machine's newest observations are kept."""

    quota: Quota
    newest: int


Outcome = ImportResult | Exception
"""What became of a report: it is stored and durable, or it was refused, or storing it failed."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A report that may be stored, with its rows; ``file`` is None if its content is stored already."""

    position: int
    report: PostedReport
    digest: str
    file: ParsedFile | None = None
    batches: Sequence[RowBatch] = ()


@dataclass(slots=True)
class _StoredReport:
    """An observation that has a report's content already."""

    id: int
    seen_at: str
    servers: int
    chips: int
    machines: set[str] = field(default_factory=set)
    missing: MissingByField = field(default_factory=MissingByField)


def store_reports(
    engine: Engine,
    kind: str,
    reports: Sequence[PostedReport],
    limits: ReportLimits,
    commits: ObservationCommits,
    give_way: Callable[[], object] = lambda: None,
) -> list[Outcome]:
    """Store reports of one source, ``kind``, in the order in which they are given; return an outcome for each.

    Every report that is not refused is durable when this returns. An error of one report is its outcome and does not
    concern the others. ``commits`` gets to know the transactions. ``give_way`` is called after parsing each report, so
    that other threads get a turn.
    """
    digests = [hashlib.sha256(report.content).hexdigest() for report in reports]
    with read_transaction(engine) as connection:
        principals = _find_principals(connection, reports)
        stored = _read_stored(connection, kind, digests)
    outcomes, candidates = dict[int, Outcome](), list[_Candidate]()
    for position, (report, digest) in enumerate(zip(reports, digests, strict=True)):
        try:
            _authorize(report, principals)
            if digest not in stored:
                _check_usage(report, limits.quota)
            report.check(report.content)
            candidates.append(_parse(kind, position, report, digest, stored.get(digest)))
        except Exception as error:  # noqa: BLE001 # even a defect in a reader must not refuse the other reports
            outcomes[position] = error
        give_way()
    outcomes |= _store_or_split(engine, kind, candidates, limits, commits)
    return [outcomes[position] for position in range(len(reports))]


def _find_principals(connection: Connection, reports: Iterable[PostedReport]) -> Mapping[str, Principal]:
    return find_principals(connection, {report.token for report in reports if report.token})


def _authorize(report: PostedReport, principals: Mapping[str, Principal]) -> None:
    """Set the principal of a report's token, and refuse a token that may not report."""
    if report.token:
        report.principal = principals.get(report.token)
    if report.principal is None:
        raise invalid_token_error()
    if not report.principal.allows("observe"):
        raise ForbiddenError("a report needs a token of scope observe")


def _check_usage(report: PostedReport, quota: Quota) -> None:
    """Refuse a report that exceeds the quota even if it has a single row, before it is parsed."""
    if report.machine and report.principal and report.principal.usage:
        report.principal.usage.check(1, len(report.content), quota, datetime.now(UTC))


def _parse(kind: str, position: int, report: PostedReport, digest: str, stored: _StoredReport | None) -> _Candidate:
    """Parse a report, unless its content is stored; refuse other machines than the one that it may report."""
    options, errors, batches = ImportOptions(kind, allowed_machine=report.machine), ImportErrors(), list[RowBatch]()
    if stored is not None:
        for name in stored.machines:
            options.check(name)
        return _Candidate(position, report, digest)
    file = RowBuilder(options, "observation", errors, batches.append).add_file((digest,), BytesIO(report.content))
    errors.raise_if_any()
    return _Candidate(position, report, digest, file, batches)


def _store_or_split(
    engine: Engine, kind: str, candidates: Sequence[_Candidate], limits: ReportLimits, commits: ObservationCommits
) -> dict[int, Outcome]:
    """Store candidates in one transaction; if the rows of one can't be stored, store the others without it."""
    if not candidates:
        return {}
    try:
        with write_transaction(engine, lock=None, after_commit=commits.end) as connection:
            commits.begin(connection)
            outcomes = _store(connection, kind, candidates, limits)
    except Exception as error:  # noqa: BLE001 # whatever a driver raises for a value
        if len(candidates) == 1 or not _is_about_a_row(error):
            return {candidate.position: error for candidate in candidates}
        half = len(candidates) // 2
        halves = candidates[:half], candidates[half:]
        outcomes = {}
        for part in halves:
            outcomes |= _store_or_split(engine, kind, part, limits, commits)
    return outcomes


def _is_about_a_row(error: Exception) -> bool:
    """Return whether an error may come from the rows of one report, not from the state of the database."""
    cause = error.__cause__
    kinds = {kind.__name__ for kind in type(getattr(cause, "orig", cause)).__mro__}
    return not isinstance(error, TrninvError) or bool(kinds & _ROW_ERRORS)


def _store(
    connection: Connection, kind: str, candidates: Sequence[_Candidate], limits: ReportLimits
) -> dict[int, Outcome]:
    """Store candidates within the caller's transaction; check tokens and quotas again, as they may have changed."""
    lock_observations(connection)
    principals = _find_principals(connection, [candidate.report for candidate in candidates])
    stored = _read_stored(connection, kind, {candidate.digest for candidate in candidates})
    batch = _Batch(kind, principals, stored, limits.quota, next_id(connection, _OBSERVATION))
    outcomes = dict[int, Outcome]()
    for candidate in candidates:
        try:
            outcomes[candidate.position] = batch.add(candidate)
        except TrninvError as error:
            outcomes[candidate.position] = error
    batch.save(connection)
    remove_superseded(connection, kind, batch.speakers, limits.newest)
    return outcomes


class _Batch:
    """The rows of one transaction, collected report by report.

    Parameters
    ----------
    stored
        Observations of the reports' contents, by digest; those that the batch adds are added here too.
    first_id
        The id of the first new observation.

    """

    def __init__(
        self,
        kind: str,
        principals: Mapping[str, Principal],
        stored: dict[str, _StoredReport],
        quota: Quota,
        first_id: int,
    ) -> None:
        self._kind, self._principals, self._stored, self._quota = kind, principals, stored, quota
        self._first_id, self._now = first_id, datetime.now(UTC)
        self._rows, self._batches = dict[str, dict[str, Any]](), list[tuple[int, RowBatch]]()
        self._confirmed_at, self._usages = dict[int, str](), dict[str, Usage]()

    @property
    def speakers(self) -> set[str]:
        """The machines with new observations."""
        return {row["speaker"] for row in self._rows.values() if row["speaker"]}

    def add(self, candidate: _Candidate) -> ImportResult:
        """Add a report.

        Raises
        ------
        UnauthenticatedError, ForbiddenError
            Its token was revoked, has expired or was limited since it was parsed.
        QuotaError
            It exceeds the quota of its token.
        BusyError
            Its content was stored before, but has been removed since.

        """
        report = candidate.report
        _authorize(report, self._principals)
        taken_at = format_timestamp(report.taken_at)
        if stored := self._stored.get(candidate.digest):
            if taken_at > stored.seen_at:
                stored.seen_at = self._confirmed_at[stored.id] = taken_at
            missing = describe_missing_fields(self._kind, stored.missing)
            return ImportResult("observation", stored.servers, stored.chips, is_duplicate=True, missing_fields=missing)
        file = candidate.file
        if file is None:
            raise BusyError("newer observations have replaced the same one, which was stored before; send it again")
        if report.machine and report.principal and report.principal.usage:
            usage = self._usages.get(report.machine, report.principal.usage)
            self._usages[report.machine] = usage.check(file.rows, len(report.content), self._quota, self._now)
        observation = self._first_id + len(self._rows)
        self._rows[candidate.digest] = file.row(observation, self._kind, format_timestamp(self._now), taken_at)
        self._batches += [(observation, rows_) for rows_ in candidate.batches]
        self._stored[candidate.digest] = _StoredReport(
            observation, taken_at, file.servers, file.chips, missing=file.missing
        )
        return file.result(self._kind)

    def save(self, connection: Connection) -> None:
        """Write all rows."""
        columns = [column.name for column in _OBSERVATION.c]
        rows = [tuple(row[name] for name in columns) for row in self._rows.values()]
        bulk_insert(connection, _OBSERVATION, rows)
        load_batches(connection, self._batches)
        confirmed = [{"id": key, "seen_at": timestamp} for key, timestamp in sorted(self._confirmed_at.items())]
        bulk_update(connection, _OBSERVATION, "id", confirmed)
        save_usage(connection, self._usages)


def _read_stored(connection: Connection, kind: str, digests: Iterable[str]) -> dict[str, _StoredReport]:
    """Return the observations that have a content with one of the digests, by digest."""
    columns = (_OBSERVATION.c[name] for name in ("sha256", "id", "seen_at", "servers", "chips"))
    query = select(*columns).where(_OBSERVATION.c.source == kind, _OBSERVATION.c.sha256.in_(digests))
    by_digest = {digest: _StoredReport(*values) for digest, *values in connection.execute(query)}
    by_id = {stored.id: stored for stored in by_digest.values()}
    if by_id:
        servers = select(*(_SERVER.c[name] for name in ("observation_id", "missing_fields", "instance", "host")))
        for observation, missing, instance, host in connection.execute(
            servers.where(_SERVER.c.observation_id.in_(by_id))
        ):
            by_id[observation].machines.add(instance or host)
            by_id[observation].missing.add(missing, instance, host)
    return by_digest
