"""Buffer parsed rows on disk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any, Final, NamedTuple

import orjson
from sqlalchemy import Connection

from trninv.database.bulk_load import bulk_insert
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.importers.records import CapacityBlockStatus, ObservedChip, ObservedServer, ObservedSide

_SERVER, _CHIP, _LINK = (TABLES[name] for name in ("observed_server", "observed_chip", "observed_link"))
_SERVER_COLUMNS: Final = tuple(column.name for column in _SERVER.c)[2:]
"""The columns after the row's own key and its observation's."""


class RowBatch(NamedTuple):
    """Rows of one file without their keys; a chip's row begins with its server's index in the batch."""

    servers: Sequence[Sequence[Any]]
    chips: Sequence[Sequence[Any]]
    links: Sequence[Sequence[Any]]

    @classmethod
    def from_records(
        cls, servers: Sequence[ObservedServer], links: Sequence[ObservedSide | CapacityBlockStatus]
    ) -> "RowBatch":
        """Return the rows of servers, their chips and links."""
        return cls(
            [_server_row(record) for record in servers],
            [(number, *_chip_row(record)) for number, server in enumerate(servers) for record in server.chips],
            [_link_row(record) for record in links],
        )

    def load(self, connection: Connection, observation: int) -> None:
        """Write the rows below an observation."""
        first, chip, link = (next_id(connection, table) for table in (_SERVER, _CHIP, _LINK))
        bulk_insert(connection, _SERVER, [(first + n, observation, *row) for n, row in enumerate(self.servers)])
        bulk_insert(
            connection, _CHIP, [(chip + n, first + server, *row) for n, (server, *row) in enumerate(self.chips)]
        )
        bulk_insert(connection, _LINK, [(link + n, observation, *row) for n, row in enumerate(self.links)])


@dataclass(frozen=True, slots=True)
class BatchSpool:
    """Batches in a file, one per line."""

    file: IO[bytes]

    def add(self, batch: RowBatch) -> None:
        """Append a batch."""
        self.file.write(orjson.dumps(tuple(batch)) + b"\n")

    def batches(self) -> Iterator[RowBatch]:
        """Return all batches from the first."""
        self.file.seek(0)
        return (RowBatch(*orjson.loads(line)) for line in self.file)


def _server_row(server: ObservedServer) -> tuple[Any, ...]:
    return tuple(_column_value(getattr(server, name)) for name in _SERVER_COLUMNS)


@lru_cache(maxsize=4_096)  # most servers have the same chips
def _chip_row(chip: ObservedChip) -> tuple[Any, ...]:
    return tuple(map(_column_value, chip))


def _column_value(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, tuple) else value


def _link_row(link: ObservedSide | CapacityBlockStatus) -> tuple[str | None, ...]:
    if isinstance(link, CapacityBlockStatus):
        return None, link.capacity_block, "interconnect", link.interconnect
    return link.host, None, link.side, "up" if link.is_up else "down"
