"""Create the tables of what exists: clusters, servers, chips and links, and their counts."""

from trninv.database.first_schema.ddl import (
    BIGINT,
    INTEGER,
    TEXT,
    create_index,
    create_table,
    optional,
    required,
    varchar,
)

TABLES = (
    "cluster",
    "domain",
    "rack",
    "server",
    "tray",
    "node",
    "chip",
    "switch",
    "nic",
    "network_node",
    "core",
    "link",
    "part_count",
)


def create() -> None:
    """Create the tables with their indexes."""
    create_table(
        "cluster",
        *required(TEXT, "slug", "system"),
        *optional(INTEGER, "domain_model_id"),
        *required(
            INTEGER,
            "domains",
            "first_domain_id",
            "first_rack_id",
            "first_server_id",
            "first_tray_id",
            "first_node_id",
            "first_core_id",
            "first_link_id",
        ),
        *optional(INTEGER, "known_from"),
        *optional(TEXT, "known_since"),
        checks={"domains": "domains > 0"},
        references={"domain_model_id": "domain_model"},
        unique=("slug",),
    )
    create_index("cluster", "domain_model_id")
    create_table(
        "domain",
        *required(INTEGER, "cluster_id", "domain_model_id", "ordinal"),
        checks={"ordinal": "ordinal >= 0"},
        references={"cluster_id": "cluster", "domain_model_id": "domain_model"},
        unique=("cluster_id", "ordinal"),
    )
    create_table(
        "rack",
        *required(INTEGER, "cluster_id", "ordinal", "rack_units"),
        checks={"ordinal": "ordinal >= 0", "rack_units": "rack_units > 0"},
        references={"cluster_id": "cluster"},
        unique=("cluster_id", "ordinal"),
    )
    create_table(
        "server",
        *required(INTEGER, "domain_id", "rack_id", "server_model_id", "ordinal"),
        *required(varchar(12), "state", default="up"),
        *optional(INTEGER, "factor_ppm"),
        checks={
            "ordinal": "ordinal >= 0",
            "state": "state IN ('up', 'degraded', 'down', 'maintenance')",
            "factor_ppm": "factor_ppm > 0 AND factor_ppm < 1000000",
        },
        references={"domain_id": "domain", "rack_id": "rack", "server_model_id": "server_model"},
        unique=("domain_id", "ordinal"),
    )
    create_index("server", "rack_id")
    create_index("server", "server_model_id", "id")
    create_index("server", "state", "id", name="ix_server_unhealthy", where="state <> 'up'")
    create_table(
        "tray",
        *required(INTEGER, "server_id", "ordinal"),
        *required(TEXT, "kind"),
        *optional(INTEGER, "rack_units"),
        checks={"ordinal": "ordinal >= 0", "kind": "kind IN ('head', 'compute')", "rack_units": "rack_units > 0"},
        references={"server_id": "server"},
        unique=("server_id", "ordinal"),
    )
    create_table(
        "node",
        *required(varchar(12), "kind"),
        *required(INTEGER, "cluster_id"),
        *optional(INTEGER, "domain_id"),
        *required(varchar(12), "state", default="up"),
        *optional(INTEGER, "factor_ppm"),
        *optional(varchar(12), "own_state"),
        *optional(INTEGER, "own_factor_ppm"),
        checks={
            "kind": "kind IN ('chip', 'switch', 'nic', 'network_node')",
            "state": "state IN ('up', 'degraded', 'down', 'maintenance')",
            "factor_ppm": "factor_ppm > 0 AND factor_ppm < 1000000",
            "own_state": "own_state IS NULL OR own_state IN ('up', 'degraded', 'down', 'maintenance')",
            "own_factor_ppm": "own_factor_ppm > 0 AND own_factor_ppm < 1000000",
        },
        references={"cluster_id": "cluster", "domain_id": "domain"},
    )
    create_index("node", "cluster_id", "kind")
    create_index("node", "domain_id")
    create_index("node", "state", "id", name="ix_node_unhealthy", where="state <> 'up'")
    create_table(
        "chip",
        *required(INTEGER, "server_id"),
        *optional(INTEGER, "tray_id"),
        *required(INTEGER, "chip_model_id", "ordinal"),
        checks={"ordinal": "ordinal >= 0"},
        references={"id": "node", "server_id": "server", "tray_id": "tray", "chip_model_id": "chip_model"},
        unique=("server_id", "ordinal"),
    )
    create_index("chip", "chip_model_id", "id")
    create_index("chip", "tray_id")
    create_table(
        "switch",
        *optional(INTEGER, "server_id"),
        *required(INTEGER, "rack_id", "ordinal"),
        *optional(INTEGER, "switch_model_id"),
        checks={"ordinal": "ordinal >= 0"},
        references={"id": "node", "server_id": "server", "rack_id": "rack", "switch_model_id": "switch_model"},
    )
    create_index("switch", "rack_id")
    create_index("switch", "server_id")
    create_table(
        "nic",
        *required(INTEGER, "server_id", "ordinal"),
        *required(BIGINT, "bandwidth_bytes_per_s"),
        checks={"ordinal": "ordinal >= 0", "bandwidth_bytes_per_s": "bandwidth_bytes_per_s > 0"},
        references={"id": "node", "server_id": "server"},
        unique=("server_id", "ordinal"),
    )
    create_table(
        "network_node",
        *required(INTEGER, "tier", "ordinal"),
        *optional(TEXT, "vendor_id"),
        checks={"tier": "tier > 0", "ordinal": "ordinal >= 0"},
        references={"id": "node"},
    )
    create_index("network_node", "tier", "ordinal")
    create_table(
        "core",
        *required(INTEGER, "chip_id", "ordinal"),
        checks={"ordinal": "ordinal >= 0"},
        references={"chip_id": "chip"},
        unique=("chip_id", "ordinal"),
    )
    create_table(
        "link",
        *required(INTEGER, "a_id", "b_id"),
        *optional(INTEGER, "domain_id"),
        *required(INTEGER, "link_model_id"),
        *required(BIGINT, "bandwidth_bytes_per_s"),
        *optional(INTEGER, "lanes"),
        *required(INTEGER, "cables", default="1"),
        *required(TEXT, "technology"),
        *required(varchar(8), "scope"),
        *required(varchar(12), "state", default="up"),
        *optional(INTEGER, "factor_ppm"),
        checks={
            "bandwidth_bytes_per_s": "bandwidth_bytes_per_s > 0",
            "lanes": "lanes > 0",
            "cables": "cables > 0",
            "scope": "scope IN ('server', 'rack', 'domain', 'host', 'fabric')",
            "state": "state IN ('up', 'degraded', 'down', 'maintenance')",
            "factor_ppm": "factor_ppm > 0 AND factor_ppm < 1000000",
            "order": "a_id < b_id",
        },
        references={"a_id": "node", "b_id": "node", "domain_id": "domain", "link_model_id": "link_model"},
        unique=("a_id", "b_id"),
    )
    create_index("link", "b_id")
    create_index("link", "domain_id")
    create_index("link", "state", "id", name="ix_link_unhealthy", where="state <> 'up'")
    create_table(
        "part_count",
        *required(INTEGER, "cluster_id"),
        *required(varchar(12), "kind"),
        *required(INTEGER, "model_id"),
        *required(varchar(8), "scope"),
        *required(varchar(12), "state"),
        *required(BIGINT, "number", "cables", "bandwidth_bytes_per_s"),
        key=("cluster_id", "kind", "model_id", "scope", "state"),
        references={"cluster_id": "cluster"},
        sqlite_with_rowid=False,
    )
