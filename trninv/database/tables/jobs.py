"""Tables of jobs, allocations and cordons, and the allocated chips of a domain as the words of a row.

Bit 64·w + b of a domain's mask is bit b of word w in ``domain_allocated``; words are signed integers.
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

BITMASK_WORDS = 3
"""The number of words in a row, for 64 chips each."""
_BITS = 64


def allocation_bits_row(domain: int, mask: int) -> dict[str, int]:
    """Return the row of a domain whose allocated chips are the bits of `mask`."""
    parts = (mask >> _BITS * word & (1 << _BITS) - 1 for word in range(BITMASK_WORDS))
    return {"id": domain} | {
        f"allocated_{index}": part - (part >> _BITS - 1 << _BITS) for index, part in enumerate(parts)
    }


def allocated_mask(row: Mapping[str, Any]) -> int:
    """Return the mask of allocated chips of a row."""
    return sum((row[f"allocated_{word}"] & (1 << _BITS) - 1) << _BITS * word for word in range(BITMASK_WORDS))


# A job with allocated chips, under its system's id. A move ends its row and begins another, so that each row has its
# own author; ``first_started_at`` is then the start of the first one. ``place``: the smallest place with all its chips.
# ``moved_at``: when it last moved, within its row or, if equal to ``ended_at``, to another row. ``chip_ids``: its
# chips, for the events.
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
    unique_while_open("job", "system", "external_id", ended="ended_at"),
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
    check_one_of("role", ("work", "spare")),
    Index(None, "job_id", "chip_id"),
    unique_while_open("allocation", "chip_id", ended="ended_at"),
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
    unique_while_open("cordon", "server_id", ended="ended_at"),
    sqlite_strict=True,
)

# The allocated chips of a domain as bits by server and ordinal, 64 per word; no row if none. Written by triggers.
Table(
    "domain_allocated",
    METADATA,
    primary_key(parent="domain"),
    *(required_column(f"allocated_{word}", BIGINT) for word in range(BITMASK_WORDS)),
    sqlite_strict=True,
)

JOB_TABLES = ("allocation", "cordon", "domain_allocated", "job")
"""The tables of jobs, allocations and cordons, in the order in which their rows are deleted."""
