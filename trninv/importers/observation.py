"""Keeping what was seen: one row of ``observation`` a file, what it says below it, all files in one transaction.

Files are read, checked and made into rows first, while others may write; the transaction that keeps them only loads.
"""

import hashlib
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import IO, Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from trninv.catalog.instance_types import unclaimed
from trninv.errors import BusyError, ForbiddenError, LimitError
from trninv.importers.file_names import machine_name
from trninv.importers.import_report import Imported, missing_fields
from trninv.importers.kinds import OF_MACHINES, READERS
from trninv.importers.observed import (
    MAX_UNKNOWN_KEYS,
    Block,
    Listing,
    Seen,
    Server,
    Side,
    Unread,
    Whole,
    unknown_keys,
)
from trninv.importers.reading import Source
from trninv.importers.rows import Batch, Spool
from trninv.importers.value import MAX_NAME, Faults, Value, shown
from trninv.inventory.ids import next_id
from trninv.inventory.named import is_host, is_instance
from trninv.inventory.retention import remove_superseded
from trninv.inventory.schema import TABLES
from trninv.settings import LEAST_OBSERVATIONS
from trninv.timestamps import current_timestamp, format_timestamp

_OBSERVATION, _SERVER = TABLES["observation"], TABLES["observed_server"]
_PIECE = 1 << 20
_BATCH = 2_000
"""Servers that are written at once."""
_AT_ONCE = 500
"""Observations whose servers' types are read at once."""

Progress = Callable[[str, int], None]
"""Called with a file's name and the servers read so far."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to import: where its bytes are (from the beginning, as often as asked), and what faults call it."""

    name: str
    content: IO[bytes]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What files say, in rows that wait on disk."""

    kind: str
    taken_at: str
    files: tuple["_Read", ...]
    spool: Spool

    @property
    def rows(self) -> int:
        """Rows that keeping it adds: of what is not known observations, servers and chips."""
        return sum(1 + file.servers + file.chips for file in self.files if not file.is_known)


@dataclass(slots=True)
class _Read:
    """A file that was read.

    Attributes
    ----------
    digests
        Of its content, alone and for the host that its name gives, where that is trusted.
    batches
        How many of the spool are its own.
    speaker
        The instance, or host, that it is of; None: of several, or a manager's.
    missing
        Of how many of its servers each expected field is missing.

    """

    name: str
    digests: tuple[str, ...]
    is_known: bool = False
    is_whole: bool = False
    is_of_host: bool = False
    servers: int = 0
    chips: int = 0
    batches: int = 0
    speaker: str | None = None
    missing: Counter[str] = field(default_factory=Counter)
    unknown_keys: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def observe(
    connection: Connection, kind: str, files: Iterable[File], *, newest: int = LEAST_OBSERVATIONS, **more: Any
) -> list[Imported]:
    """Gather files and keep them, both within the caller's transaction."""
    with gathered(connection, kind, files, **more) as found:
        return keep(connection, found, newest)


@contextmanager
def gathered(
    connection: Connection,
    kind: str,
    files: Iterable[File],
    *,
    taken_at: datetime | None = None,
    trust_host_names: bool = False,
    allow_empty: bool = False,
    speaker: str | None = None,
    progress: Progress = lambda _name, _servers: None,
) -> Iterator[Gathered]:
    """Read and check files of one kind, but for those that are known; nothing is written to the database.

    Parameters
    ----------
    taken_at
        When the files were written, with a zone; now, where it is not known.
    trust_host_names
        Whether a file that names no instance speaks for the host that its own name gives.
    allow_empty
        Whether a listing of every instance may have none.
    speaker
        The only instance, or host whose instance is not known, that the files may speak of; None: any.

    Raises
    ------
    ForbiddenError
        A file speaks of another than the speaker.
    FileError
        A file is not what it should be; it has every fault of all files.
    LimitError
        The time has no zone, or lies ahead.

    """
    at = datetime.now(UTC)
    if taken_at is not None and (taken_at.tzinfo is None or taken_at > at):
        raise LimitError(f"taken at {taken_at.isoformat()}: give a time with its zone that is not in the future")
    faults, given = Faults(), _Given(kind, trust_host_names, allow_empty, speaker)
    with tempfile.TemporaryFile() as file:
        spool = Spool(file)
        read = tuple(_file(connection, given, each, _Rows(given, each.name, faults, spool, progress)) for each in files)
        faults.raise_if_any()
        yield Gathered(kind, format_timestamp(taken_at or at), read, spool)


