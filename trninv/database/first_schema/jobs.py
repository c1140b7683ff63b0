"""Create the tables of jobs, allocations, cordons and reservations."""

from trninv.database.first_schema.ddl import BIGINT, INTEGER, TEXT, create_index, create_table, optional, required

TABLES = ("job", "allocation", "cordon", "reservation", "reserved_chip", "domain_allocated")


def create() -> None:
    """Create the tables with their indexes."""
    create_table(
        "job",
        *required(INTEGER, "cluster_id"),
        *required(TEXT, "name", "system", "external_id"),
        *optional(TEXT, "submitted_at"),
        *required(TEXT, "started_at"),
        *optional(TEXT, "ended_at"),
        *optional(INTEGER, "priority"),
        *required(INTEGER, "pinned", default="0"),
        *required(TEXT, "who"),
        *optional(TEXT, "first_started_at", "place", "moved_at", "chip_ids", "until_at"),
        checks={"pinned": "pinned IN (0, 1)"},
        references={"cluster_id": "cluster"},
        sqlite_strict=True,
    )
    create_index("job", "cluster_id")
    create_index("job", "name")
    create_index(
        "job", "system", "external_id", name="uq_job_system_external_id_now", unique=True, where="ended_at IS NULL"
    )
    create_table(
        "allocation",
        *required(INTEGER, "job_id", "chip_id"),
        *required(TEXT, "role", "started_at"),
        *optional(TEXT, "ended_at"),
        checks={"role": "role IN ('work', 'spare')"},
        references={"job_id": "job", "chip_id": "chip"},
        sqlite_strict=True,
    )
    create_index("allocation", "job_id", "chip_id")
    create_index("allocation", "chip_id", name="uq_allocation_chip_id_now", unique=True, where="ended_at IS NULL")
    create_table(
        "cordon",
        *required(INTEGER, "server_id"),
        *required(TEXT, "started_at"),
        *optional(TEXT, "ended_at"),
        *required(TEXT, "who", "why"),
        references={"server_id": "server"},
        sqlite_strict=True,
    )
    create_index("cordon", "server_id", name="uq_cordon_server_id_now", unique=True, where="ended_at IS NULL")
    create_table(
        "reservation",
        *required(INTEGER, "cluster_id"),
        *required(TEXT, "name", "kind", "from_at", "until_at"),
        *required(INTEGER, "chips"),
        *required(TEXT, "place", "chip_ids", "started_at"),
        *optional(TEXT, "ended_at"),
        *required(TEXT, "who", "why"),
        checks={"kind": "kind IN ('job', 'maintenance')", "until_at": "from_at < until_at"},
        references={"cluster_id": "cluster"},
        sqlite_strict=True,
    )
    create_index("reservation", "cluster_id")
    create_table(
        "reserved_chip",
        *required(INTEGER, "reservation_id", "chip_id"),
        references={"reservation_id": "reservation", "chip_id": "chip"},
        sqlite_strict=True,
    )
    create_index("reserved_chip", "chip_id")
    create_index("reserved_chip", "reservation_id")
    create_table(
        "domain_allocated",
        *required(BIGINT, "allocated_0", "allocated_1", "allocated_2"),
        references={"id": "domain"},
        sqlite_strict=True,
    )
