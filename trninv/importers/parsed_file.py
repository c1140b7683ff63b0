"""Read the records of one file into rows: a source's reader yields them, and `ParsedFile` says what they were.

`ingestion` does this for the files of `trninv import`, and `report_batches` for what machines post to the service.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import IO, Any, Final

from trninv.errors import ForbiddenError
from trninv.importers.import_report import ImportResult, MissingByField, ServerNames, describe_missing_fields
from trninv.importers.input_file import InputFile
from trninv.importers.json_value import MAX_NAME, ImportErrors, JsonValue, quote_value
from trninv.importers.records import (
    MAX_UNKNOWN_KEYS,
    CapacityBlockStatus,
    CompleteListing,
    InstanceListing,
    ObservedServer,
    ObservedSide,
    TerminatedInstance,
    Unread,
    shorten_keys,
)
from trninv.importers.row_batches import RowBatch
from trninv.importers.source_register import all_sources
from trninv.inventory.address.machine_names import is_host_name, is_instance_id

EXTENSIONS: Final = (".json", ".jsonl", ".ndjson", ".txt", ".log", ".out", ".yaml", ".yml", ".gz")
"""Extensions of files named after a machine; other suffixes, such as ``.internal``, belong to the machine's name."""


def machine_name(file_name: str) -> str:
    """Return a file's name without its known extensions, of which there may be several."""
    name = file_name
    while name not in EXTENSIONS and name.lower().endswith(EXTENSIONS):
        name = name[: name.rindex(".")]
    return name


_BATCH_SIZE = 2_000
"""The number of a file's records that form one batch of rows."""
ImportProgress = Callable[[str, int], None]
"""Called with a file's name and the number of records of servers read so far."""


