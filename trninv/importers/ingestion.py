"""Parse observation files and store them in one transaction, for ``trninv import`` and for POST /observations.

An observation is what a tool or manager reported in one file. Files are parsed into rows before the transaction that
stores them, so that parsing does not block other writers. Content that is stored already is not stored again.
"""

import hashlib
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import IO, Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from trninv.catalog.instance_types import count_unclaimed_types
from trninv.database.bulk_read import batches
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import BusyError, InvalidArgumentError
from trninv.importers.import_report import ImportResult, MissingByField, describe_missing_fields
from trninv.importers.json_value import ImportErrors
from trninv.importers.parsed_file import ImportOptions, ImportProgress, ParsedFile, RowBuilder, machine_name
from trninv.importers.row_batches import BatchSpool, RowBatch, load_batches
from trninv.inventory.state.observation_lock import lock_observations
from trninv.inventory.state.observation_retention import remove_superseded
from trninv.setting_parsers import LEAST_OBSERVATIONS
from trninv.units import current_timestamp, format_timestamp

_OBSERVATION, _SERVER = TABLES["observation"], TABLES["observed_server"]
_CHUNK_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file to import: its name, which may name the machine, and its seekable content, positioned at the beginning."""

    name: str
    content: IO[bytes]


@dataclass(frozen=True, slots=True)
class ParsedImport:
    """Parsed files of one source (``kind``), with the time they were taken and their rows spooled to disk."""

    kind: str
    taken_at: str
    files: tuple["ParsedFile", ...]
    spool: BatchSpool

    @property
    def rows(self) -> int:
        """The number of rows to be added: observations, servers and chips of files not stored before."""
        return sum(file.rows for file in self.files if not file.is_duplicate)


def import_files(
    connection: Connection, kind: str, files: Iterable[ImportFile], *, newest: int = LEAST_OBSERVATIONS, **options: Any
) -> list[ImportResult]:
    """Parse and store files in the caller's transaction; for small files, as other writers wait during the parsing."""
    with parse_files(connection, kind, files, **options) as parsed:
        return store_import(connection, parsed, newest)


@contextmanager
def parse_files(
    connection: Connection,
    kind: str,
    files: Iterable[ImportFile],
    *,
    taken_at: datetime | None = None,
    trust_host_names: bool = False,
    allow_empty: bool = False,
    allowed_machine: str | None = None,
    progress: ImportProgress = lambda _name, _records: None,
) -> Iterator[ParsedImport]:
    """Parse and check files of one kind, except those stored before; nothing is written to the database.

    Parameters
    ----------
    taken_at
        When the files were written, with a time zone; None means now.
    trust_host_names
        Whether a server without instance id and host name gets the name of its file.
    allow_empty
        Whether a listing of instances may be empty.
    allowed_machine
        The only machine that the files may report: its instance id, or its host name if the file has no id. None
        allows any.

    Raises
    ------
    ForbiddenError
        A file reports a machine other than the allowed one.
    InvalidFileError
        A file is invalid; the error lists the errors of all files.
    InvalidArgumentError
        ``taken_at`` has no time zone or is in the future.

    """
    now = datetime.now(UTC)
    if taken_at is not None and (taken_at.tzinfo is None or taken_at > now):
        raise InvalidArgumentError(
            f"taken at {taken_at.isoformat()}: give a time with its zone that is not in the future"
        )
    errors, options = ImportErrors(), ImportOptions(kind, trust_host_names, allow_empty, allowed_machine)
    with tempfile.TemporaryFile() as file:
        spool = BatchSpool(file)
        parsed_files = tuple(
            _parse_file(
                connection, options, import_file, RowBuilder(options, import_file.name, errors, spool.add, progress)
            )
            for import_file in files
        )
        errors.raise_if_any()
        yield ParsedImport(kind, format_timestamp(taken_at or now), parsed_files, spool)