def keep(connection: Connection, found: Gathered, newest: int = LEAST_OBSERVATIONS) -> list[Imported]:
    """Write what was gathered within the caller's transaction, and remove what it supersedes.

    Parameters
    ----------
    newest
        Observations of a machine that are kept at least.

    Raises
    ------
    BusyError
        What was known is known no more.

    """
    now, batches = current_timestamp(), found.spool.batches()
    kept = [_keep(connection, found, file, now, islice(batches, file.batches)) for file in found.files]
    types = _types(connection, [key for key, _ in kept])
    pairs = zip(found.files, kept, strict=True)
    speakers = {read.speaker for read, (_, file) in pairs if read.speaker and not file.is_known}
    remove_superseded(connection, found.kind, sorted(speakers), newest)
    return [replace(file, unclaimed=unclaimed(types[key].values())) for key, file in kept]


def is_known(connection: Connection, kind: str, content: IO[bytes]) -> bool:
    """Whether the same content was kept before, from a file that names its machine."""
    known = select(_OBSERVATION.c.id).where(_same(kind, [_sha256(content).hexdigest()]))
    return connection.scalar(known) is not None


def _types(connection: Connection, observations: Sequence[int]) -> Mapping[int, Mapping[str, str]]:
    """The types of the servers of each observation, by the servers' names."""
    found = defaultdict[int, dict[str, str]](dict)
    of = _SERVER.c.observation_id
    query = select(of, func.coalesce(_SERVER.c.instance, _SERVER.c.host), _SERVER.c.instance_type)
    for first in range(0, len(observations), _AT_ONCE):
        ours = of.in_(observations[first : first + _AT_ONCE]) & _SERVER.c.instance_type.is_not(None)
        for key, name, kind in connection.execute(query.where(ours)):
            found[key][name] = kind
    return found


@dataclass(frozen=True, slots=True)
class _Given:
    kind: str
    trust_host_names: bool
    allow_empty: bool
    speaker: str | None

    def check(self, name: str | None) -> None:
        """Refuse a server of which the speaker may not speak."""
        if self.speaker not in (None, name):
            raise ForbiddenError(f"{self.speaker} may not speak for {name}: a token speaks for what it is named for")


def _file(connection: Connection, given: _Given, file: File, rows: "_Rows") -> _Read:
    content = _sha256(file.content)
    of_host = content.copy()
    of_host.update(f"\0{machine_name(file.name)}".encode(errors="surrogateescape"))
    digests = content.hexdigest(), *([of_host.hexdigest()] if given.trust_host_names else [])
    known = select(_OBSERVATION.c.id).where(_same(given.kind, digests))
    if (key := connection.scalar(known)) is None:
        return rows.take(digests, READERS[given.kind](Source(file.content, file.name, rows.faults)))
    if given.speaker is not None:
        named = func.coalesce(_SERVER.c.instance, _SERVER.c.host)
        for name in connection.scalars(select(named).where(_SERVER.c.observation_id == key)):
            given.check(name)
    return _Read(file.name, digests, is_known=True)


def _keep(
    connection: Connection, found: Gathered, file: _Read, now: str, batches: Iterator[Batch]
) -> tuple[int, Imported]:
    """Write a file's rows; the id of its observation, and what became of it."""
    same = _same(found.kind, file.digests)
    if known := connection.execute(select(_OBSERVATION).where(same)).first():
        connection.execute(update(_OBSERVATION).where(same).values(seen_at=max(known.seen_at, found.taken_at)))
        for _ in batches:  # it came twice
            pass
        missing = missing_fields(found.kind, _stored(connection, known.id))
        return known.id, Imported(file.name, known.servers, known.chips, is_known=True, missing_fields=missing)
    if file.is_known:
        raise BusyError(f"what was known of {file.name} is gone: newer observations superseded it: import it again")
    key = next_id(connection, _OBSERVATION)
    connection.execute(
        insert(_OBSERVATION).values(
            id=key,
            at=now,
            source=found.kind,
            name=file.name[-MAX_NAME:],
            sha256=file.digests[file.is_of_host],
            taken_at=found.taken_at,
            seen_at=found.taken_at,
            is_whole=file.is_whole,
            servers=file.servers,
            chips=file.chips,
            speaker=file.speaker,
        )
    )
    for batch in batches:
        batch.load(connection, key)
    missing = missing_fields(found.kind, file.missing)
    return key, Imported(file.name, file.servers, file.chips, False, missing, file.unknown_keys, file.unread)


