"""Parse observation files and store them in one transaction.

Files are parsed into rows first, while others may write; the transaction that stores them only loads the rows.
"""

import hashlib
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import IO, Any, Final

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from trninv.catalog.instance_types import count_unclaimed_types
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.errors import BusyError, ForbiddenError, InvalidArgumentError
from trninv.importers.import_report import ImportResult, describe_missing_fields
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import MAX_NAME, ImportErrors, JsonValue, quote_value
from trninv.importers.records import (
    MAX_UNKNOWN_KEYS,
    CapacityBlockStatus,
    CompleteListing,
    InstanceListing,
    ObservedRecord,
    ObservedServer,
    ObservedSide,
    Unread,
    shorten_keys,
)
from trninv.importers.row_batches import BatchSpool, RowBatch
from trninv.importers.source_readers import OF_MACHINES, READERS
from trninv.inventory.address.machine_names import is_host_name, is_instance_id
from trninv.inventory.state.observation_retention import remove_superseded
from trninv.settings import LEAST_OBSERVATIONS
from trninv.units import current_timestamp, format_timestamp

EXTENSIONS: Final = (".json", ".jsonl", ".ndjson", ".txt", ".log", ".out", ".yaml", ".yml", ".gz")
"""Extensions to remove; any other suffix, such as ``.internal``, is part of the machine's name."""


def machine_name(file_name: str) -> str:
    """Return a file's name without its known extensions, of which there may be several."""
    name = file_name
    while (
        suffix := next((extension for extension in EXTENSIONS if name.lower().endswith(extension)), "")
    ) and name != suffix:
        name = name[: -len(suffix)]
    return name