def store_import(connection: Connection, parsed: ParsedImport, newest: int = LEAST_OBSERVATIONS) -> list[ImportResult]:
    """Write parsed files within the caller's transaction, and remove the observations that they supersede.

    Parameters
    ----------
    newest
        The minimum number of a machine's newest observations to keep.

    Raises
    ------
    BusyError
        A file was skipped as a duplicate, but its observation has been removed since.

    """
    lock_observations(connection)
    now, batches = current_timestamp(), parsed.spool.batches()
    stored = [_store_file(connection, parsed, file, now, islice(batches, file.batches)) for file in parsed.files]
    types = _instance_types(connection, [observation for observation, _ in stored])
    pairs = zip(parsed.files, stored, strict=True)
    speakers = {file.speaker for file, (_, result) in pairs if file.speaker and not result.is_duplicate}
    remove_superseded(connection, parsed.kind, speakers, newest)
    return [
        replace(result, unclaimed_types=count_unclaimed_types(types[observation].values()))
        for observation, result in stored
    ]


def _instance_types(connection: Connection, observations: Sequence[int]) -> Mapping[int, Mapping[str, str]]:
    """Return the instance type of each server by name, by observation."""
    types_by_observation = defaultdict[int, dict[str, str]](dict)
    observation_id = _SERVER.c.observation_id
    query = select(observation_id, func.coalesce(_SERVER.c.instance, _SERVER.c.host), _SERVER.c.instance_type)
    for batch in batches(observations):
        rows = connection.execute(query.where(observation_id.in_(batch), _SERVER.c.instance_type.is_not(None)))
        for observation, name, instance_type in rows:
            types_by_observation[observation][name] = instance_type
    return types_by_observation


def _parse_file(connection: Connection, options: ImportOptions, file: ImportFile, rows: "RowBuilder") -> ParsedFile:
    """Spool the rows of a file, unless its content is stored already; check that only the allowed machine is in it."""
    content = _sha256(file.content)
    host_digest = content.copy()
    host_digest.update(f"\0{machine_name(file.name)}".encode(errors="surrogateescape"))
    digests = content.hexdigest(), *([host_digest.hexdigest()] if options.trust_host_names else [])
    existing = select(_OBSERVATION.c.id).where(_is_same_content(options.kind, digests))
    if (observation := connection.scalar(existing)) is None:
        return rows.add_file(digests, file.content)
    if options.allowed_machine is not None:
        server_name = func.coalesce(_SERVER.c.instance, _SERVER.c.host)
        for name in connection.scalars(select(server_name).where(_SERVER.c.observation_id == observation)):
            options.check(name)
    return ParsedFile(file.name, digests, is_duplicate=True)


def _store_file(
    connection: Connection, parsed: ParsedImport, file: ParsedFile, now: str, batches: Iterator[RowBatch]
) -> tuple[int, ImportResult]:
    """Write a file's rows; return the id of its observation and the result."""
    is_same = _is_same_content(parsed.kind, file.digests)
    if existing := connection.execute(select(_OBSERVATION).where(is_same)).first():
        connection.execute(update(_OBSERVATION).where(is_same).values(seen_at=max(existing.seen_at, parsed.taken_at)))
        for _ in batches:  # the content was stored after it was parsed, or earlier in this import; skip its batches
            pass
        missing = describe_missing_fields(parsed.kind, _read_missing_fields(connection, existing.id))
        return existing.id, ImportResult(
            file.name, existing.servers, existing.chips, is_duplicate=True, missing_fields=missing
        )
    if file.is_duplicate:
        raise BusyError(f"{file.name} was imported before, but newer observations have replaced it; import it again")
    observation = next_id(connection, _OBSERVATION)
    connection.execute(insert(_OBSERVATION).values(file.row(observation, parsed.kind, now, parsed.taken_at)))
    for batch in batches:
        load_batches(connection, [(observation, batch)])
    return observation, file.result(parsed.kind)


def _read_missing_fields(connection: Connection, observation: int) -> MissingByField:
    """Return the servers of an observation that lack an expected field, by field."""
    missing = MissingByField()
    query = select(_SERVER.c.missing_fields, _SERVER.c.instance, _SERVER.c.host)
    for row in connection.execute(query.where(_SERVER.c.observation_id == observation)):
        missing.add(*row)
    return missing


def _is_same_content(kind: str, digests: Sequence[str]) -> ColumnElement[bool]:
    return (_OBSERVATION.c.source == kind) & _OBSERVATION.c.sha256.in_(digests)


def _sha256(content: IO[bytes]) -> "hashlib._Hash":
    """Return the hash of a file's content, and go back to its beginning."""
    digest = hashlib.sha256()
    while chunk := content.read(_CHUNK_SIZE):
        digest.update(chunk)
    content.seek(0)
    return digest