def _stored(connection: Connection, observation: int) -> Counter[str]:
    """Count an observation's servers by each field that is missing."""
    by_fields = select(_SERVER.c.missing_fields, func.count()).where(_SERVER.c.observation_id == observation)
    counts = Counter[str]()
    for names, servers in connection.execute(by_fields.group_by(_SERVER.c.missing_fields)):
        counts.update(dict.fromkeys((names or "").split(), servers))
    return counts


def _same(kind: str, digests: Sequence[str]) -> ColumnElement[bool]:
    return (_OBSERVATION.c.source == kind) & _OBSERVATION.c.sha256.in_(digests)


def _sha256(content: IO[bytes]) -> "hashlib._Hash":
    digest = hashlib.sha256()
    while piece := content.read(_PIECE):
        digest.update(piece)
    content.seek(0)
    return digest


class _Rows:
    """Makes what one file says into rows."""

    def __init__(self, given: _Given, name: str, faults: Faults, spool: Spool, progress: Progress) -> None:
        self._given, self._name, self._spool, self._progress = given, name, spool, progress
        self.faults, self._is_of_host = faults, False

    def take(self, digests: tuple[str, ...], seen: Iterator[Seen]) -> _Read:
        """Read a file to its end."""
        read, before = _Read(self._name, digests), self.faults.count
        lists = says = False
        while some := list(islice(seen, _BATCH)):
            read.is_whole = read.is_whole or any(isinstance(each, Whole) for each in some)
            lists = lists or any(isinstance(each, Listing) for each in some)
            says = says or any(not isinstance(each, Listing | Unread) for each in some)
            unread = (str(each) for each in some if isinstance(each, Unread))
            read.unread = (*read.unread, *unread)[:MAX_UNKNOWN_KEYS]
            servers = [named for each in some if isinstance(each, Server) and (named := self._named(each))]
            for each in servers:
                self._check_names(each.where, each.instance, each.host)
            for side in (each for each in some if isinstance(each, Side)):
                self._check_names(self._name, None, side.host)
            if not self.faults.count:
                self._spool.add(Batch.of(servers, [each for each in some if isinstance(each, Side | Block)]))
                read.batches += 1
            for each in servers:
                read.speaker = each.instance or each.host
                read.missing.update(each.missing_fields or ())
                read.unknown_keys = unknown_keys({*read.unknown_keys, *each.unknown_keys})
            read.servers += len(servers)
            read.chips += sum(len(each.chips) for each in servers)
            self._progress(self._name, read.servers)
        is_empty = lists and not (read.servers if read.is_whole else says)
        if is_empty and not self._given.allow_empty and self.faults.count == before:
            self.faults.add(self._name, "lists no instance at all: if there is none any more, add --allow-empty")
        read.is_of_host = self._is_of_host
        if read.servers != 1 or self._given.kind not in OF_MACHINES:
            read.speaker = None
        return read

    def _check_names(self, where: str, instance: str | None, host: str | None) -> None:
        """Refuse a name that no instance or host has: names reach schedulers' files, paths and scripts."""
        if instance is not None and not is_instance(instance):
            self.faults.add(where, f"{shown(instance)} is no id of an instance such as i-0123456789abcdef0")
        if host is not None and not is_host(host, of=host):
            self.faults.add(where, f"{shown(host)} is no host's name: letters, digits, '.', '_' and '-'")

    def _named(self, server: Server) -> Server | None:
        """A server that says which it is."""
        if not (server.instance or server.host) and self._given.trust_host_names:
            self._is_of_host, server = True, self._by_file_name(server)
        if not (server.instance or server.host):
            hint = "--trust-host-names takes the host from the name of its file"
            self.faults.add(server.where, f"names no instance and no host: {hint}")
            return None
        self._given.check(server.instance or server.host)
        return server

    def _by_file_name(self, server: Server) -> Server:
        """A server that is the machine in its file's name, if that can be one's."""
        name = Value(machine_name(self._name), self.faults, self._name).as_name()
        is_id = name is not None and is_instance(name)
        return replace(server, instance=name) if is_id else replace(server, host=name)
