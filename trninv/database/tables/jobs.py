"""Tables of jobs, allocations, cordons and reservations.

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
    described,
    foreign_key,
    primary_key,
    required_column,
    unique_while_open,
)
from trninv.database.tables.vocabulary import ALLOCATION_ROLE_MEANINGS, RESERVATION_KIND_MEANINGS

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
    Column("until_at", Text),
    CheckConstraint("pinned IN (0, 1)", name="pinned"),
    Index(None, "cluster_id"),
    Index(None, "name"),
    unique_while_open("job", "system", "external_id"),
    sqlite_strict=True,
    info=described(
        "work that has chips; only one open row per `system` and `external_id`. A move ends a row and begins another, "
        "so that each has its own author",
        ended_at="null: open",
        pinned="1: plans do not move it",
        first_started_at="for a job that moved, the start of its first row",
        place="the smallest place with all its chips",
        moved_at="when it last moved within this row, or on to the next one",
        chip_ids="its chips, as in `state_event`; write it too if you change `allocation` in plain SQL",
        until_at="when it ends at the latest",
    ),
)

# Strict, so that a value of another type cannot get past the index that allows one open allocation per chip.
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
    info=described(
        "a chip that a job has; at most one open row per chip; rows end, and only `trninv unseed` deletes them",
        role="work, spare",
    ),
)

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
    info=described(
        "a server that takes no new jobs; running jobs continue",
        ended_at="null: open",
    ),
)

Table(
    "reservation",
    METADATA,
    primary_key(),
    foreign_key("cluster_id", "cluster"),
    required_column("name", Text),
    required_column("kind", Text),
    required_column("from_at", Text),
    required_column("until_at", Text),
    required_column("chips", Integer),
    required_column("place", Text),
    required_column("chip_ids", Text),
    required_column("started_at", Text),
    Column("ended_at", Text),
    required_column("who", Text),
    required_column("why", Text),
    check_one_of("kind", tuple(RESERVATION_KIND_MEANINGS)),
    CheckConstraint("from_at < until_at", name="until_at"),
    Index(None, "cluster_id"),
    sqlite_strict=True,
    info=described(
        "chips that are reserved for a time",
        kind="job, maintenance",
        until_at="just after its end",
        chips="their number",
        place="the smallest place with all of them",
        chip_ids="as in `job`",
        started_at="when it was made",
        ended_at="when it was cancelled; null: it was not",
    ),
)

Table(
    "reserved_chip",
    METADATA,
    primary_key(),
    foreign_key("reservation_id", "reservation"),
    foreign_key("chip_id", "chip"),
    Index(None, "reservation_id"),
    Index(None, "chip_id"),
    sqlite_strict=True,
    info=described("a chip of a reservation; a trigger refuses a chip that is reserved twice at a time"),
)

Table(
    "domain_allocated",
    METADATA,
    primary_key(parent="domain"),
    *(required_column(f"allocated_{word}", BIGINT) for word in range(BITMASK_WORDS)),
    sqlite_strict=True,
    info=described(
        "the allocated chips of a domain; `id` is the domain's, and a domain without any has no row. Triggers "
        "maintain it, and `verify` checks it",
        allocated_0="64 chips in each column, one bit per server and ordinal",
    ),
)

JOB_TABLES = ("allocation", "cordon", "domain_allocated", "job", "reserved_chip", "reservation")
"""The tables of jobs, allocations, cordons and reservations, in the order in which their rows are deleted."""
