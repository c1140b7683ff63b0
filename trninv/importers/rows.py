"""What was read as rows: they wait in a file until the database is locked, and are then written many at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any, Final, NamedTuple

import orjson
from sqlalchemy import Connection

from trninv.importers.observed import Block, Chip, Server, Side
from trninv.inventory.bulk import load
from trninv.inventory.ids import next_id
from trninv.inventory.schema import TABLES

_SERVER, _CHIP, _LINK = (TABLES[name] for name in ("observed_server", "observed_chip", "observed_link"))
_SERVER_COLUMNS: Final = tuple(column.name for column in _SERVER.c)[2:]
"""After its own key and that of what it belongs to."""


class Batch(NamedTuple):
    """Rows of one file without their keys; a chip's begins with the number of its server in the batch."""

    servers: Sequence[Sequence[Any]]
    chips: Sequence[Sequence[Any]]
    links: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, servers: Sequence[Server], links: Sequence[Side | Block]) -> "Batch":
        """Servers, and links of servers."""
        return cls(
            [_server(each) for each in servers],
            [(number, *_chip(each)) for number, server in enumerate(servers) for each in server.chips],
            [_link(each) for each in links],
        )

    def load(self, connection: Connection, observation: int) -> None:
        """Write them below an observation."""
        first, chip, link = (next_id(connection, table) for table in (_SERVER, _CHIP, _LINK))
        load(connection, _SERVER, [(first + n, observation, *row) for n, row in enumerate(self.servers)])
        load(connection, _CHIP, [(chip + n, first + server, *row) for n, (server, *row) in enumerate(self.chips)])
        load(connection, _LINK, [(link + n, observation, *row) for n, row in enumerate(self.links)])


@dataclass(frozen=True, slots=True)
class Spool:
    """Batches in a file, one a line."""

    file: IO[bytes]

    def add(self, batch: Batch) -> None:
        """Add one at the end."""
        self.file.write(orjson.dumps(tuple(batch)) + b"\n")

    def batches(self) -> Iterator[Batch]:
        """All of them, from the first."""
        self.file.seek(0)
        return (Batch(*orjson.loads(line)) for line in self.file)


def _server(of: Server) -> tuple[Any, ...]:
    return tuple(_plain(getattr(of, name)) for name in _SERVER_COLUMNS)


@lru_cache(maxsize=4_096)  # most are alike
def _chip(of: Chip) -> tuple[Any, ...]:
    return tuple(map(_plain, of))


def _plain(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, tuple) else value


def _link(link: Side | Block) -> tuple[str | None, ...]:
    if isinstance(link, Block):
        return None, link.capacity_block, "interconnect", link.interconnect
    return link.host, None, link.side, "up" if link.is_up else "down"
