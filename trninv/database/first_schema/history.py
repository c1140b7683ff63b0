"""Create the tables of events, their seals, the starts of histories, and sweeps."""

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

TABLES = ("state_event", "event_seal", "history_start", "history_archive", "seal_restart", "_change", "sweep")


def create() -> None:
    """Create the tables with their indexes."""
    create_table(
        "state_event",
        *required(TEXT, "at", "who", "why", "address"),
        *required(varchar(12), "before"),
        *optional(INTEGER, "factor_ppm_before"),
        *required(varchar(12), "state", default="up"),
        *optional(INTEGER, "factor_ppm", "batch"),
        *optional(varchar(8), "source"),
        *optional(varchar(12), "kind"),
        *optional(INTEGER, "part_id", "previous_id"),
        *optional(varchar(12), "own_before"),
        *optional(INTEGER, "own_factor_ppm_before"),
        *optional(varchar(12), "own_state"),
        *optional(INTEGER, "own_factor_ppm"),
        *required(BOOLEAN, "clock_went_back", default=False),
        *optional(varchar(12), "action"),
        *optional(TEXT, "job", "chip_ids"),
        checks={
            "before": "before IN ('up', 'degraded', 'down', 'maintenance')",
            "state": "state IN ('up', 'degraded', 'down', 'maintenance')",
            "factor_ppm": "factor_ppm > 0 AND factor_ppm < 1000000",
            "source": "source IS NULL OR source IN ('command', 'api', 'import', 'drift', 'sql')",
            "kind": "kind IS NULL OR kind IN ('server', 'chip', 'switch', 'nic', 'network_node', 'link')",
            "action": "action IS NULL OR action IN "
            "('allocate', 'move', 'release', 'cordon', 'uncordon', 'reserve', 'unreserve')",
        },
    )
    create_index("state_event", "action", "part_id", "id", name="ix_state_event_action", where="action IS NOT NULL")
    create_index("state_event", "address")
    create_index("state_event", "at", "id", name="ix_state_event_at")
    create_index("state_event", "id", "at", name="ix_state_event_back", where="clock_went_back")
    create_index("state_event", "batch")
    create_index("state_event", "job", "id", name="ix_state_event_job", where="job IS NOT NULL")
    create_index("state_event", "kind", "part_id", "id", name="ix_state_event_part")
    create_index(
        "state_event", "id", "previous_id", "kind", "part_id", name="ix_state_event_unhealthy", where="before <> 'up'"
    )
    create_table("event_seal", *required(varchar(64), "sha256"), *optional(INTEGER, "starts"))
    create_table(
        "history_start",
        *required(TEXT, "at"),
        *required(INTEGER, "event", "cluster_id"),
        *required(TEXT, "cluster"),
        *required(varchar(8), "cause"),
        *required(TEXT, "state"),
        checks={"cause": "cause IN ('seed', 'grow', 'archive', 'migrate', 'unseed')"},
    )
    create_table(
        "history_archive", *required(varchar(64), "sha256"), *required(TEXT, "at", "since", "directory", "who")
    )
    create_table(
        "seal_restart",
        *required(TEXT, "at"),
        *required(INTEGER, "event", "archived"),
        *required(varchar(64), "sha256"),
        *required(TEXT, "schema_version"),
    )
    create_table("_change", *required(TEXT, "at", "who", "why", "source"), *optional(INTEGER, "batch"))
    create_table(
        "sweep",
        *required(varchar(9), "state", default="running"),
        *required(TEXT, "arguments", "started_at"),
        *required(INTEGER, "attempt", default="1"),
        *required(BIGINT, "renewed"),
        *required(INTEGER, "done", default="0"),
        *optional(INTEGER, "total"),
        *optional(TEXT, "error", "answer"),
        checks={"state": "state IN ('running', 'done', 'failed', 'cancelled')"},
    )
