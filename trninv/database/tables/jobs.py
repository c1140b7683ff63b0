"""Tables of jobs, allocations and cordons.

``domain_allocated`` has the allocated chips of a domain as a bit mask: bit 64·w + b of the mask is bit b of the column
``allocated_w``. Columns are signed integers.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Index,
    Integer,
    Table,
    Text,
)

from trninv.database.tables.columns import (
    BIGINT,
    METADATA,
    check_one_of,
    foreign_key,
    primary_key,
    required_column,
    unique_while_open,
)
from trninv.database.tables.vocabulary import ALLOCATION_ROLE_MEANINGS

BITMASK_WORDS = 3
"""The number of 64-bit columns of a mask."""
_WORD_BITS = 64


def allocation_bits_row(domain: int, mask: int) -> dict[str, int]:
    """Return the row of ``domain_allocated`` for a domain whose allocated chips are the bits of `mask`."""
    words = (mask >> _WORD_BITS * index & (1 << _WORD_BITS) - 1 for index in range(BITMASK_WORDS))
    signed_words = (word - (word >> _WORD_BITS - 1 << _WORD_BITS) for word in words)
    return {"id": domain} | {f"allocated_{index}": word for index, word in enumerate(signed_words)}


def allocated_mask(row: Mapping[str, Any]) -> int:
    """Return the mask of allocated chips that a row of ``domain_allocated`` has."""
    return sum(
        (row[f"allocated_{index}"] & (1 << _WORD_BITS) - 1) << _WORD_BITS * index for index in range(BITMASK_WORDS)
    )


# A job with allocated chips; ``external_id`` is its id in its system. A pinned job must not be moved. A move ends the
# job's row and begins another row, so that each has its own author; ``first_started_at`` is then the start of the first
# row. ``place``: the smallest place with all its chips. ``moved_at``: when it last moved, within its row or, if equal
# to ``ended_at``, to another row. ``chip_ids``: its chips, for the events.
Table(
    "job",
    METADATA,
    primary_key(),
    foreign_key("cluster_id", "cluster"),
    required_column("name", Text),
    required_column("system", Text),
    required_column("external_id", Text),
    Column("submitted_at", Text),
    required_column("started_at", Text),
    Column("ended_at", Text),
    Column("priority", Integer),
    required_column("pinned", Integer, server_default="0"),
    required_column("who", Text),
    Column("first_started_at", Text),
    Column("place", Text),
    Column("moved_at", Text),
    Column("chip_ids", Text),
    CheckConstraint("pinned IN (0, 1)", name="pinned"),
    Index(None, "cluster_id"),
    Index(None, "name"),
    unique_while_open("job", "system", "external_id"),
    sqlite_strict=True,
)

# A chip allocated to a job, from ``started_at`` to ``ended_at``; rows are ended, not deleted. Strict, so that a value
# of another type cannot get past the index that allows one open allocation per chip.
Table(
    "allocation",
    METADATA,
    primary_key(),
    foreign_key("job_id", "job"),
    foreign_key("chip_id", "chip"),
    required_column("role", Text),
    required_column("started_at", Text),
    Column("ended_at", Text),
    check_one_of("role", tuple(ALLOCATION_ROLE_MEANINGS)),
    Index(None, "job_id", "chip_id"),
    unique_while_open("allocation", "chip_id"),
    sqlite_strict=True,
)

# A cordon: the server takes no new jobs from ``started_at`` to ``ended_at``; running jobs continue.
Table(
    "cordon",
    METADATA,
    primary_key(),
    foreign_key("server_id", "server"),
    required_column("started_at", Text),
    Column("ended_at", Text),
    required_column("who", Text),
    required_column("why", Text),
    unique_while_open("cordon", "server_id"),
    sqlite_strict=True,
)

# The allocated chips of a domain, as bits by server and ordinal, 64 per column; a domain without allocated chips has no
# row. Written by triggers.
Table(
    "domain_allocated",
    METADATA,
    primary_key(parent="domain"),
    *(required_column(f"allocated_{word}", BIGINT) for word in range(BITMASK_WORDS)),
    sqlite_strict=True,
)

JOB_TABLES = ("allocation", "cordon", "domain_allocated", "job")
"""The tables of jobs, allocations and cordons, in the order in which their rows are deleted."""