_OBSERVATION, _SERVER = TABLES["observation"], TABLES["observed_server"]
_CHUNK_SIZE = 1 << 20
_BATCH_SIZE = 2_000
"""Records of a file that form one batch of rows."""
_QUERY_BATCH_SIZE = 500
"""Observations whose instance types one query reads."""
ImportProgress = Callable[[str, int], None]
"""Called with a file's name and the servers read so far."""


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file to import: its name for error messages, and its seekable content, positioned at the beginning."""

    name: str
    content: IO[bytes]


@dataclass(frozen=True, slots=True)
class ParsedImport:
    """Parsed files of one kind, with their rows spooled to disk."""

    kind: str
    taken_at: str
    files: tuple["_ParsedFile", ...]
    spool: BatchSpool

    @property
    def rows(self) -> int:
        """The number of rows that storing it adds: observations, servers and chips of files not stored before."""
        return sum(1 + file.servers + file.chips for file in self.files if not file.is_duplicate)


@dataclass(slots=True)
class _ParsedFile:
    """A file that was parsed.

    Attributes
    ----------
    digests
        SHA-256 of its content and, if host names in file names are trusted, of the content with that name.
    is_duplicate
        Whether the same content is stored already; then the file was not parsed.
    batches
        Its number of batches in the spool.
    speaker
        The only instance, or host, in a machine's own file; None for several machines or a manager's file.
    missing_counts
        Number of its servers that lack an expected field, by field.

    """

    name: str
    digests: tuple[str, ...]
    is_duplicate: bool = False
    is_complete: bool = False
    is_named_by_file: bool = False
    servers: int = 0
    chips: int = 0
    batches: int = 0
    speaker: str | None = None
    missing_counts: Counter[str] = field(default_factory=Counter)
    unknown_keys: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def import_files(
    connection: Connection, kind: str, files: Iterable[ImportFile], *, newest: int = LEAST_OBSERVATIONS, **options: Any
) -> list[ImportResult]:
    """Parse files and store them, both within the caller's transaction."""
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
    progress: ImportProgress = lambda _name, _servers: None,
) -> Iterator[ParsedImport]:
    """Parse and check files of one kind, except those stored before; nothing is written to the database.

    Parameters
    ----------
    taken_at
        When the files were written, with a time zone; None means now.
    trust_host_names
        Whether a file that names no instance is attributed to the host in its file name.
    allow_empty
        Whether a listing of instances may be empty.
    allowed_machine
        The only machine that the files may report: its instance id, or its host name if the file has no id. None
        allows any.

    Raises
    ------
    ForbiddenError
        A file reports another machine than the allowed one.
    InvalidFileError
        A file is invalid; the error lists the faults of all files.
    InvalidArgumentError
        ``taken_at`` has no time zone or is in the future.

    """
    now = datetime.now(UTC)
    if taken_at is not None and (taken_at.tzinfo is None or taken_at > now):
        raise InvalidArgumentError(
            f"taken at {taken_at.isoformat()}: give a time with its zone that is not in the future"
        )
    errors, options = ImportErrors(), _ImportOptions(kind, trust_host_names, allow_empty, allowed_machine)
    with tempfile.TemporaryFile() as file:
        spool = BatchSpool(file)
        parsed_files = tuple(
            _parse_file(
                connection, options, import_file, _RowBuilder(options, import_file.name, errors, spool, progress)
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
        How many of a machine's newest observations are kept at least.

    Raises
    ------
    BusyError
        A file was skipped as a duplicate, but its observation has been removed since.

    """
    now, batches = current_timestamp(), parsed.spool.batches()
    stored = [_store_file(connection, parsed, file, now, islice(batches, file.batches)) for file in parsed.files]
    types = _instance_types(connection, [key for key, _ in stored])
    pairs = zip(parsed.files, stored, strict=True)
    speakers = {read.speaker for read, (_, file) in pairs if read.speaker and not file.is_duplicate}
    remove_superseded(connection, parsed.kind, sorted(speakers), newest)
    return [replace(file, unclaimed_types=count_unclaimed_types(types[key].values())) for key, file in stored]


def is_known(connection: Connection, kind: str, content: IO[bytes]) -> bool:
    """Return whether the same content is stored, from a file that names its own machine."""
    existing = select(_OBSERVATION.c.id).where(_is_same_content(kind, [_sha256(content).hexdigest()]))
    return connection.scalar(existing) is not None


def _instance_types(connection: Connection, observations: Sequence[int]) -> Mapping[int, Mapping[str, str]]:
    """Return instance types by server name, by observation."""
    types_by_observation = defaultdict[int, dict[str, str]](dict)
    observation_id = _SERVER.c.observation_id
    query = select(observation_id, func.coalesce(_SERVER.c.instance, _SERVER.c.host), _SERVER.c.instance_type)
    for first in range(0, len(observations), _QUERY_BATCH_SIZE):
        is_in_batch = observation_id.in_(
            observations[first : first + _QUERY_BATCH_SIZE]
        ) & _SERVER.c.instance_type.is_not(None)
        for key, name, kind in connection.execute(query.where(is_in_batch)):
            types_by_observation[key][name] = kind
    return types_by_observation


@dataclass(frozen=True, slots=True)
class _ImportOptions:
    kind: str
    trust_host_names: bool
    allow_empty: bool
    allowed_machine: str | None

    def check(self, name: str | None) -> None:
        """Refuse a server other than the allowed machine."""
        if self.allowed_machine not in (None, name):
            raise ForbiddenError(
                f"a token for {self.allowed_machine} may not report {name}; use a token for that machine"
            )


def _parse_file(connection: Connection, options: _ImportOptions, file: ImportFile, rows: "_RowBuilder") -> _ParsedFile:
    content = _sha256(file.content)
    host_digest = content.copy()
    host_digest.update(f"\0{machine_name(file.name)}".encode(errors="surrogateescape"))
    digests = content.hexdigest(), *([host_digest.hexdigest()] if options.trust_host_names else [])
    existing = select(_OBSERVATION.c.id).where(_is_same_content(options.kind, digests))
    if (key := connection.scalar(existing)) is None:
        return rows.add_file(digests, READERS[options.kind](InputFile(file.content, file.name, rows.errors)))
    if options.allowed_machine is not None:
        server_name = func.coalesce(_SERVER.c.instance, _SERVER.c.host)
        for name in connection.scalars(select(server_name).where(_SERVER.c.observation_id == key)):
            options.check(name)
    return _ParsedFile(file.name, digests, is_duplicate=True)


def _store_file(
    connection: Connection, parsed: ParsedImport, file: _ParsedFile, now: str, batches: Iterator[RowBatch]
) -> tuple[int, ImportResult]:
    """Write a file's rows; return the id of its observation and the result."""
    is_same = _is_same_content(parsed.kind, file.digests)
    if existing := connection.execute(select(_OBSERVATION).where(is_same)).first():
        connection.execute(update(_OBSERVATION).where(is_same).values(seen_at=max(existing.seen_at, parsed.taken_at)))
        for _ in batches:  # stored since it was parsed, or earlier in this import: skip its batches in the spool
            pass
        missing = describe_missing_fields(parsed.kind, _count_missing_fields(connection, existing.id))
        return existing.id, ImportResult(
            file.name, existing.servers, existing.chips, is_duplicate=True, missing_fields=missing
        )
    if file.is_duplicate:
        raise BusyError(f"{file.name} was imported before, but newer observations have replaced it; import it again")
    key = next_id(connection, _OBSERVATION)
    connection.execute(
        insert(_OBSERVATION).values(
            id=key,
            at=now,
            source=parsed.kind,
            name=file.name[-MAX_NAME:],
            sha256=file.digests[file.is_named_by_file],
            taken_at=parsed.taken_at,
            seen_at=parsed.taken_at,
            is_whole=file.is_complete,
            servers=file.servers,
            chips=file.chips,
            speaker=file.speaker,
        )
    )
    for batch in batches:
        batch.load(connection, key)
    missing = describe_missing_fields(parsed.kind, file.missing_counts)
    return key, ImportResult(file.name, file.servers, file.chips, False, missing, file.unknown_keys, file.unread)


def _count_missing_fields(connection: Connection, observation: int) -> Counter[str]:
    """Return how many of an observation's servers lack a field, by field."""
    by_fields = select(_SERVER.c.missing_fields, func.count()).where(_SERVER.c.observation_id == observation)
    counts = Counter[str]()
    for names, servers in connection.execute(by_fields.group_by(_SERVER.c.missing_fields)):
        counts.update(dict.fromkeys((names or "").split(), servers))
    return counts


def _is_same_content(kind: str, digests: Sequence[str]) -> ColumnElement[bool]:
    return (_OBSERVATION.c.source == kind) & _OBSERVATION.c.sha256.in_(digests)


def _sha256(content: IO[bytes]) -> "hashlib._Hash":
    digest = hashlib.sha256()
    while chunk := content.read(_CHUNK_SIZE):
        digest.update(chunk)
    content.seek(0)
    return digest


class _RowBuilder:
    """A builder of rows from one file's records."""

    def __init__(
        self, options: _ImportOptions, name: str, errors: ImportErrors, spool: BatchSpool, progress: ImportProgress
    ) -> None:
        self._options, self._name, self._spool, self._progress = options, name, spool, progress
        self.errors, self._is_named_by_file = errors, False

    def add_file(self, digests: tuple[str, ...], records: Iterator[ObservedRecord]) -> _ParsedFile:
        """Read all records of a file, and spool their rows unless there are errors."""
        parsed_file, errors_before = _ParsedFile(self._name, digests), self.errors.count
        has_listing = has_records = False
        while batch := list(islice(records, _BATCH_SIZE)):
            parsed_file.is_complete = parsed_file.is_complete or any(
                isinstance(record, CompleteListing) for record in batch
            )
            has_listing = has_listing or any(isinstance(record, InstanceListing) for record in batch)
            has_records = has_records or any(not isinstance(record, InstanceListing | Unread) for record in batch)
            unread = (str(record) for record in batch if isinstance(record, Unread))
            parsed_file.unread = (*parsed_file.unread, *unread)[:MAX_UNKNOWN_KEYS]
            servers = [
                server
                for record in batch
                if isinstance(record, ObservedServer) and (server := self._identify_server(record))
            ]
            for record in servers:
                self._check_names(record.where, record.instance, record.host)
            for side in (record for record in batch if isinstance(record, ObservedSide)):
                self._check_names(self._name, None, side.host)
            if not self.errors.count:
                self._spool.add(
                    RowBatch.from_records(
                        servers, [record for record in batch if isinstance(record, ObservedSide | CapacityBlockStatus)]
                    )
                )
                parsed_file.batches += 1
            for record in servers:
                parsed_file.speaker = record.instance or record.host
                parsed_file.missing_counts.update(record.missing_fields or ())
                parsed_file.unknown_keys = shorten_keys({*parsed_file.unknown_keys, *record.unknown_keys})
            parsed_file.servers += len(servers)
            parsed_file.chips += sum(len(record.chips) for record in servers)
            self._progress(self._name, parsed_file.servers)
        is_empty = has_listing and not (parsed_file.servers if parsed_file.is_complete else has_records)
        if is_empty and not self._options.allow_empty and self.errors.count == errors_before:
            self.errors.add(self._name, "lists no instances; add --allow-empty if there are none")
        parsed_file.is_named_by_file = self._is_named_by_file
        if parsed_file.servers != 1 or self._options.kind not in OF_MACHINES:
            parsed_file.speaker = None
        return parsed_file

    def _check_names(self, where: str, instance: str | None, host: str | None) -> None:
        """Note an error for an invalid instance id or host name: names end up in scheduler files, paths and scripts."""
        if instance is not None and not is_instance_id(instance):
            self.errors.add(where, f"{quote_value(instance)} is not an instance id such as i-0123456789abcdef0")
        if host is not None and not is_host_name(host, instance=host):
            self.errors.add(where, f"{quote_value(host)} is not a host name: use letters, digits, '.', '_' and '-'")

    def _identify_server(self, server: ObservedServer) -> ObservedServer | None:
        """Return the server, named by its file if need be and trusted; None, with an error noted, if it has no name."""
        if not (server.instance or server.host) and self._options.trust_host_names:
            self._is_named_by_file, server = True, self._with_file_name(server)
        if not (server.instance or server.host):
            hint = "--trust-host-names takes the host from the file name"
            self.errors.add(server.where, f"names no instance and no host; {hint}")
            return None
        self._options.check(server.instance or server.host)
        return server

    def _with_file_name(self, server: ObservedServer) -> ObservedServer:
        """Return the server with the instance id, or host, in its file's name."""
        name = JsonValue(machine_name(self._name), self.errors, self._name).as_name()
        is_id = name is not None and is_instance_id(name)
        return replace(server, instance=name) if is_id else replace(server, host=name)