@dataclass(slots=True)
class ParsedFile:
    """A file that was parsed.

    Attributes
    ----------
    digests
        SHA-256 of its content and, if host names in file names are trusted, of the content with that name.
    is_duplicate
        Whether the same content is stored already; then the file was not parsed.
    is_complete
        Whether it lists every instance of an account or cluster.
    is_named_by_file
        Whether a machine in it is named after the file.
    records
        Number of records of servers, each a row; a file may have several of one server, such as a Kubernetes Node and
        its ResourceSlices.
    batches
        Number of batches that its rows came in.
    speaker
        The instance or host that reported, if the file is from a tool on a single machine; else None.
    missing
        Its servers that lack an expected field, by field.

    """

    name: str
    digests: tuple[str, ...]
    is_duplicate: bool = False
    is_complete: bool = False
    is_named_by_file: bool = False
    names: ServerNames = field(default_factory=ServerNames)
    records: int = 0
    chips: int = 0
    batches: int = 0
    speaker: str | None = None
    missing: MissingByField = field(default_factory=MissingByField)
    unknown_keys: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def servers(self) -> int:
        """The number of servers in it."""
        return self.names.count()

    @property
    def rows(self) -> int:
        """The number of rows that storing it adds."""
        return 1 + self.records + self.chips

    def row(self, observation: int, kind: str, stored_at: str, taken_at: str) -> dict[str, Any]:
        """Return its row of ``observation``."""
        return {
            "id": observation,
            "at": stored_at,
            "source": kind,
            "name": self.name[-MAX_NAME:],
            "sha256": self.digests[-1] if self.is_named_by_file else self.digests[0],
            "taken_at": taken_at,
            "seen_at": taken_at,
            "is_whole": self.is_complete,
            "servers": self.servers,
            "chips": self.chips,
            "speaker": self.speaker,
            "is_cited": False,
        }

    def result(self, kind: str) -> ImportResult:
        """Return the result of storing it."""
        return ImportResult(
            self.name,
            self.servers,
            self.chips,
            is_duplicate=False,
            missing_fields=describe_missing_fields(kind, self.missing),
            unknown_keys=self.unknown_keys,
            unread=self.unread,
        )


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to read the files of an import, as the parameters of `trninv.importers.ingestion.parse_files` say."""

    kind: str
    trust_host_names: bool = False
    allow_empty: bool = False
    allowed_machine: str | None = None

    def check(self, name: str | None) -> None:
        """Refuse a server other than the allowed machine."""
        if self.allowed_machine not in (None, name):
            raise ForbiddenError(
                f"this token is for {self.allowed_machine} and may not report {name}; use a token for {name}"
            )


class RowBuilder:
    """Build the rows of one file from its reader's records, and note errors in them."""

    def __init__(
        self,
        options: ImportOptions,
        name: str,
        errors: ImportErrors,
        add_batch: Callable[[RowBatch], object],
        progress: ImportProgress = lambda _name, _records: None,
    ) -> None:
        self._options, self._name, self._add_batch, self._progress = options, name, add_batch, progress
        self.errors, self._is_named_by_file = errors, False

    def add_file(self, digests: tuple[str, ...], content: IO[bytes]) -> ParsedFile:
        """Read all records of a file, and pass on their rows unless there are errors."""
        records = all_sources()[self._options.kind].read(InputFile(content, self._name, self.errors))
        parsed_file, errors_before = ParsedFile(self._name, digests), self.errors.count
        has_listing = has_records = False  # has_records: whether there is anything about machines or links
        terminated = 0
        while batch := list(islice(records, _BATCH_SIZE)):
            parsed_file.is_complete = parsed_file.is_complete or any(
                isinstance(record, CompleteListing) for record in batch
            )
            has_listing = has_listing or any(isinstance(record, InstanceListing) for record in batch)
            terminated += sum(isinstance(record, TerminatedInstance) for record in batch)
            has_records = has_records or any(
                not isinstance(record, InstanceListing | TerminatedInstance | Unread) for record in batch
            )
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
                links = [record for record in batch if isinstance(record, ObservedSide | CapacityBlockStatus)]
                rows = RowBatch.from_records(servers, links)
                self._add_batch(rows)
                parsed_file.batches += 1
                for record, missing_fields in zip(servers, rows.missing_fields(), strict=True):
                    parsed_file.missing.add(missing_fields, record.instance, record.host)
            for record in servers:
                parsed_file.names.add(record.instance, record.host)
                parsed_file.speaker = record.instance or record.host
                parsed_file.unknown_keys = shorten_keys({*parsed_file.unknown_keys, *record.unknown_keys})
            parsed_file.records += len(servers)
            parsed_file.chips += sum(len(record.chips) for record in servers)
            self._progress(self._name, parsed_file.records)
        # a complete listing must have a server; any other listing needs only a record about a machine or its links
        is_empty = has_listing and not (parsed_file.records if parsed_file.is_complete else has_records)
        if is_empty and not self._options.allow_empty and self.errors.count == errors_before:
            self.errors.add(
                self._name,
                f"lists only terminated instances ({terminated:,}); add --allow-empty if there are no others"
                if terminated
                else "lists no instances; add --allow-empty if there are none",
            )
        parsed_file.is_named_by_file = self._is_named_by_file
        if parsed_file.records != 1 or all_sources()[self._options.kind].is_manager:
            parsed_file.speaker = None
        return parsed_file

    def _check_names(self, where: str, instance: str | None, host: str | None) -> None:
        """Note an error for an invalid instance id or host name, since exports write them to files and scripts."""
        if instance is not None and not is_instance_id(instance):
            self.errors.add(where, f"{quote_value(instance)} is not an instance id such as i-0123456789abcdef0")
        if host is not None and not is_host_name(host, instance=host):
            self.errors.add(where, f"{quote_value(host)} is not a host name: use letters, digits, '.', '_' and '-'")

    def _identify_server(self, server: ObservedServer) -> ObservedServer | None:
        """Return the server, named after its file if needed and trusted; note an error and return None if unnamed."""
        if not (server.instance or server.host) and self._options.trust_host_names:
            self._is_named_by_file, server = True, self._with_file_name(server)
        if not (server.instance or server.host):
            hint = "--trust-host-names takes the host from the file name"
            self.errors.add(server.where, f"names no instance and no host; {hint}")
            return None
        self._options.check(server.instance or server.host)
        return server

    def _with_file_name(self, server: ObservedServer) -> ObservedServer:
        """Return the server with its file's name as its instance id or host name."""
        name = JsonValue(machine_name(self._name), self.errors, self._name).as_name()
        is_id = name is not None and is_instance_id(name)
        return replace(server, instance=name) if is_id else replace(server, host=name)
