"""Convert observed records to rows and buffer them on disk, until `ingestion` stores them in a transaction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import IO, Any, Final, NamedTuple

import orjson
from sqlalchemy import Connection

from trninv.database.bulk_load import bulk_insert
from trninv.database.id_blocks import next_id
from trninv.database.tables import TABLES
from trninv.importers.records import CapacityBlockStatus, ObservedChip, ObservedServer, ObservedSide

_SERVER, _CHIP, _LINK = (TABLES[name] for name in ("observed_server", "observed_chip", "observed_link"))
_SERVER_COLUMNS: Final = tuple(column.name for column in _SERVER.c)[2:]
"""All columns except the first two, the ids of the row and of its observation."""
_MISSING_FIELDS: Final = _SERVER_COLUMNS.index("missing_fields")


class RowBatch(NamedTuple):
    """Rows of one file without their ids; a chip's row begins with its server's index in the batch."""

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

    def missing_fields(self) -> Iterator[str | None]:
        """Yield the expected fields that each row of a server lacks, as its column has them."""
        return (row[_MISSING_FIELDS] for row in self.servers)


def load_batches(connection: Connection, batches: Sequence[tuple[int, RowBatch]]) -> None:
    """Insert the rows of batches with new ids, each as part of the observation whose id is beside it.

    The caller holds the lock of `trninv.inventory.state.observation_lock`.
    """
    server_id, chip_id, link_id = (count(next_id(connection, table)) for table in (_SERVER, _CHIP, _LINK))
    servers, chips, links = list[tuple[Any, ...]](), list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for observation, batch in batches:
        keys = [next(server_id) for _ in batch.servers]
        servers += [(key, observation, *row) for key, row in zip(keys, batch.servers, strict=True)]
        chips += [(key, keys[server], *row) for (server, *row), key in zip(batch.chips, chip_id, strict=False)]
        links += [(key, observation, *row) for row, key in zip(batch.links, link_id, strict=False)]
    for table, rows in ((_SERVER, servers), (_CHIP, chips), (_LINK, links)):
        bulk_insert(connection, table, rows)


@dataclass(frozen=True, slots=True)
class BatchSpool:
    """Batches in a file, one per line."""

    file: IO[bytes]

    def add(self, batch: RowBatch) -> None:
        """Append a batch."""
        self.file.write(orjson.dumps(tuple(batch)) + b"\n")

    def batches(self) -> Iterator[RowBatch]:
        """Return all batches, from the first one."""
        self.file.seek(0)
        return (RowBatch(*orjson.loads(line)) for line in self.file)


def _server_row(server: ObservedServer) -> tuple[Any, ...]:
    values = (getattr(server, name) for name in _SERVER_COLUMNS)
    return tuple(_join_items(value) if isinstance(value, tuple) else value for value in values)


def _chip_row(chip: ObservedChip) -> tuple[Any, ...]:
    return tuple([_join_items(value) if isinstance(value, tuple) else value for value in chip])


@lru_cache(maxsize=4_096)  # most chips have the neighbours of another server's chip
def _join_items(items: tuple[Any, ...]) -> str:
    """Return the items of a tuple as their column stores them: as text, separated by blanks."""
    return " ".join(map(str, items))


def _link_row(link: ObservedSide | CapacityBlockStatus) -> tuple[str | None, ...]:
    """Return the host or None, the capacity block or None, the side or "interconnect", and the state of links."""
    if isinstance(link, CapacityBlockStatus):
        return None, link.capacity_block, "interconnect", link.interconnect
    return link.host, None, link.side, "up" if link.is_up else "down"
