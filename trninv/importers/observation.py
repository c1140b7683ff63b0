"""Keeping what was seen: one row of ``observation`` a file, what it says below it, all files in one transaction."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import PurePath
from typing import IO

from sqlalchemy import Connection, Table, insert, select, update

from trninv.errors import LimitError
from trninv.importers.kinds import READERS
from trninv.importers.observed import Block, Chip, Seen, Server, Side, Whole
from trninv.importers.reading import Source
from trninv.importers.value import MAX_NAME, Faults
from trninv.inventory.bulk import load
from trninv.inventory.ids import next_id
from trninv.inventory.schema import TABLES

_OBSERVATION, _LINK = TABLES["observation"], TABLES["observed_link"]
_SERVER, _CHIP = TABLES["observed_server"], TABLES["observed_chip"]
_PIECE = 1 << 20
_BATCH = 2_000
"""Servers that are written at once."""

Progress = Callable[[str, int], None]
"""Called with a file's name and the servers read so far."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to import: where its bytes are (from the beginning, as often as asked), and what faults call it."""

    name: str
    content: IO[bytes]


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file.

    Attributes
    ----------
    is_known
        Whether the same content was imported before: then it has only been seen once more.

    """

    name: str
    servers: int
    chips: int
    is_known: bool


def observe(
    connection: Connection,
    kind: str,
    files: Iterable[File],
    *,
    taken_at: datetime | None = None,
    trust_host_names: bool = False,
    allow_empty: bool = False,
    progress: Progress = lambda _name, _servers: None,
) -> list[Imported]:
    """Import files of one kind within the caller's transaction: all of them, or none.

    Parameters
    ----------
    taken_at
        When the files were written, with a zone; now, where it is not known.
    trust_host_names
        Whether a file that names no instance speaks for the host that its own name gives.
    allow_empty
        Whether a listing of every instance may have none.

    Raises
    ------
    FileError
        A file is not what it should be; it has every fault of all files.
    LimitError
        The time has no zone, or lies ahead.

    """
    at = datetime.now(UTC)
    if taken_at is not None and (taken_at.tzinfo is None or taken_at > at):
        raise LimitError(f"taken at {taken_at.isoformat()}: give a time with its zone that is not in the future")
    faults = Faults()
    given = _Given(kind, (taken_at or at).astimezone(UTC), at, trust_host_names, allow_empty)
    made = [_file(connection, given, file, faults, progress) for file in files]
    faults.raise_if_any()
    return made


@dataclass(frozen=True, slots=True)
class _Given:
    kind: str
    taken_at: datetime
    at: datetime
    trust_host_names: bool
    allow_empty: bool


def _file(connection: Connection, given: _Given, file: File, faults: Faults, progress: Progress) -> Imported:
    content = _sha256(file.content)
    of_host = content.copy()
    of_host.update(f"\0{_host(file.name)}".encode())
    now, taken = (time.isoformat(timespec="seconds") for time in (given.at, given.taken_at))
    digests = [content.hexdigest(), *([of_host.hexdigest()] if given.trust_host_names else [])]
    same = (_OBSERVATION.c.source == given.kind) & _OBSERVATION.c.sha256.in_(digests)
    if known := connection.execute(select(_OBSERVATION).where(same)).first():
        connection.execute(update(_OBSERVATION).where(same).values(seen_at=max(known.seen_at, taken)))
        return Imported(file.name, known.servers, known.chips, is_known=True)
    key, rows = next_id(connection, _OBSERVATION), _Rows(connection, given, file.name, faults, progress)
    rows.take(key, READERS[given.kind](Source(file.content, file.name, faults)))
    connection.execute(
        insert(_OBSERVATION).values(
            id=key,
            at=now,
            source=given.kind,
            name=file.name[-MAX_NAME:],
            sha256=(of_host if rows.is_of_host else content).hexdigest(),
            taken_at=taken,
            seen_at=taken,
            is_whole=rows.is_whole,
            servers=rows.servers,
            chips=rows.chips,
        )
    )
    return Imported(file.name, rows.servers, rows.chips, is_known=False)


def _host(name: str) -> str:
    """The host that a file's name gives."""
    return PurePath(name).stem


def _sha256(content: IO[bytes]) -> "hashlib._Hash":
    digest = hashlib.sha256()
    while piece := content.read(_PIECE):
        digest.update(piece)
    content.seek(0)
    return digest


class _Rows:
    """Writes what one file says, in pieces."""

    def __init__(self, connection: Connection, given: _Given, name: str, faults: Faults, progress: Progress) -> None:
        self._connection, self._given, self._name = connection, given, name
        self._faults, self._progress = faults, progress
        self.is_whole, self.is_of_host, self.servers, self.chips = False, False, 0, 0

    def take(self, observation: int, seen: Iterator[Seen]) -> None:
        before = self._faults.count
        while batch := list(islice(seen, _BATCH)):
            self.is_whole = self.is_whole or any(isinstance(each, Whole) for each in batch)
            servers = [named for each in batch if isinstance(each, Server) and (named := self._named(each))]
            links = [each for each in batch if isinstance(each, Side | Block)]
            if not self._faults.count:
                self._write(observation, servers, links)
            self.servers += len(servers)
            self._progress(self._name, self.servers)
        if self.is_whole and not (self.servers or self._given.allow_empty) and self._faults.count == before:
            self._faults.add(self._name, "lists no instance at all: if there is none any more, add --allow-empty")

    def _named(self, server: Server) -> Server | None:
        """A server that says which it is."""
        if not (server.instance or server.host) and self._given.trust_host_names:
            self.is_of_host, server = True, replace(server, host=_host(self._name))
        if not (server.instance or server.host):
            hint = "--trust-host-names takes the host from the name of its file"
            self._faults.add(server.where, f"names no instance and no host: {hint}")
            return None
        return server

    def _write(self, observation: int, servers: Sequence[Server], links: Sequence[Side | Block]) -> None:
        first = next_id(self._connection, _SERVER)
        load(
            self._connection,
            _SERVER,
            [(first + n, observation, *_columns(each, _SERVER)) for n, each in enumerate(servers)],
        )
        chip = next_id(self._connection, _CHIP)
        pairs = [(first + n, each) for n, server in enumerate(servers) for each in server.chips]
        load(self._connection, _CHIP, [(chip + n, key, *_columns(each, _CHIP)) for n, (key, each) in enumerate(pairs)])
        link = next_id(self._connection, _LINK)
        load(self._connection, _LINK, [(link + n, observation, *_link(each)) for n, each in enumerate(links)])
        self.chips += len(pairs)


def _columns(of: Server | Chip, table: Table) -> Iterator[object]:
    for column in list(table.c)[2:]:  # after its own key and that of what it belongs to
        value = getattr(of, column.name)
        yield " ".join(map(str, value)) if isinstance(value, tuple) else value


def _link(link: Side | Block) -> tuple[str | None, ...]:
    if isinstance(link, Block):
        return None, link.capacity_block, "interconnect", link.interconnect
    return link.host, None, link.side, "up" if link.is_up else "down"
