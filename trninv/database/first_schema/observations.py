"""Create the tables of what was reported or measured, and of what follows: bindings and findings."""

from trninv.database.first_schema.ddl import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    TEXT,
    create_index,
    create_table,
    optional,
    required,
    varchar,
)

TABLES = (
    "observation",
    "observed_server",
    "observed_chip",
    "observed_link",
    "measurement",
    "binding",
    "finding",
    "discovery",
    "comparison",
)


def create() -> None:
    """Create the tables with their indexes."""
    create_table(
        "observation",
        *required(TEXT, "at"),
        *required(varchar(16), "source"),
        *required(TEXT, "name"),
        *required(varchar(64), "sha256"),
        *required(TEXT, "taken_at", "seen_at"),
        *required(BOOLEAN, "is_whole"),
        *required(INTEGER, "servers", "chips"),
        *optional(TEXT, "speaker"),
        *required(BOOLEAN, "is_cited", default=False),
        unique=("source", "sha256"),
    )
    create_index("observation", "source", "speaker", "seen_at", "id", name="ix_observation_speaker")
    create_table(
        "observed_server",
        *required(INTEGER, "observation_id"),
        *optional(
            TEXT,
            "instance",
            "host",
            "instance_type",
            "zone",
            "reservation",
            "capacity_block",
            "network_nodes",
            "ultraserver",
        ),
        *optional(INTEGER, "position"),
        *optional(TEXT, "ultraserver_mode"),
        *optional(varchar(12), "state"),
        *optional(TEXT, "reason"),
        *optional(INTEGER, "logical_cores", "chip_count"),
        *required(BOOLEAN, "is_partial"),
        *optional(TEXT, "missing_fields", "scheduler_block"),
        checks={
            "state": "state IS NULL OR state IN ('up', 'degraded', 'down', 'maintenance')",
            "named": "instance IS NOT NULL OR host IS NOT NULL",
        },
        references={"observation_id": "observation"},
        deferred=True,
    )
    create_index("observed_server", "host")
    create_index("observed_server", "instance")
    create_index("observed_server", "observation_id")
    create_table(
        "observed_chip",
        *required(INTEGER, "observed_server_id", "ordinal"),
        *optional(TEXT, "bdf", "serial"),
        *optional(BIGINT, "memory_bytes"),
        *optional(INTEGER, "cores", "numa_node"),
        *optional(TEXT, "neighbours", "efa_bdf"),
        *optional(BIGINT, "ecc_uncorrected"),
        *optional(TEXT, "taints"),
        checks={"ordinal": "ordinal >= 0"},
        references={"observed_server_id": "observed_server"},
        deferred=True,
        unique=("observed_server_id", "ordinal"),
    )
    create_table(
        "observed_link",
        *required(INTEGER, "observation_id"),
        *optional(TEXT, "host", "capacity_block"),
        *required(varchar(12), "part"),
        *required(varchar(20), "state"),
        checks={"part": "part IN ('H', 'V', 'interconnect')"},
        references={"observation_id": "observation"},
        deferred=True,
    )
    create_index("observed_link", "observation_id")
    create_table(
        "measurement",
        *required(INTEGER, "observation_id"),
        *required(varchar(16), "operation"),
        *required(TEXT, "address"),
        *optional(TEXT, "peer", "machine"),
        *required(TEXT, "measured_at"),
        *required(INTEGER, "event", "chips"),
        *optional(INTEGER, "ranks", "logical_cores"),
        *optional(varchar(16), "data_type"),
        *required(BIGINT, "bytes", "nanoseconds", "algorithm_bandwidth", "bus_bandwidth"),
        *optional(BIGINT, "limit_bandwidth"),
        checks={"bytes": "bytes > 0", "nanoseconds": "nanoseconds > 0"},
        references={"observation_id": "observation"},
        deferred=True,
    )
    create_index("measurement", "address")
    create_index("measurement", "observation_id")
    create_table(
        "binding",
        *required(INTEGER, "server_id"),
        *required(TEXT, "address"),
        *optional(TEXT, "instance", "host"),
        *required(TEXT, "started_at"),
        *optional(TEXT, "ended_at"),
        *required(varchar(16), "method", "confidence"),
        *optional(TEXT, "evidence"),
        *required(TEXT, "who"),
        *optional(varchar(16), "ending"),
        *optional(TEXT, "ended_by"),
        checks={"named": "instance IS NOT NULL OR host IS NOT NULL"},
    )
    create_index("binding", "address")
    create_index("binding", "host", name="uq_binding_host_open", unique=True, where="ended_at IS NULL")
    create_index("binding", "instance", name="uq_binding_instance_open", unique=True, where="ended_at IS NULL")
    create_index("binding", "server_id", name="uq_binding_server_id_open", unique=True, where="ended_at IS NULL")
    create_table(
        "finding",
        *required(varchar(24), "rule"),
        *required(varchar(8), "severity"),
        *optional(TEXT, "address", "instance", "expected", "observed", "evidence"),
        *required(TEXT, "first_seen", "last_seen"),
        *optional(TEXT, "cleared_at"),
        checks={"severity": "severity IN ('info', 'medium', 'high')"},
    )
    create_index("finding", "address")
    create_index("finding", "rule", name="ix_finding_open", where="cleared_at IS NULL")
    create_table(
        "discovery",
        *required(TEXT, "target"),
        *optional(TEXT, "identity"),
        *optional(INTEGER, "every_seconds"),
        *required(TEXT, "started_at"),
        *optional(TEXT, "read_at", "late_at", "result", "error", "holder"),
        *optional(BIGINT, "renewed"),
        unique=("target",),
    )
    create_table("comparison", *required(TEXT, "at"), checks={"one": "id = 1"})
